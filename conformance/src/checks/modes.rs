//! Modes of operation: in which of them each tool may be called, however the mode is set.

use std::collections::BTreeSet;

use tabellion_runtime::spec::ModesSpec;

use super::provenance::said;
use crate::{checks::prelude::*, judgement::mapped_tools, request};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "modes/matrix",
        guarantees: &["modes-hold"],
        states: "In a mode that a tool is not for, each call of it is refused with the contract's sentence; in the others none is.",
        explains: "Sets each mode by the server's argument, by the contract's environment variable and, over HTTP, by its header, and two \
                   of them at once, of which the first counts; sets a mode that does not exist; and sets none. Then calls each \
                   operation with its first example. Refusals are compared word for word, and must change nothing.",
        cases: |bench| cases(bench, true),
        ..Check::must(matrix)
    },
    Check {
        id: "modes/listed",
        guarantees: &["modes-hold"],
        states: "All tools are listed in every mode.",
        explains: "Sets each mode as modes/matrix does, and compares the names in `tools/list` with the contract's.",
        cases: |bench| cases(bench, false),
        ..Check::must(listed)
    },
];

/// A mode that no contract has.
const NO_MODE: &str = "no-such-mode";

named! {
    /// Channel by which a mode is set; the first that sets one counts.
    enum Way {
        Argument = "argument",
        Environment = "environment",
        Header = "header",
    }
}

impl Way {
    /// Returns true if this server's mode can be set so.
    fn is_possible(self, bench: &Bench<'_>, modes: &ModesSpec) -> bool {
        let launch = &bench.subject.launch;
        match self {
            Self::Argument => launch.mode.is_some() && launch.running().is_none(),
            Self::Environment => modes.env.is_some() && launch.running().is_none(),
            Self::Header => modes.header.is_some() && launch.is_http(),
        }
    }
}

/// The modes that are set, with their channels; the first counts.
type Set = Vec<(Way, String)>;

