//! What is not to change stays as it was, byte for byte; what is written is what is read.

use std::{fs, os::unix::fs::PermissionsExt};

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::EffectKind;

use crate::{
    bytes::Bytes,
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    client::Client,
    documents::{self, CHANGES, Document},
    judgement::{Judgement, Stop, ensure, fail},
    layout::DOCUMENT,
    moment::Moment,
    reply::Reply,
    request::With,
    semantics,
};

use super::table::{self, Row};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "bytes/untouched",
        severity: Severity::Must,
        guarantees: &["no-implicit-edits"],
        states: "A change of one place leaves every byte outside of it as it was.",
        explains: "Texts are appended to documents and take the place of sections in them: documents with CRLF, CR alone and \
                   mixed line endings, a byte order mark, front matter of odd quoting, lines of 200 KB, trailing blanks, \
                   tabs, and characters that look like line endings. A server may refuse the oddest, but not change a byte \
                   that it was not asked to.",
        cases: |bench| table::cases(bench, bench.pick(&SOME[..], &CHANGES[..]), |_| true),
        judge: untouched,
        shrink: table::shrink,
    },
    Check {
        id: "bytes/write-exact",
        severity: Severity::Must,
        guarantees: &["no-implicit-edits"],
        states: "A document is exactly what was written, and read as exactly that.",
        explains: "Every text of the tables is written, over another document and as a new one. What lies in the folder must be \
                   the text, byte for byte, and so must what is read then.",
        cases: |bench| each_document(bench, EffectKind::Write),
        judge: write_exact,
        shrink: one_document,
    },
    Check {
        id: "bytes/read-exact",
        severity: Severity::Must,
        guarantees: &[],
        states: "What is read is exactly what lies in the folder.",
        explains: "Every document of the table is read, committed and then changed by a person, and compared byte for byte.",
        cases: |bench| each_document(bench, EffectKind::Read),
        judge: read_exact,
        shrink: one_document,
    },
    Check {
        id: "bytes/invalid-utf8",
        severity: Severity::Must,
        guarantees: &["no-implicit-edits"],
        states: "A document that is not UTF-8 is refused or handled exactly; its bytes never become question marks.",
        explains: "Documents in Latin-1, UTF-16 and with broken characters are read and changed. A server that reads them as \
                   text puts U+FFFD in their place and writes that back, to every such character of the document. A change \
                   must be refused, with nothing changed, or leave the rest as it was; a reading must not say what is not \
                   there.",
        cases: invalid_cases,
        judge: invalid_utf8,
        shrink: as_small_as_can_be,
    },
    Check {
        id: "bytes/mode",
        severity: Severity::Should,
        guarantees: &["no-implicit-edits"],
        states: "A document keeps its mode.",
        explains: "Documents that only their owner may read, or that can be executed, are changed. Mode and, in git, the \
                   executable bit must stay.",
        cases: mode_cases,
        judge: mode,
        shrink: as_small_as_can_be,
    },
];

/// The kinds of changes that the quick profile tries.
const SOME: [EffectKind; 2] = [EffectKind::Append, EffectKind::ReplaceSection];

fn lacking() -> Stop {
    Stop::NotApplicable("the server has no such tool".into())
}

fn untouched(bench: &Bench<'_>, case: &Case) -> Judgement {
    let row: Row = case.read()?;
    let (documents, content) = (row.documents()?, row.content()?);
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    for document in documents {
        let path = &document.path;
        let call = bench
            .subject
            .request(row.kind(), table::with(document, &content.text));
        let reply = client.make(&call.ok_or_else(lacking)?)?;
        let (before, after) = (document.text(), scene.read(path));
        if let Reply::Refused(refusal) = reply {
            ensure(after.as_deref() == Some(before.as_bytes()), || {
                format!("a call was refused, and changed `{path}` ({})", document.name)
            })?;
            ensure(document.odd || content.odd, || {
                let why = refusal.message;
                format!("a valid call on `{path}` ({}) was refused: {why}", document.name)
            })?;
            continue;
        }
        if let Err(why) = document.judge(row.kind(), &content.text, after.as_deref()) {
            let what = semantics::words(Some(row.kind()));
            let what = format!("{what} changed more of `{path}` ({}): {why}", document.name);
            return Err(fail(what).showing(path, Some(before.as_bytes()), after.as_deref()));
        }
    }
    Ok(())
}

