//! Positions of the library: in, under, next to and within other repositories.

use serde_json::json;

use super::{State, hold, scene::Scene};
use crate::support::edit;

const OTHER: &str = "belongs to another git repository";

const PLACES: &[State] = &[
    State::served("linked working tree", "git worktree add -q -b side ../linked").with_library("linked"),
    State::served(
        "working tree of a bare repository",
        "git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q -b side ../linked",
    )
    .with_library("linked"),
    State::served("beside a linked working tree", "git worktree add -q -b side ../linked"),
    State::served("around a linked working tree", "git worktree add -q -b side inner")
        .but(&[("inner/notes/a.md", OTHER)]),
    State::served(
        "a submodule",
        "git init -q ../outer; cd ../outer; git submodule -q add \"$T/lib\" sub; git commit -qm sub",
    )
    .with_library("outer/sub"),
    State::served(
        "around a submodule",
        "git clone -q . ../inner; git submodule -q add \"$T/inner\" sub; git commit -qm sub",
    )
    .but(&[("sub/notes/a.md", OTHER), ("sub/new.md", OTHER)]),
    State::served(
        "around an old submodule that has its own .git folder",
        "git clone -q . sub; git add sub; git commit -qm sub",
    )
    .but(&[("sub/notes/a.md", OTHER)]),
    State::served("around an unregistered repository", "git clone -q . notes/inner")
        .but(&[("notes/inner/notes/a.md", OTHER), ("notes/inner/new.md", OTHER)]),
    State::served(
        "folder of a larger repository",
        "mkdir docs; git mv notes docs; cp other.txt docs; git add .; git commit -qm docs",
    )
    .with_library("lib/docs"),
    State::served("root behind a symbolic link", "ln -s lib ../link").with_library("link"),
    State::served(".git behind a symbolic link", "mv .git ../git; ln -s ../git .git"),
    State::served(".git elsewhere", "git init -q --separate-git-dir ../git"),
    State::served("of another owner", "chown -R 12345:12345 . || true"),
    State::not_started("bare repository", "git clone -q --bare . ../bare.git", "bare repository")
        .with_library("bare.git"),
    State::not_started("git's own folder", "", "belongs to git").with_library("lib/.git"),
    State::not_started(
        "working tree elsewhere",
        "mkdir ../tree; git config core.worktree ../../tree",
        "working tree elsewhere",
    ),
    State::not_started("damaged .git file", "rm -rf .git; echo 'gitdir: nowhere' > .git", "can't be opened"),
];

/// Libraries that a repository around them ignores, with the message at the start.
const IGNORED: &[State] = &[
    State::not_started(
        "ignored folder",
        "echo 'private/' > .gitignore; mkdir private",
        "ignored by the git repository at",
    )
    .with_library("lib/private"),
    State::not_started(
        "below an ignored folder",
        "echo priv* > .git/info/exclude; mkdir -p private/notes",
        "`git init`",
    )
    .with_library("lib/private/notes"),
    State::not_started(
        "ignored by everybody's rules",
        "git config core.excludesFile \"$T/rules\"; echo notes > ../rules
         git rm -rq --cached notes; git commit -qm none",
        "ignored by the git repository at",
    )
    .with_library("lib/notes"),
    State::served(
        "ignored folder with a repository of its own",
        "echo private > .gitignore; git clone -q . private",
    )
    .with_library("lib/private"),
];

#[test]
fn a_library_is_served_where_it_is() {
    hold(PLACES);
}

#[test]
fn a_library_that_no_commit_could_carry_is_refused_at_the_start() {
    hold(IGNORED);
}

/// Files that a person added with `--force` can be changed; the rest of the folder stays ignored.
#[test]
fn in_an_ignored_folder_what_is_tracked_can_be_changed() {
    let state =
        State::served("tracked in an ignored folder", "echo notes > .gitignore").with_library("lib/notes");
    let mut scene = Scene::new(state.with_library("lib"));
    scene.state = state;
    let mut server = scene.serve();
    let read = server.call("read_markdown", json!({ "path": "a.md" })).expect("read");
    assert_eq!(read["content"], "# A\n");
    server.call("edit_markdown", edit("a.md", "append", "", "more\n")).expect("edited");
    assert_eq!(scene.git("show HEAD:./a.md"), "# A\nmore\n");
    for (tool, request) in [
        ("write_markdown", json!({ "path": "new.md", "content": "new\n" })),
        ("list_markdown_files", json!({ "path": "" })),
    ] {
        let refusal = server.call(tool, request).expect_err("refused");
        assert!(refusal.message.contains("ignored by git"), "{tool}: {refusal:?}");
    }
}

/// Reading by name reaches no further than listing.
#[test]
fn a_repository_inside_is_out_of_reach_for_reading() {
    let state = State::served("around a repository", "git clone -q . notes/inner");
    let scene = Scene::new(state);
    let mut server = scene.serve();
    for path in ["notes/inner/notes/a.md", "notes/inner/none.md"] {
        for (tool, request) in [
            ("read_markdown", json!({ "path": path })),
            ("preview_markdown_change", edit(path, "append", "", "x\n")),
        ] {
            let refusal = server.call(tool, request).expect_err("refused");
            assert!(refusal.message.contains(OTHER), "{tool} {path}: {refusal:?}");
        }
    }
}
