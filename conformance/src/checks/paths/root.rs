//! Checks of the library's root, and of folders that are replaced while calls run.

use std::{
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{
    checks::prelude::*,
    documents::CHANGES,
    layout::{self, SECRET},
    semantics,
};

pub(super) const SWAPPED_FOLDER: Check = Check {
    id: "paths/swapped-folder",
    guarantees: &[],
    states: "A folder that is replaced by a link while calls run leads none of them out of the library.",
    explains: "While a client reads and changes a document, another thread continuously exchanges its folder with a \
               symbolic link to a folder outside. This detects a server that checks a path and then opens it by name. \
               Calls may be refused; no answer may reveal a file outside the library, and no such file may change.",
    ..Check::must(judge_swapped_folder)
};

pub(super) const LINKED_ROOT: Check = Check {
    id: "paths/linked-root",
    guarantees: &[],
    states: "A library that is named by a symbolic link is served like any other.",
    explains: "Starts the server over a symbolic link to the library, like `/tmp` on macOS. Every effect of the \
               contract must succeed.",
    ..Check::should(judge_linked_root)
};

pub(super) const INNER_ROOT: Check = Check {
    id: "paths/inner-root",
    guarantees: &[],
    states: "If the library is a folder of a larger repository, calls reach nothing outside that folder.",
    explains: "Starts the server over a folder of a repository and applies every effect there. Documents outside the \
               folder, even with the same relative path, must be unchanged, and no commit may contain a person's \
               staged changes outside it.",
    ..Check::must(judge_inner_root)
};

const DOCUMENT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n";

fn judge_swapped_folder(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = bench.scene(&[("notes/secret.md", DOCUMENT)])?;
    let (folder, link) = (scene.path("notes"), scene.path("elsewhere"));
    symlink("../outside", &link)?;
    let swap = || renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE);
    if let Err(error) = swap().and_then(|()| swap()) {
        let why = format!("this system can't exchange two names atomically: {error}");
        return Err(not_shown(why));
    }
    let around = Moment::capture(&scene)?;
    let mut client = scene.start()?;
    scene.trace("another thread keeps exchanging a folder with a link");
    let stop = AtomicBool::new(false);
    let judgement = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // The exchange fails if the server deletes the folder, which the calls then reveal.
                let _ = swap();
            }
        });
        let mut make_calls = || {
            for round in 0..bench.pick(40, 400) {
                let content = format!("# Plan\n\n## Scope\n\nround {round}\n");
                let with = With { path: "notes/secret.md", content: &content, target: "## Scope" };
                let calls = bench.subject.requests(with).into_iter();
                for call in calls.filter(|call| call.tool.path.is_some()) {
                    let Some(message) = client.attempt(call.tool, &call.arguments)? else {
                        continue;
                    };
                    ensure(!message.to_string().contains(SECRET.trim_end()), || {
                        let tool = call.tool.label();
                        format!("`{tool}` revealed a file outside the library")
                    })?;
                }
            }
            Ok(())
        };
        let judgement: Judgement = make_calls();
        stop.store(true, Ordering::Relaxed);
        judgement
    });
    judgement?;
    around.same_around(&Moment::capture(&scene)?)
}

fn judge_linked_root(bench: &Bench<'_>, _: &Case) -> Judgement {
    let calls = all_effects(bench)?;
    let scene = bench.scene(&[("notes/plan.md", DOCUMENT)])?;
    let link = scene.library().with_file_name("linked");
    symlink("library", &link)?;
    let mut client = scene.start_at(&link)?;
    for call in calls {
        make(&scene, &mut client, &call, &call.path())?;
    }
    Ok(())
}

fn judge_inner_root(bench: &Bench<'_>, _: &Case) -> Judgement {
    let calls = all_effects(bench)?;
    let mut documents =
        vec![("docs/library-old/plan.md".to_owned(), DOCUMENT), ("notes/staged.md".to_owned(), "old\n")];
    let mut own = Vec::new();
    for path in calls.iter().map(Call::path) {
        documents.extend(["docs/library/", "docs/", ""].map(|folder| (format!("{folder}{path}"), DOCUMENT)));
        own.push(format!("docs/library/{path}"));
    }
    let documents: Vec<_> = documents.iter().map(|(path, text)| (path.as_str(), text)).collect();
    let scene = bench.scene(&documents)?;
    scene.put("notes/staged.md", "new\n")?;
    scene.git(&["add", "notes/staged.md"])?;
    let mut client = scene.start_at(&scene.path(layout::INNER_ROOT))?;
    let before = Moment::capture(&scene)?;
    for (call, own) in calls.iter().zip(&own) {
        make(&scene, &mut client, call, own)?;
    }
    let after = Moment::capture(&scene)?;
    before.same_documents(&after, &own.iter().map(String::as_str).collect::<Vec<_>>())?;
    before.same_around(&after)?;
    let first = before.view.library.commits.first().cloned().unwrap_or_default();
    let range = format!("{first}..HEAD");
    let changed = scene.git(&scene.own().except(&["log", "--format=", "--name-only", &range]))?;
    let mut changed = changed.lines();
    let other = changed.find(|path| !path.is_empty() && !own.iter().any(|own| own == path));
    ensure_none(other, |other| format!("a commit changes `{other}`, outside the library"))
}

/// Returns a call for every effect that the server has, on `notes/plan.md` or the path that the contract permits instead.
fn all_effects(bench: &Bench<'_>) -> Result<Vec<Call>, Stop> {
    let call = |kind| {
        let path = bench.subject.place(kind, "notes/plan.md");
        let with = With { path: &path, content: "## Scope\n\nless\n", target: "## Scope" };
        bench.subject.request(kind, with)
    };
    let kinds = [EffectKind::Read].into_iter().chain(CHANGES);
    let calls: Vec<_> = kinds.filter_map(call).collect();
    nonempty(calls, "the server has no such tools")
}

/// Makes a call on the document, whose path in the scene is `path`.
fn make(scene: &Scene<'_>, client: &mut Client<'_>, call: &Call, path: &str) -> Judgement {
    if scene.read(path).as_deref() != Some(DOCUMENT.as_bytes()) {
        scene.put(path, DOCUMENT)?;
        scene.git(&["add", "--", path])?;
        let commit = ["commit", "--quiet", "--allow-empty", "-m", "a document", "--", path];
        scene.git(&commit)?;
    }
    match client.make_if_possible(call)? {
        None => Ok(()),
        Some(Reply::Done(_)) => {
            semantics::allowed(call, Some(DOCUMENT.as_bytes()), scene.read(path).as_deref())
        }
        Some(Reply::Refused(refusal)) => {
            let kind = call.tool.effect(&call.arguments).map(|effect| effect.kind);
            let what = semantics::words(kind);
            Err(refused(what, &refusal))
        }
    }
}
