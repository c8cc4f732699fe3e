//! The contract `brainforge`: reviewed at the terminal while it is served.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Map, Value, json};
use tabellion_conformance::Target;
use tabellion_contracts::{
    braindrive_markdown,
    brainforge::{CONTRACT, tool},
};

use crate::support::{Library, Server, TABELLION, ended, exited};

/// Runs a command of the program on the library; returns true if it succeeded, and its output.
pub(crate) fn ran(library: &Library, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(TABELLION);
    command.args(arguments).arg("--library").arg(library.root());
    let (code, out, said) = ended(&mut command);
    (code == Some(0), out + said.as_str())
}

fn review(library: &Library, arguments: &[&str]) -> (bool, String) {
    ran(library, &[&["review"], arguments].concat())
}

/// Serves the library to an agent.
pub(crate) fn served(library: &Library) -> Target {
    served_at(library.root())
}

fn served_at(folder: &Path) -> Target {
    let mut command = Command::new(TABELLION);
    command.args(["serve", "--contract", CONTRACT.id, "--library"]).arg(folder);
    Server::start(&mut command).target
}

pub(crate) fn call(target: &mut Target, tool: &str, arguments: Value) -> Value {
    let answer = target.call(tool, arguments, Map::new()).expect("an answer");
    answer["result"]["structuredContent"].clone()
}

#[test]
fn an_agents_note_is_found_once_a_person_has_approved_it_at_the_terminal() {
    let library = Library::empty();
    let mut target = served(&library);
    let note = json!({ "content": "# Locks\n\nLocks are short.", "ai_justification": "asked to sum up" });
    let answer = target.call(tool::CREATE_NOTE, note, Map::new()).expect("an answer");
    let (created, waits) =
        (&answer["result"]["structuredContent"], &answer["result"]["_meta"]["tabellion/review"]);
    assert_eq!(created["status"], "pending_review", "{created}");
    let id = created["review_workflow_id"].as_str().expect("an id");
    let command = format!("tabellion review --web {id}");
    assert_eq!((&waits["id"], &waits["command"]), (&json!(id), &json!(command)));
    let said = answer["result"]["content"][1]["text"].as_str().unwrap_or_default();
    assert_eq!(said, format!("Waits for a review: `{command}`"));
    let found = |target: &mut Target| {
        call(target, tool::SEMANTIC_SEARCH, json!({ "query": "locks" }))["total_results"].clone()
    };
    assert_eq!(found(&mut target), 0);

    let (is_fine, said) = review(&library, &["list"]);
    assert!(is_fine && said.contains("Locks") && said.contains(&id[..8]), "{said}");
    let (is_fine, shown) = review(&library, &["show", id]);
    assert!(is_fine && shown.contains("+Locks are short."), "{shown}");
    let revision = waits["revision"].as_str().expect("a revision");
    assert!(shown.contains(&format!("revision  {}", &revision[..10])), "{shown}");
    let (is_fine, said) = review(&library, &["reject", id]);
    assert!(!is_fine && said.contains("needs notes"), "{said}");
    let before = library.ledger().commits.len();
    let (is_fine, said) = review(&library, &["approve", &id[..8]]);
    assert!(is_fine && said.contains("approved"), "{said}");
    assert_eq!(library.ledger().commits.len(), before + 1, "one commit for both documents");

    // The shown change is the change that was made.
    let note = library.root().join("notes");
    let file = std::fs::read_dir(note).expect("notes").next().expect("a note").expect("a note");
    for line in std::fs::read_to_string(file.path()).expect("text").lines() {
        assert!(shown.contains(&format!("+{line}")), "{line}: {shown}");
    }
    assert_eq!(found(&mut target), 1);
    let (is_fine, said) = review(&library, &["approve", id]);
    assert!(!is_fine && said.contains("has ended"), "{said}");
    assert!(review(&library, &["list"]).1.contains("nothing waits"));
    let approval = library.ledger().commits.first().expect("commits").clone();
    let (is_fine, said) = ran(&library, &["undo", &approval]);
    assert!(is_fine, "{said}");
    let (is_fine, said) = ran(&library, &["audit", "--check"]);
    assert!(is_fine, "approval and undo are executions: {said}");
    assert!(ran(&library, &["audit"]).1.contains("tabellion undo"));
    assert!(exited(target).success());
}

#[test]
fn a_version_of_a_note_that_undo_made_says_so() {
    let library = Library::empty();
    let mut command = Command::new(TABELLION);
    command.args(["serve", "--as", "owner", "--contract", CONTRACT.id, "--library"]).arg(library.root());
    let mut target = Server::start(&mut command).target;
    let note = json!({ "content": "# Locks\n\nShort.", "note_type": "insight", "ai_justification": "asked" });
    let id = call(&mut target, tool::CREATE_NOTE, note)["note_id"].clone();
    let change =
        json!({ "note_id": id, "version": 1, "content": "# Locks\n\nLong.", "change_reason": "more" });
    call(&mut target, tool::UPDATE_NOTE, change);
    let update = library.ledger().commits.first().expect("commits").clone();
    let (is_fine, said) = ran(&library, &["undo", &update]);
    assert!(is_fine, "{said}");
    let uri = format!("note://{}/versions", id.as_str().expect("an id"));
    let read = target.request("resources/read", json!({ "uri": uri })).expect("an answer");
    let text = read["result"]["contents"][0]["text"].as_str().expect("a text");
    let versions: Value = serde_json::from_str(text).expect("JSON");
    let summaries: Vec<_> =
        versions["versions"].as_array().expect("versions").iter().map(|it| &it["summary"]).collect();
    assert_eq!(
        summaries,
        [
            &json!(format!("revert {}: update {}: more", &update[..10], id.as_str().expect("an id"))),
            &json!("more"),
            &json!("create")
        ]
    );
    assert!(exited(target).success());
}

