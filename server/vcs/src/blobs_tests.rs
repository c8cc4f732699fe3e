use super::*;
use crate::testing::{GO_ON, Playground, commit, git};

fn paths(repository: &GitRepository, submodules: Submodules<'_>) -> (Vec<String>, Vec<String>) {
    let head = repository.revision("HEAD").expect("a commit");
    let mut blobs = repository.blobs(&head, submodules, GO_ON).expect("files");
    let mut paths = Vec::new();
    while let Some(blob) = blobs.next() {
        let blob = blob.expect("a file");
        let bytes = blobs.read(&blob).expect("bytes");
        assert_eq!(bytes.len() as u64, blob.size, "{}", blob.path);
        paths.push(format!("{} {}", blob.path, String::from_utf8_lossy(&bytes)));
    }
    (paths, blobs.skipped_submodules().to_vec())
}

#[test]
fn the_files_of_a_commit_are_those_that_git_lists() {
    let place = Playground::new();
    let inner = place.init("ws/inner");
    let top = place.init("ws/repo");
    commit(
        &top,
        &[("b/c", Some("c")), ("b.txt", Some("b")), ("é", Some("e")), ("a/b/c/d", Some("d"))],
        "files",
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink("b.txt", top.join("link")).expect("a link");
    git(&top, &["submodule", "--quiet", "add", &inner.to_string_lossy(), "sub"]);
    git(&top, &["submodule", "--quiet", "add", &inner.to_string_lossy(), "gone"]);
    commit(&top, &[], "submodules");
    git(&top, &["submodule", "--quiet", "deinit", "-f", "gone"]);
    let repository = place.open("repo").expect("a repository");
    let (found, skipped) = paths(&repository, Submodules::Skip);
    let listed = git(&top, &["-c", "core.quotePath=false", "ls-tree", "-r", "HEAD"]);
    let listed: Vec<_> = listed.lines().filter(|line| line.starts_with("100")).collect();
    let names = |lines: &[String]| {
        lines.iter().map(|line| line.split(' ').next().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    let of_git: Vec<_> =
        listed.iter().map(|line| line.split('\t').nth(1).expect("a path").to_owned()).collect();
    assert_eq!(names(&found), of_git);
    assert_eq!(skipped, ["gone", "sub"]);
    assert!(found.contains(&"a/b/c/d d".to_owned()), "{found:?}");

    let (found, skipped) = paths(&repository, Submodules::Include(&place.workspaces));
    assert!(found.contains(&"sub/file ws/inner".to_owned()), "{found:?}");
    assert_eq!(skipped, ["gone"]);
    let nowhere =
        crate::Workspaces::new(&[place.path("outside")], &place.path("outside")).expect("a workspace");
    let (_, skipped) = paths(&repository, Submodules::Include(&nowhere));
    assert_eq!(skipped, ["gone", "sub"]);
}

#[test]
fn files_of_a_branch_need_no_checkout() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    git(&top, &["checkout", "-q", "-b", "topic"]);
    commit(&top, &[("only-there", Some("text"))], "topic");
    git(&top, &["checkout", "-q", "main"]);
    let repository = place.open("repo").expect("a repository");
    let topic = repository.revision("topic").expect("a branch");
    let mut blobs = repository.blobs(&topic, Submodules::Skip, GO_ON).expect("files");
    assert!(blobs.any(|blob| blob.expect("a file").path == "only-there"));
    let mut cancelled = repository.blobs(&topic, Submodules::Skip, &|| true).expect("files");
    assert!(matches!(cancelled.next(), Some(Err(VcsError::Cancelled))));
    assert!(cancelled.next().is_none());
}
