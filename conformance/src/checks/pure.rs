//! Checks that starting, listing, reading, previewing and refused calls change nothing.

use crate::{
    Own, attacks,
    check::each_alone,
    checks::prelude::*,
    documents::on_section,
    judgement::accepted,
    request::{self, with_effect},
};

use super::person;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "pure/reads-change-nothing",
        guarantees: &[
            "pure-unless-stated",
            "no-write-without-call",
            "no-side-effects",
            "reading-changes-nothing",
        ],
        states: "A call of a tool that declares no change changes nothing, whatever its arguments.",
        explains: "Calls every non-mutating tool with the contract's valid and invalid examples and with missing, \
                   unusual and hostile paths, on a library with a person's staged and unstaged changes. Every file \
                   with its mode and timestamp, the files outside the library, the history, the index, refs, hooks and \
                   configuration must be unchanged. The server may have a folder of its own in `.git`.",
        cases: reading_cases,
        shrink: single_calls,
        ..Check::must(judge_reads)
    },
    Check {
        id: "pure/start-changes-nothing",
        guarantees: &["no-write-without-call", "no-side-effects", "reading-changes-nothing"],
        states: "Starting the server, listing its tools and closing it changes nothing.",
        explains: "Starts the server over a library with a person's staged and unstaged changes, lists its tools and \
                   closes it, twice. The library and its history must be unchanged.",
        ..Check::must(judge_starts)
    },
    Check {
        id: "pure/no-write-without-call",
        guarantees: &["no-write-without-call", "no-side-effects", "reading-changes-nothing"],
        states: "A session without mutating calls never changes anything.",
        explains: "A session lists, reads and previews while a person saves, stages and commits a document. After each \
                   round of calls the library must be as the person left it.",
        ..Check::must(judge_session)
    },
    Check {
        id: "pure/refusals-change-nothing",
        guarantees: &[
            "errors-write-nothing",
            "no-partial-application",
            "refusals-write-nothing",
            "errors-change-nothing",
        ],
        states: "A call that must be refused is refused, and changes nothing.",
        explains: "Calls every mutating tool with each of the contract's invalid examples, on a missing document, and \
                   on missing, fenced and ambiguous headings, in a library with a person's staged and unstaged \
                   changes. Each call must be refused and change nothing.",
        cases: refusal_cases,
        shrink: single_calls,
        ..Check::must(judge_refusals)
    },
];

/// Calls of one tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Calls {
    tool: String,
    arguments: Vec<Value>,
}

impl Calls {
    fn case(name: &str, tool: &ToolSpec, arguments: Vec<Value>) -> Option<Case> {
        let name = format!("{name}: {}", tool.label());
        let tool = tool.label().to_owned();
        (!arguments.is_empty()).then(|| Case::new(name, Self { tool, arguments }))
    }
}

/// Returns each call as a case of its own.
fn single_calls(case: &Case) -> Vec<Case> {
    each_alone(case, |calls: &mut Calls| &mut calls.arguments, |_, _| case.name.clone())
}

fn reading_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for tool in bench.subject.operations().filter(|tool| !tool.mutating) {
        cases.extend(Calls::case("valid", tool, request::examples(tool).collect()));
        cases.extend(Calls::case("invalid", tool, request::invalid_examples(tool).collect()));
        let at = |path: &str| request::about(tool, path).map(|call| call.arguments);
        let paths = ["missing.md", "missing/", "", ".", "notes", "a.md/b.md", " "];
        let unusual = paths.into_iter().filter_map(at);
        cases.extend(Calls::case("unusual", tool, unusual.collect()));
        let hostile = attacks::all().iter().filter_map(|attack| at(&attack.path));
        cases.extend(Calls::case("hostile", tool, hostile.collect()));
    }
    Ok(cases)
}

/// Starts a server and waits for its first answer: changes that it makes at its start are not a call's.
fn started<'a>(scene: &Scene<'a>) -> Result<Client<'a>, Stop> {
    let mut client = scene.start()?;
    client.request("tools/list", json!({}))?;
    Ok(client)
}