/// One case of all documents.
fn each_document(bench: &Bench<'_>, kind: EffectKind) -> Result<Vec<Case>, Stop> {
    if bench.subject.tool_with(kind).is_none() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = documents::all().iter().map(|it| &it.name).collect();
    Ok(vec![Case::new("all documents", names)])
}

fn one_document(case: &Case) -> Vec<Case> {
    let names: Vec<String> = case.read().unwrap_or_default();
    let names = names.iter().filter(|_| names.len() > 1);
    names.map(|name| Case::new(name, [name])).collect()
}

fn named(case: &Case) -> Result<Vec<&'static Document>, Stop> {
    let names: Vec<String> = case.read()?;
    let known = |name: &String| {
        let found = documents::named(name);
        found.ok_or_else(|| Stop::Harness(format!("there is no document `{name}`")))
    };
    names.iter().map(known).collect()
}

/// What the server says that a document holds; `None` if it refuses, or can't read.
fn read(bench: &Bench<'_>, client: &mut Client<'_>, path: &str) -> Result<Option<String>, Stop> {
    let with = With {
        path,
        ..With::default()
    };
    let Some((_, effect)) = bench.subject.tool_with(EffectKind::Read) else {
        return Ok(None);
    };
    let call = bench
        .subject
        .request(EffectKind::Read, with)
        .ok_or_else(lacking)?;
    match client.make(&call)? {
        Reply::Done(done) => Ok(Some(semantics::content_read(effect, &done.response)?.to_owned())),
        Reply::Refused(_) => Ok(None),
    }
}

fn write_exact(bench: &Bench<'_>, case: &Case) -> Judgement {
    let documents = named(case)?;
    let reads = bench.subject.tool_with(EffectKind::Read).is_some();
    let old: Vec<_> = documents
        .iter()
        .map(|it| (it.path.as_str(), "# Old\r\n\r\nold"))
        .collect();
    let scene = bench.scene(&old)?;
    let mut client = scene.start()?;
    let texts = documents::contents()
        .iter()
        .map(|it| (it.name.as_str(), it.text.clone(), it.odd));
    let texts = documents
        .iter()
        .map(|it| (it.name.as_str(), it.text(), it.odd))
        .chain(texts);
    for (number, (name, text, odd)) in texts.enumerate() {
        let new = format!("notes/new-{number}.md");
        let over = documents.get(number).map(|it| it.path.as_str());
        for path in over.into_iter().chain([new.as_str()]) {
            let with = With {
                path,
                content: &text,
                target: "",
            };
            let call = bench
                .subject
                .request(EffectKind::Write, with)
                .ok_or_else(lacking)?;
            if let Reply::Refused(refusal) = client.make(&call)? {
                let why = refusal.message;
                ensure(odd, || format!("writing `{path}` ({name}) was refused: {why}"))?;
                continue;
            }
            let found = scene.read(path);
            if found.as_deref() != Some(text.as_bytes()) {
                let failure = fail(format!("`{path}` is not what was written ({name})"));
                return Err(failure.showing(path, Some(text.as_bytes()), found.as_deref()));
            }
            let said = read(bench, &mut client, path)?;
            ensure(!reads || said.as_deref() == Some(&text), || {
                format!("`{path}` is not read as what was written ({name})")
            })?;
        }
    }
    Ok(())
}

fn read_exact(bench: &Bench<'_>, case: &Case) -> Judgement {
    let documents = named(case)?;
    let scene = table::scene(bench, &documents)?;
    let mut client = scene.start()?;
    for dirty in [false, true] {
        for document in &documents {
            let mut text = document.text();
            let is_only = bench.subject.contract.document;
            let path = if is_only { DOCUMENT } else { &document.path };
            if dirty {
                text.push_str("\r\nA person's");
            }
            if dirty || is_only {
                scene.put(path, &text)?;
            }
            let said = read(bench, &mut client, path)?;
            if said.as_deref() != Some(&text) {
                let failure = fail(format!("`{path}` ({}) is not read as it is", document.name));
                let said = said.as_deref().map(str::as_bytes);
                return Err(failure.showing(path, Some(text.as_bytes()), said));
            }
        }
    }
    Ok(())
}

