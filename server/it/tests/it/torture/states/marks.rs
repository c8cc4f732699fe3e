//! Files that git must not check, or must not have in the working tree.

use super::{State, hold};

const OUTSIDE: &str = "git sparse-checkout add";

const SPARSE: &[State] = &[
    State::served(
        "sparse checkout of folders",
        "mkdir far; cp notes/a.md far; git add .; git commit -qm far
         git sparse-checkout set --cone notes; test ! -e far",
    )
    .but(&[("far/a.md", OUTSIDE), ("far/new.md", OUTSIDE), ("deep/far/new.md", OUTSIDE)]),
    State::served(
        "sparse checkout by patterns",
        "mkdir far; cp notes/a.md far; git add .; git commit -qm far
         git sparse-checkout set --no-cone '/*' '!/far/'; test ! -e far",
    )
    .but(&[("far/a.md", OUTSIDE), ("far/off/new.md", OUTSIDE)]),
    State::served(
        "a file put back outside of the sparse checkout",
        "mkdir far; cp notes/a.md far; git add .; git commit -qm far
         git sparse-checkout set --cone notes; mkdir far; cp notes/a.md far",
    )
    .changing(["notes/new.md", "far/a.md", "notes/gone.md"]),
    State::served(
        "sparse index",
        "mkdir far; cp notes/a.md far; git add .; git commit -qm far
         git sparse-checkout set --cone --sparse-index notes; git ls-files --sparse | grep -q '^far/$'",
    )
    .but(&[("far/a.md", OUTSIDE), ("far/new.md", OUTSIDE)]),
];

const MARKED: &[State] = &[
    State::served("assume-unchanged", "git update-index --assume-unchanged notes/a.md"),
    State::served("assume-unchanged, and changed", "cp notes/a.md notes/b.md; git add .; git commit -qm b; git update-index --assume-unchanged notes/b.md; echo mine >> notes/b.md")
        .but(&[("notes/b.md", "git update-index --no-assume-unchanged")]),
    State::served("skip-worktree", "cp notes/a.md notes/b.md; git add .; git commit -qm b; git update-index --skip-worktree notes/b.md; echo mine >> notes/b.md")
        .but(&[("notes/b.md", "git update-index --no-skip-worktree")]),
    State::served("skip-worktree, and not there", "cp notes/a.md notes/b.md; git add .; git commit -qm b; git update-index --skip-worktree notes/b.md; rm notes/b.md")
        .but(&[("notes/b.md", "git update-index --no-skip-worktree")]),
];

#[test]
fn a_sparse_checkout_stays_as_it_is() {
    hold(SPARSE);
}

#[test]
fn what_git_shall_not_look_at_is_not_taken_for_a_change() {
    hold(MARKED);
}
