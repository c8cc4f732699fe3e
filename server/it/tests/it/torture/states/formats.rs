//! Git's formats of index, objects and branches.

use super::{State, hold};
use crate::torture::Effort;

const INDEX: &[State] = &[
    State::served("index version 2", "git update-index --index-version 2"),
    State::served("index version 3: an intent to add", "printf 'x\\n' > notes/b.md; git add -N notes/b.md"),
    State::served("index version 4", "git update-index --index-version 4"),
    State::served(
        "an index without a hash",
        "git config index.skipHash true; git update-index --force-write-index",
    ),
    State::served(
        "untracked cache",
        "git config core.untrackedCache true; git update-index --force-untracked-cache; GIT_OPTIONAL_LOCKS=1 git status",
    ),
    State::served(
        "feature.manyFiles",
        "git config feature.manyFiles true; git update-index --force-write-index; GIT_OPTIONAL_LOCKS=1 git status",
    ),
    State::served(
        "resolved conflicts in the index",
        "git switch -qc side; echo s > other.txt; git commit -qam side
         git switch -q main; echo m > other.txt; git commit -qam main
         git merge -q side || true; echo both > other.txt; git add other.txt; git commit -qm merged",
    ),
    State::served("no index", "git rm -rqf --cached .; git commit -qm none; rm .git/index").changing([
        "notes/new.md",
        "notes/new.md",
        "notes/new.md",
    ]),
];

const OBJECTS: &[State] = &[
    State::served("everything packed", "git gc -q --prune=now; test ! -e .git/refs/heads/main"),
    State::served(
        "commit graph, bitmaps, a pack of packs",
        "git repack -qadb; git commit-graph write --reachable; git multi-pack-index write",
    ),
    State::served("all objects borrowed", "git clone -q --shared . ../clone").with_library("clone"),
    State::served("objects borrowed by reference", "git clone -q --reference . \"file://$T/lib\" ../clone")
        .with_library("clone"),
    State::served("shallow clone", "git clone -q --depth 1 \"file://$T/lib\" ../clone").with_library("clone"),
    State::served(
        "shallow clone of a longer history",
        "for n in 1 2 3; do git commit -q --allow-empty -m $n; done
         git clone -q --depth 2 \"file://$T/lib\" ../clone",
    )
    .with_library("clone"),
    State::served(
        "clone without blobs",
        "git config uploadpack.allowFilter true
         git clone -q --filter=blob:none \"file://$T/lib\" ../clone",
    )
    .with_library("clone"),
    State::served(
        "a replaced commit",
        "echo 2 > other.txt; git commit -qam second; git replace --graft HEAD",
    ),
    State::not_started("SHA-256", "rm -rf .git; git init -q --object-format=sha256", "SHA-256"),
    State::not_started(
        "an unknown extension",
        "git config core.repositoryFormatVersion 1; git config extensions.fancy true",
        "fancy",
    ),
];

const BRANCHES: &[State] = &[
    State::served("branch only in packed-refs", "git pack-refs --all; test ! -e .git/refs/heads/main"),
    State::served("branch in a folder", "git switch -qc team/a/plan"),
    State::served(
        "branch in a folder, only in packed-refs",
        "git switch -qc team/plan; git pack-refs --all; test ! -e .git/refs/heads/team",
    ),
    State::served("a tag of the branch's name", "git tag main; git tag -a -m x notes"),
    State::served(
        "no branch yet",
        "rm -rf .git; git init -q -b team/first; rm -r notes other.txt; touch other.txt",
    )
    .changing(["notes/new.md", "notes/new.md", "notes/new.md"]),
    State::served("a new branch without commits", "git switch -q --orphan fresh; touch other.txt")
        .changing(["notes/new.md", "notes/new.md", "notes/new.md"]),
    State::served("logs of branches off", "git config core.logAllRefUpdates false; rm -r .git/logs"),
    State::not_started("reftable", "rm -rf .git; git init -q --ref-format=reftable", "references"),
];

const CONFIGURATION: &[State] = &[
    State::served("core.fileMode off", "git config core.fileMode false; chmod +x notes/a.md"),
    State::served("executable", "chmod +x notes/a.md; git commit -qam executable"),
    State::served("core.ignoreCase", "git config core.ignoreCase true"),
    State::served("core.precomposeUnicode", "git config core.precomposeUnicode true"),
    State::served(
        "core.checkStat minimal",
        "git config core.checkStat minimal; git config core.trustctime false",
    ),
    State::served("no user.name", "git config --global --unset user.name"),
    State::served(
        "user.useConfigOnly",
        "git config --global --remove-section user; git config user.useConfigOnly true",
    ),
    State::served("commit.gpgSign", "git config commit.gpgSign true; git config user.signingKey none"),
    State::served(
        "configuration of each working tree",
        "git config extensions.worktreeConfig true; git config --worktree core.fileMode false",
    ),
];

#[test]
fn an_index_of_any_format_is_served() {
    hold(INDEX);
}

#[test]
fn objects_wherever_they_are_serve() {
    hold(OBJECTS);
}

#[test]
fn branches_of_any_name_and_place_move() {
    hold(BRANCHES);
}

#[test]
fn what_is_configured_is_kept_to() {
    hold(CONFIGURATION);
}

/// Combines two random states, because there are too many pairs to list.
#[test]
fn formats_go_together() {
    let effort = Effort::from_environment();
    let pairs = effort.pick(2, u64::MAX);
    let draw = |states: &[State], at| states[effort.chance(at, states.len() as u64) as usize];
    for at in (0..pairs).take_while(|_| !effort.is_over()) {
        let index = draw(&INDEX[1..INDEX.len() - 1], 2 * at);
        let configured = draw(CONFIGURATION, 2 * at + 1);
        let leak = |text: String| -> &'static str { text.leak() };
        hold(&[State {
            name: leak(format!("{} + {} (seed {})", index.name, configured.name, effort.seed)),
            make: leak(format!("{}\n{}", index.make, configured.make)),
            ..index
        }]);
    }
}
