//! Searches of one branch's code among that of others.

use std::collections::BTreeSet;

use super::{
    branched::{Branched, MAIN, TOPIC},
    hit::hits,
    index_repository::INDEX_REPOSITORY,
    question::Question,
    repository::REPO,
    server::{CODE, SHOP, START, Server},
    tree::COMMON,
    vcs::repository,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "search/branch",
    guarantees: &["filters-hold"],
    states: "A search with `branch` has hits of that branch only, and all of them, alone and with other filters.",
    explains: "Indexes two branches of a repository, on which some files are the same and others differ, beside a collection of files without \
               branches. Of each branch, a word that all functions have must find the files of its commit, and with a language, a path, an \
               extension or the collection just those of them that pass, with and without a limit. A branch that is not indexed has no hits \
               or is refused, and two branches at once have none. A server that keeps a blob once, for the first branch that has it, misses it on the other.",
    cases: |bench| {
        let mut dice = bench.dice("branch filter");
        let cases = 1..=bench.pick(1, 4);
        let case = |number| Case::new(format!("repository {number}"), Branched::random(&mut dice, 12));
        Ok(cases.map(case).collect())
    },
    ..Check::must(|bench, case| judge(bench, &case.read()?))
};

fn judge(bench: &Bench<'_>, branched: &Branched) -> Judgement {
    let mut server = Server::start(bench)?;
    branched.make(&server.path(REPO))?;
    let asked = repository(&server, json!({ "branches": [MAIN, TOPIC] }));
    let begun = server.must(INDEX_REPOSITORY, &asked)?;
    let status = server.idle_of(&begun)?;
    let collection = status["collection"].as_str().unwrap_or_default().to_owned();
    server.must(START, &json!({ "path": server.named(REPO), "collection": SHOP }))?;
    server.idle(SHOP)?;
    for (branch, tree) in [(MAIN, &branched.main), (TOPIC, &branched.topic)] {
        let of_branch = || Question::member("branch", branch);
        let all =
            server.search(COMMON, &of_branch().and(Question::member("collection", &collection)).arguments)?;
        let wrong = all.iter().find(|hit| hit.all["branch"] != branch);
        ensure(wrong.is_none(), || format!("`branch:{branch}` finds {wrong:?}"))?;
        let paths: BTreeSet<_> = all.iter().map(|hit| hit.file_path.as_str()).collect();
        ensure(paths.iter().copied().eq(tree.keys()), || {
            format!("`{COMMON}` with `branch:{branch}` finds {paths:?}, and the branch has {:?}", tree.keys())
        })?;
        let others = [
            Question::member("language", "rust"),
            Question::member("language", "python"),
            Question::paths("src/**"),
            Question::paths("topic/**"),
            Question::extensions(&["rs", ".md"]),
            Question::member("branch", MAIN),
            Question::member("branch", TOPIC),
        ];
        for other in others {
            let of_collection = Question::member("collection", &collection);
            of_branch().and(of_collection).and(other).holds(&mut server, COMMON, &all)?;
        }
    }
    let reply = server.ask(CODE, &json!({ "query": COMMON, "filters": ["branch:no/such"] }))?;
    let nowhere = reply.done().map_or(vec![], |done| hits(&done.response));
    ensure(nowhere.is_empty(), || format!("`branch:no/such` finds {nowhere:?}"))
}