#[test]
fn an_approval_at_the_terminal_is_of_what_was_shown_last() {
    let library = Library::empty();
    let mut target = served(&library);
    let note = json!({ "content": "# Locks\n\nHarmless.", "ai_justification": "asked to sum up" });
    let created = call(&mut target, tool::CREATE_NOTE, note);
    let id = created["review_workflow_id"].as_str().expect("an id");
    let mut version = 1;
    let mut revise = |text: &str| {
        let change = json!({ "note_id": created["note_id"], "version": version, "content": text, "change_reason": "more" });
        let changed = call(&mut target, tool::UPDATE_NOTE, change);
        version = changed["new_version"].as_u64().expect("a number");
    };
    assert!(review(&library, &["show", id]).0);
    revise("# Locks\n\nUnread.");
    let (is_fine, said) = review(&library, &["approve", id]);
    assert!(!is_fine && said.contains("content: +1 -1 lines"), "{said}");
    let (_, shown) = review(&library, &["show", id]);
    let revision = shown.lines().find_map(|line| line.strip_prefix("revision  "));
    let revision = revision.expect("it is shown").to_owned();
    revise("# Locks\n\nUnread again.");
    let (is_fine, said) = review(&library, &["approve", id, "--revision", &revision]);
    assert!(!is_fine && said.contains("read it again"), "{said}");
    let (is_fine, said) = review(&library, &["approve", id, "--revision", "now"]);
    assert!(!is_fine && said.contains("hexadecimal"), "{said}");
    assert!(review(&library, &["show", id]).1.contains("+Unread again."));
    let (is_fine, said) = review(&library, &["approve", id]);
    assert!(is_fine && said.contains("approved"), "{said}");
    let left = std::fs::read_dir(library.root().join(".git/tabellion/aside"));
    assert_eq!(left.expect("a folder").count(), 0);
    assert!(exited(target).success());
}

#[test]
fn decisions_that_are_not_possible_are_not_proposed() {
    let library = Library::empty();
    let mut target = served(&library);
    let note = json!({ "content": "# Locks\n\nHarmless.", "ai_justification": "asked to sum up" });
    let created = call(&mut target, tool::CREATE_NOTE, note);
    let id = created["review_workflow_id"].as_str().expect("an id");
    assert!(review(&library, &["show", id]).1.contains("review approve"));
    assert!(review(&library, &["revise", id, "-m", "shorter"]).0);
    let (is_fine, shown) = review(&library, &["show", id]);
    assert!(is_fine && shown.contains("+Harmless.") && !shown.contains("review approve"), "{shown}");
    for command in ["approve", "revise", "withdraw"] {
        let (is_fine, said) = review(&library, &[command, id, "-m", "again"]);
        assert!(!is_fine && said.contains(&format!("`review {command}`")), "{said}");
        assert!(said.contains("possible for you now: `review reject`"), "{said}");
    }
    assert!(review(&library, &["reject", id, "-m", "no"]).0);
    assert!(exited(target).success());
}

/// As with git, a command in a folder of the library is about the library.
#[test]
fn proposals_are_found_from_a_folder_of_the_library() {
    let library = Library::empty();
    for folder in ["notes", "own/notes"] {
        std::fs::create_dir_all(library.root().join(folder)).expect("a folder");
    }
    let mut target = served(&library);
    let mut other = served_at(&library.root().join("own"));
    for (target, title) in [(&mut target, "Above"), (&mut other, "Below")] {
        let note =
            json!({ "content": format!("# {title}\n\nIt waits for a person."), "ai_justification": "asked" });
        call(target, tool::CREATE_NOTE, note);
    }
    for (folder, title) in [("", "Above"), ("notes", "Above"), ("own", "Below"), ("own/notes", "Below")] {
        let mut command = Command::new(TABELLION);
        command.args(["review", "list"]).current_dir(library.root().join(folder));
        let (code, out, said) = ended(&mut command);
        let others = ["Above", "Below"].into_iter().filter(|other| out.contains(other));
        assert_eq!((code, others.collect::<Vec<_>>()), (Some(0), vec![title]), "{folder}: {out}{said}");
    }
    for server in [target, other] {
        assert!(exited(server).success());
    }
}

#[test]
fn a_contract_without_roles_beside_one_with_them_is_reported() {
    let open = braindrive_markdown::CONTRACT.id;
    // The contracts of a server that runs, and those of one that starts.
    for (running, starting, warns) in [
        (vec![], vec![CONTRACT.id], false),
        (vec![], vec![open, CONTRACT.id], true),
        (vec![CONTRACT.id], vec![open], true),
        (vec![CONTRACT.id], vec![CONTRACT.id], false),
        (vec![open], vec![open], false),
    ] {
        let library = Library::empty();
        let serve = |contracts: &[&str]| {
            let mut command = Command::new(TABELLION);
            command.args(["serve", "--library"]).arg(library.root());
            contracts.iter().for_each(|name| {
                command.args(["--contract", name]);
            });
            command
        };
        let started = || ended(serve(&starting).stdin(Stdio::null())).2;
        let others = (!running.is_empty()).then(|| Server::start(&mut serve(&running)));
        let said = started();
        assert_eq!(
            said.contains("without its roles, gates and reviews"),
            warns,
            "{running:?}, {starting:?}: {said}"
        );
        if let Some(others) = others {
            others.close();
            let said = started();
            assert!(!said.contains("without its roles"), "the other server has ended: {said}");
        }
    }
}
