//! Interference by others: saved bytes in the way, a rewritten history, a hostile configuration.

use std::{fs, os::unix::fs::PermissionsExt};

use super::machines::{BRANCH, LIST, Machines};
use crate::{
    checks::prelude::*,
    history::{lines_with, versions},
    judgement::{self},
    ledger::git,
};

named! {
    /// The line that a person has saved.
    enum Saved {
        AtTheBeginning = "a line at the beginning",
        /// The remote's commit and the call also append there.
        AtTheEnd = "a line at the end",
    }
}

pub(super) fn ways(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(Saved::ALL.map(|saved| Case::new(saved.name(), saved)).into())
}

pub(super) fn judge_way(bench: &Bench<'_>, case: &Case) -> Judgement {
    let machines = Machines::new(bench, 1)?;
    let mut client = machines.start(0)?;
    let first = machines.must_append(&mut client, "first")?;
    let list = machines.list()? + "\n";
    let saved = match case.read()? {
        Saved::AtTheEnd => format!("{list}- saved\n"),
        Saved::AtTheBeginning => list.replacen("# List\n", "# List\n\n- saved\n", 1),
    };
    machines.push_line("person")?;
    machines.scene.put(LIST, &saved)?;
    let mut second = machines.edit("second")?;
    second.make(&mut client)?;
    let is_kept = |version: &Vec<u8>| lines_with("saved", String::from_utf8_lossy(version).lines()) > 0;
    ensure(versions(&machines.scene.library())?.iter().any(is_kept), || {
        "a line that a person has saved is neither in the folder nor in the history".to_owned()
    })
    .map_err(|stop| stop.showing(LIST, Some(saved.as_bytes()), machines.scene.read(LIST).as_deref()))?;
    machines.ensure_line("person", "a person")?;
    if second.is_done() {
        let kept =
            machines.git(&["log", "--full-history", "--format=%H", "-S- saved", BRANCH, "--", LIST])?;
        ensure(!kept.is_empty(), || {
            "a call has succeeded, and a line that a person had saved is not in the branch's history"
                .to_owned()
        })?;
    }
    machines.ensure_shared(&[first, second])
}

pub(super) fn judge_rewritten(bench: &Bench<'_>, _: &Case) -> Judgement {
    let machines = Machines::new(bench, 1)?;
    let mut client = machines.start(0)?;
    machines.must_append(&mut client, "first")?;
    machines.must_append(&mut client, "second")?;
    let upstream = format!("origin/{BRANCH}");
    machines.person(&["fetch", "--quiet"])?;
    machines.person(&["reset", "--quiet", "--hard", &format!("{upstream}~1")])?;
    machines.person(&["commit", "--quiet", "--allow-empty", "-m", "rewritten"])?;
    machines.person(&["push", "--quiet", "--force", "origin", BRANCH])?;
    let (before, rewritten) = (machines.scene.view()?, machines.tip()?);
    let mut third = machines.edit("third")?;
    third.make(&mut client)?;
    ensure(machines.has(&rewritten), || {
        "the history that a person has pushed by force was replaced by the server's own".to_owned()
    })?;
    if third.is_refused() {
        before.same(&machines.scene.view()?, "a refused call")?;
    }
    machines.ensure_shared(&[third])
}

pub(super) fn judge_configuration(bench: &Bench<'_>, _: &Case) -> Judgement {
    let machines = Machines::new(bench, 1)?;
    let (remote, decoy, ran) = (machines.remote(), machines.beside("decoy.git"), machines.beside("ran"));
    let (remote, decoy) = (remote.to_string_lossy(), decoy.to_string_lossy());
    git(&machines.remote(), &["init", "--quiet", "--bare", &decoy])?;
    let program = |then: &str| format!("touch '{}'; {then}", ran.display());
    let library = machines.scene.library();
    let hooks = library.join(".git/hooks");
    for (key, value) in [
        (format!("url.{decoy}.insteadOf"), remote.to_string()),
        (format!("url.{decoy}.pushInsteadOf"), remote.to_string()),
        (format!("remote.{remote}.receivepack"), program("git-receive-pack")),
        (format!("remote.{remote}.uploadpack"), program("git-upload-pack")),
        ("core.hooksPath".to_owned(), hooks.to_string_lossy().into_owned()),
    ] {
        machines.scene.git(&["config", &key, &value])?;
    }
    fs::create_dir_all(&hooks)?;
    for name in ["pre-push", "reference-transaction", "post-merge"] {
        fs::write(hooks.join(name), format!("#!/bin/sh\n{}\n", program("true")))?;
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755))?;
    }
    bench.trace.did("git's configuration in the library names another repository and programs");
    machines.push_line("person")?;
    let mut client = machines.start(0)?;
    let mut edit = machines.edit("first")?;
    edit.make(&mut client)?;
    ensure(!ran.exists(), || "a program that the library's configuration names has run".to_owned())?;
    let redirected = git(decoy.as_ref().as_ref(), &["for-each-ref"])?;
    ensure(redirected.is_empty(), || {
        "the library's configuration has redirected a push to another repository".to_owned()
    })?;
    if let Some(Reply::Refused(refusal)) = &edit.reply {
        return Err(judgement::refused("a valid call", refusal));
    }
    machines.ensure_shared(&[edit])
}
