//! Programs that a repository or the environment configures, and an environment that names another repository.

use super::{State, hold};

/// A program that leaves a canary when the server runs it, and none when git does.
macro_rules! trapped {
    ($deed:literal) => {
        concat!(
            "printf '#!/bin/sh\\ntest -z \"$CANARY\" || touch \"$CANARY\"\\ntest \"$1\" != 2\\n' > ../trap; chmod +x ../trap\n",
            $deed
        )
    };
}

const CONFIGURED: &[State] = &[
    State::served("hooks", trapped!("mkdir .git/hooks
        for hook in applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg \
            post-commit pre-rebase post-checkout post-merge pre-push reference-transaction pre-auto-gc post-rewrite \
            post-index-change fsmonitor-watchman; do cp ../trap .git/hooks/$hook; done")),
    State::served("hooks elsewhere", trapped!("mkdir ../hooks
        for hook in pre-commit post-commit reference-transaction post-index-change; do cp ../trap ../hooks/$hook; done
        git config core.hooksPath \"$T/hooks\"")),
    State::served("a file system monitor", trapped!("git config core.fsmonitor \"$T/trap\"; git update-index --fsmonitor")),
    State::served("signing", trapped!("git config commit.gpgSign true; git config tag.gpgSign true
        git config gpg.program \"$T/trap\"; git config gpg.ssh.program \"$T/trap\"; git config user.signingKey none")),
    State::served("filters and diffs", trapped!("for key in filter.trap.smudge filter.cleaned.clean diff.trap.command \
            diff.trap.textconv diff.external merge.trap.driver; do git config $key \"$T/trap\"; done
        printf '*.md filter=trap diff=trap merge=trap\\nx.md filter=cleaned\\n' > .gitattributes"))
        .but(&[("x.md", "filter")]),
    State::served("helpers", trapped!("for key in core.sshCommand core.editor core.pager core.askPass credential.helper \
            core.alternateRefsCommand uploadpack.packObjectsHook sequence.editor; do git config $key \"$T/trap\"; done
        git config alias.status '!exit 1'; git config maintenance.auto true; git config gc.auto 1")),
];

const ENVIRONMENTS: &[State] = &[
    State::served("an environment that means another repository", "git clone -q . ../other").within(
        "o=$T/other; export GIT_DIR=$o/.git GIT_WORK_TREE=$o GIT_COMMON_DIR=$o/.git GIT_INDEX_FILE=$o/stray-index
         export GIT_OBJECT_DIRECTORY=$o/.git/objects GIT_ALTERNATE_OBJECT_DIRECTORIES=$o/.git/objects
         export GIT_QUARANTINE_PATH=$o/.git/objects GIT_SHALLOW_FILE=$o/shallow GIT_GRAFT_FILE=$o/grafts",
    ),
    State::served("an environment that configures", "").within(
        "printf '[core]\\nbare = true\\n[user]\\nname = Environment\\n' > $HOME/../../evil
         export GIT_CONFIG=$HOME/../../evil GIT_CONFIG_GLOBAL=$HOME/../../evil GIT_CONFIG_SYSTEM=$HOME/../../evil
         export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=core.bare GIT_CONFIG_VALUE_0=true
         export GIT_CONFIG_KEY_1=core.autocrlf GIT_CONFIG_VALUE_1=true
         export GIT_CONFIG_PARAMETERS=\"'core.bare=true'\" GIT_ATTR_SOURCE=HEAD GIT_DEFAULT_HASH=sha256",
    ),
    State::served("an environment that narrows", "").within(
        "export GIT_CEILING_DIRECTORIES=$T/lib GIT_NAMESPACE=evil GIT_REPLACE_REF_BASE=refs/heads/ GIT_DEFAULT_REF_FORMAT=reftable
         export GIT_LITERAL_PATHSPECS=1 GIT_ICASE_PATHSPECS=1 GIT_TEST_ASSUME_DIFFERENT_OWNER=1 GIT_PROTOCOL=version=9
         export GIT_AUTHOR_DATE=1 GIT_COMMITTER_DATE=1 GIT_TRACE=$T/trace GIT_TRACE2=$T/trace",
    ),
    State::served("an environment that names programs", trapped!("")).within(
        "t=$T/trap; export GIT_EDITOR=$t EDITOR=$t VISUAL=$t GIT_PAGER=$t PAGER=$t GIT_SSH=$t GIT_SSH_COMMAND=$t GIT_ASKPASS=$t
         export SSH_ASKPASS=$t GIT_EXTERNAL_DIFF=$t GIT_PROXY_COMMAND=$t GIT_EXEC_PATH=$T GIT_SEQUENCE_EDITOR=$t
         ln -sf $t $HOME/../../git; export PATH=$HOME/../..:$PATH",
    ),
    State::served("no home folder", "").within("unset HOME"),
    State::served("a strict umask", "").within("umask 077"),
];

#[test]
fn nothing_that_is_configured_runs() {
    hold(CONFIGURED);
}

#[test]
fn the_environment_of_git_says_nothing() {
    hold(ENVIRONMENTS);
}
