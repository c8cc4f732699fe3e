//! The impact of a branch: numbers, compared with the git program, changed symbols, and their callers.

use super::{
    repository::{Changed, Files, REPO, Repository, of_git, repositories},
    server::Server,
    vcs::repository,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const IMPACT: &[&str] = &["analyze_impact"];

pub(super) const CHECK: Check = Check {
    id: "vcs/impact",
    guarantees: &["impact-is-counted"],
    states: "The impact of a branch has git's numbers, the symbols that it touches, and the places that use them.",
    explains: "Compares branches of random repositories, and one in which a function changes that others call. The numbers must be those of \
               git, the score min(100, 10 ln(1 + files) + 5 ln(1 + lines)); the function must be among the touched symbols, and its callers, \
               but no one else, among the dependents. An impact of 0 that was never counted says that a change is harmless.",
    cases: |bench| {
        let mut cases = repositories(bench, "impact", bench.pick(2, 20));
        cases.push(Case::new("a function that others call", calling()));
        Ok(cases)
    },
    ..Check::must(|bench, case| impact(bench, &case.read()?))
};

/// A function, which the other branch changes, and its callers.
const CALLED: &str = "parse_price";
const CALLERS: &[(&str, u64)] = &[("src/shop.rs", 2), ("src/deep/bank.rs", 4)];

fn calling() -> Repository {
    let files = |body: &str| -> Files {
        let price = format!(
            "pub fn untouched_price() -> i64 {{\n    7\n}}\n\npub fn {CALLED}(text: &str) -> i64 {{\n    let cents = 100;\n    {body}\n}}\n"
        );
        let shop = format!("pub fn sell(text: &str) -> i64 {{\n    {CALLED}(text) + 1\n}}\n");
        let bank = format!(
            "pub fn lend(text: &str) -> i64 {{\n    // Nothing is free.\n    let rate = 3;\n    rate * {CALLED}(text)\n}}\n"
        );
        let far = "pub fn far() -> i64 {\n    untouched_price()\n}\n".to_owned();
        let all =
            [("src/price.rs", price), ("src/shop.rs", shop), ("src/deep/bank.rs", bank), ("src/far.rs", far)];
        all.map(|(path, text)| (path.to_owned(), text.into_bytes())).into()
    };
    Repository {
        base: files("text.len() as i64"),
        main: files("text.len() as i64"),
        topic: files("text.len() as i64 * cents"),
    }
}

fn impact(bench: &Bench<'_>, made: &Repository) -> Judgement {
    let mut server = Server::start(bench)?;
    let root = server.path(REPO);
    made.make(&root)?;
    let (_, right) = of_git(&root, "main", "topic/x")?;
    let asked = json!({ "base_branch": "main", "target_branch": "topic/x", "limit": 1_000 });
    let asked = repository(&server, asked);
    let answer = server.must(IMPACT, &asked)?;
    numbers(&answer, &right)?;
    if made.base.contains_key(CALLERS[0].0) {
        dependents(&answer)?;
    }
    Ok(())
}

fn numbers(answer: &Value, right: &[Changed]) -> Judgement {
    let of = |status: &str| right.iter().filter(|file| file.status == status).count() as u64;
    let lines: u64 = right.iter().map(|file| file.additions + file.deletions).sum();
    let sums = [
        ("total_files", right.len() as u64),
        ("added", of("added")),
        ("modified", of("modified")),
        ("deleted", of("deleted")),
        ("renamed", of("renamed")),
        ("total_changes", lines),
    ];
    for (name, right) in sums {
        let found = &answer["summary"][name];
        ensure(*found == right, || format!("`{name}` is {found}, and {right} for git"))?;
    }
    for file in right {
        let found = impacted(answer, &file.path);
        let found = found.ok_or_else(|| fail(format!("`{}` is not among the files", file.path)))?;
        let is_right = found["impact"] == file.additions + file.deletions
            && found["additions"] == file.additions
            && found["deletions"] == file.deletions
            && found["status"] == file.status;
        ensure(is_right, || format!("{found} is {file:?} for git"))?;
    }
    let count = |number: u64| u32::try_from(number).map_or(f64::MAX, f64::from);
    let score = (10.0 * count(right.len() as u64).ln_1p() + 5.0 * count(lines).ln_1p()).min(100.0);
    let found = answer["impact_score"].as_f64().unwrap_or(f64::NAN);
    ensure((found - score).abs() < 0.1, || {
        format!("{} files with {lines} changed lines have the score {score:.2}, not {found}", right.len())
    })
}

fn impacted<'v>(answer: &'v Value, path: &str) -> Option<&'v Value> {
    let mut files = answer["impacted_files"].as_array().into_iter().flatten();
    files.find(|file| file["path"] == path)
}

fn dependents(answer: &Value) -> Judgement {
    let none = Value::Null;
    let file = impacted(answer, "src/price.rs").unwrap_or(&none);
    // Symbols may be qualified by their containers.
    let named = |symbol: &Value| symbol.as_str().is_some_and(|symbol| symbol.ends_with(CALLED));
    let symbols = file["symbols"].as_array().into_iter().flatten();
    ensure(symbols.clone().any(named), || {
        format!("`{CALLED}` was changed, but the symbols are {}", file["symbols"])
    })?;
    let untouched = |symbol: &Value| symbol.as_str().is_some_and(|it| it.ends_with("untouched_price"));
    ensure(!symbols.clone().any(untouched), || {
        format!("`untouched_price` was not changed, but the symbols are {}", file["symbols"])
    })?;
    let all: Vec<_> = file["dependents"].as_array().into_iter().flatten().collect();
    // The contract leaves open whether `symbol` is the called function or its caller.
    for (path, line) in CALLERS {
        let has = all.iter().any(|it| it["path"] == *path && it["line"] == *line);
        ensure(has, || format!("line {line} of `{path}` calls `{CALLED}`, but the dependents are {all:?}"))?;
    }
    ensure(!all.iter().any(|it| it["path"] == "src/far.rs"), || {
        format!("`src/far.rs` does not call `{CALLED}`, but the dependents are {all:?}")
    })
}
