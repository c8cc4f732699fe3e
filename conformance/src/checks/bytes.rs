//! Bytes: an edit changes no byte outside of its place, and reads and writes are exact.

mod offered;
mod pages;

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    bytes::Bytes,
    check::each_alone,
    checks::prelude::*,
    documents::{self, CHANGES, Document},
    judgement::{Cause, Shows, missing_tool},
    layout::DOCUMENT,
    promises, semantics,
};

use super::table::{self, Refusals, Row};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "bytes/untouched",
        guarantees: &["no-implicit-edits"],
        states: "A change in one place leaves every byte outside it unchanged.",
        explains: "Texts are appended to documents and replace sections in them. The documents have CRLF, CR or \
                   mixed line endings, a byte order mark, unusually quoted front matter, lines of 200 KB, trailing \
                   blanks, tabs, and characters that resemble line endings. A server may refuse the most unusual \
                   ones, but must not change a byte outside of the edit.",
        cases: |bench| table::cases(bench, bench.pick(&QUICK_KINDS[..], &CHANGES[..]), |_, _| true),
        shrink: table::shrink,
        ..Check::must(untouched)
    },
    Check {
        id: "bytes/write-exact",
        guarantees: &["no-implicit-edits"],
        states: "A document contains exactly what was written, and a read returns exactly that.",
        explains: "Every text of the tables is written, over an existing document and as a new one. The file must \
                   equal the text byte for byte, and a read must return it.",
        cases: |bench| all_documents(bench, EffectKind::Write),
        shrink: one_document,
        ..Check::must(write_exact)
    },
    Check {
        id: "bytes/read-exact",
        guarantees: &[],
        states: "Reading returns exactly the bytes of the file.",
        explains: "Every document of the table is read, first as committed and then as changed by a person, and \
                   compared byte for byte.",
        cases: |bench| all_documents(bench, EffectKind::Read),
        shrink: one_document,
        ..Check::must(read_exact)
    },
    Check {
        id: "bytes/invalid-utf8",
        guarantees: &["no-implicit-edits"],
        states: "A document that is not UTF-8 is refused or handled exactly; its bytes never become question marks.",
        explains: "Documents in Latin-1, in UTF-16 and with invalid UTF-8 sequences are read and changed. A server \
                   that decodes them lossily replaces every invalid sequence with U+FFFD and writes that back. A \
                   change must be refused without effect, or must keep the rest of the document; a read must not \
                   return text that the document does not contain.",
        cases: invalid_cases,
        ..Check::must(invalid_utf8)
    },
    Check {
        id: "bytes/mode",
        guarantees: &["no-implicit-edits"],
        states: "A document keeps its file mode.",
        explains: "Documents that only their owner can read, or that are executable, are changed. The mode and git's \
                   executable bit must not change.",
        cases: mode_cases,
        ..Check::should(mode)
    },
    pages::PAGES,
    offered::EVERY_TOOL,
    offered::MOVED,
];

/// Kinds of changes in the quick profile.
const QUICK_KINDS: [EffectKind; 2] = [EffectKind::Append, EffectKind::ReplaceSection];

