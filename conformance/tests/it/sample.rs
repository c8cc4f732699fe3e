//! Reports as data: the content that each format has to show.

use serde_json::json;
use tabellion_conformance::{
    check::{Case, Profile, Severity},
    judgement::{Cause, Difference, Failure, Shows},
    report::{CheckReport, GuaranteeReport, Report, Server, Verdict, Witness},
    trace::Event,
};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
const GUARANTEES: [(&str, &str); 4] = [
    ("commit-per-mutation", "Every mutation → git commit"),
    ("preview-equals-result", "Preview == execution result"),
    ("errors-write-nothing", "Errors never cause partial writes"),
    ("pure-unless-stated", "All tools are **pure** unless stated otherwise"),
];

/// Everything holds.
pub(crate) fn passing() -> Report {
    let checks = REVISIONS.into_iter().flat_map(|revision| {
        let check = move |id, guarantee, states| check(id, revision, guarantee, states);
        [
            check("wire/answers", "", "Every request is answered once."),
            check("pure/reads", "pure-unless-stated", "A reading tool changes nothing."),
            check("preview/applies", "preview-equals-result", "A preview's diff is what happens."),
            check("mutation/one-commit", "commit-per-mutation", "A mutation makes exactly one commit."),
            check(
                "atomic/kill",
                "errors-write-nothing",
                "A killed mutation leaves the old bytes or the new ones.",
            ),
        ]
    });
    report("tabellion", checks.collect())
}

/// Some checks fail, one that need not hold does not either, and one is known to fail.
pub(crate) fn failing() -> Report {
    let mut report = passing();
    "quill".clone_into(&mut report.server.name);
    report.server.identity = Some("quill 2.1.0".into());
    report.server.own = vec![".quill/**".into()];
    report.server.command = ["node", "dist/quill server.js", "{library}"].map(String::from).to_vec();
    let checks = &mut report.checks;
    fail(
        &mut checks[2],
        "the executed document is not the previewed one",
        vec![difference(
            Some("\u{feff}# Plan\r\n\r\nIntro.\r\n\r\n## Scope\r\n\r\nAll of it.\r\n"),
            Some("# Plan\n\nIntro.\n\n## Scope\n\nLess of it.  \t"),
        )],
        edit(),
    );
    let mut second = checks[2].witnesses[0].clone();
    second.case.name = "replace_section with CRLF, twice".into();
    checks[2].witnesses.push(second);
    fail(
        &mut checks[3],
        "the call made 2 commits instead of one",
        Vec::new(),
        vec![Event::Did("the server starts".into())],
    );
    checks[3].known = Some("the log entry is a commit of its own until 3.0".into());
    checks[5].severity = Severity::Should;
    fail(&mut checks[5], "2 answers came for one request", Vec::new(), Vec::new());
    fail(
        &mut checks[9],
        "an unexpected file is left behind",
        vec![difference(None, Some("half of i"))],
        vec![Event::Did("the server is killed at its 17th system call".into())],
    );
    checks[9].reason = Some("an unexpected file is left behind".into());
    settle(report)
}

/// A result was not shown, does not apply, or passes though it is listed as known to fail.
pub(crate) fn unshown() -> Report {
    let mut report = passing();
    "reader".clone_into(&mut report.server.name);
    report.server.identity = None;
    report.profile = Profile::Smoke;
    report.not_run = ["atomic/kill", "model/one-client"].map(String::from).to_vec();
    let checks = &mut report.checks;
    stop(&mut checks[4], Verdict::NotShown, "system calls can't be stepped through on this machine");
    stop(&mut checks[3], Verdict::NotApplicable, "the server has no tool that changes anything");
    stop(&mut checks[8], Verdict::NotApplicable, "the server has no tool that changes anything");
    checks[5].severity = Severity::Should;
    stop(&mut checks[5], Verdict::NotShown, "the server did not answer within 10 s");
    checks[6].known = Some("reading writes a cache".into());
    for check in [0, 2] {
        stop(
            &mut checks[check],
            Verdict::NotShown,
            "a valid call was refused: `notes/plan.md` exists already",
        );
        checks[check].cause = Some(Cause::refusal("`notes/plan.md` exists already"));
    }
    settle(report)
}

/// The tester was in trouble.
pub(crate) fn troubled() -> Report {
    let mut report = passing();
    stop(&mut report.checks[0], Verdict::HarnessError, "No space left on device (os error 28)");
    settle(report)
}