fn judge_reads(bench: &Bench<'_>, case: &Case) -> Judgement {
    let calls: Calls = case.read()?;
    let tool = bench.tool(&calls.tool)?;
    let scene = person::at_work(bench)?;
    let mut client = started(&scene)?;
    let before = Moment::capture(&scene)?;
    for arguments in &calls.arguments {
        client.attempt(tool, arguments)?;
    }
    before.same(&Moment::capture(&scene)?)
}

fn judge_starts(bench: &Bench<'_>, _: &Case) -> Judgement {
    let subject = &Subject { made_at_start: Own::default(), ..bench.subject.clone() };
    let bench = &Bench { subject, trace: bench.trace.clone(), ..*bench };
    let scene = person::at_work(bench)?;
    let before = Moment::capture(&scene)?;
    for _ in 0..2 {
        let mut client = scene.start()?;
        client.request("tools/list", json!({}))?;
        before.same(&Moment::capture(&scene)?)?;
        client.close()?;
        before.same(&Moment::capture(&scene)?)?;
    }
    Ok(())
}

fn judge_session(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = person::at_work(bench)?;
    let mut client = scene.start()?;
    let reading: Vec<_> = bench.subject.operations().filter(|tool| !tool.mutating).collect();
    let mut make_calls = || {
        for method in ["tools/list", "prompts/list", "resources/list"] {
            client.request(method, json!({}))?;
        }
        for tool in &reading {
            for arguments in request::examples(tool) {
                client.attempt(tool, &arguments)?;
            }
        }
        Ok::<_, Stop>(())
    };
    let steps: [&dyn Fn() -> Result<(), Stop>; 4] = [
        &|| Ok(()),
        &|| scene.put(person::DOCUMENT, "# Plan\n\nA person's text.\n"),
        &|| scene.git(&["add", person::DOCUMENT]).map(drop),
        &|| scene.git(&["commit", "--quiet", "-m", "a person's"]).map(drop),
    ];
    for step in steps {
        step()?;
        let before = Moment::capture(&scene)?;
        make_calls()?;
        before.same(&Moment::capture(&scene)?)?;
    }
    Ok(())
}

fn refusal_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for tool in bench.subject.operations().filter(|tool| tool.mutating) {
        cases.extend(Calls::case("invalid", tool, request::invalid_examples(tool).collect()));
        let request = |kind: fn(EffectKind) -> bool, path: &str, target: &str| -> Vec<Value> {
            let content = "## Scope\n\nnew\n";
            let with = With { path, content, target };
            let effects = tool.effects.iter().filter(|effect| kind(effect.kind));
            let known = effects.filter(|effect| bench.subject.adapter.has(tool, Some(effect)));
            known
                .filter_map(|effect| with_effect(tool, effect, with))
                .filter(|call| call.path() == path)
                .map(|Call { arguments, .. }| arguments)
                .collect()
        };
        let needs_document = |kind| kind != EffectKind::Write;
        let missing = request(needs_document, "notes/missing.md", "## Scope");
        cases.extend(Calls::case("missing document", tool, missing));
        for (name, target) in [
            ("missing heading", "## Scop"),
            ("ambiguous heading", "## Twice"),
            ("heading in a fence", "## Fenced"),
        ] {
            let requests = request(on_section, person::DOCUMENT, target);
            cases.extend(Calls::case(name, tool, requests));
        }
    }
    Ok(cases)
}

fn judge_refusals(bench: &Bench<'_>, case: &Case) -> Judgement {
    let calls: Calls = case.read()?;
    let tool = bench.tool(&calls.tool)?;
    let scene = person::at_work(bench)?;
    let mut client = started(&scene)?;
    let mut before = Moment::capture(&scene)?;
    for arguments in &calls.arguments {
        let Some(message) = client.attempt(tool, arguments)? else {
            continue;
        };
        match bench.subject.adapter.reply(tool, &message) {
            Reply::Refused(_) => {}
            Reply::Done(_) if bench.subject.is_native() => {
                return Err(accepted(format!("an invalid call was accepted: {arguments}")));
            }
            // A tool that an adapter maps has rules of its own.
            Reply::Done(_) => {
                before = Moment::capture(&scene)?;
                continue;
            }
        }
        before.same(&Moment::capture(&scene)?)?;
    }
    Ok(())
}
