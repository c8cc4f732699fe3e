//! What changes nothing: starting, listing, reading, previewing, and whatever is refused.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::{ToolSpec, spec::EffectKind};

use crate::{
    attacks,
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    documents::on_section,
    judgement::{Judgement, Stop, ensure},
    moment::Moment,
    reply::Reply,
    request::{self, Call, With, with_effect},
};

use super::person;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "pure/reads-change-nothing",
        severity: Severity::Must,
        guarantees: &[
            "pure-unless-stated",
            "no-write-without-call",
            "no-side-effects",
            "reading-changes-nothing",
        ],
        states: "A call of a tool that is not said to change anything changes nothing, whatever it is called with.",
        explains: "Every such tool is called with the contract's examples, right and wrong, and with paths that are missing, \
                   odd or hostile, on a library with staged and unstaged changes of a person. Afterwards every file with \
                   its mode and stamp, what lies around the library, the history, the index, refs, hooks and \
                   configuration must be what they were. A folder of the server's own in `.git` is allowed.",
        cases: reading_cases,
        judge: reads,
        shrink: one_call,
    },
    Check {
        id: "pure/start-changes-nothing",
        severity: Severity::Must,
        guarantees: &[
            "no-write-without-call",
            "no-side-effects",
            "reading-changes-nothing",
        ],
        states: "Starting the server, asking for its tools and closing it changes nothing.",
        explains: "The server is started over a library with staged and unstaged changes of a person, asked for its tools, \
                   and closed, twice. Nothing in the library or its history may have changed.",
        cases: |_| Ok(Case::only()),
        judge: starts,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "pure/no-write-without-call",
        severity: Severity::Must,
        guarantees: &[
            "no-write-without-call",
            "no-side-effects",
            "reading-changes-nothing",
        ],
        states: "A session in which no changing tool is called changes nothing, at no time.",
        explains: "A long session lists, reads, previews and waits, while a person saves a document, stages it and commits. \
                   Whenever one looks, all is as the person left it.",
        cases: |_| Ok(Case::only()),
        judge: session,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "pure/refusals-change-nothing",
        severity: Severity::Must,
        guarantees: &[
            "errors-write-nothing",
            "no-partial-application",
            "refusals-write-nothing",
            "errors-change-nothing",
        ],
        states: "A call that must be refused is refused, and changes nothing.",
        explains: "Every changing tool is called with each of the contract's invalid examples, about a document that is not \
                   there, and about headings that are missing, that stand in a fence, or that stand there twice, on a \
                   library with staged and unstaged changes of a person. Each call must be refused, and everything must \
                   be what it was.",
        cases: refusal_cases,
        judge: refusals,
        shrink: one_call,
    },
];

/// Calls of a tool.
#[derive(Debug, Serialize, Deserialize)]
struct Calls {
    tool: String,
    arguments: Vec<Value>,
}

impl Calls {
    fn case(name: &str, tool: &ToolSpec, arguments: Vec<Value>) -> Option<Case> {
        let name = format!("{name}: {}", tool.name);
        let tool = tool.name.to_owned();
        (!arguments.is_empty()).then(|| Case::new(name, Self { tool, arguments }))
    }

    fn tool(&self, bench: &Bench<'_>) -> Result<&'static ToolSpec, Stop> {
        let tool = bench.subject.contract.tool(&self.tool);
        tool.ok_or_else(|| Stop::NotApplicable(format!("the contract has no tool `{}`", self.tool)))
    }
}

/// Each call by itself.
fn one_call(case: &Case) -> Vec<Case> {
    let Ok(calls) = case.read::<Calls>() else {
        return Vec::new();
    };
    if calls.arguments.len() < 2 {
        return Vec::new();
    }
    let alone = |arguments| Calls {
        tool: calls.tool.clone(),
        arguments: vec![arguments],
    };
    let all = calls.arguments.iter().cloned();
    all.map(|arguments| Case::new(case.name.clone(), alone(arguments)))
        .collect()
}

fn reading_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for tool in bench.subject.tools().filter(|tool| !tool.mutating) {
        cases.extend(Calls::case("right", tool, request::examples(tool).collect()));
        cases.extend(Calls::case(
            "wrong",
            tool,
            request::invalid_examples(tool).collect(),
        ));
        let at = |path: &str| request::about(tool, path).map(|call| call.arguments);
        let paths = ["missing.md", "missing/", "", ".", "notes", "a.md/b.md", " "];
        let odd = paths.into_iter().filter_map(at);
        cases.extend(Calls::case("odd", tool, odd.collect()));
        let hostile = attacks::all().iter().filter_map(|attack| at(&attack.path));
        cases.extend(Calls::case("hostile", tool, hostile.collect()));
    }
    Ok(cases)
}