/// Every text from the server is an attack on the reader of the report.
pub(crate) fn hostile() -> Report {
    const ATTACK: &str = "</code><script>alert(1)</script>\u{1b}[2J\u{202e}]]> `` ``` | @all <!-- & \"quoted' [x](javascript:1)\n# head\u{0}";
    let mut report = passing();
    ATTACK.clone_into(&mut report.server.name);
    report.server.identity = Some(ATTACK.into());
    report.server.command = vec![ATTACK.into()];
    report.contract = "a\"><b 1&2".into();
    for check in &mut report.checks {
        ATTACK.clone_into(&mut check.states);
    }
    let check = &mut report.checks[2];
    let mut differs = difference(Some(ATTACK), Some("\u{2028}```\n"));
    ATTACK.clone_into(&mut differs.path);
    let said = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": ATTACK } }).to_string();
    let trace = vec![Event::Did(ATTACK.into()), Event::Sent(ATTACK.into()), Event::Received(said)];
    fail(check, ATTACK, vec![differs], trace);
    check.witnesses[0].case.name = ATTACK.into();
    stop(&mut report.checks[3], Verdict::NotShown, ATTACK);
    report.checks[3].known = Some(ATTACK.into());
    for guarantee in &mut report.guarantees {
        ATTACK.clone_into(&mut guarantee.text);
    }
    settle(report)
}

fn report(name: &str, checks: Vec<CheckReport>) -> Report {
    let guarantees = GUARANTEES.map(|(id, text)| GuaranteeReport {
        id: id.into(),
        text: text.into(),
        verdict: Verdict::Pass,
        checks: 2,
        tried: 2,
        broken: 0,
    });
    Report {
        suite: "0.1.0".into(),
        server: Server {
            name: name.into(),
            identity: Some(format!("{name} 0.1.0")),
            command: [name, "serve", "--library", "{library}"].map(String::from).to_vec(),
            own: Vec::new(),
        },
        contract: "braindrive-markdown 0.3.1".into(),
        profile: Profile::Quick,
        seed: 1,
        guarantees: guarantees.to_vec(),
        checks,
        not_run: Vec::new(),
        seconds: 83.4,
    }
}

fn check(id: &str, revision: &str, guarantee: &str, states: &str) -> CheckReport {
    let guarantees = (!guarantee.is_empty()).then(|| guarantee.to_owned());
    CheckReport {
        id: id.into(),
        family: id.split('/').next().unwrap().into(),
        severity: Severity::Must,
        states: states.into(),
        guarantees: guarantees.into_iter().collect(),
        revision: revision.into(),
        verdict: Verdict::Pass,
        cases: 3 * id.len(),
        breaks: Vec::new(),
        reason: None,
        cause: None,
        known: None,
        witnesses: Vec::new(),
        seconds: id.len() as f64 / 4.0,
    }
}

fn stop(check: &mut CheckReport, verdict: Verdict, why: &str) {
    check.verdict = verdict;
    check.reason = Some(why.into());
}

fn fail(check: &mut CheckReport, what: &str, differences: Vec<Difference>, trace: Vec<Event>) {
    stop(check, Verdict::Fail, what);
    check.breaks.clone_from(&check.guarantees);
    let failure = Failure { what: what.into(), differences, shows: Shows::All, cause: None };
    check.witnesses.push(Witness {
        case: Case::new("replace_section with CRLF", json!({ "effect": 4 })),
        failure,
        trace,
    });
}

fn difference(expected: Option<&str>, found: Option<&str>) -> Difference {
    Difference {
        path: "notes/plan.md".into(),
        expected: expected.map(str::to_owned),
        found: found.map(str::to_owned),
    }
}

/// A session in which a section is replaced.
fn edit() -> Vec<Event> {
    let operation = json!({ "type": "replace_section", "target": "## Scope", "content": "## Scope\r\n\r\nLess of it.\r\n" });
    let arguments = json!({ "path": "notes/plan.md", "operation": operation });
    let call = |id: u64, tool: &str| {
        let params = json!({ "name": tool, "arguments": arguments });
        Event::Sent(
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string(),
        )
    };
    let answer = |id: u64, content: serde_json::Value| {
        Event::Received(
            json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [], "structuredContent": content } })
                .to_string(),
        )
    };
    vec![
        Event::Did("a person writes `notes/plan.md`: \"\\u{feff}# Plan\\r\\n\\r\\nIntro.\\r\\n\"".into()),
        Event::Did("a person runs `git commit --quiet -m documents`".into()),
        Event::Did("the server starts".into()),
        Event::Sent(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }).to_string()),
        Event::Received(json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string()),
        call(2, "preview_markdown_change"),
        answer(2, json!({ "diff": "--- a/notes/plan.md\n+++ b/notes/plan.md\n", "risk_level": "low" })),
        call(3, "edit_markdown"),
        answer(3, json!({ "success": true, "git_commit_sha": "3f1c9f0a7d" })),
    ]
}

/// The guarantees' verdicts, from the checks'.
fn settle(mut report: Report) -> Report {
    for guarantee in &mut report.guarantees {
        let about = report.checks.iter().filter(|check| check.guarantees.contains(&guarantee.id));
        let about: Vec<_> = about.collect();
        let count = |is: fn(&CheckReport) -> bool| about.iter().filter(|check| is(check)).count();
        guarantee.verdict = about.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Pass);
        guarantee.broken = count(|check| !check.breaks.is_empty());
        guarantee.tried = count(|check| check.verdict == Verdict::Pass) + guarantee.broken;
    }
    report
}