fn modes(bench: &Bench<'_>) -> Result<&'static ModesSpec, Stop> {
    let modes = bench.subject.contract.modes;
    modes.ok_or_else(|| not_applicable("the contract has no modes"))
}

fn cases(bench: &Bench<'_>, with_others: bool) -> Result<Vec<Case>, Stop> {
    let modes = modes(bench)?;
    let ways: Vec<_> = Way::ALL.into_iter().filter(|way| way.is_possible(bench, modes)).collect();
    let mut sets: Vec<Set> = vec![Vec::new()];
    for way in &ways {
        sets.extend(modes.names.iter().map(|name| vec![(*way, (*name).to_owned())]));
        // A server may refuse to start with an argument that is wrong.
        if with_others && *way != Way::Argument {
            sets.push(vec![(*way, NO_MODE.to_owned())]);
        }
    }
    if with_others && let [first, second, ..] = modes.names {
        for pair in ways.windows(2) {
            for (counts, other) in [(first, second), (second, first)] {
                sets.push(vec![(pair[0], (*counts).to_owned()), (pair[1], (*other).to_owned())]);
            }
        }
    }
    let name = |set: &Set| match set.as_slice() {
        [] => "no mode is set".to_owned(),
        all => {
            let all = all.iter().map(|(way, mode)| format!("{mode} by {}", way.name()));
            all.collect::<Vec<_>>().join(", ")
        }
    };
    Ok(sets.iter().map(|set| Case::new(name(set), set)).collect())
}

/// Starts a server with these modes.
fn start<'a>(bench: &Bench<'a>, scene: &Scene<'a>, set: &Set) -> Result<Client<'a>, Stop> {
    let modes = modes(bench)?;
    let launch = &bench.subject.launch;
    let mut arguments = Vec::new();
    let mut variable = None;
    let mut headers = Vec::new();
    for (way, mode) in set {
        match way {
            Way::Argument => arguments.extend(launch.mode_argument(mode)),
            Way::Environment => variable = Some(mode),
            Way::Header => headers.extend(modes.header.map(|name| (name.to_owned(), mode.clone()))),
        }
    }
    let target = if launch.running().is_some() {
        scene.connect()?
    } else {
        scene.connect_by(|command| {
            command.args(arguments);
            if let Some(name) = modes.env {
                match variable {
                    Some(mode) => command.env(name, mode),
                    None => command.env_remove(name),
                };
            }
        })?
    };
    target.set_headers(headers);
    for (way, mode) in set {
        scene.trace(format!("the mode `{mode}` is set by {}", way.name()));
    }
    Client::open(bench.subject, target, scene.library())
}

fn matrix(bench: &Bench<'_>, case: &Case) -> Judgement {
    let set: Set = case.read()?;
    let modes = modes(bench)?;
    let contract = bench.subject.contract;
    let default = if bench.subject.launch.is_http() { modes.http } else { modes.lines };
    let mode = set.first().map_or(default, |(_, mode)| mode.as_str());
    let scene = said::scene(bench)?;
    let mut client = start(bench, &scene, &set)?;
    let code = contract.errors.iter().find(|error| error.name == modes.error);
    let code = code.map(|error| i64::from(error.code));
    let before = scene.view()?;
    let mut refusals = 0;
    let calls: Vec<_> = bench.subject.operations().collect();
    // First those that must be refused, so that nothing may have changed after them.
    let modes_of = |tool: &ToolSpec| contract.tool(tool.name).map_or(&[][..], |tool| tool.modes);
    let is_allowed = |tool: &&ToolSpec| modes_of(tool).contains(&mode);
    let (allowed, refused): (Vec<_>, Vec<_>) = calls.into_iter().partition(is_allowed);
    for tool in refused {
        let Some(arguments) = request::examples(tool).next() else {
            continue;
        };
        let sentence = if modes.names.contains(&mode) {
            let sentence = modes.refused.replace("{tool}", tool.name);
            sentence.replace("{mode}", mode).replace("{allowed}", &modes_of(tool).join(", "))
        } else {
            let sentence = modes.unknown.replace("{mode}", mode);
            sentence.replace("{names}", &modes.names.join(", "))
        };
        let label = tool.label();
        let meta = said::full_meta(contract.provenance, 1);
        match client.call_with(tool, &arguments, meta)? {
            Reply::Done(_) => return Err(fail(format!("`{label}` was accepted in the mode `{mode}`"))),
            Reply::Refused(refusal) => {
                ensure(refusal.message == sentence, || {
                    format!(
                        "`{label}` in the mode `{mode}` was refused with `{}` instead of `{sentence}`",
                        refusal.message
                    )
                })?;
                ensure(refusal.code.is_none() || refusal.code == code, || {
                    format!(
                        "`{label}` in the mode `{mode}` was refused with the code {:?} instead of {code:?}",
                        refusal.code
                    )
                })?;
            }
        }
        refusals += 1;
    }
    if refusals > 0 {
        before.same(&scene.view()?, "a call that its mode does not allow")?;
    }
    for tool in allowed {
        let Some(arguments) = request::examples(tool).next() else {
            continue;
        };
        let meta = said::full_meta(contract.provenance, 1);
        // A call that is refused for another reason was allowed by its mode.
        if let Reply::Refused(refusal) = client.call_with(tool, &arguments, meta)? {
            let is_of_mode = [modes.refused, modes.unknown]
                .iter()
                .any(|sentence| said::follows(sentence, &refusal.message));
            ensure(!is_of_mode, || {
                format!("`{}` is for the mode `{mode}`, but was refused: {}", tool.label(), refusal.message)
            })?;
        }
    }
    Ok(client.close()?)
}

fn listed(bench: &Bench<'_>, case: &Case) -> Judgement {
    let set: Set = case.read()?;
    if !bench.subject.is_native() {
        return Err(mapped_tools());
    }
    let scene = said::scene(bench)?;
    let mut client = start(bench, &scene, &set)?;
    let answer = client.request("tools/list", json!({}))?;
    let tools = answer["result"]["tools"].as_array();
    let names: BTreeSet<_> = tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    let all = bench.subject.contract.tools.iter().map(|tool| tool.name);
    let hidden: Vec<_> = all.filter(|name| !names.contains(name)).collect();
    ensure(hidden.is_empty(), || format!("`tools/list` does not have {}", hidden.join(", ")))?;
    Ok(client.close()?)
}
