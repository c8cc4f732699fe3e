//! Indexes of code in the workspace, which is the bench's folder.

use std::{
    fs,
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use tabellion_runtime::{Claim, Store};

use super::bench::{Bench, Caller, commit_all, git, wait};

const INDEX: &str = "index";
const SEARCH: &str = "search";
const VCS: &str = "vcs";

/// Serves a workspace with a project.
fn bench() -> Bench {
    let bench = Bench::with_project();
    bench.write("shop/src/price.rs", "pub fn total(prices: &[u64]) -> u64 {\n    prices.iter().sum()\n}\n");
    bench.write("shop/src/cart.py", "def pay(cart):\n    return total(cart)\n");
    bench.write("shop/README.md", "# Shop\n\nPrices have a total.\n");
    bench
}

/// Begins a run, and returns the answer.
#[track_caller]
fn start(bench: &Bench, request: Value) -> Value {
    bench.call(INDEX, request)
}

/// Waits until no run is in progress; returns the status.
#[track_caller]
fn settled(bench: &Bench) -> Value {
    let begun = Instant::now();
    loop {
        let status = bench.call(INDEX, json!({ "action": "status" }));
        let collections = status["collections"].as_array().unwrap();
        if collections.iter().all(|collection| collection["state"] != "indexing") {
            return status;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{status}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the paths that a query finds, best first.
#[track_caller]
fn found(bench: &Bench, query: &str, more: Value) -> Vec<String> {
    let mut request = json!({ "resource": "code", "query": query });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = bench.call(SEARCH, request);
    let hits = answer["results"].as_array().unwrap();
    hits.iter().map(|hit| hit["file_path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_indexed_is_found_and_each_run_is_one_change() {
    let bench = bench();
    let changes = bench.changes();
    let answer = start(&bench, json!({ "action": "start", "path": "shop" }));
    assert_eq!((&answer["collection"], &answer["state"]), (&json!("shop"), &json!("indexing")));
    assert_eq!(bench.changes(), changes + 1);
    let status = settled(&bench);
    let collection = &status["collections"][0];
    let told = ["state", "files_total", "files_done", "files_failed", "chunks", "operation_id"]
        .map(|field| &collection[field]);
    assert_eq!(told, [&json!("idle"), &json!(3), &json!(3), &json!(0), &json!(3), &answer["operation_id"]]);
    assert_eq!(found(&bench, "total", json!({}))[0], "src/price.rs");
    assert_eq!(found(&bench, "total", json!({ "filters": ["language:python"] })), ["src/cart.py"]);
    let other = json!({ "resource": "code", "query": "total", "filters": ["collection:other"] });
    assert_eq!(bench.refusal(SEARCH, other), "no_collection");
    assert_eq!(found(&bench, "total", json!({ "extensions": ["md"] })), ["README.md"]);

    // After the next run, changed files are found with their new content; the collection is the same row.
    let folder = bench.folder();
    bench.write("shop/src/price.rs", "pub fn sum_of(prices: &[u64]) -> u64 { 0 }\n");
    fs::rename(folder.join("shop/src/cart.py"), folder.join("shop/src/basket.py")).unwrap();
    start(&bench, json!({ "action": "start", "path": "shop", "exclude_dirs": ["docs"] }));
    let status = settled(&bench);
    assert_eq!(status["collections"][0]["exclude_dirs"], json!(["docs"]));
    assert_eq!(found(&bench, "total", json!({ "filters": ["path:src"] })), ["src/basket.py"]);
    let (_, meta) = bench
        .answer(SEARCH, json!({ "resource": "code", "query": "File \"src/price.py\", in total" }))
        .unwrap();
    assert!(
        meta["tabellion/warnings"][0].as_str().is_some_and(|first| first.contains("as it stands")),
        "{meta}"
    );
    let absolute = bench.folder().join("shop/src");
    let absolute = format!("path:{}", absolute.display());
    assert_eq!(found(&bench, "total", json!({ "filters": [absolute] })), ["src/basket.py"]);
    assert_eq!(found(&bench, "sum_of", json!({}))[0], "src/price.rs");
    assert_eq!(bench.rows("collection").len(), 1);

    let cleared = start(&bench, json!({ "action": "clear", "collection": "shop" }));
    assert_eq!(cleared, json!({ "collection": "shop", "files": 3, "chunks": 3, "cleared": true }));
    assert_eq!(found(&bench, "sum_of", json!({})), [""; 0]);
    assert_eq!(settled(&bench)["count"], 0);
    let again = start(&bench, json!({ "action": "start", "path": "shop" }));
    assert_eq!(again["state"], "indexing");
    settled(&bench);
    assert_eq!(found(&bench, "sum_of", json!({}))[0], "src/price.rs");
}

/// The same name for each use: starting, the status, searching, its filter, and clearing.
#[test]
fn names_of_collections_are_folded_alike_for_every_use() {
    let bench = bench();
    for (first, other) in [
        ("code", "CODE"),
        ("a-b.c", "a_b_c"),
        ("A.B", "a-b"),
        ("my code", " My Code "),
        ("Ärger", "a\u{308}rger"),
    ] {
        let named =
            |action: &str, name: &str| json!({ "action": action, "path": "shop", "collection": name });
        start(&bench, named("start", first));
        settled(&bench);
        let again = start(&bench, named("start", other));
        assert_eq!(again["collection"], first, "{other}");
        settled(&bench);
        assert_eq!(bench.rows("collection").len(), 1, "{other}");
        let status = start(&bench, json!({ "action": "status", "collection": other }));
        assert_eq!(status["collections"][0]["collection"], first, "{other}");
        let filter = format!("collection:{other}");
        for more in [json!({}), json!({ "collection": other }), json!({ "filters": [filter] })] {
            assert_eq!(found(&bench, "total", more.clone()).len(), 3, "{more}");
        }
        let cleared = start(&bench, json!({ "action": "clear", "collection": other }));
        assert_eq!(cleared["collection"], first, "{other}");
        assert!(bench.rows("collection").is_empty(), "{other}");
    }
    for blank in ["", " ", "\u{a0}\t"] {
        let request = json!({ "action": "start", "path": "shop", "collection": blank });
        let error = bench.answer(INDEX, request).unwrap_err();
        assert_eq!(error["pointer"], "/collection", "{blank:?}: {error}");
    }
}

#[test]
fn projects_have_collections_of_their_own() {
    let bench = bench();
    bench.add_project("other");
    start(&bench, json!({ "action": "start", "path": "shop" }));
    settled(&bench);
    let other = Caller::new().with("project_id", "other");
    let status = bench.by(&other).call(INDEX, json!({ "action": "status" }));
    assert_eq!(status["count"], 0);
    let answer = bench.by(&other).call(SEARCH, json!({ "resource": "code", "query": "total" }));
    assert_eq!(answer["total"], 0);
    let named = json!({ "resource": "code", "query": "total", "collection": "shop" });
    assert_eq!(bench.by(&other).refusal(SEARCH, named), "no_collection");
}

/// Without a warning, an agent would conclude that the code does not exist.
#[test]
fn a_search_warns_of_code_that_is_not_indexed() {
    let bench = bench();
    let warned = |bench: &Bench, more: Value, words: &str| {
        let mut request = json!({ "resource": "code", "query": "total" });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (_, meta) = bench.answer(SEARCH, request).unwrap();
        assert!(meta["tabellion/warnings"][0].as_str().is_some_and(|first| first.contains(words)), "{meta}");
    };
    warned(&bench, json!({}), "no code of the project `shop` is indexed");
    start(
        &bench,
        json!({ "action": "start", "path": "shop", "collection": "none", "extensions": ["klingon"] }),
    );
    settled(&bench);
    warned(&bench, json!({}), "the collection `none` has no files");
    start(&bench, json!({ "action": "start", "path": "shop", "collection": "gone" }));
    settled(&bench);
    for (more, field) in [
        (json!({ "filters": ["kind:class", "path:*.py", "kind:function"], "collection": "gone" }), "kind"),
        (json!({ "filters": ["collection:none"], "collection": "gone" }), "collection"),
    ] {
        warned(&bench, more, &format!("no hit passes each of `{field}`"));
    }
    start(&bench, json!({ "action": "clear", "collection": "none" }));
    let data = bench.close();
    fs::remove_file(data.path().join("data/mcb-code.db")).unwrap();
    fs::remove_dir_all(data.path().join("shop")).unwrap();
    let bench = Bench::over(data);
    settled(&bench);
    warned(&bench, json!({}), "the last run of the collection `gone` failed");
}

#[test]
fn a_default_name_never_replaces_a_different_collection() {
    let bench = bench();
    bench.write("other/shop/a.py", "def other(): pass\n");
    commit_all(&bench.folder().join("shop"), "first");
    start(&bench, json!({ "action": "start", "path": "shop" }));
    settled(&bench);
    let error = bench.answer(INDEX, json!({ "action": "start", "path": "other/shop" })).unwrap_err();
    assert_eq!(error["rule"], "collection_taken", "{error}");
    assert!(error["message"].as_str().unwrap().contains("as `collection`"), "{error}");
    let repository = |path: &str| json!({ "action": "index_repository", "repo_id": "*", "repo_path": path });
    bench.call(VCS, repository("shop"));
    let names: Vec<_> = settled(&bench)["collections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["collection"].clone())
        .collect();
    assert_eq!(names, ["shop", "shop@repository"]);
    commit_all(&bench.folder().join("other/shop"), "first");
    let error = bench.answer(VCS, repository("other/shop")).unwrap_err();
    assert!(
        error["message"].as_str().unwrap().contains("`collection: shop@repository` makes room"),
        "{error}"
    );
    start(&bench, json!({ "action": "start", "path": "other/shop", "collection": "shop" }));
    settled(&bench);
    assert_eq!(found(&bench, "other", json!({ "collection": "shop" })), ["a.py"]);
}

#[test]
fn a_new_server_goes_on_where_the_last_one_ended() {
    let bench = bench();
    start(&bench, json!({ "action": "start", "path": "shop" }));
    // Closed at once: the run may not have begun, be under way, or be done.
    let bench = Bench::over(bench.close());
    settled(&bench);
    assert_eq!(found(&bench, "total", json!({}))[0], "src/price.rs");
    let bench = Bench::over(bench.close());
    assert_eq!(settled(&bench)["collections"][0]["state"], "idle");
    assert_eq!(found(&bench, "total", json!({}))[0], "src/price.rs");
}

#[test]
fn a_new_server_makes_an_index_that_is_lost() {
    let bench = bench();
    start(&bench, json!({ "action": "start", "path": "shop" }));
    settled(&bench);
    let data = bench.close();
    fs::remove_file(data.path().join("data/mcb-code.db")).unwrap();
    let bench = Bench::over(data);
    assert_eq!(settled(&bench)["collections"][0]["state"], "idle");
    assert_eq!(found(&bench, "total", json!({}))[0], "src/price.rs");
}

/// Returns the only collection: state, path below the bench's folder, chunks and error.
#[track_caller]
fn only(bench: &Bench) -> (String, String, u64, String) {
    let status = settled(bench);
    assert_eq!(status["count"], 1, "{status}");
    let collection = &status["collections"][0];
    let text = |field: &str| collection[field].as_str().unwrap_or_default().to_owned();
    let top = bench.folder().canonicalize().unwrap();
    let path = text("path").replace(&format!("{}/", top.display()), "");
    (text("state"), path, collection["chunks"].as_u64().unwrap(), text("error"))
}

#[test]
fn a_server_leaves_folders_outside_of_its_workspaces_to_others() {
    let bench = bench();
    bench.write(
        "other/a.rs",
        "fn a() {}
",
    );
    start(&bench, json!({ "action": "start", "path": "shop" }));
    settled(&bench);
    let idle = only(&bench);
    let other = bench.within("other");
    assert_eq!(only(&other), idle);
    drop(bench);
    fs::remove_file(other.folder().join("data/mcb-code.db")).unwrap();
    let (state, path, chunks, error) = only(&other);
    assert_eq!((&*state, &*path, chunks), ("interrupted", "shop", 0));
    assert!(error.contains("not in a workspace of this server"), "{error}");
    let query = json!({ "resource": "code", "query": "total" });
    let (_, meta) = other.answer(SEARCH, query).unwrap();
    assert_eq!(meta["tabellion/indexing"], json!(["shop"]));
    assert_eq!(only(&other.within("shop")), idle);
    // Two servers that begin runs at the same time don't take each other's.
    let shop = other.within("shop");
    for _ in 0..20 {
        for (server, name) in [(&shop, "shop"), (&other, "other")] {
            start(server, json!({ "action": "start", "path": server.folder().join(name) }));
        }
        for server in [&shop, &other] {
            let status = settled(server);
            assert!(
                status["collections"].as_array().unwrap().iter().all(|it| it["state"] != "failed"),
                "{status}"
            );
        }
    }
}

/// Machines of a team share rows, and each has an index: here, the file of the machine that works is put in its place.
#[test]
fn each_machine_of_a_team_has_its_own_folder_of_a_collection() {
    let bench = bench();
    bench.write(
        "ada/shop/a.rs",
        "fn adas() {}
",
    );
    bench.write(
        "bob/shop/b.rs",
        "fn bobs() {}
fn bobs_too() {}
",
    );
    let names = ["ada/shop", "bob/shop"].map(|path| bench.folder().join(path));
    let file = |name: &str| bench.folder().join("data").join(name);
    let swap = |from: &str, to: &str| {
        // The last thread of a server that was dropped closes the file.
        while file("mcb-code.db-wal").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        fs::rename(file("mcb-code.db"), file(from)).unwrap();
        if file(to).exists() {
            fs::rename(file(to), file("mcb-code.db")).unwrap();
        }
    };
    let begun = |server: &Bench, path| {
        start(server, json!({ "action": "start", "path": path, "collection": "shop" }));
        settled(server);
        only(server)
    };
    let ada = bench.within("ada");
    let of_ada = begun(&ada, &names[0]);
    assert_eq!((&*of_ada.0, &*of_ada.1), ("idle", "ada/shop"));
    drop(ada);
    swap("ada.db", "bob.db");
    let bob = bench.within("bob");
    assert_eq!(only(&bob).0, "interrupted");
    let of_bob = begun(&bob, &names[1]);
    assert_eq!((&*of_bob.0, &*of_bob.1), ("idle", "bob/shop"));
    drop(bob);
    swap("bob.db", "ada.db");
    let ada = bench.within("ada");
    assert_eq!(only(&ada), of_ada);
    assert_eq!(found(&ada, "adas", json!({ "filters": [format!("path:{}", names[0].display())] })), ["a.rs"]);
    assert_eq!(begun(&ada, &names[0]), of_ada);
    drop(ada);
    swap("ada.db", "bob.db");
    let bob = bench.within("bob");
    assert_eq!(only(&bob), of_bob);
    assert_eq!(found(&bob, "bobs", json!({})), ["b.rs"]);
}

#[test]
fn branches_and_commits_are_indexed_without_a_checkout() {
    let bench = bench();
    let top = bench.folder().join("shop");
    commit_all(&top, "Prices are added up");
    git(&top, &["checkout", "-q", "-b", "topic"]);
    bench.write("shop/src/tax.rs", "fn tax() {}\n");
    commit_all(&top, "Taxes");
    git(&top, &["checkout", "-q", "main"]);
    let answer = start(&bench, json!({ "action": "git_index", "path": "shop" }));
    assert_eq!((&answer["collection"], &answer["branches"]), (&json!("shop@main"), &json!(["main"])));
    settled(&bench);
    assert_eq!(found(&bench, "tax", json!({})), [""; 0]);
    bench.write(
        "shop/.mcp-context.toml",
        "[git]\nbranches = [\"main\", \"topic\"]\nignore_patterns = [\"*.md\"]\n",
    );
    start(&bench, json!({ "action": "git_index", "path": "shop", "collection": "both" }));
    let both = settled(&bench)["collections"][0].clone();
    let told = ["collection", "branches", "ignore_patterns"].map(|field| &both[field]);
    assert_eq!(told, [&json!("both"), &json!(["main", "topic"]), &json!(["*.md"])]);
    assert_eq!(
        found(&bench, "tax", json!({ "collection": "both", "filters": ["branch:topic"] })),
        ["src/tax.rs"]
    );
    let mistyped =
        json!({ "resource": "code", "query": "tax", "collection": "both", "filters": ["branch:topci"] });
    let refusal = bench.answer(SEARCH, mistyped).unwrap_err();
    assert!(refusal["message"].as_str().unwrap().contains("those are main, topic"), "{refusal}");
    assert_eq!(found(&bench, "shop", json!({ "collection": "both" })), [""; 0]);

    let request = json!({ "action": "index_repository", "repo_id": "*", "repo_path": "shop", "branches": ["topic"], "include_commits": true });
    let answer = bench.call(VCS, request);
    let told = ["default_branch", "branches_found", "branches", "total_files", "commits_indexed", "state"]
        .map(|field| &answer[field]);
    assert_eq!(
        told,
        [
            &json!("main"),
            &json!(["main", "topic"]),
            &json!(["topic"]),
            &json!(4),
            &json!(2),
            &json!("indexing")
        ]
    );
    settled(&bench);
    let names = ["HEAD", "main", "refs/heads/main", "topic", "main"];
    let request = json!({ "action": "index_repository", "repo_id": "*", "repo_path": "shop", "branches": names, "include_commits": true });
    assert_eq!(bench.call(VCS, request)["branches"], json!(["main", "topic"]));
    settled(&bench);
    let commits = found(
        &bench,
        "prices added up",
        json!({ "collection": "shop", "filters": ["kind:commit", "branch:topic"] }),
    );
    assert!(commits.len() == 1 && commits[0].starts_with("commit:"), "{commits:?}");
}

#[test]
fn a_branch_that_is_gone_leaves_the_others_indexed() {
    let bench = bench();
    let top = bench.folder().join("shop");
    commit_all(&top, "first");
    git(&top, &["branch", "topic"]);
    let request = json!({ "action": "index_repository", "repo_id": "*", "repo_path": "shop", "branches": ["topic", "main"] });
    bench.call(VCS, request);
    settled(&bench);
    let data = bench.close();
    for (branch, state, hits) in [("topic", "idle", 1), ("main", "failed", 0)] {
        git(&top, &["update-ref", "-d", &format!("refs/heads/{branch}")]);
        fs::remove_file(data.path().join("data/mcb-code.db")).unwrap();
        let bench = Bench::over(Arc::clone(&data));
        let status = settled(&bench)["collections"][0].clone();
        assert_eq!(status["state"], state, "{status}");
        assert_eq!(found(&bench, "pay", json!({})).len(), hits);
        if hits > 0 {
            let reason = "there is no such branch any more; begin a run of the others";
            assert_eq!(status["failures"], json!([{ "path": ".", "branch": "topic", "reason": reason }]));
        }
    }
}

#[test]
fn what_can_not_be_indexed_is_said() {
    let bench = bench();
    bench.write("broken/.mcp-context.toml", "[git]\nbranches = 1\n");
    bench.write("broken/a.rs", "fn a() {}\n");
    commit_all(&bench.folder().join("broken"), "first");
    bench.write("misspelt/.mcp-context.toml", "[git]\nbranch = [\"main\"]\n");
    commit_all(&bench.folder().join("misspelt"), "first");
    bench.write("unknown/.mcp-context.toml", "[git]\nbranches = [\"none\"]\n");
    commit_all(&bench.folder().join("unknown"), "first");
    let request = json!({ "action": "index_repository", "repo_id": "*", "repo_path": "unknown", "branches": ["main", "nope"] });
    assert_eq!(bench.answer(VCS, request).unwrap_err()["pointer"], "/branches/1");
    git(&bench.folder(), &["clone", "-q", "--bare", "broken", "bare"]);
    // Tool, request, the rule that is broken, and words of the sentence.
    let cases = [
        (INDEX, json!({ "action": "start", "path": "nothing" }), "path", "does not exist"),
        (INDEX, json!({ "action": "start", "path": "/" }), "path", "not in a workspace"),
        (INDEX, json!({ "action": "start", "path": "shop/../shop" }), "path", ".."),
        (INDEX, json!({ "action": "start", "path": "shop/README.md" }), "path", "not a folder"),
        (INDEX, json!({ "action": "start", "path": "bare" }), "path", "`action: git_index`"),
        (INDEX, json!({ "action": "start", "path": "shop", "token": "t" }), "token", "leave it out"),
        (INDEX, json!({ "action": "git_index", "path": "shop" }), "path", "no git repository"),
        (INDEX, json!({ "action": "git_index", "path": "broken" }), "settings", "[git]"),
        (INDEX, json!({ "action": "git_index", "path": "misspelt" }), "settings", "unknown field `branch`"),
        (
            INDEX,
            json!({ "action": "git_index", "path": "unknown" }),
            "settings",
            "`[git] branches` of `.mcp-context.toml`",
        ),
        (INDEX, json!({ "action": "status", "collection": "none" }), "no_collection", "none"),
        (INDEX, json!({ "action": "clear", "collection": "none" }), "no_collection", "none"),
        (SEARCH, json!({ "resource": "code", "query": "x", "filters": ["path:[z"] }), "filter", "no glob"),
        (
            SEARCH,
            json!({ "resource": "code", "query": "x", "filters": ["path:/elsewhere"] }),
            "filter",
            "in no collection",
        ),
        (
            SEARCH,
            json!({ "resource": "code", "query": "x", "filters": ["colour:red"] }),
            "filter",
            "language",
        ),
    ];
    let changes = bench.changes();
    for (tool, request, rule, words) in cases {
        assert_eq!(bench.refusal(tool, request.clone()), rule, "{request}");
        let error = bench.answer(tool, request.clone()).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains(words), "{request}: {error}");
    }
    assert_eq!(bench.changes(), changes);
}

/// Other calls can write while a repository is read for a call: here, another call holds the turn until all needed data is read.
#[test]
fn a_repository_is_read_before_the_call_takes_its_turn_to_write() {
    let bench = bench();
    let top = bench.folder().join("shop");
    commit_all(&top, "first");
    for (tool, request) in [
        (VCS, json!({ "action": "index_repository", "repo_id": "*", "repo_path": "shop" })),
        (INDEX, json!({ "action": "git_index", "path": "shop" })),
    ] {
        let turn = wait(bench.records.begin(Claim::default())).map(Some);
        let turn = std::cell::Cell::new(turn.unwrap());
        thread::scope(|scope| {
            let call = scope.spawn(|| bench.call(tool, request));
            thread::sleep(Duration::from_secs(2));
            assert!(!call.is_finished(), "the turn is taken");
            fs::rename(top.join(".git"), top.join("aside")).unwrap();
            drop(turn.take());
            let answer = call.join().unwrap();
            assert_eq!(answer["branches"], json!(["main"]));
            fs::rename(top.join("aside"), top.join(".git")).unwrap();
        });
    }
}

#[test]
fn a_repository_with_4_billion_paths_is_refused_by_every_call() {
    use std::io::Write;
    let bench = bench();
    let top = bench.folder().join("shop");
    commit_all(&top, "first");
    let mut entries = String::new();
    for _ in 0..33 {
        let mut made = Command::new("git")
            .arg("mktree")
            .current_dir(&top)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        made.stdin.take().unwrap().write_all(entries.as_bytes()).unwrap();
        let tree = String::from_utf8(made.wait_with_output().unwrap().stdout).unwrap();
        entries = ["a", "b"].map(|name| format!("040000 tree {}\t{name}\n", tree.trim())).concat();
    }
    let tree = entries.split([' ', '\t']).nth(2).unwrap().to_owned();
    git(&top, &["update-ref", "refs/heads/bomb", "HEAD"]);
    let commit = git(&top, &["commit-tree", "-p", "HEAD", "-m", "bomb", &tree]);
    git(&top, &["update-ref", "refs/heads/bomb", &commit]);
    let request =
        json!({ "action": "index_repository", "repo_id": "*", "repo_path": "shop", "branches": ["bomb"] });
    assert_eq!(bench.refusal(VCS, request), "path");
    for request in [
        json!({ "action": "compare_branches", "repo_id": "*", "repo_path": "shop", "base_branch": "main", "target_branch": "bomb" }),
        json!({ "action": "search_branch", "repo_id": "*", "repo_path": "shop", "query": "x", "target_branch": "bomb" }),
    ] {
        let error = bench.answer(VCS, request).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains("1000000"), "{error}");
    }
}
