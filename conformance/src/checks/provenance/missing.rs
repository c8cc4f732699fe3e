//! Calls that lack fields of provenance: which are refused, and with which sentence.

use std::collections::BTreeSet;

use tabellion_runtime::spec::{ProvenanceField, ProvenanceSpec, ProvenanceType, ProvenanceUse};

use super::said::{self, Connections, Fields};
use crate::{check::each_alone, checks::prelude::*, request};

pub(super) const MISSING: Check = Check {
    id: "provenance/missing",
    guarantees: &["provenance-required"],
    states: "A call that lacks required provenance is refused with the contract's sentence, which names all that is missing, in order.",
    explains: "Leaves out each required field of each tool that requires provenance, each combination of two, and all; and has blank \
               texts instead. Each call is the first of its connection, so that nothing else says what it does not. Fields with a \
               default may be left out unless the server takes no defaults, and tools that only keep provenance take calls without any.",
    cases: missing,
    shrink: one_call,
    ..Check::must(judge)
};

pub(super) const DELEGATED: Check = Check {
    id: "provenance/delegated",
    guarantees: &["parent-when-delegated"],
    states: "A call for which one field is true needs the further fields that the contract names for that.",
    explains: "Says true for the field, under each of its names, without the further fields and with blank ones, which must be refused \
               with the contract's sentence; with another field missing, which comes first; and with all, or not true, which must \
               not be refused.",
    cases: delegated,
    shrink: one_call,
    ..Check::must(judge)
};

/// A blank text.
const BLANKS: [&str; 2] = ["", " \t"];

/// A call, and the fields that its refusal has to name.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Trial {
    what: String,
    operation: String,
    said: Fields,
    /// Name and key of the field whose true value is given under a key other than its first.
    spelt: Option<(String, String)>,
    missing: Vec<String>,
}

fn missing(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let spec = said::spec(bench)?;
    let needed: Vec<_> = required(spec).filter(|field| field.default.is_none()).collect();
    let mut cases = Vec::new();
    for tool in one_of_each(bench, ProvenanceUse::Required) {
        let trial = |what: String, said: Fields, missing: &[&ProvenanceField]| Trial {
            what,
            operation: tool.label().to_owned(),
            said,
            spelt: None,
            missing: in_order(spec, missing.iter().map(|field| field.name)),
        };
        for (at, field) in needed.iter().enumerate() {
            let mut trials =
                vec![trial(format!("without `{}`", field.name), without(spec, &[field]), &[field])];
            for other in &needed[at + 1..] {
                let both = [*field, *other];
                trials.push(trial(
                    format!("without `{}` and `{}`", field.name, other.name),
                    without(spec, &both),
                    &both,
                ));
            }
            if field.kind == ProvenanceType::String {
                for blank in BLANKS {
                    let mut said = said::complete(spec, 1);
                    said.insert(field.name.to_owned(), blank.into());
                    trials.push(trial(format!("with {blank:?} for `{}`", field.name), said, &[field]));
                }
            }
            cases.push(Case::new(format!("{}: {}", tool.name, field.name), trials));
        }
        let defaulted: Vec<_> = spec.fields.iter().filter(|field| field.default.is_some()).collect();
        let trials = vec![
            trial("without any".to_owned(), Fields::new(), &needed),
            trial("with all".to_owned(), said::complete(spec, 1), &[]),
            trial("without what has a default".to_owned(), without(spec, &defaulted), &[]),
        ];
        cases.push(Case::new(format!("{}: all, and none", tool.name), trials));
    }
    for tool in one_of_each(bench, ProvenanceUse::Kept) {
        let trial = Trial {
            what: "without any".to_owned(),
            operation: tool.label().to_owned(),
            said: Fields::new(),
            spelt: None,
            missing: Vec::new(),
        };
        cases.push(Case::new(format!("{}: none", tool.name), vec![trial]));
    }
    nonempty(cases, "no tool of the server has provenance")
}

