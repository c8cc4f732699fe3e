//! `tabellion audit`: lists the executions that are stored next to a library, and compares them with its commits.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use anstyle::Style;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use tabellion_calls::Calls;
use tabellion_library::{Library, LogEntry};
use tabellion_pack::Packs;
use tabellion_runtime::{
    ContractSpec,
    calls::{Execution, ExecutionFilter, ExecutionStatus},
};
use tabellion_serve::{self as serve, calls};
use tabellion_upkeep::{
    TerminalError,
    console::counted,
    page::{self, FAINT, NAME, Output, Page, STRONG, TITLE, WARNING},
};

use super::{
    log::{local, short},
    nearest_used, open,
};

/// Lists executions, oldest first: the last `limit` that match `filter`, and of sessions whose id begins so.
///
/// # Errors
/// If there are none next to the library, they can't be read, or standard output can't be written.
pub fn list(
    folder: &Path,
    (filter, session): (&ExecutionFilter, Option<&str>),
    limit: Option<usize>,
    packs: Packs,
    output: Output,
) -> Result<(), TerminalError> {
    let (_, calls) = open_recorded(folder, packs)?;
    let limit = limit.unwrap_or(usize::MAX);
    let mut found = std::collections::VecDeque::new();
    let is_in = |execution: &Execution| {
        let id = execution.session.as_deref();
        session.is_none_or(|beginning| id.is_some_and(|id| id.starts_with(beginning)))
    };
    each(&calls, filter, |execution| {
        if !is_in(&execution) {
            return;
        }
        if found.len() == limit {
            found.pop_front();
        }
        found.push_back(execution);
    })?;
    if output.json {
        return found.iter().try_for_each(|execution| Ok(page::json(&as_json(execution))?));
    }
    let mut page = Page::new(output);
    for execution in &found {
        add(&mut page, execution);
    }
    if found.is_empty() {
        page.put(FAINT, "no executions like that are kept").line("");
    } else {
        let said = format!("{}; `--check` compares them with the commits", counted(found.len(), "execution"));
        page.put(FAINT, &said).line("");
    }
    Ok(page.show()?)
}

/// Compares executions and commits: commits of recorded tools have successful executions, and successes of changing tools have commits.
/// Commits that came from another clone are counted: their executions are kept there.
///
/// # Errors
/// If they can't be read, or disagree.
pub fn check(folder: &Path, packs: Packs, output: Output) -> Result<(), TerminalError> {
    let (library, calls) = open_recorded(folder, packs)?;
    let audit = Audit::read(&library, &calls, packs)?;
    if output.json {
        for problem in &audit.problems {
            page::json(&json!({ "problem": problem }))?;
        }
        page::json(&json!({
            "executions": audit.executions,
            "commits": audit.commits,
            "commits_made_elsewhere": audit.elsewhere,
            "agree": audit.problems.is_empty(),
        }))?;
    } else {
        let mut page = Page::new(output);
        for problem in &audit.problems {
            page.put(WARNING, "problem").line(&format!(" {problem}"));
        }
        let (executions, commits) =
            (counted(audit.executions, "execution"), counted(audit.commits, "commit"));
        let verdict = if audit.problems.is_empty() { "agree" } else { "disagree" };
        page.line(&format!("{executions} and {commits} {verdict}"));
        if audit.elsewhere > 0 {
            let elsewhere = counted(audit.elsewhere, "commit");
            page.put(FAINT, &format!("{elsewhere} of other machines, whose executions are kept there"))
                .line("");
        }
        page.show()?;
    }
    if audit.problems.is_empty() {
        Ok(())
    } else {
        let said = counted(audit.problems.len(), "problem");
        Err(TerminalError::new(format_args!("executions and commits disagree: {said}"))
            .hint("`git log` shows whether the history was rewritten since; the data of the library itself is not affected"))
    }
}

/// The result of comparing executions and commits.
struct Audit {
    executions: usize,
    commits: usize,
    /// Number of commits that came from another clone, as their executions are not kept here.
    elsewhere: usize,
    problems: Vec<String>,
}

impl Audit {
    fn read(library: &Library, calls: &Calls, packs: Packs) -> Result<Self, TerminalError> {
        let mut specs = packs.specs();
        specs.retain(|spec| spec.executions.is_some());
        let mut executions = BTreeMap::new();
        each(calls, &ExecutionFilter::default(), |execution| {
            executions.insert(execution.id.clone(), execution);
        })?;
        let entries = library.activity(usize::MAX)?;
        let recorded: BTreeSet<_> = specs
            .iter()
            .flat_map(|spec| spec.operations().chain(spec.calls))
            .filter(|tool| tool.mutating)
            .map(|tool| tool.label())
            .chain(packs.reviews().map(|review| review.decision_tool))
            .collect();
        let since = checked_since(calls, &specs)?;
        let mut problems = vec![];
        let mut made = BTreeMap::new();
        let (mut commits, mut elsewhere) = (0, 0);
        let made_here = library.made_here()?;
        let is_from_elsewhere = |commit| made_here.as_ref().is_some_and(|made| !made.contains(commit));
        for entry in entries.iter().filter(|entry| entry.time >= since) {
            if let Some(id) = &entry.execution {
                made.insert(id.as_str(), entry.commit.as_str());
                if !executions.contains_key(id) && is_from_elsewhere(&entry.commit) {
                    elsewhere += 1;
                    continue;
                }
                commits += 1;
                problems.extend(of_commit(entry, id, executions.get(id)));
            } else if recorded.contains(entry.tool.as_str()) {
                commits += 1;
                problems.push(format!(
                    "commit {} was made by `{}` and names no execution",
                    entry.commit, entry.tool
                ));
            }
        }
        let known: BTreeSet<_> = entries.iter().map(|entry| entry.commit.as_str()).collect();
        for execution in executions.values() {
            problems.extend(of_execution(execution, &made, &known));
        }
        Ok(Self { executions: executions.len(), commits, elsewhere, problems })
    }
}

