//! Provenance is kept with each change.

use tabellion_runtime::spec::ProvenanceUse;

use super::said::{self, Kept};
use crate::{checks::prelude::*, request};

pub(super) const CHECK: Check = Check {
    id: "provenance/kept",
    guarantees: &["provenance-required"],
    states: "All fields of a call's provenance are kept with its change.",
    explains: "Makes the examples of each tool's changes, each with values of its own over one connection, and reads the log on the disk \
               beside the server. The entry must have every field with the value of its own call, not that of an earlier one.",
    cases,
    ..Check::must(judge)
};

const USES: [ProvenanceUse; 2] = [ProvenanceUse::Required, ProvenanceUse::Kept];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    said::spec(bench)?;
    let with_example = |name: &&str| {
        let mut own = said::operations(bench, &USES).filter(|tool| tool.name == *name);
        own.any(|tool| tool.mutating && request::examples(tool).next().is_some())
    };
    let names = bench.subject.contract.tools.iter().map(|tool| tool.name);
    let cases: Vec<_> = names.filter(with_example).map(|name| Case::new(name, name)).collect();
    nonempty(cases, "no tool of the server changes something and keeps provenance")
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let name: String = case.read()?;
    let spec = said::spec(bench)?;
    let scene = said::scene(bench)?;
    let mut client = scene.start()?;
    let (mut number, mut kept) = (0, 0);
    let mut why = String::new();
    let own = said::operations(bench, &USES).filter(|tool| tool.name == name && tool.mutating);
    for tool in own {
        for arguments in request::examples(tool) {
            number += 1;
            let said = said::complete(spec, number);
            match client.call_with(tool, &arguments, said::meta(spec, &said))? {
                Reply::Done(_) => {}
                // The example may need rows or documents that do not exist.
                Reply::Refused(refusal) => {
                    why = refusal.message;
                    continue;
                }
            }
            let found = Kept::of_last(&scene)?;
            for (field, value) in &said {
                found.must_have(field, value, &format!("`{}`", tool.label()))?;
            }
            kept += 1;
        }
    }
    if kept == 0 {
        return Err(not_shown(format!("every example of a change by `{name}` was refused: {why}")));
    }
    Ok(client.close()?)
}
