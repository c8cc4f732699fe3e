use std::{fs, path::Path};

use serde_json::{Value, json};

use super::bench::{Bench, commit_all, git};

/// Serves a workspace with the repository `shop`: on the branch `topic`, a function that another file uses is changed, a file
/// renamed and one added. There is another repository outside of the workspace, and a link to it.
fn shop() -> (Bench, tempfile::TempDir) {
    let bench = Bench::with_project();
    let outside = tempfile::tempdir().expect("a folder");
    let top = bench.folder().join("shop");
    bench.write("shop/price.py", "def total(prices):\n    return sum(prices)\n");
    bench.write("shop/cart.py", "from price import total\n\ndef pay(cart):\n    return total(cart)\n");
    bench.write("shop/notes.txt", "one\ntwo\nthree\nfour\n");
    commit_all(&top, "first");
    git(&top, &["checkout", "-q", "-b", "topic"]);
    bench.write("shop/price.py", "def total(prices):\n    prices = list(prices)\n    return sum(prices)\n");
    git(&top, &["mv", "notes.txt", "NOTES.md"]);
    bench.write("shop/new.bin", "\0");
    commit_all(&top, "second");
    git(outside.path(), &["init", "-q", "-b", "main"]);
    git(outside.path(), &["commit", "-q", "--allow-empty", "-m", "secret"]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), bench.folder().join("link")).expect("a link");
    (bench, outside)
}

fn ask(action: &str, members: Value) -> Value {
    let mut request = json!({ "action": action, "repo_id": "*", "repo_path": "shop" });
    let members = members.as_object().expect("members").clone();
    request.as_object_mut().expect("a request").extend(members);
    request
}

