//! Checks that a mutation has its declared effect on the document, in the folder and in the commit.

use crate::{
    checks::{
        prelude::*,
        table::{self, Refusals, Row},
    },
    documents::CHANGES,
    judgement::missing_tool,
    ledger, semantics,
};

pub(super) const CONTENT: Check = Check {
    id: "mutation/content",
    guarantees: &["no-implicit-edits"],
    states: "After an accepted mutation the document has the content of the call, and everything else \
            in it is unchanged.",
    explains: "Applies every effect of the contract, with several contents, to a table of documents. A CommonMark \
               parser locates the section; the content must be there, with any line endings around it, and every other \
               byte must be unchanged.",
    cases: |bench| table::cases(bench, &CHANGES, |bench, document| !document.odd && bench.owes(document)),
    shrink: table::shrink,
    ..Check::must(judge_content)
};

pub(super) const NO_IMPLICIT_EDITS: Check = Check {
    id: "mutation/no-implicit-edits",
    guarantees: &["no-implicit-edits"],
    states: "The commit of a mutation changes only what the call requested.",
    explains: "As `mutation/content`, for the blob in git (for a server without commits, the document). The bounds of \
               a document's parts are known by construction. The bytes before and after the edit must be unchanged, \
               with the content alone between them.",
    cases: |bench| table::cases(bench, &CHANGES, |_, _| true),
    shrink: table::shrink,
    ..Check::must(judge_no_implicit_edits)
};

fn judge_content(bench: &Bench<'_>, case: &Case) -> Judgement {
    let row: Row = case.read()?;
    let (tool, _) = bench.subject.tool_with(row.kind()).ok_or_else(missing_tool)?;
    let (documents, content) = (row.documents(tool)?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    let mut refusals = Refusals::default();
    for document in &documents {
        let call = bench.request(row.kind(), table::with(document, &content.text))?;
        let before = document.text();
        let Some(reply) = client.make_if_possible(&call)? else {
            continue;
        };
        if let Reply::Refused(refusal) = reply {
            if content.odd {
                continue;
            }
            let what = format!("a valid call on `{}` ({})", document.path, document.name);
            refusals.add(bench, refused(what, &refusal))?;
            continue;
        }
        refusals.taken();
        let after = scene.read(&document.path);
        semantics::allowed(&call, Some(before.as_bytes()), after.as_deref())?;
    }
    refusals.end()
}

fn judge_no_implicit_edits(bench: &Bench<'_>, case: &Case) -> Judgement {
    let row: Row = case.read()?;
    let (tool, _) = bench.subject.tool_with(row.kind()).ok_or_else(missing_tool)?;
    let (documents, content) = (row.documents(tool)?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    let head = || ledger::git(&scene.library(), &["rev-parse", "HEAD"]);
    for document in &documents {
        let path = &document.path;
        let call = bench.request(row.kind(), table::with(document, &content.text))?;
        let before_call = head()?;
        let Some(Reply::Done(_)) = client.make_if_possible(&call)? else {
            continue;
        };
        // A server that commits after its answer is for `mutation/one-commit` to judge.
        let is_committed = head()? != before_call;
        let (what, found) = if bench.subject.should_commit() && is_committed {
            let blob = ledger::git(&scene.library(), &["cat-file", "blob", &format!("HEAD:{path}")]);
            ("commit", blob.ok().map(String::into_bytes))
        } else {
            ("server", scene.read(path))
        };
        let judged = document.judge(row.kind(), &content.text, found.as_deref());
        if let Err(why) = judged {
            let what = format!(
                "the {what} changes more of `{path}` ({}) than the call requests: {why}",
                document.name
            );
            let before = document.text();
            return Err(fail(what).showing(path, Some(before.as_bytes()), found.as_deref()));
        }
    }
    Ok(())
}
