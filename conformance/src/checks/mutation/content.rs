//! That a document becomes what the call says, in the folder and in the commit.

use crate::{
    check::{Bench, Case, Check, Severity},
    checks::table::{self, Row},
    documents::CHANGES,
    judgement::{Judgement, Stop, ensure, fail},
    ledger,
    reply::Reply,
    semantics,
};

pub(super) const CONTENT: Check = Check {
    id: "mutation/content",
    severity: Severity::Must,
    guarantees: &["no-implicit-edits"],
    states: "After an accepted mutation the document is what the call says, and all else in it is what it was.",
    explains: "Every effect that the contract declares is had with several texts on a table of documents. A CommonMark parser \
               says where the section is; the text must stand there, with line endings around it as the server likes, and \
               every other byte must have stayed.",
    cases: |bench| table::cases(bench, &CHANGES, |document| !document.odd),
    judge: content,
    shrink: table::shrink,
};

pub(super) const NO_IMPLICIT_EDITS: Check = Check {
    id: "mutation/no-implicit-edits",
    severity: Severity::Must,
    guarantees: &["no-implicit-edits"],
    states: "The commit of a mutation changes only what the call accounts for.",
    explains: "As for `mutation/content`, but in the commit: git is asked for the blob (of a server that never commits, the \
               document is looked at). Where a document's parts begin and end \
               is known by how it was put together. What stood before and after the place must be there, byte for byte, \
               and between both the text alone.",
    cases: |bench| table::cases(bench, &CHANGES, |_| true),
    judge: no_implicit_edits,
    shrink: table::shrink,
};

fn content(bench: &Bench<'_>, case: &Case) -> Judgement {
    let row: Row = case.read()?;
    let (documents, content) = (row.documents()?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    for document in documents {
        let call = bench
            .subject
            .request(row.kind(), table::with(document, &content.text));
        let call = call.ok_or_else(|| Stop::NotApplicable("the server has no such tool".into()))?;
        let before = document.text();
        let Some(reply) = client.make_if_possible(&call)? else {
            continue;
        };
        if let Reply::Refused(refusal) = reply {
            ensure(content.odd, || {
                let (path, why) = (&document.path, refusal.message);
                format!("a valid call on `{path}` ({}) was refused: {why}", document.name)
            })?;
            continue;
        }
        let after = scene.read(&document.path);
        semantics::allowed(&call, Some(before.as_bytes()), after.as_deref())?;
    }
    Ok(())
}

fn no_implicit_edits(bench: &Bench<'_>, case: &Case) -> Judgement {
    let row: Row = case.read()?;
    let (documents, content) = (row.documents()?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    for document in documents {
        let path = &document.path;
        let call = bench
            .subject
            .request(row.kind(), table::with(document, &content.text));
        let call = call.ok_or_else(|| Stop::NotApplicable("the server has no such tool".into()))?;
        let Some(Reply::Done(_)) = client.make_if_possible(&call)? else {
            continue;
        };
        let (what, found) = if bench.subject.should_commit() {
            let blob = ledger::git(&scene.library(), &["cat-file", "blob", &format!("HEAD:{path}")]);
            ("commit", blob.ok().map(String::into_bytes))
        } else {
            ("server", scene.read(path))
        };
        let judged = document.judge(row.kind(), &content.text, found.as_deref());
        if let Err(why) = judged {
            let what = format!(
                "the {what} changes more of `{path}` ({}) than was asked for: {why}",
                document.name
            );
            let before = document.text();
            return Err(fail(what).showing(path, Some(before.as_bytes()), found.as_deref()));
        }
    }
    Ok(())
}
