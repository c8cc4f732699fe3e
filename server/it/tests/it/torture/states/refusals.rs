//! States in which reading works, and a change would interfere with a person's unfinished work.

use std::{fs, thread, time::Duration};

use super::{State, hold, scene::Scene};
use crate::support::edit;

const ON_THE_WAY: &[State] = &[
    State::refused("merge", CONFLICT, &[("notes/gone.md", "a merge is in progress"), ("new.md", "git merge --abort")]),
    State::refused("merge without conflicts", "git switch -qc side; git commit -q --allow-empty -m s; git switch -q main; git commit -q --allow-empty -m m
         git merge -q --no-commit --no-ff side", &[("notes/a.md", "a merge is in progress")]),
    State::refused("rebase", "git switch -qc side; echo s > notes/a.md; git commit -qam side
         git switch -q main; echo m > notes/a.md; git commit -qam main; git rebase -q side || true",
        &[("notes/gone.md", "a rebase is in progress")]),
    State::refused("interactive rebase", "git commit -q --allow-empty -m 2
         GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i --keep-empty HEAD~1",
        &[("notes/a.md", "a rebase is in progress")]),
    State::refused("cherry-pick", "git switch -qc side; echo s > notes/a.md; git commit -qam side
         git switch -q main; echo m > notes/a.md; git commit -qam main; git cherry-pick side || true",
        &[("notes/gone.md", "a cherry-pick is in progress")]),
    State::refused("revert", "echo 2 > notes/a.md; git commit -qam 2; echo 3 > notes/a.md; git commit -qam 3
         git revert HEAD~1 || true", &[("notes/gone.md", "a revert is in progress")]),
    State::refused("mailbox", "echo 2 > notes/a.md; git commit -qam 2; git format-patch -q -o .. -1; git reset -q --hard HEAD~1
         echo 3 > notes/a.md; git commit -qam 3; git am ../0001* || true", &[("notes/gone.md", "git am --abort")]),
    State::refused("bisection", "for n in 1 2 3 4; do git commit -q --allow-empty -m $n; done
         git bisect start -q HEAD HEAD~3", &[("notes/a.md", "a bisection is in progress")]),
    State::refused("detached HEAD", "git switch -q --detach", &[("notes/a.md", "HEAD is detached"), ("new.md", "git switch")]),
    State::refused("in a linked working tree, a merge there", "git worktree add -q -b side ../linked; git commit -q --allow-empty -m m
         git -C ../linked commit -q --allow-empty -m s; git -C ../linked merge -q --no-commit --no-ff main",
        &[("notes/a.md", "a merge is in progress")]).with_library("linked"),
    State::served("a merge in another working tree", "git worktree add -q -b side ../linked; git commit -q --allow-empty -m m
         git -C ../linked commit -q --allow-empty -m s; git -C ../linked merge -q --no-commit --no-ff main"),
    State::refused("branch that stands for another", "git symbolic-ref refs/heads/alias refs/heads/main
         git symbolic-ref HEAD refs/heads/alias", &[("notes/a.md", "is a symbolic reference")]),
];

/// A merge of two sides of `notes/a.md`.
const CONFLICT: &str = "git switch -qc side; echo s > notes/a.md; git commit -qam side
    git switch -q main; echo m > notes/a.md; git commit -qam main; git merge -q side || true";

const INDEX: &[State] = &[
    State::served("a conflict, of which the merge was forgotten", "git switch -qc side; echo s > notes/b.md; git add .; git commit -qam side
         git switch -q main; echo m > notes/b.md; git add .; git commit -qam main; git merge -q side || true; rm .git/MERGE_*")
        .but(&[("notes/b.md", "has a merge conflict in the index")]),
    State::refused("split index", "git update-index --split-index", &[("notes/a.md", "git update-index --no-split-index"), ("notes/new.md", "the index is split")]),
    State::refused("damaged index", "", &[("notes/a.md", "the index is damaged")]).then("printf 'DIRC broken' > .git/index"),
];

#[test]
fn what_a_person_is_in_the_middle_of_is_not_disturbed() {
    hold(ON_THE_WAY);
}

#[test]
fn an_index_that_can_not_be_changed_is_left() {
    hold(INDEX);
}

#[test]
fn a_lock_of_gits_is_waited_for_and_never_broken() {
    let scene = Scene::new(State::served("index held", ""));
    let lock = scene.library().join(".git/index.lock");
    let mut server = scene.serve();
    fs::write(&lock, "").expect("a lock");
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(500));
            fs::remove_file(&lock).expect("the lock is there");
        });
        server.call("edit_markdown", edit("notes/a.md", "append", "", "1\n")).expect("edited");
    });
    fs::write(&lock, "").expect("a lock");
    let refusal = server.call("edit_markdown", edit("notes/a.md", "append", "", "2\n")).expect_err("held");
    assert_eq!(refusal.name, "BUSY");
    assert!(refusal.message.contains("index.lock"), "{refusal:?}");
    assert_eq!(fs::read(&lock).expect("the lock is there"), b"");
    assert_eq!(scene.git("rev-list --count HEAD"), "2\n");
    assert_eq!(scene.get("notes/a.md").as_deref(), Some("# A\n1\n"));
}
