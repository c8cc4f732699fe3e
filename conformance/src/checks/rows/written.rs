//! Operations that change rows by a method of the server, not by the rules of an entity alone.
//!
//! The contract does not specify their rows, so each is called as its examples call it: ids in them are replaced by those of rows
//! that are there, and paths by that of a repository in the workspace.

use std::{collections::BTreeMap, fs, path::Path, thread, time::Duration};

use tabellion_runtime::spec::Action;

use super::basics::{entry_leads, start, unchanged};
use crate::{
    checks::prelude::*,
    ledger::{git, rows::Row},
    request,
    rows::{RowsClient, client},
};

/// Ending of the members that name rows by their ids, and a member that names one by a name of its own.
const ID: &str = "_id";
const COLLECTION: &str = "collection";
/// Members that name a folder of the workspace.
const PATHS: [&str; 2] = ["path", "repo_path"];
/// Number of attempts with the examples, and the time in between: work of an earlier call may still conflict.
const ATTEMPTS: usize = 10;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(200);
/// The id of no row.
const MISSING: &str = "no-such-row";

/// Returns the operations that change rows by a method.
fn operations(bench: &Bench<'_>) -> impl Iterator<Item = &'static ToolSpec> {
    let adapter = &bench.subject.adapter;
    let operations = bench.subject.contract.operations();
    operations.filter(|tool| tool.mutating && tool.rows.is_none() && adapter.has(tool, None))
}

/// Returns a case for each of them.
pub(super) fn cases(bench: &Bench<'_>) -> impl Iterator<Item = Case> {
    operations(bench).map(|tool| Case::new(tool.label(), tool.label()))
}

/// Judges the operation with this label; `None` if none of them has it.
pub(super) fn judge(bench: &Bench<'_>, label: &str) -> Option<Judgement> {
    let tool = operations(bench).find(|tool| tool.label() == label)?;
    Some(judge_operation(bench, tool))
}

/// Makes a repository of one file at `root`, with the branches `main` and `topic/x`.
fn make_repository(root: &Path) -> Result<(), Stop> {
    fs::create_dir_all(root)?;
    git(root, &["init", "--quiet", "--initial-branch=main"])?;
    fs::write(root.join("a.rs"), "fn a() {}\n")?;
    git(root, &["add", "--all", "."])?;
    git(root, &["commit", "--quiet", "-m", "base"])?;
    git(root, &["branch", "topic/x"])?;
    Ok(())
}

fn judge_operation(bench: &Bench<'_>, tool: &'static ToolSpec) -> Judgement {
    let (scene, mut rows) = start(bench)?;
    let mut ids = Ids::default();
    let workspace = bench.subject.launch.names("{workspace}").then(|| scene.workspace());
    if let Some(workspace) = &workspace {
        make_repository(workspace)?;
    }
    let placed = |arguments| placed(arguments, workspace.as_deref());
    for other in operations(bench) {
        for example in request::examples(other) {
            ids.create(&mut rows, &example);
            if let Reply::Done(done) = rows.client.call(other, &placed(ids.fill(&example)))? {
                ids.learn(&done.response);
            }
        }
    }
    let mut is_done = false;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            thread::sleep(ATTEMPT_INTERVAL);
        }
        for example in request::examples(tool) {
            let arguments = placed(ids.fill(&example));
            is_done |= one_entry(bench, &scene, &mut rows, tool, &arguments)?;
            let nowhere = placed(Ids::default().with(|_, _| Some(MISSING.to_owned()), &example));
            one_entry(bench, &scene, &mut rows, tool, &nowhere)?;
        }
        if is_done {
            break;
        }
    }
    for invalid in request::invalid_examples(tool) {
        let arguments = ids.fill(&invalid);
        ensure(!one_entry(bench, &scene, &mut rows, tool, &arguments)?, || {
            format!("the invalid call `{arguments}` was accepted")
        })?;
    }
    rows.close()?;
    ensure(is_done, || {
        format!("no example of `{}` is accepted, even with ids of rows that are there", tool.label())
    })
}