fn untouched(bench: &Bench<'_>, case: &Case) -> Judgement {
    let row: Row = case.read()?;
    let (tool, _) = bench.subject.tool_with(row.kind()).ok_or_else(missing_tool)?;
    let (documents, content) = (row.documents(tool)?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    let mut refusals = Refusals::default();
    for document in &documents {
        let path = &document.path;
        let call = bench.request(row.kind(), table::with(document, &content.text))?;
        let reply = client.make(&call)?;
        let (before, after) = (document.text(), scene.read(path));
        if let Reply::Refused(refusal) = reply {
            ensure(after.as_deref() == Some(before.as_bytes()), || {
                format!("a call was refused, but changed `{path}` ({})", document.name)
            })?;
            if document.odd || content.odd {
                continue;
            }
            let what = format!("a valid call on `{path}` ({})", document.name);
            refusals.add(bench, refused(what, &refusal))?;
            continue;
        }
        refusals.taken();
        if let Err(why) = document.judge(row.kind(), &content.text, after.as_deref()) {
            let what = semantics::words(Some(row.kind()));
            let what = format!("{what} changed more of `{path}` ({}): {why}", document.name);
            return Err(fail(what).showing(path, Some(before.as_bytes()), after.as_deref()));
        }
    }
    refusals.end()
}

/// Returns one case with all documents, if the server has a tool of this kind.
fn all_documents(bench: &Bench<'_>, kind: EffectKind) -> Result<Vec<Case>, Stop> {
    if bench.subject.tool_with(kind).is_none() {
        return Ok(Vec::new());
    }
    let owed = documents::all().iter().filter(|it| bench.owes(it));
    let names: Vec<_> = owed.map(|it| &it.name).collect();
    Ok(vec![Case::new("all documents", names)])
}

/// Returns a case for each document alone.
fn one_document(case: &Case) -> Vec<Case> {
    each_alone(case, |names: &mut Vec<String>| names, |_, name| name.clone())
}

/// Returns the documents that the case names.
fn documents_of(case: &Case) -> Result<Vec<&'static Document>, Stop> {
    let names: Vec<String> = case.read()?;
    let find = |name: &String| {
        let found = documents::named(name);
        found.ok_or_else(|| Stop::Harness(format!("there is no document `{name}`")))
    };
    names.iter().map(find).collect()
}

/// Returns a document's content as read through the server; `None` if the server has no tool that reads, or the contract does
/// not let it name this document.
fn read(bench: &Bench<'_>, client: &mut Client<'_>, path: &str) -> Result<Option<String>, Stop> {
    let with = With { path, ..With::default() };
    let read = bench.subject.tool_with(EffectKind::Read);
    let (Some((_, effect)), Some(call)) = (read, bench.subject.request(EffectKind::Read, with)) else {
        return Ok(None);
    };
    let done = client.make(&call)?.must(format!("a read of `{path}`"))?;
    Ok(Some(semantics::content_read(effect, &done.response)?.to_owned()))
}

fn write_exact(bench: &Bench<'_>, case: &Case) -> Judgement {
    let documents = documents_of(case)?;
    let place = |kind, path: &str| bench.subject.place(kind, path);
    let old: Vec<_> =
        documents.iter().map(|it| (place(EffectKind::Write, &it.path), "# Old\r\n\r\nold")).collect();
    let old: Vec<_> = old.iter().map(|(path, text)| (path.as_str(), text)).collect();
    let scene = bench.scene(&old)?;
    let mut client = scene.start()?;
    let (mut written, mut refusals) = (false, Refusals::default());
    let texts = documents::contents().iter().map(|it| (it.name.as_str(), it.text.clone(), it.odd));
    let texts = documents.iter().map(|it| (it.name.as_str(), it.text(), it.odd)).chain(texts);
    for (number, (name, text, odd)) in texts.enumerate() {
        let new = place(EffectKind::Write, &format!("notes/new-{number}.md"));
        let over = documents.get(number).map(|it| place(EffectKind::Write, &it.path));
        for path in over.iter().chain([&new]) {
            let with = With { path, content: &text, target: "" };
            let call = bench.subject.request(EffectKind::Write, with);
            let Some(call) = call.filter(Call::is_valid) else {
                continue;
            };
            written = true;
            if let Reply::Refused(refusal) = client.make(&call)? {
                if odd || text.is_empty() && promises::are_of(bench.subject.contract) {
                    continue;
                }
                refusals.add(bench, refused(format!("a write of `{path}` ({name})"), &refusal))?;
                continue;
            }
            refusals.taken();
            let found = scene.read(path);
            if found.as_deref() != Some(text.as_bytes()) {
                let failure = fail(format!("`{path}` does not contain what was written ({name})"));
                return Err(failure.showing(path, Some(text.as_bytes()), found.as_deref()));
            }
            if text.contains('\r') && !promises::are_texts_kept(bench.subject.contract) {
                continue;
            }
            let content = read(bench, &mut client, path)?;
            ensure(content.is_none_or(|content| content == text), || {
                format!("a read of `{path}` does not return what was written ({name})")
            })
            .map_err(|stop| stop.shows(Shows::Nothing))?;
        }
    }
    if written { refusals.end() } else { Err(missing_tool()) }
}

