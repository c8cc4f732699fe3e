//! Provenance in the calls of checks, and in a server's records.

use tabellion_runtime::{
    provenance::DETAIL,
    spec::{ProvenanceSpec, ProvenanceUse},
};

pub(crate) use crate::provenance::{Fields, complete, first_key, full_meta, meta, value};

use crate::{checks::prelude::*, ledger::rows::Row, request};

/// Document of each library, for contracts about documents.
const DOCUMENTS: &[(&str, &str)] = &[("page.md", "# Page\n\nText.\n")];
/// Name of the details of an entry of the log.
const DETAILS: &str = "details";

/// Returns the contract's provenance.
pub(super) fn spec(bench: &Bench<'_>) -> Result<&'static ProvenanceSpec, Stop> {
    let spec = bench.subject.contract.provenance;
    spec.ok_or_else(|| not_applicable("the contract has no provenance"))
}

/// Returns the operations of the server whose tools use provenance so.
pub(super) fn operations<'b>(
    bench: &'b Bench<'_>,
    uses: &'b [ProvenanceUse],
) -> impl Iterator<Item = &'static ToolSpec> + 'b {
    let contract = bench.subject.contract;
    let used = move |tool: &ToolSpec| contract.tool(tool.name)?.provenance;
    let all = bench.subject.operations();
    all.filter(move |tool| used(tool).is_some_and(|used| uses.contains(&used)))
}

/// Returns true if a message has the fixed parts of a sentence with placeholders, in order.
pub(crate) fn follows(sentence: &str, message: &str) -> bool {
    let mut parts = sentence.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after));
    let mut rest = message;
    parts.all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Creates a scene for a contract of either store.
pub(crate) fn scene<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)
}

/// Connections to one server after another, or over HTTP to the same: provenance from one connection must not be used for
/// another.
pub(super) struct Connections<'s, 'a> {
    scene: &'s Scene<'a>,
    first: Option<Client<'a>>,
}

impl<'s, 'a> Connections<'s, 'a> {
    pub(super) fn new(scene: &'s Scene<'a>) -> Self {
        Self { scene, first: None }
    }

    /// Opens a connection over which no call was made yet.
    pub(super) fn open(&mut self) -> Result<Client<'a>, Stop> {
        let mut client = self.next()?;
        client.provenance.clear();
        Ok(client)
    }

    fn next(&mut self) -> Result<Client<'a>, Stop> {
        if let Some(first) = &self.first {
            return first.beside();
        }
        let client = self.scene.start()?;
        match client.beside() {
            Ok(beside) => {
                self.first = Some(client);
                Ok(beside)
            }
            // Over standard input and output, a server has one client.
            Err(Stop::NotApplicable(_)) => Ok(client),
            Err(stop) => Err(stop),
        }
    }
}

/// A server's record of the provenance of a change.
pub(super) enum Kept {
    /// The fields, in the entry of the log.
    Fields(Fields),
    /// The message of the commit, which contains them somewhere.
    Message(String),
}

impl Kept {
    /// Returns the record of the scene's last change.
    pub(super) fn of_last(scene: &Scene<'_>) -> Result<Self, Stop> {
        if let Some(rows) = scene.rows()? {
            let log = rows
                .log
                .ok_or_else(|| not_shown("the log can't be read; an adapter's `ledger` says where it is"))?;
            let entry = log.last().ok_or_else(|| fail("the log is empty after a change"))?;
            return Ok(Self::Fields(provenance_of(&entry.other)));
        }
        Ok(Self::Message(scene.git(&["log", "-1", "--format=%B"])?))
    }

    /// Fails unless a field was kept with this value.
    pub(super) fn must_have(&self, name: &str, value: &Value, what: &str) -> Result<(), Stop> {
        let found = match self {
            Self::Fields(fields) => {
                let found = fields.get(name);
                ensure(found == Some(value), || {
                    let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
                    format!("{what} said {value} for `{name}`, but {found} is kept with its change")
                })?;
                return Ok(());
            }
            Self::Message(message) => {
                let spelt = value.as_str().map(str::to_owned);
                message.contains(&spelt.unwrap_or_else(|| format!("\"{name}\":{value}")))
            }
        };
        ensure(found, || {
            format!("{what} said {value} for `{name}`, which the message of its commit does not have")
        })
    }
}

/// Returns the fields in an entry of the log: its member `provenance`, or that of its details.
fn provenance_of(entry: &Row) -> Fields {
    let in_details = || entry.get(DETAILS)?.get(DETAIL);
    let found = entry.get(DETAIL).or_else(in_details).and_then(Value::as_object);
    found.cloned().unwrap_or_default()
}

/// Returns a changing operation that keeps provenance, and a request of it that the server accepts more than once.
pub(super) fn repeatable(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    spec: &ProvenanceSpec,
) -> Result<(&'static ToolSpec, Value), Stop> {
    let uses = [ProvenanceUse::Required, ProvenanceUse::Kept];
    for used in uses {
        for tool in operations(bench, &[used]).filter(|tool| tool.mutating) {
            for arguments in request::examples(tool) {
                if is_accepted_twice(client, spec, tool, &arguments)? {
                    return Ok((tool, arguments));
                }
            }
        }
    }
    let why =
        "the server accepts no example of a change twice, so that there is nothing to keep provenance with";
    Err(not_shown(why))
}

fn is_accepted_twice(
    client: &mut Client<'_>,
    spec: &ProvenanceSpec,
    tool: &'static ToolSpec,
    arguments: &Value,
) -> Result<bool, Stop> {
    for number in 0..2 {
        let said = meta(spec, &complete(spec, number));
        if client.call_with(tool, arguments, said)?.done().is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_follows_its_sentence() {
        let sentence = "Missing provenance for '{tool}': {fields}";
        for (message, expected) in [
            ("Missing provenance for 'search': session_id", true),
            ("Missing provenance for 'search'", false),
            ("there is no row `x`", false),
        ] {
            assert_eq!(follows(sentence, message), expected, "{message}");
        }
    }
}