fn reads(bench: &Bench<'_>, case: &Case) -> Judgement {
    let calls: Calls = case.read()?;
    let tool = calls.tool(bench)?;
    let scene = person::at_work(bench)?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    for arguments in &calls.arguments {
        client.attempt(tool, arguments)?;
    }
    before.same(&Moment::of(&scene)?)
}

fn starts(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = person::at_work(bench)?;
    let before = Moment::of(&scene)?;
    for _ in 0..2 {
        let mut client = scene.start()?;
        client.request("tools/list", json!({}))?;
        before.same(&Moment::of(&scene)?)?;
        client.close()?;
        before.same(&Moment::of(&scene)?)?;
    }
    Ok(())
}

fn session(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = person::at_work(bench)?;
    let mut client = scene.start()?;
    let reading: Vec<_> = bench.subject.tools().filter(|tool| !tool.mutating).collect();
    let mut look_around = || {
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
        &|| scene.put(person::DOCUMENT, "# Plan\n\nsaved meanwhile\n"),
        &|| scene.git(&["add", person::DOCUMENT]).map(drop),
        &|| scene.git(&["commit", "--quiet", "-m", "a person's"]).map(drop),
    ];
    for step in steps {
        step()?;
        let before = Moment::of(&scene)?;
        look_around()?;
        before.same(&Moment::of(&scene)?)?;
    }
    Ok(())
}

fn refusal_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for tool in bench.subject.tools().filter(|tool| tool.mutating) {
        cases.extend(Calls::case(
            "invalid",
            tool,
            request::invalid_examples(tool).collect(),
        ));
        let request = |kind: fn(EffectKind) -> bool, path: &str, target: &str| -> Vec<Value> {
            let content = "## Scope\n\nnew\n";
            let with = With {
                path,
                content,
                target,
            };
            let effects = tool.effects.iter().filter(|effect| kind(effect.kind));
            let known = effects.filter(|effect| bench.subject.adapter.has(tool, Some(effect)));
            known
                .filter_map(|effect| with_effect(tool, effect, with))
                .filter(|call| call.path() == path)
                .map(|Call { arguments, .. }| arguments)
                .collect()
        };
        let needs_one = |kind| kind != EffectKind::Write;
        let missing = request(needs_one, "notes/missing.md", "## Scope");
        cases.extend(Calls::case("a document that is not there", tool, missing));
        for (name, target) in [
            ("a heading that is not there", "## Scop"),
            ("a heading that stands there twice", "## Twice"),
            ("a heading in a fence", "## Fenced"),
        ] {
            let requests = request(on_section, person::DOCUMENT, target);
            cases.extend(Calls::case(name, tool, requests));
        }
    }
    Ok(cases)
}

fn refusals(bench: &Bench<'_>, case: &Case) -> Judgement {
    let calls: Calls = case.read()?;
    let tool = calls.tool(bench)?;
    let scene = person::at_work(bench)?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    for arguments in &calls.arguments {
        let Some(message) = client.attempt(tool, arguments)? else {
            continue;
        };
        let reply = bench.subject.adapter.reply(tool, &message);
        ensure(matches!(reply, Reply::Refused(_)), || {
            format!("a call that must be refused was accepted: {arguments}")
        })?;
    }
    before.same(&Moment::of(&scene)?)
}