fn delegated(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let spec = said::spec(bench)?;
    let mut cases = Vec::new();
    for tool in one_of_each(bench, ProvenanceUse::Required) {
        for also in spec.also_if {
            let Some(field) = spec.field(also.field) else {
                continue;
            };
            let further: Vec<_> = also.then.iter().filter_map(|name| spec.field(name)).collect();
            let trial = |what: &str, is: Option<bool>, mut said: Fields, missing: &[&str]| {
                said.shift_remove(also.field);
                if let Some(is) = is {
                    said.insert(also.field.to_owned(), is.into());
                }
                Trial {
                    what: format!(
                        "{what}, with {} `{}`",
                        is.map_or("no".to_owned(), |is| is.to_string()),
                        also.field
                    ),
                    operation: tool.label().to_owned(),
                    said,
                    spelt: None,
                    missing: in_order(spec, missing.iter().copied()),
                }
            };
            let none = without(spec, &further);
            let mut trials = vec![
                trial("without the further fields", Some(true), none.clone(), also.then),
                trial("with all", Some(true), said::complete(spec, 1), &[]),
                trial("without the further fields", Some(false), none.clone(), &[]),
                trial("without the further fields", None, none.clone(), &[]),
            ];
            for blank in BLANKS {
                let mut said = said::complete(spec, 1);
                for field in further.iter().filter(|field| field.kind == ProvenanceType::String) {
                    said.insert(field.name.to_owned(), blank.into());
                }
                trials.push(trial("with blank further fields", Some(true), said, also.then));
            }
            for key in field.keys {
                let mut spelt = trial("without the further fields", Some(true), none.clone(), also.then);
                spelt.what = format!("{}, spelt `{key}`", spelt.what);
                spelt.spelt = Some((also.field.to_owned(), (*key).to_owned()));
                trials.push(spelt);
            }
            if let Some(other) = required(spec).find(|field| field.default.is_none()) {
                let mut said = none.clone();
                said.shift_remove(other.name);
                let names: Vec<_> = also.then.iter().copied().chain([other.name]).collect();
                trials.push(trial(
                    &format!("without the further fields and `{}`", other.name),
                    Some(true),
                    said,
                    &names,
                ));
            }
            cases.push(Case::new(format!("{}: {}", tool.name, also.field), trials));
        }
    }
    nonempty(cases, "no tool of the server needs further fields in some cases")
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let spec = said::spec(bench)?;
    let scene = said::scene(bench)?;
    let mut connections = Connections::new(&scene);
    let contract = bench.subject.contract;
    for trial in case.read::<Vec<Trial>>()? {
        let what = format!("`{}` {}", trial.operation, trial.what);
        let tool = contract.operation(&trial.operation);
        let example = tool.and_then(|tool| Some((tool, request::examples(tool).next()?)));
        let Some((tool, arguments)) = example else {
            return Err(not_applicable(format!("the contract has no example of `{}`", trial.operation)));
        };
        let mut client = connections.open()?;
        let before = scene.view()?;
        let mut meta = said::meta(spec, &trial.said);
        if let Some((name, key)) = &trial.spelt
            && let Some(field) = spec.field(name)
            && let Some(value) = meta.shift_remove(said::first_key(field))
        {
            meta.insert(key.clone(), value);
        }
        let reply = client.call_with(tool, &arguments, meta)?;
        let sentence = |fields: &[String]| {
            let sentence = spec.missing.message.replace("{tool}", tool.name);
            sentence.replace("{fields}", &fields.join(", "))
        };
        // A strict server takes no default.
        let unsaid = required(spec).map(|field| field.name).filter(|name| {
            let is_spelt = trial.spelt.as_ref().is_some_and(|(spelt, _)| spelt == name);
            !is_spelt && !trial.said.contains_key(*name)
        });
        let strict = in_order(spec, unsaid.chain(trial.missing.iter().map(String::as_str)));
        let code = contract.errors.iter().find(|error| error.name == spec.missing.error);
        let code = code.map(|error| i64::from(error.code));
        match reply {
            Reply::Done(_) => ensure(trial.missing.is_empty(), || {
                format!("{what} was accepted, although it lacks {}", trial.missing.join(", "))
            })?,
            // It was refused for another reason, such as a missing row.
            Reply::Refused(refusal)
                if trial.missing.is_empty() && !said::follows(spec.missing.message, &refusal.message) => {}
            // A tool that only keeps provenance needs none.
            Reply::Refused(refusal)
                if strict.is_empty() || (trial.said.is_empty() && trial.missing.is_empty()) =>
            {
                let message = &refusal.message;
                return Err(fail(format!("{what} lacks nothing, but was refused: {message}")));
            }
            Reply::Refused(refusal) => {
                let expected = sentence(&trial.missing);
                let is_lenient = !trial.missing.is_empty() && refusal.message == expected;
                ensure(is_lenient || refusal.message == sentence(&strict), || {
                    format!("{what} was refused with `{}` instead of `{expected}`", refusal.message)
                })?;
                ensure(refusal.code.is_none() || refusal.code == code, || {
                    format!("{what} was refused with the code {:?} instead of {code:?}", refusal.code)
                })?;
                before.same(&scene.view()?, &what)?;
            }
        }
        client.close()?;
    }
    Ok(())
}

/// Returns the names, in the order in which the contract's sentence has them.
fn in_order<'n>(spec: &ProvenanceSpec, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let names: BTreeSet<_> = names.collect();
    let further = spec.also_if.iter().flat_map(|also| also.then);
    let further = further.filter(|name| !spec.required.contains(name));
    let all = spec.required.iter().chain(further);
    all.filter(|name| names.contains(**name)).map(|name| (*name).to_owned()).collect()
}

fn required(spec: &'static ProvenanceSpec) -> impl Iterator<Item = &'static ProvenanceField> {
    spec.required.iter().filter_map(|name| spec.field(name))
}

/// Returns all fields but these.
fn without(spec: &ProvenanceSpec, fields: &[&ProvenanceField]) -> Fields {
    let mut said = said::complete(spec, 1);
    said.retain(|name, _: &mut Value| !fields.iter().any(|field| field.name == name));
    said
}

/// Returns an operation with an example of each tool that uses provenance so, preferably a reading one.
fn one_of_each(bench: &Bench<'_>, used: ProvenanceUse) -> Vec<&'static ToolSpec> {
    let with_example = |tool: &&'static ToolSpec| request::examples(tool).next().is_some();
    let all: Vec<_> = said::operations(bench, &[used]).filter(with_example).collect();
    let names: BTreeSet<_> = all.iter().map(|tool| tool.name).collect();
    let of = |name| {
        let mut own = all.iter().filter(|tool| tool.name == name);
        own.clone().find(|tool| !tool.mutating).or_else(|| own.next())
    };
    names.into_iter().filter_map(of).copied().collect()
}

/// Returns each call as a case of its own.
fn one_call(case: &Case) -> Vec<Case> {
    let name = |_, trial: &Trial| format!("`{}` {}", trial.operation, trial.what);
    each_alone(case, |trials: &mut Vec<Trial>| trials, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_are_named_in_the_order_of_the_contract() {
        let spec = tabellion_contracts::mcb::CONTRACT.provenance.unwrap();
        for (names, expected) in [
            (&["timestamp", "project_id"][..], &["project_id", "timestamp"][..]),
            (&["parent_session_id", "model_id"], &["model_id", "parent_session_id"]),
            (&["unknown"], &[]),
        ] {
            assert_eq!(in_order(spec, names.iter().copied()), expected, "{names:?}");
        }
    }
}
