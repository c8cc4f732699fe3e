//! Files outside of the workspace are not read.

use std::{fs, os::unix::fs::symlink};

use super::{
    impact::IMPACT,
    index_repository::INDEX_REPOSITORY,
    metrics::ANALYZE,
    repositories::LIST,
    server::{GIT_INDEX, SHOP, START, Server, write},
    validate::RUN,
    vcs::{COMPARE, SEARCH},
};
use tabellion_conformance::{checks::prelude::*, ledger::git};

pub(super) const CHECK: Check = Check {
    id: "index/outside",
    guarantees: &["nothing-outside-is-read"],
    states: "A path outside of the workspace is refused, and links inside of it lead to nothing that is read.",
    explains: "Names a folder beside the workspace by its path, through `..` and through a link, to each operation that takes a path: all \
               must refuse it, and say nothing of what is there. Then a workspace with links to a folder and a file outside is indexed, \
               also with `follow_symlinks`: what is outside must not be found. A name with two dots in it is a name.",
    cases: |_| {
        let ways = [Way::Absolute, Way::Dots, Way::Link, Way::Followed, Way::TwoDots];
        Ok(ways.map(|way| Case::new(format!("{way:?}"), way)).into())
    },
    ..Check::must(|bench, case| outside(bench, case.read()?))
};

/// The form of a path to the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Absolute,
    Dots,
    Link,
    /// Links in the indexed folder.
    Followed,
    /// Not outside.
    TwoDots,
}

/// Content of the files outside.
const SECRET: &str = "zsecretx";

fn outside(bench: &Bench<'_>, way: Way) -> Judgement {
    let mut server = Server::start(bench)?;
    let outside = server.scene.workspace().with_file_name("outside");
    let text = format!("/// Counts {SECRET}.\npub fn {SECRET}() {{}}\n");
    write(&outside.join("secret.rs"), text.as_bytes())?;
    git(&outside, &["init", "--quiet", "--initial-branch=main"])?;
    git(&outside, &["add", "."])?;
    git(&outside, &["commit", "--quiet", "-m", "a secret"])?;
    server.put("shop/inside.rs", "pub fn inside() {}\n")?;
    let linked = server.path("shop/way");
    let folder = match way {
        Way::Absolute => outside.to_string_lossy().into_owned(),
        Way::Dots => server.named("shop/../../outside"),
        Way::Link => {
            symlink(&outside, &linked)?;
            server.named("shop/way")
        }
        Way::Followed => {
            symlink(&outside, &linked)?;
            symlink(outside.join("secret.rs"), server.path("shop/link.rs"))?;
            return followed(&mut server);
        }
        Way::TwoDots => {
            fs::rename(server.path("shop/inside.rs"), server.path("shop/in..side.rs"))?;
            fs::rename(server.path(SHOP), server.path("a..b"))?;
            let arguments = json!({ "path": server.named("a..b"), "collection": SHOP });
            server.must(START, &arguments)?;
            server.idle(SHOP)?;
            let hits = server.search("inside", &json!({}))?;
            return ensure(hits.len() == 1, || "a file whose name has two dots is not found".to_owned());
        }
    };
    let file = format!("{folder}/secret.rs");
    let of_repository =
        json!({ "repo_id": "*", "repo_path": folder, "base_branch": "main", "target_branch": "main" });
    let mut in_repository = of_repository.clone();
    in_repository["query"] = SECRET.into();
    in_repository.as_object_mut().into_iter().for_each(|members| drop(members.remove("base_branch")));
    let named = json!({ "repo_id": "*", "repo_path": folder });
    let calls: [(&[&str], Value); 10] = [
        (START, json!({ "path": folder, "collection": SHOP })),
        (GIT_INDEX, json!({ "path": folder, "collection": SHOP })),
        (RUN, json!({ "path": folder })),
        (RUN, json!({ "path": file })),
        (ANALYZE, json!({ "path": file })),
        (COMPARE, of_repository.clone()),
        (IMPACT, of_repository),
        (SEARCH, in_repository),
        (LIST, named.clone()),
        (INDEX_REPOSITORY, named),
    ];
    for (is, arguments) in calls {
        let why = "although its path is outside of the workspace";
        let message = match server.must_not(is, &arguments, why) {
            Err(Stop::NotApplicable(_)) if is != START => continue,
            message => message?,
        };
        ensure(!message.contains(SECRET), || {
            format!("the refusal of `{}` says what is outside: {message}", is.join(" "))
        })?;
    }
    Ok(())
}

fn followed(server: &mut Server<'_, '_>) -> Judgement {
    for follow in [false, true] {
        let status = server.index(&json!({ "follow_symlinks": follow }))?;
        let found = server.search(SECRET, &json!({}))?;
        let leak = found.iter().find(|hit| hit.content.contains(SECRET));
        ensure(leak.is_none(), || {
            format!("with `follow_symlinks` {follow}, a file outside is found: {leak:?}, {status}")
        })?;
        let inside = server.search("inside", &json!({}))?;
        ensure(!inside.is_empty(), || {
            format!("with `follow_symlinks` {follow}, the file inside is not found")
        })?;
    }
    Ok(())
}
