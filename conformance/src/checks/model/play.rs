//! Runs a program against the server and compares each step with the model.

use std::{collections::BTreeSet, fs, path::Path};

use super::{
    library_model::{Entry, LibraryModel, PersonAction},
    program::{Edit, Kind, Program, Step},
};
use crate::{
    checks::{patch, prelude::*},
    judgement::Shows,
    ledger::{self, git},
    markdown,
    reply::Success,
    request::{about, examples, may_name, set},
    scene::View,
    semantics,
};

/// Steps that are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coverage {
    /// All steps.
    Everything,
    /// Previews and the calls that follow them, so that a failure is always a preview's.
    Previews,
}

/// Runs `program`.
pub(super) fn play<'a>(bench: &'a Bench<'a>, program: &'a Program, coverage: Coverage) -> Judgement {
    let documents = program.documents.iter();
    let documents: Vec<_> = documents.map(|(path, bytes)| (path.as_str(), bytes)).collect();
    let scene = bench.scene(&documents)?;
    let touched = program.steps.iter().filter_map(Step::path);
    let mut play = Play {
        bench,
        paths: documents.iter().map(|(path, _)| *path).chain(touched).collect(),
        model: LibraryModel::new(scene.view()?, bench.subject.should_commit()),
        scene,
        coverage,
        clients: [None, None],
        current: 0,
    };
    play.start()
        .and_then(|()| play.accept_log())
        .and_then(|()| play.read_all())
        .map_err(|stop| at_step("at the start", stop))?;
    for (number, step) in program.steps.iter().enumerate() {
        bench.trace.did(format!("step {}: {step}", number + 1));
        play.step(step)
            .and_then(|()| play.log())
            .map_err(|stop| at_step(&format!("in step {}, {step}", number + 1), stop))?;
    }
    for index in 0..play.clients.len() {
        play.current = index;
        play.read_all().map_err(|stop| at_step("at the end", stop))?;
    }
    play.end()
}

/// Prefixes a failure with the step at which it happened.
fn at_step(step: &str, mut stop: Stop) -> Stop {
    if let Stop::Fail(failure) = &mut stop {
        failure.what = format!("{step}: {}", failure.what);
    }
    stop
}

fn request(bench: &Bench<'_>, edit: &Edit) -> Result<Call, Stop> {
    let call = bench.subject.request(edit.kind.effect(), edit.with());
    call.ok_or_else(|| not_applicable(format!("the server has no tool for {:?}", edit.kind)))
}

struct Play<'a> {
    bench: &'a Bench<'a>,
    /// Paths that the program names.
    paths: BTreeSet<&'a str>,
    scene: Scene<'a>,
    model: LibraryModel,
    coverage: Coverage,
    /// Two servers over the library; the second is started by the first [`Step::OtherServer`].
    clients: [Option<Client<'a>>; 2],
    /// Index of the client that makes the next call.
    current: usize,
}

