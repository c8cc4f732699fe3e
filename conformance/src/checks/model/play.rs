//! Plays a program against the server, beside the model.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;
use tabellion_runtime::spec::EffectKind;

use super::{
    library_model::{Entry, LibraryModel, Person},
    program::{Edit, Program, Step},
};
use crate::{
    adapter::Adapter,
    check::Bench,
    checks::patch,
    client::Client,
    judgement::{Judgement, Stop, ensure, fail},
    ledger::{self, git},
    reply::{Reply, Success},
    request::{Call, about, examples, set},
    scene::{Scene, View},
    semantics,
};

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// Every step.
    Everything,
    /// Previews and whether they come true; of other calls nothing, so that a failure is one of previews.
    Previews,
}

/// Plays `program`.
///
/// # Errors
/// What the first step that went wrong is, and what went wrong.
pub(super) fn play<'a>(bench: &'a Bench<'a>, program: &'a Program, judged: Judged) -> Judgement {
    let documents = program.documents.iter();
    let documents: Vec<_> = documents.map(|(path, bytes)| (path.as_str(), bytes)).collect();
    let scene = bench.scene(&documents)?;
    let touched = program.steps.iter().filter_map(Step::path);
    let mut play = Play {
        bench,
        paths: documents.iter().map(|(path, _)| *path).chain(touched).collect(),
        model: LibraryModel::new(scene.view()?, bench.subject.should_commit()),
        scene,
        judged,
        clients: [None, None],
        at: 0,
    };
    play.start()
        .and_then(|()| play.read_all())
        .map_err(|stop| when("at the start", stop))?;
    for (number, step) in program.steps.iter().enumerate() {
        bench.trace.did(format!("step {}: {step}", number + 1));
        play.step(step)
            .and_then(|()| play.log())
            .map_err(|stop| when(&format!("in step {}, {step}", number + 1), stop))?;
    }
    for at in 0..play.clients.len() {
        play.at = at;
        play.read_all().map_err(|stop| when("at the end", stop))?;
    }
    play.end()
}

/// The same failure, saying when it happened.
fn when(when: &str, mut stop: Stop) -> Stop {
    if let Stop::Fail(failure) = &mut stop {
        failure.what = format!("{when}: {}", failure.what);
    }
    stop
}

/// The call's request.
fn request(bench: &Bench<'_>, edit: &Edit) -> Result<Call, Stop> {
    let call = bench.subject.request(edit.kind.effect(), edit.with());
    call.ok_or_else(|| Stop::NotApplicable(format!("the server has nothing for {:?}", edit.kind)))
}

struct Play<'a> {
    bench: &'a Bench<'a>,
    /// All that the program is about.
    paths: BTreeSet<&'a str>,
    scene: Scene<'a>,
    model: LibraryModel,
    judged: Judged,
    /// Two servers over the library, of which the second is started when it is first turned to.
    clients: [Option<Client<'a>>; 2],
    /// Which of them is called.
    at: usize,
}