fn id_of(bench: &Bench) -> String {
    let listed = bench.call("vcs", ask("list_repositories", json!({})));
    listed["repositories"][0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn repositories_of_the_workspace_are_listed() {
    let (bench, _outside) = shop();
    let top = bench.folder().join("shop").canonicalize().expect("a path");
    let head = git(&top, &["rev-parse", "HEAD"]);
    let expected = json!({ "count": 1, "repositories": [
        { "id": id_of(&bench), "path": top, "default_branch": "main", "head": head },
    ] });
    for (path, id) in [(".", "*"), ("shop", "*"), (".", &id_of(&bench))] {
        let request = ask("list_repositories", json!({ "repo_path": path, "repo_id": id }));
        assert_eq!(bench.call("vcs", request), expected, "{path} {id}");
    }
    git(&bench.folder(), &["init", "-q", "--object-format=sha256", "other"]);
    let (answer, meta) =
        bench.answer("vcs", ask("list_repositories", json!({ "repo_path": "." }))).expect("a list");
    assert_eq!(
        (&answer, meta["tabellion/warnings"].as_array().map(Vec::len)),
        (&expected, Some(1)),
        "{meta}"
    );
    let other = ask("list_repositories", json!({ "repo_id": "another" }));
    let none = json!({ "count": 0, "repositories": [] });
    assert_eq!(bench.call("vcs", other), none);
}

#[test]
fn branches_are_compared() {
    let (bench, _outside) = shop();
    let base = git(&bench.folder().join("shop"), &["rev-parse", "main"]);
    let renamed = json!({
        "path": "NOTES.md", "old_path": "notes.txt", "status": "renamed", "additions": 0, "deletions": 0, "binary": false
    });
    let added = json!({
        "path": "new.bin", "old_path": null, "status": "added", "additions": 0, "deletions": 0, "binary": true
    });
    let modified = json!({
        "path": "price.py", "old_path": null, "status": "modified", "additions": 1, "deletions": 0, "binary": false
    });
    for (members, head, files, changed) in [
        (json!({}), "HEAD", json!([renamed, added, modified]), 3),
        (
            json!({ "base_branch": "main", "target_branch": "topic" }),
            "topic",
            json!([renamed, added, modified]),
            3,
        ),
        (json!({ "limit": 1 }), "HEAD", json!([renamed]), 3),
        (json!({ "target_branch": "main" }), "main", json!([]), 0),
    ] {
        let (answer, meta) =
            bench.answer("vcs", ask("compare_branches", members.clone())).expect("an answer");
        let expected = json!({
            "base_branch": "main", "head_branch": head, "merge_base": base, "files_changed": changed,
            "additions": u64::from(changed > 0), "deletions": 0, "files": files
        });
        assert_eq!(answer, expected, "{members}");
        let is_cut = members.get("limit").is_some();
        assert_eq!(meta["tabellion/truncated"] == true, is_cut, "{meta}");
        assert_eq!(meta["tabellion/total"] == 3, is_cut, "{meta}");
    }
}

#[test]
fn a_branch_is_searched_without_a_checkout() {
    let (bench, _outside) = shop();
    let (hit, id) = (json!({ "path": "notes.txt", "line": 3, "snippet": "three" }), id_of(&bench));
    for (members, branch, total, results) in [
        (json!({ "query": "THREE", "target_branch": "main" }), "main", 0, json!([])),
        (json!({ "query": "three" }), "main", 1, json!([hit])),
        (json!({ "query": "three", "base_branch": "main" }), "main", 1, json!([hit])),
        (
            json!({ "query": "prices", "target_branch": "topic", "limit": 1 }),
            "topic",
            3,
            json!([{ "path": "price.py", "line": 1, "snippet": "def total(prices):" }]),
        ),
    ] {
        let answer = bench.call("vcs", ask("search_branch", members.clone()));
        let expected = json!({
            "repository_id": id, "branch": branch, "query": members["query"], "count": results.as_array().expect("a list").len(),
            "total": total, "results": results
        });
        assert_eq!(answer, expected, "{members}");
    }
}

#[test]
fn an_impact_has_symbols_and_their_users() {
    let (bench, _outside) = shop();
    let mut answer = bench.call("vcs", ask("analyze_impact", json!({ "limit": 1 })));
    let score = answer["impact_score"].take().as_f64().expect("a score");
    assert!((score - (10.0 * 4_f64.ln() + 5.0 * 2_f64.ln())).abs() < 1e-9, "{score}");
    let expected = json!({
        "base_ref": "main", "head_ref": "HEAD", "impact_score": null,
        "summary": { "total_files": 3, "added": 1, "modified": 1, "deleted": 0, "renamed": 1, "total_changes": 1 },
        "impacted_files": [{
            "path": "price.py", "status": "modified", "impact": 1, "additions": 1, "deletions": 0, "symbols": ["def total"],
            "dependents": [
                { "path": "cart.py", "symbol": "", "line": 1 },
                { "path": "cart.py", "symbol": "def pay", "line": 4 },
            ]
        }]
    });
    assert_eq!(answer, expected);
    // A name that many files define is not followed, and the answer says so.
    for file in ["a", "b", "c", "d"] {
        bench.write(&format!("shop/{file}.py"), "def total(prices):\n    return 0\n");
    }
    commit_all(&bench.folder().join("shop"), "third");
    let (answer, meta) = bench.answer("vcs", ask("analyze_impact", json!({}))).expect("an answer");
    assert_eq!(answer["impacted_files"][0]["dependents"], json!([]));
    assert_eq!(meta["tabellion/ambiguous"], json!(["total"]));
}

#[test]
fn a_repository_is_the_one_that_its_id_names() {
    let (bench, _outside) = shop();
    let top = bench.folder().join("shop");
    let row =
        |id: &str, path: &Path| json!({ "id": id, "project_id": "shop", "name": id, "local_path": path });
    bench.add("repository", row("r-shop", &top));
    bench.add("repository", row("r-elsewhere", &bench.folder()));
    let id = id_of(&bench);
    let compare = |id: &str| {
        let request = ask("compare_branches", json!({ "repo_id": id }));
        bench.answer("vcs", request)
    };
    for id in ["*", &id, "r-shop"] {
        assert!(compare(id).is_ok(), "{id}");
    }
    for wrong in ["r-elsewhere", "unknown"] {
        let error = compare(wrong).expect_err(wrong);
        assert_eq!(error["rule"], "no_such");
        let expected = format!("repo_id is not the repository at repo_path; that is {id}");
        assert_eq!(error["message"], expected);
        assert_eq!(error["violations"][0]["pointer"], "/repo_id");
    }
}

#[test]
fn what_can_not_be_read_is_refused_with_its_rule() {
    let (bench, outside) = shop();
    let changes = bench.changes();
    fs::create_dir(bench.folder().join("bare-folder")).expect("a folder");
    let outside = outside.path().to_string_lossy().into_owned();
    let mut cases = vec![
        (json!({ "repo_path": outside }), "path"),
        (json!({ "repo_path": "../shop" }), "path"),
        (json!({ "repo_path": "nothing" }), "path"),
        (json!({ "repo_path": "shop/cart.py" }), "path"),
        (json!({ "repo_path": "bare-folder" }), "path"),
        (json!({ "base_branch": "mian" }), "no_such"),
        (json!({ "target_branch": "0000000" }), "no_such"),
        (json!({ "target_branch": "main~1" }), "no_such"),
    ];
    if cfg!(unix) {
        cases.push((json!({ "repo_path": "link" }), "path"));
    }
    for (members, rule) in cases {
        for action in ["compare_branches", "analyze_impact"] {
            let found = bench.refusal("vcs", ask(action, members.clone()));
            assert_eq!(found, rule, "{action} {members}");
        }
    }
    let two = json!({ "query": "x", "base_branch": "main", "target_branch": "topic" });
    assert_eq!(bench.refusal("vcs", ask("search_branch", two)), "one_branch");
    let lines = json!({ "query": "a\nb" });
    assert_eq!(bench.refusal("vcs", ask("search_branch", lines)), "query");
    assert_eq!(bench.changes(), changes, "reading leaves no entry in the log");
    git(&bench.folder().join("shop"), &["checkout", "-q", "--orphan", "fresh"]);
    let error = bench.answer("vcs", ask("compare_branches", json!({}))).expect_err("no commits");
    let expected = "HEAD is on a branch without commits; branches are `main`, `topic`; give `target_branch`";
    assert_eq!(error["message"], expected);
}