/// Makes a call. If it is accepted, the log must have one entry more, made in one transaction, which leads from the rows before to those
/// after it; if not, nothing may have changed. Returns true if it is accepted.
fn one_entry(
    bench: &Bench<'_>,
    scene: &Scene<'_>,
    rows: &mut RowsClient<'_>,
    tool: &'static ToolSpec,
    arguments: &Value,
) -> Result<bool, Stop> {
    let source = &bench.subject.ledger;
    let before = client::ledger(scene)?;
    let transactions = source.transactions(&scene.data(), rows.spec);
    let done = match rows.client.call(tool, arguments)? {
        Reply::Done(done) => done,
        Reply::Refused(_) => {
            unchanged(&before, scene, &format!("`{arguments}`, which was refused,"))?;
            return Ok(false);
        }
    };
    let later = source.transactions(&scene.data(), rows.spec);
    let after = client::ledger(scene)?;
    entry_leads(rows.spec, (&before, &after), tool.label(), &done)?;
    let many = transactions.zip(later).and_then(|(earlier, later)| later.since(&earlier));
    ensure_none(many.filter(|many| *many != 1), |many| {
        format!("`{}` made {many} transactions instead of one", tool.label())
    })?;
    if after.log.is_none() {
        return Err(not_shown("there is no way to read the server's log"));
    }
    Ok(true)
}

fn names_row(member: &str) -> bool {
    member.ends_with(ID) || member == COLLECTION
}

/// Returns arguments with the path of the workspace, where they name a folder of it.
fn placed(mut arguments: Value, workspace: Option<&Path>) -> Value {
    if let Some(workspace) = workspace {
        for member in PATHS {
            if let Some(path) = arguments.get_mut(member) {
                *path = workspace.to_string_lossy().into();
            }
        }
    }
    arguments
}

/// Ids of rows that are there, by the names under which answers have them.
#[derive(Debug, Default)]
struct Ids(BTreeMap<String, Vec<String>>);

impl Ids {
    /// Creates rows of entities that an example names by `ENTITY_id`, as far as they can be.
    fn create(&mut self, rows: &mut RowsClient<'_>, example: &Value) {
        let mut named = Vec::new();
        self.with(
            |name, id| {
                named.push((name.to_owned(), id.to_owned()));
                None
            },
            example,
        );
        for (name, id) in named {
            let entity = name.strip_suffix(ID).and_then(|name| rows.spec.entity(name));
            if let Some(entity) = entity.filter(|entity| rows.has(entity, Action::Create)) {
                // It is refused if it is there already.
                let _ = rows.create(entity, Row::from_iter([(entity.key[0].to_owned(), id.into())]));
            }
        }
    }

    /// Learns the ids in an answer.
    fn learn(&mut self, response: &Value) {
        for (name, value) in response.as_object().into_iter().flatten() {
            if let Some(id) = value.as_str().filter(|_| names_row(name)) {
                let known = self.0.entry(name.clone()).or_default();
                if !known.iter().any(|other| other == id) {
                    known.push(id.to_owned());
                }
            }
        }
    }

    /// Returns an example with ids of rows that are there; different ids stay different.
    fn fill(&self, example: &Value) -> Value {
        let mut used: Vec<String> = Vec::new();
        self.with(
            |name, id| {
                let is_it = |known: &&String| name == known.as_str() || name.ends_with(&format!("_{known}"));
                let known = &self.0[self.0.keys().find(is_it)?];
                let place = used.iter().position(|other| other == id).unwrap_or_else(|| {
                    used.push(id.to_owned());
                    used.len() - 1
                });
                known.get(place).or(known.last()).cloned()
            },
            example,
        )
    }

    /// Returns an example with other ids, where there are any.
    fn with(&self, mut other: impl FnMut(&str, &str) -> Option<String>, example: &Value) -> Value {
        fn walk(value: &mut Value, other: &mut dyn FnMut(&str, &str) -> Option<String>) {
            for (name, value) in value.as_object_mut().into_iter().flatten() {
                match value {
                    Value::String(id) if names_row(name) => {
                        if let Some(other) = other(name, id) {
                            *id = other;
                        }
                    }
                    value => walk(value, other),
                }
            }
        }
        let mut filled = example.clone();
        walk(&mut filled, &mut other);
        filled
    }
}
