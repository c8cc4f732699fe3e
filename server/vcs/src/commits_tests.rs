use crate::testing::{GO_ON, Playground, commit, git};

#[test]
fn commits_are_those_that_git_logs() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    for number in 0..5 {
        commit(&top, &[], &format!("subject {number}\n\nbody é\n"));
    }
    git(&top, &["checkout", "-q", "-b", "topic", "HEAD~3"]);
    commit(&top, &[("t", Some("t"))], "on a topic");
    git(&top, &["checkout", "-q", "main"]);
    git(&top, &["merge", "-q", "-m", "merge", "topic"]);
    git(&place.path("ws"), &["clone", "-q", "--depth", "2", &format!("file://{}", top.display()), "shallow"]);
    for (path, depth) in [("repo", 1), ("repo", 3), ("repo", 100), ("repo", 0), ("shallow", 100)] {
        let repository = place.open(path).expect("a repository");
        let head = repository.revision("HEAD").expect("a commit");
        let found = repository.commits(&head, depth, GO_ON).expect("commits");
        let mut ours: Vec<_> =
            found.iter().map(|commit| format!("{} {}", commit.id, commit.author)).collect();
        let log = git(&place.path("ws").join(path), &["log", &format!("-{depth}"), "--format=%H %an"]);
        let mut log: Vec<_> = log.lines().map(str::to_owned).collect();
        assert_eq!(ours.len(), log.len(), "{path} {depth}");
        // Within a second, commits may be in any order.
        if depth == 100 {
            ours.sort_unstable();
            log.sort_unstable();
            assert_eq!(ours, log, "{path}");
            assert!(found.iter().any(|commit| commit.message.contains("merge")));
        }
        assert!(found.is_sorted_by(|one, next| one.time >= next.time), "{path} {depth}");
    }
    let repository = place.open("repo").expect("a repository");
    let head = repository.revision("HEAD").expect("a commit");
    assert_eq!(repository.commits(&head, 5, &|| true).expect_err("cancelled").rule(), "cancelled");
}