fn read_exact(bench: &Bench<'_>, case: &Case) -> Judgement {
    let keeps = promises::are_texts_kept(bench.subject.contract);
    // If the contract permits few names, two documents may get the same.
    let mut documents: Vec<_> = documents_of(case)?
        .into_iter()
        .map(|it| (bench.subject.place(EffectKind::Read, &it.path), it))
        .collect();
    documents.sort_by(|(one, _), (other, _)| one.cmp(other));
    documents.dedup_by(|(one, _), (other, _)| one == other);
    let is_permitted = |path: &str| {
        let with = With { path, ..With::default() };
        bench.subject.request(EffectKind::Read, with).is_some()
    };
    let is_only = bench.subject.contract.document;
    documents.retain(|(path, _)| is_only || is_permitted(path));
    let documents = nonempty(documents, "no example of the contract has a path of a document to read")?;
    let texts: Vec<_> = documents.iter().map(|(path, it)| (path.as_str(), it.text())).collect();
    let scene = bench.scene(&texts)?;
    let mut client = scene.start()?;
    let mut refusals = Refusals::default();
    for dirty in [false, true] {
        for (path, document) in &documents {
            let mut text = document.text();
            let path = if is_only { DOCUMENT } else { path };
            if dirty {
                text.push_str(if keeps { "\r\nA person's" } else { "\nA person's" });
            }
            if dirty || is_only {
                scene.put(path, &text)?;
            }
            let content = match read(bench, &mut client, path) {
                // The others may be read.
                Err(Stop::NotShown(why)) if matches!(why.cause, Some(Cause::Refusal(_))) => {
                    refusals.add(bench, Stop::NotShown(why))?;
                    continue;
                }
                content => content?,
            };
            refusals.taken();
            if content.as_deref() != Some(&text) {
                let failure =
                    fail(format!("a read of `{path}` ({}) does not return the file's bytes", document.name));
                let content = content.as_deref().map(str::as_bytes);
                return Err(failure.showing(path, Some(text.as_bytes()), content));
            }
        }
    }
    refusals.end()
}

/// A document that is not UTF-8, and the kind of effect applied to it.
#[derive(Debug, Serialize, Deserialize)]
struct InvalidDocument {
    /// Index in [`KINDS`].
    kind: usize,
    bytes: Bytes,
}

/// Kinds of effects on documents that are not UTF-8.
const KINDS: [EffectKind; 6] = [
    EffectKind::Read,
    EffectKind::Append,
    EffectKind::Prepend,
    EffectKind::ReplaceSection,
    EffectKind::InsertBefore,
    EffectKind::InsertAfter,
];

fn invalid_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let text = "# Größe\n\nÄlles.\n\n## Scope\n\nAll.\n\n## Später\n\nö\n";
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect();
    let wide = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| {
        [mark.to_vec(), text.encode_utf16().flat_map(unit).collect()].concat()
    };
    let broken = |part: &[u8]| [b"# A\n\n## Scope\n\nAll.\n\n## Later\n\n", part, b"\nmore\n"].concat();
    let documents = [
        ("Latin-1", latin),
        ("UTF-16, little-endian", wide([0xff, 0xfe], u16::to_le_bytes)),
        ("UTF-16, big-endian", wide([0xfe, 0xff], u16::to_be_bytes)),
        ("a truncated character", broken(b"\xf0\x9f\x99")),
        ("half of a surrogate pair", broken(b"\xed\xa0\x80")),
        ("an overlong encoding", broken(b"\xc0\xaf")),
        ("a byte that UTF-8 never uses", broken(b"\xff")),
    ];
    let mut cases = Vec::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        let quick = [EffectKind::Read, EffectKind::Append, EffectKind::ReplaceSection];
        if bench.subject.tool_with(kind).is_none() || !bench.pick(quick.contains(&kind), true) {
            continue;
        }
        for (name, bytes) in &documents {
            let bytes = Bytes(bytes.clone());
            cases.push(Case::new(format!("{kind}: {name}"), InvalidDocument { kind: number, bytes }));
        }
    }
    Ok(cases)
}

