//! Provenance does not decide which data a call sees.

use tabellion_runtime::{
    pointer,
    spec::{Action, ProvenanceUse},
};

use super::said::{self, Connections};
use crate::{checks::prelude::*, ledger::rows::Row, request};

pub(super) const CHECK: Check = Check {
    id: "provenance/no-filter",
    guarantees: &["provenance-required"],
    states: "What a call finds does not depend on its provenance.",
    explains: "Makes a change, and reads with every operation that finds it: once with the provenance of the change, once with a different one in \
               every field, each over a connection of its own. What the one finds, the other must find too. A server that takes a \
               session for an argument hides from one agent what another has stored.",
    cases,
    ..Check::must(judge)
};

/// Numbers of the provenance of the change, and of a different one.
const ONE: usize = 1;
const OTHER: usize = 2;

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    said::spec(bench)?;
    let uses = [ProvenanceUse::Required, ProvenanceUse::Kept];
    let mut names = Vec::new();
    for tool in said::operations(bench, &uses).filter(|tool| tool.mutating) {
        // Deleted rows are not found.
        let creates = tool.rows.is_none_or(|rows| rows.action == Action::Create);
        if creates && request::examples(tool).next().is_some() && !names.contains(&tool.name) {
            names.push(tool.name);
        }
    }
    let names = nonempty(names, "no tool of the server makes something and has provenance")?;
    Ok(names.into_iter().map(|name| Case::new(name, name)).collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let name: String = case.read()?;
    let spec = said::spec(bench)?;
    let scene = said::scene(bench)?;
    let mut connections = Connections::new(&scene);
    let one = said::meta(spec, &said::complete(spec, ONE));
    let other = said::meta(spec, &said::complete(spec, OTHER));
    let mut client = connections.open()?;
    let mut found = 0;
    let mut made = Vec::new();
    for tool in bench.subject.operations().filter(|tool| tool.name == name && tool.mutating) {
        if tool.rows.is_some_and(|rows| rows.action != Action::Create) {
            continue;
        }
        for arguments in request::examples(tool) {
            if client.call_with(tool, &arguments, one.clone())?.done().is_some() {
                made.extend(signs(&scene, tool, &arguments)?);
            }
        }
    }
    client.close()?;
    let (mut same, mut another) = (connections.open()?, connections.open()?);
    for tool in bench.subject.operations().filter(|tool| !tool.mutating) {
        let Some(example) = request::examples(tool).next() else {
            continue;
        };
        for made in &made {
            let arguments = asking(tool, &example, &made.row);
            let seen = [
                same.call_with(tool, &arguments, one.clone())?,
                another.call_with(tool, &arguments, other.clone())?,
            ];
            let has = |reply: &Reply| match reply {
                Reply::Done(done) => done.response.to_string().contains(&made.sign),
                Reply::Refused(_) => false,
            };
            match (has(&seen[0]), has(&seen[1])) {
                (true, true) => found += 1,
                (false, false) => {}
                _ => {
                    let label = tool.label();
                    let why = format!(
                        "`{label}` finds `{}` with the provenance of the call that made it, or with a different one, but not with both",
                        made.sign
                    );
                    return Err(fail(why));
                }
            }
        }
    }
    if found == 0 {
        return Err(not_shown(format!("no operation finds what the examples of `{name}` make")));
    }
    Ok(())
}

/// A created row or document: the text by which an answer shows it, and its row.
struct Made {
    sign: String,
    row: Row,
}

/// Returns the rows or the document that the last change created.
fn signs(scene: &Scene<'_>, tool: &ToolSpec, arguments: &Value) -> Result<Vec<Made>, Stop> {
    if let Some(rows) = scene.rows()? {
        let last = rows.log.and_then(|log| log.last().cloned());
        let added = last.into_iter().flat_map(|entry| entry.rows);
        let made = added.filter_map(|row| {
            let after = row.after.filter(|_| row.before.is_none())?;
            // The longest value of the key is the row's own.
            let key = row.key.values().filter_map(Value::as_str);
            let sign = key.max_by_key(|value| value.len())?.to_owned();
            Some(Made { sign, row: after })
        });
        return Ok(made.collect());
    }
    let path = tool.path_of(arguments).unwrap_or_default();
    let row = Row::new();
    Ok((!path.is_empty()).then(|| Made { sign: path, row }).into_iter().collect())
}

/// Returns a request that asks for as much as the operation gives, or for this row.
fn asking(tool: &ToolSpec, example: &Value, row: &Row) -> Value {
    let wire = tool.input.wire();
    let required = wire["required"].as_array().cloned().unwrap_or_default();
    let mut arguments = example.as_object().cloned().unwrap_or_default();
    let selectors = tool.operation.map_or(&[][..], |operation| operation.select);
    arguments.retain(|name, _| {
        let is_selector = selectors
            .iter()
            .any(|selector| pointer::split_last(selector).is_some_and(|(_, last)| last == *name));
        is_selector || required.iter().any(|it| it == name)
    });
    for (member, field) in tool.rows.map_or(&[][..], |rows| rows.arguments) {
        if let (true, Some(value)) = (arguments.contains_key(*member), row.get(*field)) {
            arguments.insert((*member).to_owned(), value.clone());
        }
    }
    arguments.into()
}
