use crate::testing::{Playground, commit, git};

#[test]
fn a_revision_is_what_git_takes_it_for() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    git(&top, &["tag", "v1"]);
    git(&top, &["tag", "-a", "-m", "annotated", "v2"]);
    git(&top, &["branch", "feature/x"]);
    git(&top, &["branch", "both"]);
    commit(&top, &[("b", Some("b"))], "second");
    git(&top, &["tag", "both"]);
    git(&top, &["checkout", "-q", "-b", "side", "HEAD~1"]);
    commit(&top, &[("c", Some("c"))], "beside");
    git(&top, &["checkout", "-q", "main"]);
    git(&top, &["merge", "-q", "-m", "merge", "side"]);
    git(&top, &["update-ref", "refs/remotes/origin/there", "HEAD~1"]);
    git(&top, &["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    git(&top, &["tag", "of-tree", "HEAD^{tree}"]);
    let head = git(&top, &["rev-parse", "HEAD"]);
    let tree = git(&top, &["rev-parse", "HEAD^{tree}"]);
    let repository = place.open("repo").expect("a repository");
    for name in [
        "HEAD",
        "@",
        "main",
        "v1",
        "v2",
        "feature/x",
        "heads/main",
        "refs/heads/main",
        "refs/tags/v2",
        "tags/v1",
        "both",
        "origin/there",
        "origin/main",
        &head,
        &head[..7],
        &head[..12],
        &head.to_uppercase(),
        "HEAD~1",
        "HEAD~",
        "@^",
        "main~2",
        "main~~",
        "main^2",
        "main^2~1",
        "main^0",
        "v2^0",
        "origin/there~0",
        &format!("{head}^1^"),
    ] {
        let expected = git(&top, &["rev-parse", "--verify", "-q", &format!("{name}^{{commit}}")]);
        let found = repository.revision(name);
        let found = found.map(|found| (found.commit.to_string(), found.name));
        assert_eq!(found.expect(name), (expected, name.to_owned()));
    }
    // As in `git switch`; git's revisions do not include these names.
    let there = repository.revision("there").expect("a branch of origin");
    assert_eq!(there.commit.to_string(), git(&top, &["rev-parse", "origin/there"]));
    let branches = "branches are `both`, `feature/x`, `main`, `side`";
    for (name, rule, expected) in [
        (
            "mian",
            "revision_unknown",
            format!("no branch, tag or commit is called `mian`; did you mean `main`? {branches}"),
        ),
        (
            "nothing-like-it",
            "revision_unknown",
            format!("no branch, tag or commit is called `nothing-like-it`; {branches}"),
        ),
        ("0000000", "revision_unknown", format!("no branch, tag or commit is called `0000000`; {branches}")),
        ("", "revision_unknown", String::new()),
        ("a b", "revision_unknown", String::new()),
        ("..", "revision_unknown", String::new()),
        (
            "main~9",
            "revision_unknown",
            "no branch, tag or commit is called `main~9`; the history of `main` does not go back to it"
                .into(),
        ),
        ("main^3", "revision_unknown", String::new()),
        ("main~é", "revision_unknown", String::new()),
        ("main^{commit}", "revision_unknown", String::new()),
        ("~", "revision_unknown", String::new()),
        ("main~99999999999999999999", "revision_unknown", String::new()),
        ("main~100001", "revision_unknown", String::new()),
        ("../../outside", "revision_unknown", String::new()),
        ("refs/heads/../../config", "revision_unknown", String::new()),
        ("config", "revision_unknown", String::new()),
        ("of-tree", "revision_no_commit", "`of-tree` is no commit; give a branch, tag or commit".into()),
        (&tree, "revision_no_commit", String::new()),
    ] {
        let error = repository.revision(name).expect_err(name);
        assert_eq!(error.rule(), rule, "{name}");
        let said = error.to_string();
        assert!(expected.is_empty() || said == expected, "{said}");
    }
}

#[test]
fn a_repository_without_commits_says_so() {
    let place = Playground::new();
    git(&place.path("ws"), &["init", "-q", "empty"]);
    let repository = place.open("empty").expect("a repository");
    for (name, rule) in [("HEAD", "repository_empty"), ("main", "revision_unknown")] {
        assert_eq!(repository.revision(name).expect_err(name).rule(), rule);
    }
    let said = repository.revision("main").expect_err("no branch").to_string();
    assert_eq!(
        said,
        "no branch, tag or commit is called `main`; there are no branches yet; commit something first"
    );
}

#[test]
fn a_branch_without_commits_is_not_an_empty_repository() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    git(&top, &["tag", "main"]);
    commit(&top, &[("b", Some("b"))], "second");
    git(&top, &["checkout", "-q", "--orphan", "fresh"]);
    let repository = place.open("repo").expect("a repository");
    let error = repository.revision("HEAD").expect_err("no commits");
    assert_eq!(error.to_string(), "HEAD is on a branch without commits; branches are `main`");
    // The tag of the same name does not hide the main branch.
    let base = repository.default_revision().expect("a branch");
    let expected = git(&top, &["rev-parse", "refs/heads/main"]);
    assert_eq!((base.name, base.commit.to_string()), ("main".into(), expected));
}

#[test]
fn many_branches_are_listed_in_part() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    for number in 0..25 {
        git(&top, &["branch", &format!("branch-{number:02}")]);
    }
    let repository = place.open("repo").expect("a repository");
    let said = repository.revision("something").expect_err("unknown").to_string();
    assert!(said.ends_with("`branch-19` and 6 more"), "{said}");
}
