//! Storing and reading: notes are kept verbatim; repeated ones are counted, except runs.

use super::{
    ask::{Caller, Memory, READER},
    note::{Note, Resource},
    program::{Mix, Step},
    shelf::{self, Shelf},
};
use tabellion_conformance::{check::fewer_steps, checks::prelude::*};

pub(super) const KEPT: Check = Check {
    id: "memory/kept",
    guarantees: &["memory-keeps-what-is-stored"],
    states: "What was stored is read with every field as it was said, by every caller, before and after a restart; nothing else is \
             stored.",
    explains: "Runs random programs of stores of all resources by several callers, with restarts. Then another caller reads each by its \
               id, several in the order that it asks for, and one that is not there; the tables on the disk must have what was stored \
               and no row more. A memory that stores sentences about its own calls is full of them after a day.",
    cases: |bench| Ok(Mix { restarts: 1, ..Mix::ALL }.cases(bench, "kept", bench.pick(3, 20))),
    shrink: fewer_steps::<Step>,
    ..Check::must(judge)
};

pub(super) const COUNTED: Check = Check {
    id: "memory/counted",
    guarantees: &["the-same-is-counted"],
    states: "The same observation, or pattern of errors, again counts on the first one of its project and type, and joins its lists.",
    explains: "Runs random programs that store few contents many times, with other projects, types, tags and callers, beside a model. \
               The answer must say whether it is there already, and its id; what is then read must have the count and the joined \
               lists. An id of another project's observation would show one project what the other remembers.",
    cases: |bench| {
        let mix = Mix {
            resources: &[Resource::Observation, Resource::ErrorPattern, Resource::Session],
            repeats: true,
            ..Mix::ALL
        };
        Ok(mix.cases(bench, "counted", bench.pick(3, 20)))
    },
    shrink: fewer_steps::<Step>,
    ..Check::must(judge)
};

pub(super) const RUNS: Check = Check {
    id: "memory/runs",
    guarantees: &["each-run-is-kept"],
    states: "Executions and quality gates are kept, each of them, however equal: two runs are two facts.",
    explains: "Runs random programs that store few executions and quality gates many times. Each must be there, newest first, by \
               either of its ids; an id that is taken and a run that is not there are refused. A memory that merges equal runs can't \
               say how often a test failed.",
    cases: |bench| {
        let mix = Mix { resources: &[Resource::Execution, Resource::QualityGate], repeats: true, ..Mix::ALL };
        Ok(mix.cases(bench, "runs", bench.pick(3, 20)))
    },
    shrink: fewer_steps::<Step>,
    ..Check::must(runs)
};

/// Maximum number of ids of one request.
const MAX_IDS: usize = 100;

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (mut memory, shelf) = shelf::play(bench, &case.read::<Vec<Step>>()?)?;
    read_back(&mut memory, &shelf)?;
    let mut memory = memory.restarted()?;
    read_back(&mut memory, &shelf)?;
    on_disk(&memory, &shelf)
}

/// Reads everything by its id.
fn read_back(memory: &mut Memory<'_, '_>, shelf: &Shelf) -> Judgement {
    for resource in Resource::ALL {
        if resource == Resource::Session {
            summaries(memory, shelf)?;
            continue;
        }
        let all: Vec<_> = shelf.0.iter().filter(|note| note.resource == resource).collect();
        for part in all.chunks(MAX_IDS - 1) {
            // Observations are read in the order of the request, runs newest first.
            let mut order: Vec<_> = part.iter().rev().copied().collect();
            if resource == Resource::Observation {
                order.rotate_left(part.len() / 2);
            }
            let ids = order.iter().map(|note| note.id.as_str());
            let ids: Vec<_> = ids.chain(["no-such-id"]).collect();
            let answer = memory.read("get", resource, &json!({ "ids": ids }))?;
            let what = format!("`get` of `{}`", resource.word());
            ensure(answer["missing"] == json!(["no-such-id"]), || {
                format!("{what} says that {} are missing, where one id was made up", answer["missing"])
            })?;
            let (member, _) = resource.answered();
            let read = answer[member].as_array().map(Vec::as_slice).unwrap_or_default();
            ensure(read.len() == part.len() && answer["count"] == part.len(), || {
                format!("{what} has {} of {}, and counts {}", read.len(), part.len(), answer["count"])
            })?;
            for (found, note) in read.iter().zip(order) {
                same(found, note, &what)?;
            }
        }
    }
    Ok(())
}

/// Reads the newest summary of each session.
fn summaries(memory: &mut Memory<'_, '_>, shelf: &Shelf) -> Judgement {
    let all: Vec<_> = shelf.notes(Resource::Session).collect();
    for note in &all {
        let is_of = |other: &&&Note| other.session == note.session && other.project == note.project;
        let newest = all.iter().rev().find(is_of).unwrap_or(note);
        let asked = json!({ "session_id": note.session, "project_id": note.project });
        let found = memory.read("get", Resource::Session, &asked)?;
        same(&found, newest, "`get` of `session`")?;
    }
    let none = json!({ "session_id": "no-such-session" });
    let reply = memory.ask(READER, &["get", "session"], &none)?;
    ensure(matches!(reply, Reply::Refused(_)), || {
        "`get` of a session without a summary was answered".to_owned()
    })
}

