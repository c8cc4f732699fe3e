//! Checks that arguments can't forge trailers or headers of a commit.

use crate::{checks::prelude::*, client, documents::CHANGES, era::Era, ledger};

pub(super) const INJECTION: Check = Check {
    id: "paths/injection",
    guarantees: &[],
    states: "No path, text, heading or client name forges part of a commit's message, or another commit.",
    explains: "A commit's message may contain the path, a summary or the client's name. Calls pass lines that resemble \
               trailers (`Co-authored-by:`, and those that the server writes for a plain change) in each of them. A call \
               may be refused; otherwise it must make one commit, without the forged trailers and author.",
    cases,
    ..Check::must(judge)
};

const DOCUMENT: &str = "# Plan\n\n## Scope\n\nAll of it.\n";

/// A call with forged lines in place of `{lines}`, `{paragraph}` and `{returns}`.
#[derive(Debug, Serialize, Deserialize)]
struct Forgery {
    effect: usize,
    path: String,
    content: String,
    target: String,
    client: String,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    let kinds = CHANGES.into_iter().enumerate();
    let some = [EffectKind::Write, EffectKind::ReplaceSection];
    for (effect, kind) in kinds.filter(|(_, kind)| bench.subject.tool_with(*kind).is_some()) {
        if !bench.pick(some.contains(&kind), true) {
            continue;
        }
        let plain = || Forgery {
            effect,
            path: "notes/plan.md".into(),
            content: "## Scope\n\nless\n".into(),
            target: "## Scope".into(),
            client: "client".into(),
        };
        let mut add = |what: &str, forgery: Forgery| {
            cases.push(Case::new(format!("{kind}: {what}"), forgery));
        };
        for (how, forged) in [("lines", "{lines}"), ("a paragraph", "{paragraph}")] {
            let path = format!("notes/{forged}.md");
            add(&format!("{how} in the path"), Forgery { path, ..plain() });
            let content = format!("{forged}\n");
            add(&format!("{how} in the text"), Forgery { content, ..plain() });
            let target = format!("## Scope{forged}");
            add(&format!("{how} in the heading"), Forgery { target, ..plain() });
            let client = format!("client{forged}");
            add(&format!("{how} in the client's name"), Forgery { client, ..plain() });
        }
        let path = "notes/{returns}.md".into();
        add("carriage returns in the path", Forgery { path, ..plain() });
        let client = "client\nauthor forged <forged@localhost> 0 +0000\n\nx".into();
        add("a header in the client's name", Forgery { client, ..plain() });
        let client = "client\0{lines}".into();
        add("NUL in the client's name", Forgery { client, ..plain() });
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let forgery: Forgery = case.read()?;
    let scene = bench.scene(&[("notes/plan.md", DOCUMENT), ("notes/first.md", DOCUMENT)])?;
    let kind = CHANGES[forgery.effect];
    let request =
        |path: &str, content: &str, target: &str| bench.request(kind, With { path, content, target });
    let before = scene.view()?.library;
    call_as(bench, &scene, "client", &request("notes/first.md", "## Scope\n\nfirst\n", "## Scope")?)?;
    let plain = scene.view()?.library;
    if plain.commits_since(&before).is_empty() {
        return Err(not_applicable("the server makes no commits"));
    }
    let own = trailers(&scene)?;
    let own = own.iter().filter_map(|line| line.split_once(':')).map(|(key, _)| key);
    let keys: Vec<_> = ["Co-authored-by", "Signed-off-by"].into_iter().chain(own).collect();
    let fill = |text: &str, keys: &[&str]| {
        let lines: String = keys.iter().map(|key| format!("\n{key}: forged")).collect();
        let text = text.replace("{returns}", &lines.replace('\n', "\r"));
        text.replace("{lines}", &lines).replace("{paragraph}", &format!("\n{lines}"))
    };
    // A file name has room for two.
    let path = fill(&forgery.path, &keys[..2]);
    let forged = request(&path, &fill(&forgery.content, &keys), &fill(&forgery.target, &keys))?;
    let reply = call_as(bench, &scene, &fill(&forgery.client, &keys), &forged)?;
    let after = scene.view()?.library;
    let commits = after.commits_since(&plain).len();
    let expected = usize::from(matches!(reply, Reply::Done(_)));
    ensure(commits == expected, || format!("{commits} commits were made instead of {expected}"))?;
    let found = trailers(&scene)?;
    let found =
        found.iter().find(|line| line.split_once(':').is_some_and(|(_, value)| value.trim() == "forged"));
    ensure_none(found, |found| {
        format!("the commit's message has the trailer {found:?}, which no caller set")
    })?;
    let people = scene.git(&["log", "--max-count=1", "--format=%an %ae %cn %ce"])?;
    ensure(!people.contains("forged"), || format!("the commit's author or committer is forged: {people:?}"))?;
    let sound = ledger::fsck(&scene.library());
    ensure(sound.is_ok(), || "`git fsck` finds an error".into())
}

/// Returns the trailers of HEAD according to git.
fn trailers(scene: &Scene<'_>) -> Result<Vec<String>, Stop> {
    let printed = scene.git(&["log", "--max-count=1", "--format=%(trailers:only,unfold)"])?;
    Ok(printed.lines().map(String::from).collect())
}

/// Makes a call in a new session of a client called `name`.
fn call_as(bench: &Bench<'_>, scene: &Scene<'_>, name: &str, call: &Call) -> Result<Reply, Stop> {
    let subject = bench.subject;
    let mut target = scene.connect()?;
    let info = json!({ "name": name, "title": name, "version": name });
    if subject.era == Era::Session {
        let revision = subject.era.revision();
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": info });
        let response = target.request("initialize", params)?;
        if response.get("error").is_some() {
            return Ok(subject.adapter.reply(call.tool, &response));
        }
        target.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())?;
    }
    let called = subject.adapter.call(call.tool, &call.arguments, &scene.library());
    let mut params: Value = called.map_err(Stop::NotApplicable)?;
    client::prepare(subject.era, &mut params, &json!({}));
    if subject.era == Era::Stateless {
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = info;
    }
    let message = target.request("tools/call", params)?;
    let reply = subject.adapter.reply(call.tool, &message);
    target.close()?;
    Ok(reply)
}
