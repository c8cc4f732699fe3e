//! Checks of very large arguments.

use super::calls::DOCUMENTS;
use crate::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "wire/large-argument",
    guarantees: &[],
    states: "A write of a very long text is done or refused, and the next request is answered.",
    explains: "Writes a text of 4 MB (30 MB in the full profile) in one call. The server or its parser may refuse the \
               call, but must then change nothing, and must not die. Two popular servers do.",
    cases: |bench| Ok(vec![case(bench.pick(4_000_000, 30_000_000))]),
    shrink,
    ..Check::must(judge)
};

const LINE: &str = "Sixty-four bytes of a text that goes on and on, line after line\n";
const NEW: &str = "notes/large.md";

fn case(bytes: usize) -> Case {
    Case::new(format!("{bytes} bytes"), bytes)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let bytes: usize = case.read()?;
    let scene = bench.scene(DOCUMENTS)?;
    let content = LINE.repeat(bytes.div_ceil(LINE.len()));
    let with = With { path: NEW, content: &content, ..With::default() };
    let call = bench.subject.placed(EffectKind::Write, with);
    let call = call.ok_or_else(|| not_applicable("the server has no tool that writes a document"))?;
    let before = scene.view()?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let params = talk.params(&scene, call.tool, &call.arguments)?;
    let id = json!(1);
    talk.post(&id, "tools/call", params)?;
    let since = talk.heard.len();
    let messages = talk.settle(since)?;
    let answer = match messages.into_iter().find(|message| message["id"] == id) {
        Some(answer) => answer,
        // A parser error has no id; a slow server may not have answered yet.
        None if scene.view()? == before
            && talk.heard.iter().any(|message| message.get("error").is_some()) =>
        {
            return Ok(());
        }
        None => talk.answer(&id)?,
    };
    if Refusal::from_message(&answer).is_some() {
        return before.same(&scene.view()?, "a refused call");
    }
    let found = scene.read(&call.path()).unwrap_or_default();
    ensure(found == content.as_bytes(), || {
        format!("the call wrote {} bytes, but the document has {}", content.len(), found.len())
    })
}

/// Returns shorter texts.
fn shrink(whole: &Case) -> Vec<Case> {
    let bytes: usize = whole.read().unwrap_or(0);
    [100_000, 1_000_000, bytes / 2].into_iter().filter(|fewer| *fewer < bytes).map(case).collect()
}