impl Play<'_> {
    fn step(&mut self, step: &Step) -> Judgement {
        match step {
            Step::Call(edit) => self.edit(edit, None),
            Step::Preview(edit) => {
                let previewed = self.preview(edit)?;
                self.edit(edit, previewed)
            }
            Step::Read { path } => self.read(path).and_then(|()| self.nothing()),
            Step::Invalid { tool, example, path } => self.invalid(tool, example, path),
            Step::Save { path, bytes } => {
                self.scene.put(path, bytes)?;
                self.person(Person::Save(path, Some(&bytes.0)))
            }
            Step::Remove { path } => {
                if self.scene.read(path).is_none() {
                    return Ok(());
                }
                fs::remove_file(self.scene.path(path))?;
                self.person(Person::Save(path, None))
            }
            Step::Stage { path } => {
                if !self.model.is_known(path) {
                    return Ok(());
                }
                self.scene.git(&["--literal-pathspecs", "add", "--", path])?;
                self.person(Person::Stage(path))
            }
            Step::Commit => {
                self.scene.commit_all("by hand")?;
                self.person(Person::Commit)
            }
            Step::Restart => {
                if let Some(client) = self.clients[self.at].take() {
                    // Whether it goes by itself is for others to judge; it is gone in any case.
                    let _ = client.close();
                }
                self.start()?;
                self.nothing()
            }
            Step::Kill => {
                self.clients[self.at] = None;
                self.bench.trace.did("the server is killed");
                self.start()?;
                self.nothing()
            }
            Step::OtherServer => {
                self.at = 1 - self.at;
                if self.clients[self.at].is_none() {
                    self.start().map_err(|stop| match stop {
                        Stop::Fail(failure) => Stop::NotTestable(format!(
                            "a second server does not start beside the first: {}",
                            failure.what
                        )),
                        other => other,
                    })?;
                }
                self.read_all()
            }
        }
    }

    /// Starts the server that is called next.
    fn start(&mut self) -> Judgement {
        self.clients[self.at] = Some(self.scene.start()?);
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<Reply, Stop> {
        match &mut self.clients[self.at] {
            Some(client) => client.make(call),
            None => Err(Stop::Harness("the server was not started".into())),
        }
    }

    /// A mutating call, which must do what its preview showed if it had one.
    fn edit(&mut self, edit: &Edit, previewed: Option<Vec<u8>>) -> Judgement {
        let call = request(self.bench, edit)?;
        let reply = self.call(&call)?;
        let now = self.scene.view()?;
        if let (Some(shown), Reply::Done(_)) = (&previewed, &reply) {
            let found = self.scene.read(&edit.path);
            let holds = ensure(found.as_ref() == Some(shown), || {
                "the document is not what the preview showed".into()
            });
            holds.map_err(|stop| stop.showing(&edit.path, Some(shown), found.as_deref()))?;
        }
        if let (Some(_), Reply::Refused(refusal)) = (&previewed, &reply) {
            ensure(!self.model.must_be_accepted(&call), || {
                format!("the call was refused after its preview: {}", refusal.message)
            })?;
        }
        if self.judged == Judged::Previews {
            self.model.view = now;
            return Ok(());
        }
        match reply {
            Reply::Refused(refusal) => self.model.refused(&call, &refusal.message, now),
            Reply::Done(_) => {
                let changed = self.changed(&now)?;
                let changed: Vec<_> = changed.split_terminator('\0').collect();
                self.model.accepted(&call, &changed, now)
            }
        }
    }

    /// The paths that differ between the HEAD that was seen last and the one that is seen now.
    fn changed(&self, now: &View) -> Result<String, Stop> {
        let heads = [&self.model.view, now].map(|view| view.library.commits.first());
        let [Some(old), Some(new)] = heads else {
            return Ok(String::new());
        };
        let diff = ["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z"];
        Ok(git(
            &self.scene.library(),
            &[&diff[..], &[old, new, "--"]].concat(),
        )?)
    }

    /// The preview of a call; what it shows that the document will hold, if it has one and it was not refused.
    fn preview(&mut self, edit: &Edit) -> Result<Option<Vec<u8>>, Stop> {
        let call = request(self.bench, edit)?;
        let contract = self.bench.subject.contract;
        let mut pairs = contract.previews.iter();
        let Some(pair) = pairs.find(|pair| pair.applies == call.tool.name) else {
            return Ok(None);
        };
        let Some(tool) = contract.tool(pair.preview) else {
            return Ok(None);
        };
        let arguments = call.arguments.clone();
        let reply = self.call(&Call { tool, arguments })?;
        self.nothing()?;
        let before = self.model.document(&edit.path);
        match reply {
            Reply::Refused(refusal) => {
                ensure(!self.model.must_be_accepted(&call), || {
                    format!("the preview of a valid call was refused: {}", refusal.message)
                })?;
                Ok(None)
            }
            Reply::Done(Success { response, .. }) => {
                ensure(semantics::change(&call, before).is_ok(), || {
                    "a preview was shown of a call that is not possible".into()
                })?;
                let diff = response.pointer(pair.diff).and_then(Value::as_str);
                let diff = diff.ok_or_else(|| fail("the preview has no diff"))?;
                let made = patch::applied(
                    &self.scene.library(),
                    &edit.path,
                    before.unwrap_or_default(),
                    diff,
                )?;
                let made = made.map_err(|said| fail(format!("the preview's diff does not apply: {said}")))?;
                Ok(Some(made))
            }
        }
    }

    /// The server reads every document, if it is there: what it remembers of them must not be older than they are.
    fn read_all(&mut self) -> Judgement {
        if self.judged == Judged::Everything && self.clients[self.at].is_some() {
            let paths = self.paths.clone();
            self.bench.trace.did("every document is read");
            paths.into_iter().try_for_each(|path| self.read(path))?;
        }
        self.nothing()
    }

    fn read(&mut self, path: &str) -> Judgement {
        let Some((tool, effect)) = self.bench.subject.tool_with(EffectKind::Read) else {
            return Ok(());
        };
        let Some(call) = about(tool, path) else {
            return Ok(());
        };
        let reply = self.call(&call)?;
        let Some(bytes) = self.model.document(path) else {
            return ensure(reply.done().is_none(), || {
                "a document that is not there was read".into()
            });
        };
        match reply {
            Reply::Done(done) => {
                let read = semantics::content_read(effect, &done.response)?;
                let holds = ensure(read.as_bytes() == bytes, || {
                    "what was read is not what the document holds".into()
                });
                holds.map_err(|stop| stop.showing(path, Some(bytes), Some(read.as_bytes())))
            }
            // A response can't hold bytes that are not UTF-8.
            Reply::Refused(refusal) => ensure(str::from_utf8(bytes).is_err(), || {
                format!("the reading was refused: {}", refusal.message)
            }),
        }
    }

    fn invalid(&mut self, tool: &str, example: &str, path: &str) -> Judgement {
        // What an adapter leaves out of a call may be what is wrong in it.
        if !matches!(self.bench.subject.adapter, Adapter::Native) {
            return Ok(());
        }
        let Some(tool) = self.bench.subject.contract.tool(tool) else {
            return Ok(());
        };
        let mut invalid = tool.examples.iter().filter(|it| !it.valid);
        let Some(example) = invalid.find(|it| it.name == example) else {
            return Ok(());
        };
        let mut arguments = serde_json::from_str(example.json)?;
        if let Some(at) = tool.path.filter(|at| example.at != Some(*at)) {
            let has_path = Value::pointer(&arguments, at).is_some();
            if has_path {
                set(&mut arguments, at, path);
            }
        }
        let reply = self.call(&Call { tool, arguments })?;
        self.nothing()?;
        ensure(!tool.mutating || reply.done().is_none(), || {
            "the call was accepted".into()
        })
    }

    /// Nothing may have changed.
    fn nothing(&mut self) -> Judgement {
        let now = self.scene.view()?;
        self.model.nothing(now)
    }

    /// A person did this, and nothing else may have changed.
    fn person(&mut self, did: Person<'_>) -> Judgement {
        let now = self.scene.view()?;
        self.model.person(did, now)
    }

    /// Reads the activity log and judges it, where the server has one.
    fn log(&mut self) -> Judgement {
        let subject = self.bench.subject;
        let log = subject.contract.log.filter(|_| self.judged == Judged::Everything);
        let tool = log.and_then(|log| Some((log, subject.contract.tool(log.tool)?)));
        let Some((log, tool)) = tool.filter(|(_, tool)| subject.adapter.has(tool, None)) else {
            return Ok(());
        };
        let Some(arguments) = examples(tool).next() else {
            return Ok(());
        };
        let reply = self.call(&Call { tool, arguments })?;
        let response = match reply {
            Reply::Done(done) => done.response,
            Reply::Refused(refusal) => {
                return Err(fail(format!(
                    "the activity log can't be read: {}",
                    refusal.message
                )));
            }
        };
        let listed = response.pointer(log.entries).and_then(Value::as_array);
        let listed = listed.ok_or_else(|| fail("the activity log's response has no entries"))?;
        let text = |entry: &Value, at: &str| {
            let text = entry.pointer(at).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let entries: Vec<_> = listed
            .iter()
            .map(|entry| Entry {
                path: text(entry, log.path),
                commit: text(entry, log.commit),
            })
            .collect();
        self.model.judge_log(&entries)
    }

    /// Closes the servers: they leave nothing behind, and the repository is sound.
    fn end(mut self) -> Judgement {
        for client in self.clients.iter_mut().filter_map(Option::take) {
            // As for a restart.
            let _ = client.close();
        }
        self.nothing()
            .map_err(|stop| when("after the server was closed", stop))?;
        if self.judged == Judged::Previews {
            return Ok(());
        }
        let root = self.scene.library();
        let locks = locks(&root.join(".git"))?;
        ensure(locks.is_empty(), || {
            format!("locks are left behind: {}", locks.join(", "))
        })?;
        ledger::fsck(&root).map_err(|said| fail(format!("git does not find the repository sound: {said}")))
    }
}

/// The locks that git has in its folder.
fn locks(git_dir: &Path) -> Result<Vec<String>, Stop> {
    let mut found = Vec::new();
    for name in ["HEAD.lock", "index.lock", "config.lock", "packed-refs.lock"] {
        found.extend(git_dir.join(name).exists().then(|| name.to_owned()));
    }
    let refs = ledger::files(&git_dir.join("refs"))?.into_keys();
    let refs = refs.filter(|name| name.extension().is_some_and(|it| it == "lock"));
    found.extend(refs.map(|name| format!("refs/{}", name.display())));
    Ok(found)
}