/// A document that is no UTF-8, and the effect that is tried on it.
#[derive(Debug, Serialize, Deserialize)]
struct Invalid {
    kind: usize,
    bytes: Bytes,
}

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
        ("UTF-16, little end first", wide([0xff, 0xfe], u16::to_le_bytes)),
        ("UTF-16, big end first", wide([0xfe, 0xff], u16::to_be_bytes)),
        ("a character that is cut off", broken(b"\xf0\x9f\x99")),
        ("half of a surrogate pair", broken(b"\xed\xa0\x80")),
        ("a long form", broken(b"\xc0\xaf")),
        ("a byte that never is", broken(b"\xff")),
    ];
    let mut cases = Vec::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        let quick = [EffectKind::Read, EffectKind::Append, EffectKind::ReplaceSection];
        if bench.subject.tool_with(kind).is_none() || !bench.pick(quick.contains(&kind), true) {
            continue;
        }
        for (name, bytes) in &documents {
            let bytes = Bytes(bytes.clone());
            cases.push(Case::new(
                format!("{kind:?}: {name}"),
                Invalid { kind: number, bytes },
            ));
        }
    }
    Ok(cases)
}

fn invalid_utf8(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Invalid { kind, bytes } = case.read()?;
    let (kind, path, content) = (KINDS[kind], "notes/plan.md", "## Scope\n\nless\n");
    let scene = bench.scene(&[(path, &bytes)])?;
    let with = With {
        path,
        content,
        target: "## Scope",
    };
    let call = bench.subject.request(kind, with).ok_or_else(lacking)?;
    let mut client = scene.start()?;
    let before = Moment::of(&scene)?;
    let reply = client.make(&call)?;
    let after = scene.read(path);
    let Reply::Done(done) = reply else {
        return before.same(&Moment::of(&scene)?);
    };
    if kind == EffectKind::Read {
        let (_, effect) = bench.subject.tool_with(kind).ok_or_else(lacking)?;
        let said = semantics::content_read(effect, &done.response)?;
        let failure = fail("a document that is no UTF-8 was read as a text that it does not hold");
        return Err(failure.showing(path, Some(&bytes.0), Some(said.as_bytes())));
    }
    let after = after.unwrap_or_default();
    let wrong = |what: &str| Err(fail(what).showing(path, Some(&bytes.0), Some(&after)));
    if after.windows(3).any(|window| window == "\u{fffd}".as_bytes()) {
        return wrong("bytes that are no UTF-8 were written back as U+FFFD");
    }
    // Wherever the text went: what it did not replace is still there, in front of it or behind.
    let same = |(old, new): &(&u8, &u8)| old == new;
    let start = bytes.0.iter().zip(&after).take_while(same).count();
    let end = bytes
        .0
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(same)
        .count();
    let most_gone = if kind == EffectKind::ReplaceSection {
        "## Scope\n\nAll.\n\n".len()
    } else {
        0
    };
    if start + end + most_gone < bytes.0.len() {
        return wrong("bytes outside of the change are not what they were");
    }
    Ok(())
}

/// A mode, and the effect that is tried on a document that has it.
#[derive(Debug, Serialize, Deserialize)]
struct WithMode {
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
            cases.push(Case::new(
                format!("{kind:?}: {mode:o}"),
                WithMode { effect, mode },
            ));
        }
    }
    Ok(cases)
}

fn mode(bench: &Bench<'_>, case: &Case) -> Judgement {
    let WithMode { effect, mode } = case.read()?;
    let path = "notes/plan.md";
    let scene = bench.scene(&[(path, "# Plan\n\n## Scope\n\nAll.\n")])?;
    scene.trace(format!("a person gives `{path}` the mode {mode:o}"));
    fs::set_permissions(scene.path(path), fs::Permissions::from_mode(mode))?;
    scene.commit_all("a mode")?;
    let entry = || scene.git(&["ls-tree", "HEAD", path]);
    let in_git = |entry: String| entry.split(' ').next().map(String::from);
    let before = in_git(entry()?);
    let with = With {
        path,
        content: "## Scope\n\nless\n",
        target: "## Scope",
    };
    let call = bench.subject.request(CHANGES[effect], with).ok_or_else(lacking)?;
    let mut client = scene.start()?;
    if let Reply::Refused(refusal) = client.make(&call)? {
        return Err(fail(format!("a valid call was refused: {}", refusal.message)));
    }
    let found = fs::metadata(scene.path(path))?.permissions().mode() & 0o7777;
    ensure(found == mode, || format!("the mode {mode:o} became {found:o}"))?;
    let after = in_git(entry()?);
    ensure(before == after, || {
        format!("the mode in git became {after:?}, from {before:?}")
    })
}
