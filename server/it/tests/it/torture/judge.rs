//! Checks that hold for a library at any time: no lock or leftover remains, git finds it sound, and the log agrees with the
//! history.

use std::{collections::HashSet, fs};

use serde_json::json;
use tabellion_conformance::ledger;

use super::{
    calls::{self, Call, CallOutcome},
    history::{self, Commit},
};
use crate::support::Library;

/// Returns the faults of the library, whose current branch has `commits`.
pub(super) fn faults_of_library(library: &Library, commits: &[Commit]) -> Vec<String> {
    let mut faults: Vec<_> =
        history::leftovers(library.root()).iter().map(|left| format!("`{left}` is left")).collect();
    if let Err(error) = ledger::fsck(library.root()) {
        faults.push(error.to_string());
    }
    let log =
        library.serve().call("get_markdown_activity_log", json!({ "limit": 1_000_000 })).expect("a log");
    let entries = log["entries"].as_array().expect("entries");
    let logged = entries.iter().filter_map(|entry| entry["git_commit_sha"].as_str());
    let ours = |commit: &&Commit| {
        commit.trailer("Tabellion-Operation").is_some_and(|operation| operation != "external")
    };
    if !logged.eq(commits.iter().rev().filter(ours).map(|commit| &*commit.id)) {
        faults.push(format!("the log's {} entries are not the history", entries.len()));
    }
    faults
}

/// Returns every version of every document that is in the history, in the folder, or kept as a late save.
pub(super) fn kept_versions(library: &Library) -> HashSet<Vec<u8>> {
    let mut versions: HashSet<_> = history::versions(library.root()).into_iter().collect();
    for folder in [library.root().to_owned(), library.path(".git/tabellion")] {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                versions.insert(fs::read(path).expect("a version"));
            }
        }
    }
    versions
}

/// Returns the number of late saves that were kept.
pub(super) fn late(library: &Library) -> usize {
    let own = fs::read_dir(library.path(".git/tabellion")).expect("our folder");
    own.filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("late-"))
        .count()
}

/// Returns tokens that are doubled in a version, and tokens of refused calls in a version.
pub(super) fn faults_of_versions(calls: &[Call], versions: &HashSet<Vec<u8>>) -> Vec<String> {
    let mut doubled = HashSet::new();
    let mut all = HashSet::new();
    let texts: Vec<_> = versions.iter().map(|version| String::from_utf8_lossy(version)).collect();
    for text in &texts {
        doubled.extend(calls::doubled(calls, text));
        all.extend(text.split_whitespace());
    }
    let refused =
        calls.iter().filter(|call| matches!(call.end, CallOutcome::Refused(_)) && all.contains(&*call.token));
    let doubled = doubled.iter().map(|token| format!("{token} is there twice"));
    doubled.chain(refused.map(|call| format!("{} was refused and is there", call.token))).collect()
}

#[test]
fn the_check_reports_unexpected_tokens() {
    let call = |token: &str, end: CallOutcome| Call { end, ..Call::new(token, "edit_markdown", json!({})) };
    let calls = [
        call("t1", CallOutcome::Commit("c1".to_owned())),
        call("t2", CallOutcome::Refused("CONFLICT".to_owned())),
    ];
    let faults = |text: &str| faults_of_versions(&calls, &HashSet::from([text.as_bytes().to_vec()]));
    assert_eq!(faults("- t1\n"), [""; 0]);
    assert_eq!(faults("- t1\n- x\n- t1\n"), ["t1 is there twice"]);
    assert_eq!(faults("- t2\n"), ["t2 was refused and is there"]);
}