/// Fails unless `found` has the fields of a note.
fn same(found: &Value, note: &Note, what: &str) -> Judgement {
    for (name, expected) in &note.fields {
        ensure(found[name] == *expected, || {
            format!("{what} has {} as `{name}`, where {expected} was stored: {found}", found[name])
        })?;
    }
    let at = (found["seq"].as_i64(), found["created_at"].as_i64().or(found["first_seen_at"].as_i64()));
    ensure(at == (Some(note.at.1), Some(note.at.0)), || {
        format!("{what} has another time or `seq` than a list: {found}")
    })
}

/// Fails unless the tables contain exactly the stored notes.
fn on_disk(memory: &Memory<'_, '_>, shelf: &Shelf) -> Judgement {
    let Some(ledger) = memory.scene.rows()? else {
        return Ok(());
    };
    for resource in Resource::ALL {
        // An execution and a quality gate have rows of their own in addition to their observations.
        let mut expected: Vec<_> = shelf.notes(resource).map(|note| note.id.as_str()).collect();
        let id = match resource {
            Resource::Execution | Resource::QualityGate => "observation_id",
            _ => "id",
        };
        let rows = ledger.tables.rows(resource.entity());
        let mut found: Vec<_> = rows.filter_map(|row| row.get(id)?.as_str()).collect();
        expected.sort_unstable();
        found.sort_unstable();
        let extra = found.iter().find(|id| !expected.contains(id));
        let lost = expected.iter().find(|id| !found.contains(id));
        let table = resource.entity();
        ensure_none(extra, |id| format!("the table of `{table}` has the row `{id}`, which no call stored"))?;
        ensure_none(lost, |id| format!("the table of `{table}` lacks `{id}`, which was stored"))?;
        ensure(found.len() == expected.len(), || format!("the table of `{table}` has a row twice"))?;
    }
    Ok(())
}

fn runs(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (mut memory, shelf) = shelf::play(bench, &case.read::<Vec<Step>>()?)?;
    for resource in [Resource::Execution, Resource::QualityGate] {
        let (member, id) = resource.answered();
        let newest = shelf.newest(resource, &super::note::Filters::default());
        let ids_of = |answer: &Value| {
            let runs = answer[member].as_array().into_iter().flatten();
            runs.map(|run| run[id].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        let mut projects: Vec<_> = newest.iter().map(|note| note.project.as_str()).collect();
        projects.sort_unstable();
        projects.dedup();
        for project in projects {
            let asked = json!({ "project_id": project, "limit": 1_000 });
            let expected: Vec<_> = newest.iter().filter(|note| note.project == project).collect();
            let expected: Vec<_> = expected.iter().map(|note| note.id.clone()).collect();
            let found = ids_of(&memory.read("get", resource, &asked)?);
            ensure(found == expected, || {
                format!(
                    "`get` of `{}` in `{project}` has {found:?}, where {expected:?} were stored, newest first",
                    resource.word()
                )
            })?;
        }
        // By either id, in one request and newest first.
        let named = |note: &&&Note| note.run.clone().unwrap_or_else(|| note.id.clone());
        let ids: Vec<_> = newest.iter().rev().take(MAX_IDS).map(|note| named(&note)).collect();
        if !ids.is_empty() {
            let expected: Vec<_> = newest.iter().filter(|note| ids.contains(&named(note))).collect();
            let expected: Vec<_> = expected.iter().map(|note| note.id.clone()).collect();
            let found = ids_of(&memory.read("get", resource, &json!({ "ids": ids }))?);
            ensure(found == expected, || {
                format!("`get` of `{}` by ids has {found:?}, not {expected:?}", resource.word())
            })?;
        }
    }
    wrong_runs(&mut memory, &shelf)
}

/// Fails if an id of a run can be used twice, or a gate can refer to an absent run.
fn wrong_runs(memory: &mut Memory<'_, '_>, shelf: &Shelf) -> Judgement {
    let by = Caller(0);
    let mut trials = vec![(
        "a quality gate of an execution that is not there",
        ["store", "quality_gate"],
        json!({ "gate_name": "coverage", "status": "passed", "execution_id": "no-such-run" }),
    )];
    if let Some(run) = shelf.notes(Resource::Execution).find_map(|note| note.run.as_deref()) {
        let mut data = Map::new();
        for (name, value) in [
            ("command", json!("make")),
            ("exit_code", json!(0)),
            ("duration_ms", json!(1)),
            ("success", json!(true)),
            ("execution_type", json!("build")),
            ("execution_id", json!(run)),
        ] {
            data.insert(name.to_owned(), value);
        }
        trials.push(("an execution with an id that is taken", ["store", "execution"], data.into()));
    }
    for (what, is, data) in trials {
        let reply = memory.ask(by, &is, &json!({ "data": data }))?;
        ensure(matches!(reply, Reply::Refused(_)), || format!("{what} was accepted"))?;
    }
    on_disk(memory, shelf)
}