/// Returns the time from which on commits have executions: earlier ones were never stored, or have been removed.
fn checked_since(calls: &Calls, specs: &[&ContractSpec]) -> Result<DateTime<Utc>, TerminalError> {
    let kept = specs.iter().filter_map(|spec| spec.executions);
    let kept = kept.map(|executions| executions.keep_seconds).min().unwrap_or(0);
    // An execution that expires at this moment may be removed at this moment.
    let oldest = Utc::now() - TimeDelta::seconds(kept.into()) + TimeDelta::minutes(1);
    Ok(calls.beginning()?.max(oldest))
}

/// Returns the problem with the execution of a commit.
fn of_commit(entry: &LogEntry, id: &str, execution: Option<&Execution>) -> Option<String> {
    let commit = &entry.commit;
    let Some(execution) = execution else {
        return Some(format!("commit {commit} names execution {id}, which is not kept"));
    };
    if execution.caller.is_some() && entry.caller != execution.caller {
        let [of_commit, of_execution] =
            [&entry.caller, &execution.caller].map(|caller| caller.as_deref().unwrap_or("an unknown caller"));
        return Some(format!("commit {commit} is of {of_commit}, and its execution {id} of {of_execution}"));
    }
    let end = &execution.end;
    match end.status {
        ExecutionStatus::Success if end.commit.as_ref() == Some(commit) => None,
        ExecutionStatus::Success => {
            let other = end.commit.as_deref().unwrap_or("no commit");
            Some(format!("commit {commit} names execution {id}, which has {other}"))
        }
        // It will end as a success.
        ExecutionStatus::Running => None,
        status => Some(format!("commit {commit} names execution {id}, which is {status}")),
    }
}

/// Returns the problem with the commit of an execution.
fn of_execution(
    execution: &Execution,
    made: &BTreeMap<&str, &str>,
    known: &BTreeSet<&str>,
) -> Option<String> {
    let (id, end) = (&execution.id, &execution.end);
    if !execution.is_mutating || end.status != ExecutionStatus::Success {
        return None;
    }
    let Some(commit) = end.commit.as_deref() else {
        return Some(format!("execution {id} of `{}` succeeded and has no commit", execution.tool));
    };
    let is_there = if end.is_replay {
        known.contains(commit)
    } else {
        made.get(id.as_str()) == Some(&commit) || known.contains(commit)
    };
    (!is_there).then(|| format!("execution {id} made commit {commit}, which is not in the branch's history"))
}

fn open_recorded(folder: &Path, packs: Packs) -> Result<(Arc<Library>, Arc<Calls>), TerminalError> {
    let library = open(&nearest_used(folder, packs))?;
    if !calls::are_kept(&library) {
        return Err(TerminalError::new(format_args!("no calls are kept beside `{}`", folder.display()))
            .hint("they are where a contract with executions is served, such as `--contract brainforge`"));
    }
    let calls = calls::open(&library, &packs.specs())?;
    let calls = calls.ok_or_else(|| TerminalError::new("no contract of this program keeps calls"))?;
    Ok((library, calls))
}

fn each(
    calls: &Calls,
    filter: &ExecutionFilter,
    mut each: impl FnMut(Execution) + Send,
) -> Result<(), TerminalError> {
    let runtime = serve::runtime()?;
    let mut each = |execution| {
        each(execution);
        true
    };
    Ok(runtime.block_on(calls.each(filter, &mut each))?)
}

fn as_json(execution: &Execution) -> Value {
    let time = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
    let Execution { end, .. } = execution;
    json!({
        "execution_id": execution.id,
        "contract": execution.contract,
        "tool": execution.tool,
        "session_id": execution.session,
        "caller": execution.caller,
        "caller_name": execution.caller_name,
        "client": execution.client,
        "status": end.status,
        "created_at": time(execution.created_at),
        "completed_at": execution.completed_at.map(time),
        "commit": end.commit,
        "replay": end.is_replay,
        "error": end.error,
        "gates": end.meta.as_ref().and_then(|meta| meta.get(tabellion_runtime::context::GATES)),
        "input": execution.input,
        "input_sha256": execution.input_digest,
    })
}

/// Adds one line: time, state, tool, caller, commit and id.
fn add(page: &mut Page, execution: &Execution) {
    page.put(FAINT, &local(&execution.created_at));
    let status = execution.end.status;
    let style = match status {
        ExecutionStatus::Success => STRONG,
        ExecutionStatus::Pending | ExecutionStatus::Running => NAME,
        ExecutionStatus::Failed | ExecutionStatus::Cancelled => WARNING,
    };
    page.put(Style::new(), "  ").put(style, &format!("{:<9}", status.to_string()));
    page.put(NAME, &format!("  {}", execution.tool));
    if let Some(commit) = &execution.end.commit {
        page.put(TITLE, &format!("  {}", short(commit)));
    }
    if let Some(caller) = execution.caller_name.as_ref().or(execution.caller.as_ref()) {
        page.put(FAINT, &format!("  {}", page::visible(caller)));
    }
    if let Some(code) = execution.end.error.as_ref().and_then(|error| error["code"].as_str()) {
        page.put(WARNING, &format!("  {code}"));
    }
    page.put(FAINT, &format!("  {}", execution.id)).line("");
}