impl Play<'_> {
    fn step(&mut self, step: &Step) -> Judgement {
        match step {
            Step::Call(edit) => self.edit(edit, None),
            Step::Preview(edit) => {
                let previewed = self.preview(edit)?;
                self.edit(edit, previewed)
            }
            Step::Read { path } => self.read(path).and_then(|()| self.unchanged()),
            Step::Invalid { tool, example, path } => self.invalid(tool, example, path),
            Step::Save { path, bytes } => {
                self.scene.put(path, bytes)?;
                self.person(PersonAction::Save(path, Some(&bytes.0)))
            }
            Step::Remove { path } => {
                if self.scene.read(path).is_none() {
                    return Ok(());
                }
                fs::remove_file(self.scene.path(path))?;
                self.person(PersonAction::Save(path, None))
            }
            Step::Stage { path } => {
                if !self.model.can_be_staged(path) {
                    return Ok(());
                }
                self.scene.git(&["--literal-pathspecs", "add", "--", path])?;
                self.person(PersonAction::Stage(path))
            }
            Step::Commit => {
                self.scene.commit_all("by hand")?;
                self.person(PersonAction::Commit)?;
                if self.bench.subject.is_native() {
                    return Ok(());
                }
                self.accept_log()
            }
            Step::Restart => {
                if let Some(client) = self.clients[self.current].take() {
                    // `wire/exit-on-eof` judges whether the server exits by itself.
                    let _ = client.close();
                }
                self.start()?;
                self.unchanged()
            }
            Step::Kill => {
                self.clients[self.current] = None;
                self.bench.trace.did("kill the server");
                self.start()?;
                self.unchanged()
            }
            Step::OtherServer => {
                self.current = 1 - self.current;
                if self.clients[self.current].is_none() {
                    self.start().map_err(|stop| match stop {
                        Stop::Fail(_) | Stop::NotShown(_) => {
                            not_shown(format!("a second server does not start while the first runs: {stop}"))
                        }
                        other => other,
                    })?;
                }
                self.read_all()
            }
        }
    }

    /// Starts the current server.
    fn start(&mut self) -> Judgement {
        self.clients[self.current] = Some(self.scene.start()?);
        Ok(())
    }

    /// Makes a call; returns `None` if the adapter cannot derive it from the documents on disk.
    fn call(&mut self, call: &Call) -> Result<Option<Reply>, Stop> {
        match &mut self.clients[self.current] {
            Some(client) => client.make_if_possible(call),
            None => Err(Stop::Harness("the server was not started".into())),
        }
    }

    fn has_front_matter(&self, path: &str) -> bool {
        let document = self.model.document(path).and_then(|bytes| str::from_utf8(bytes).ok());
        document.is_some_and(|document| markdown::front(document) > 0)
    }

    /// Makes a mutating call; its result must be `previewed`, if it was.
    fn edit(&mut self, edit: &Edit, previewed: Option<Vec<u8>>) -> Judgement {
        let call = request(self.bench, edit)?;
        if !self.bench.subject.is_native() && edit.kind == Kind::Prepend && self.has_front_matter(&edit.path)
        {
            // In that case, the position of a mapped tool's prepended text is its own rule.
            return Ok(());
        }
        let Some(reply) = self.call(&call)? else {
            return Ok(());
        };
        let now = self.scene.view()?;
        if let (Some(shown), Reply::Done(_)) = (&previewed, &reply) {
            let found = self.scene.read(&edit.path);
            let is_shown = found.as_deref().unwrap_or_default() == shown;
            let holds = ensure(is_shown, || "the document differs from its preview".into());
            holds.map_err(|stop| stop.showing(&edit.path, Some(shown), found.as_deref()))?;
        }
        if let (Some(_), Reply::Refused(refusal)) = (&previewed, &reply) {
            ensure(!self.model.must_be_accepted(&call), || {
                format!("a previewed call was refused: {}", refusal.message)
            })?;
        }
        if self.coverage == Coverage::Previews {
            self.model.view = now;
            return Ok(());
        }
        match reply {
            Reply::Refused(refusal) => self.model.refused(&call, &refusal, now),
            // A tool that an adapter maps has rules of its own.
            Reply::Done(_)
                if !self.bench.subject.is_native()
                    && semantics::change(&call, self.model.document(&edit.path))
                        .is_err_and(|it| it.must_be_refused()) =>
            {
                self.model.adopt(&call, now);
                Ok(())
            }
            Reply::Done(_) => {
                let changed = self.changed(&now)?;
                let changed: Vec<_> = changed.split_terminator('\0').collect();
                let is_same = self.model.document(&edit.path) == self.scene.read(&edit.path).as_deref();
                self.model.accepted(&call, &changed, now)?;
                if is_same && !self.bench.subject.is_native() {
                    // A change that changes nothing may have no entry.
                    return self.accept_log();
                }
                Ok(())
            }
        }
    }

    /// Returns the paths that differ between the model's HEAD and that of `now`.
    fn changed(&self, now: &View) -> Result<String, Stop> {
        let heads = [&self.model.view, now].map(|view| view.library.commits.first());
        let [Some(old), Some(new)] = heads else {
            return Ok(String::new());
        };
        let diff = ["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z"];
        Ok(git(&self.scene.library(), &self.scene.own().except(&[&diff[..], &[old, new]].concat()))?)
    }

    /// Previews a call. Returns the document's bytes according to the preview; `None` if the preview was refused or the
    /// tool has none.
    fn preview(&mut self, edit: &Edit) -> Result<Option<Vec<u8>>, Stop> {
        let call = request(self.bench, edit)?;
        let contract = self.bench.subject.contract;
        let mut pairs = contract.previews.iter();
        let Some(pair) = pairs.find(|pair| pair.applies == call.tool.label()) else {
            return Ok(None);
        };
        let Some(tool) = contract.operation(pair.preview) else {
            return Ok(None);
        };
        let arguments = call.arguments.clone();
        let Some(reply) = self.call(&Call { tool, arguments })? else {
            return Ok(None);
        };
        self.unchanged()?;
        let before = self.model.document(&edit.path);
        match reply {
            Reply::Refused(refusal) if self.model.must_be_accepted(&call) => {
                Err(refused("the preview of a valid call", &refusal))
            }
            Reply::Refused(_) => Ok(None),
            Reply::Done(Success { response, .. }) => {
                let change = semantics::change(&call, before);
                ensure(!change.is_err_and(|it| it.must_be_refused()), || {
                    "the preview of an impossible call was accepted".into()
                })?;
                let diff = response.pointer(pair.diff).and_then(Value::as_str);
                let diff = diff.ok_or_else(|| fail("the preview has no diff"))?;
                let made = patch::applied(&self.scene.library(), &edit.path, before, diff)?;
                let made = made.map_err(|why| fail(format!("the preview's diff does not apply: {why}")))?;
                Ok(Some(made))
            }
        }
    }

    /// Reads every document: the current server must not answer from a stale cache.
    fn read_all(&mut self) -> Judgement {
        if self.coverage == Coverage::Everything && self.clients[self.current].is_some() {
            let paths = self.paths.clone();
            self.bench.trace.did("read every document");
            paths.into_iter().try_for_each(|path| self.read(path))?;
        }
        self.unchanged()
    }

    fn read(&mut self, path: &str) -> Judgement {
        let Some((tool, effect)) = self.bench.subject.tool_with(EffectKind::Read) else {
            return Ok(());
        };
        let Some(call) = about(tool, path).filter(may_name) else {
            return Ok(());
        };
        let Some(reply) = self.call(&call)? else {
            return Ok(());
        };
        let Some(bytes) = self.model.document(path) else {
            return ensure(reply.done().is_none(), || "a missing document was read".into());
        };
        match reply {
            // `bytes/read-exact` judges the parts of a document that a mapped tool leaves out.
            Reply::Done(_) if !self.bench.subject.is_native() => Ok(()),
            Reply::Done(done) => {
                let read = semantics::content_read(effect, &done.response)?;
                let holds = ensure(read.as_bytes() == bytes, || {
                    "the read returned bytes that differ from the document".into()
                });
                holds.map_err(|stop| {
                    let stop = stop.shows(Shows::Nothing);
                    stop.showing(path, Some(bytes), Some(read.as_bytes()))
                })
            }
            // A response can't hold bytes that are not UTF-8.
            Reply::Refused(_) if str::from_utf8(bytes).is_err() => Ok(()),
            Reply::Refused(refusal) => Err(refused("a read", &refusal)),
        }
    }

    fn invalid(&mut self, tool: &str, example: &str, path: &str) -> Judgement {
        // An adapter may omit the invalid member.
        if !self.bench.subject.is_native() {
            return Ok(());
        }
        let Some(tool) = self.bench.subject.contract.operation(tool) else {
            return Ok(());
        };
        let mut invalid = tool.examples.iter().filter(|it| !it.valid);
        let Some(example) = invalid.find(|it| it.name == example) else {
            return Ok(());
        };
        let mut arguments = example.input.clone();
        if let Some(at) = tool.path.filter(|at| example.at.as_deref() != Some(*at)) {
            let has_path = Value::pointer(&arguments, at).is_some();
            if has_path {
                set(&mut arguments, at, path);
            }
        }
        let call = Call { tool, arguments };
        // With another path it may be valid.
        if call.is_valid() {
            return Ok(());
        }
        let Some(reply) = self.call(&call)? else {
            return Ok(());
        };
        self.unchanged()?;
        ensure(!tool.mutating || reply.done().is_none(), || "the invalid call was accepted".into())
    }

    /// Fails if the library has changed.
    fn unchanged(&mut self) -> Judgement {
        let now = self.scene.view()?;
        self.model.unchanged(now)
    }

    /// Fails unless the library has changed by the person's action alone.
    fn person(&mut self, action: PersonAction<'_>) -> Judgement {
        let now = self.scene.view()?;
        self.model.person(action, now)
    }

    /// Judges the activity log, if the server has one.
    fn log(&mut self) -> Judgement {
        match self.entries()? {
            Some(entries) => self.model.judge_log(&entries),
            None => Ok(()),
        }
    }

    /// Takes the activity log as it is: git's own history may serve as one, with a person's commits.
    fn accept_log(&mut self) -> Judgement {
        self.model.log = self.entries()?.unwrap_or_default();
        Ok(())
    }

    /// Returns the entries of the activity log; `None` if the server has none.
    fn entries(&mut self) -> Result<Option<Vec<Entry>>, Stop> {
        let subject = self.bench.subject;
        let log = subject.contract.log.filter(|_| self.coverage == Coverage::Everything);
        let tool = log.and_then(|log| Some((log, subject.contract.operation(log.tool)?)));
        let Some((log, tool)) = tool.filter(|(_, tool)| subject.adapter.has(tool, None)) else {
            return Ok(None);
        };
        let Some(arguments) = examples(tool).next() else {
            return Ok(None);
        };
        let Some(reply) = self.call(&Call { tool, arguments })? else {
            return Ok(None);
        };
        let response = reply.must("reading the activity log")?.response;
        let listed = response.pointer(log.entries).and_then(Value::as_array);
        let listed = listed.ok_or_else(|| fail("the activity log's response has no entries"))?;
        let text = |entry: &Value, at: &str| {
            let text = entry.pointer(at).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let entry = |entry| Entry { path: text(entry, log.path), commit: text(entry, log.commit) };
        Ok(Some(listed.iter().map(entry).collect()))
    }

    /// Closes the servers and judges the repository that they leave.
    fn end(mut self) -> Judgement {
        for client in self.clients.iter_mut().filter_map(Option::take) {
            // As in a restart.
            let _ = client.close();
        }
        self.unchanged().map_err(|stop| at_step("after the server was closed", stop))?;
        if self.coverage == Coverage::Previews {
            return Ok(());
        }
        let root = self.scene.library();
        let locks = locks(&root.join(".git"))?;
        ensure(locks.is_empty(), || format!("the server left lock files: {}", locks.join(", ")))?;
        ledger::fsck(&root).map_err(|why| fail(format!("`git fsck` finds an error: {why}")))
    }
}

/// Returns the lock files of git.
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
