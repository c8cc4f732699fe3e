//! Metrics of functions that were counted by hand.

use super::server::{SHOP, Server};
use tabellion_conformance::checks::prelude::*;

pub(super) const ANALYZE: &[&str] = &["analyze"];

pub(super) const METRICS: Check = Check {
    id: "validate/analyze",
    guarantees: &["metrics-are-counted"],
    states: "Each function has its complexity, lines and parameters, and the file's complexity is the sum of its functions'.",
    explains: "Measures files in several languages whose functions were counted by hand: with no branch, some in a row, and some in each \
               other. A file of an unknown language, and a folder, are refused.",
    cases: |_| {
        let case = |sample: &Sample| Case::new(sample.name, sample.name);
        Ok(SAMPLES.iter().map(case).collect())
    },
    ..Check::must(|bench, case| metrics(bench, &case.read::<String>()?))
};

/// A file whose functions were counted by hand.
struct Sample {
    name: &'static str,
    text: &'static str,
    functions: &'static [Counted],
}

/// Name, first and last line, cyclomatic and cognitive complexity, parameters.
#[derive(Debug, Clone, Copy)]
struct Counted(&'static str, u64, u64, u64, u64, u64);

const SAMPLES: &[Sample] = &[
    Sample {
        name: "counted.rs",
        text: "pub fn straight(a: i64, b: i64) -> i64 {\n    a + b\n}\n\npub fn forks(a: i64) -> i64 {\n    if a > 3 {\n        return 1;\n    }\n    \
               if a > 2 {\n        return 2;\n    }\n    0\n}\n\npub fn nested(rows: &[i64]) -> i64 {\n    let mut all = 0;\n    for row in rows {\n        \
               if *row > 0 {\n            all += row;\n        }\n    }\n    all\n}\n",
        functions: &[
            Counted("straight", 1, 3, 1, 0, 2),
            Counted("forks", 5, 13, 3, 2, 1),
            Counted("nested", 15, 23, 3, 3, 1),
        ],
    },
    Sample {
        name: "counted.py",
        text: "def straight(a, b):\n    return a + b\n\n\ndef nested(rows):\n    total = 0\n    for row in rows:\n        if row > 0:\n            total += \
               row\n    return total\n",
        functions: &[Counted("straight", 1, 2, 1, 0, 2), Counted("nested", 5, 10, 3, 3, 1)],
    },
    Sample {
        name: "counted.js",
        text: "function straight() {\n  return 1;\n}\n\nfunction loops(a, b, c) {\n  while (a > b) {\n    a -= c;\n  }\n  return a;\n}\n",
        functions: &[Counted("straight", 1, 3, 1, 0, 0), Counted("loops", 5, 10, 2, 1, 3)],
    },
];

fn metrics(bench: &Bench<'_>, name: &str) -> Judgement {
    let sample = SAMPLES.iter().find(|sample| sample.name == name);
    let sample = sample.ok_or_else(|| fail(format!("there is no sample `{name}`")))?;
    let mut server = Server::start(bench)?;
    let path = format!("{SHOP}/{name}");
    server.put(&path, sample.text)?;
    let answer = server.must(ANALYZE, &json!({ "path": server.named(&path) }))?;
    let all: Vec<_> = answer["functions"].as_array().into_iter().flatten().collect();
    for Counted(name, first, last, cyclomatic, cognitive, parameters) in sample.functions {
        let found = all.iter().find(|function| function["name"] == *name);
        let found = found.ok_or_else(|| fail(format!("`{name}` is not among the functions {all:?}")))?;
        for (member, right) in [
            ("line", first),
            ("end_line", last),
            ("cyclomatic", cyclomatic),
            ("cognitive", cognitive),
            ("parameters", parameters),
        ] {
            ensure(found[member] == *right, || {
                format!("`{member}` of `{name}` is {right}, but {found} is answered")
            })?;
        }
    }
    ensure(all.len() == sample.functions.len(), || {
        format!("there are {} functions, but {all:?} are answered", sample.functions.len())
    })?;
    let sum = |of: fn(&Counted) -> u64| sample.functions.iter().map(of).sum::<u64>();
    for (member, right) in
        [("cyclomatic", sum(|function| function.3)), ("cognitive", sum(|function| function.4))]
    {
        ensure(answer[member] == right, || {
            format!("`{member}` of the file is {}, but {right} of its functions", answer[member])
        })?;
    }
    let index = answer["maintainability_index"].as_f64().unwrap_or(f64::NAN);
    ensure((0.0..=100.0).contains(&index), || {
        format!("the maintainability index is {index}, not from 0 to 100")
    })?;
    server.put("shop/unknown.zzz", "what is this?\n")?;
    for path in ["shop/unknown.zzz", "shop", "shop/none.rs"] {
        let asked = json!({ "path": server.named(path) });
        server.must_not(ANALYZE, &asked, "although it is no file of a known language")?;
    }
    Ok(())
}