fn invalid_utf8(bench: &Bench<'_>, case: &Case) -> Judgement {
    let InvalidDocument { kind, bytes } = case.read()?;
    let (kind, content) = (KINDS[kind], "## Scope\n\nless\n");
    let path = &*bench.subject.place(kind, "notes/plan.md");
    let scene = bench.scene(&[(path, &bytes)])?;
    let with = With { path, content, target: "## Scope" };
    let call = bench.request(kind, with)?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    let reply = client.make(&call)?;
    let after = scene.read(path);
    let Reply::Done(done) = reply else {
        return before.same(&Moment::capture(&scene)?);
    };
    if kind == EffectKind::Read {
        let (_, effect) = bench.subject.tool_with(kind).ok_or_else(missing_tool)?;
        let Ok(content) = semantics::content_read(effect, &done.response) else {
            // A server may answer that the document is not text.
            return before.same(&Moment::capture(&scene)?);
        };
        let failure = fail("a document that is not UTF-8 was read as text that it does not contain")
            .shows(Shows::Nothing);
        return Err(failure.showing(path, Some(&bytes.0), Some(content.as_bytes())));
    }
    let after = after.unwrap_or_default();
    let wrong = |what: &str| Err(fail(what).showing(path, Some(&bytes.0), Some(&after)));
    if after.windows(3).any(|window| window == "\u{fffd}".as_bytes()) {
        return wrong("bytes that are not UTF-8 were written back as U+FFFD");
    }
    // Wherever the new text is, the bytes that it did not replace must precede and follow it.
    let same = |(old, new): &(&u8, &u8)| old == new;
    let start = bytes.0.iter().zip(&after).take_while(same).count();
    let end = bytes.0.iter().rev().zip(after.iter().rev()).take_while(same).count();
    let max_replaced = if kind == EffectKind::ReplaceSection { "## Scope\n\nAll.\n\n".len() } else { 0 };
    if start + end + max_replaced < bytes.0.len() {
        return wrong("bytes outside of the change have changed");
    }
    Ok(())
}

/// A file mode, and the effect applied to a document with it.
#[derive(Debug, Serialize, Deserialize)]
struct ModeCase {
    /// Index in [`CHANGES`].
    effect: usize,
    mode: u32,
}

fn mode_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for (effect, kind) in CHANGES.into_iter().enumerate() {
        let quick = [EffectKind::Write, EffectKind::ReplaceSection];
        let is_tried = kind != EffectKind::Delete && bench.pick(quick.contains(&kind), true);
        if !is_tried || bench.subject.tool_with(kind).is_none() {
            continue;
        }
        for mode in [0o600, 0o640, 0o644, 0o755, 0o700] {
            cases.push(Case::new(format!("{kind}: {mode:o}"), ModeCase { effect, mode }));
        }
    }
    Ok(cases)
}

fn mode(bench: &Bench<'_>, case: &Case) -> Judgement {
    let ModeCase { effect, mode } = case.read()?;
    let path = &*bench.subject.place(CHANGES[effect], "notes/plan.md");
    let scene = bench.scene(&[(path, "# Plan\n\n## Scope\n\nAll.\n")])?;
    scene.trace(format!("a person sets the mode of `{path}` to {mode:o}"));
    fs::set_permissions(scene.path(path), fs::Permissions::from_mode(mode))?;
    scene.commit_all("a mode")?;
    let entry = || scene.git(&["ls-tree", "HEAD", path]);
    let in_git = |entry: String| entry.split(' ').next().map(String::from);
    let before = in_git(entry()?);
    let with = With { path, content: "## Scope\n\nless\n", target: "## Scope" };
    let call = bench.request(CHANGES[effect], with)?;
    let mut client = scene.start()?;
    client.make(&call)?.must("a valid call")?;
    let found = fs::metadata(scene.path(path))?.permissions().mode() & 0o7777;
    ensure(found == mode, || format!("the mode {mode:o} changed to {found:o}"))?;
    let after = in_git(entry()?);
    ensure(before == after, || format!("the mode in git changed from {before:?} to {after:?}"))
}
