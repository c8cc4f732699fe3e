//! One mutation of each kind, and what the library is before it.

use std::{fmt, path::Path};

use serde::{Deserialize, Serialize};
use tabellion_runtime::spec::EffectKind;

use crate::{
    Subject,
    check::Bench,
    client::Client,
    judgement::{Judgement, Stop, ensure, fail},
    ledger::{self, Files},
    reply::Reply,
    request::{Call, With, with_effect},
    scene::Scene,
    semantics,
    stepper::{Counting, Stepper},
};

/// Documents of every library.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        DOCUMENT,
        "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n",
    ),
    ("notes/other.md", "# Other\n\nStays.\n"),
    ("README.md", "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";
const NEW: &str = "notes/new.md";
const DEEP: &str = "notes/new/deep.md";
/// The document of the mutation that comes after.
const NEXT: &str = "notes/other.md";

/// A kind of mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mutation {
    /// A document that was not there.
    Create,
    /// A document that was not there, in a folder that was not there.
    CreateWithFolder,
    Overwrite,
    Delete,
    Append,
    ReplaceSection,
    /// An object at the end of a file that the contract names.
    AppendEntry,
    /// A text at the end of a file that the contract names.
    AppendText,
    /// A section before the first.
    Insert,
    /// The path of such an insertion.
    Undo,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::CreateWithFolder => "create with its folder",
            Self::Overwrite => "overwrite",
            Self::Delete => "delete",
            Self::Append => "append",
            Self::ReplaceSection => "replace a section",
            Self::AppendEntry => "append an entry",
            Self::AppendText => "append a text",
            Self::Insert => "insert a section",
            Self::Undo => "undo",
        })
    }
}

impl Mutation {
    const ALL: [Self; 10] = [
        Self::Create,
        Self::CreateWithFolder,
        Self::Overwrite,
        Self::Delete,
        Self::Append,
        Self::ReplaceSection,
        Self::AppendEntry,
        Self::AppendText,
        Self::Insert,
        Self::Undo,
    ];

    /// Those that the server has a tool for, and a folder made only if it makes folders.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn of(bench: &Bench<'_>) -> Result<Vec<Self>, Stop> {
        let subject = bench.subject;
        let mut all = Self::ALL.to_vec();
        all.retain(|mutation| mutation.call(subject).is_ok());
        if all.contains(&Self::CreateWithFolder) && !makes_folders(bench)? {
            all.retain(|mutation| *mutation != Self::CreateWithFolder);
        }
        if all.is_empty() {
            return Err(Stop::NotApplicable("the server can't change a document".into()));
        }
        Ok(all)
    }

    /// The document that it is about, where the contract leaves that open.
    fn path(self) -> &'static str {
        match self {
            Self::Create => NEW,
            Self::CreateWithFolder => DEEP,
            _ => DOCUMENT,
        }
    }

    /// The call that makes it.
    ///
    /// # Errors
    /// When the server has no tool for it.
    pub(super) fn call(self, subject: &Subject) -> Result<Call, Stop> {
        self.call_with(subject, "Less of it, but in more words.\n")
    }

    /// As [`call`](Self::call), with other text. Afterwards all others can be made.
    pub(super) fn call_with(self, subject: &Subject, text: &str) -> Result<Call, Stop> {
        let section = || format!("## Scope\n\n{text}");
        let lacking = || Stop::NotApplicable(format!("the server has no tool to {self}"));
        let own = |kind, content: &str, target| {
            let (tool, effect) = subject.tool_with(kind)?;
            let with = With {
                path: DOCUMENT,
                content,
                target,
            };
            with_effect(tool, effect, with)
        };
        // Only where the contract names the file.
        let fixed = |kind, content: &str| own(kind, content, "").filter(|call| call.path() != DOCUMENT);
        let (kind, content) = match self {
            Self::AppendEntry => return fixed(EffectKind::AppendLine, text.trim_end()).ok_or_else(lacking),
            Self::AppendText => return fixed(EffectKind::Append, text).ok_or_else(lacking),
            Self::Insert => {
                let heading = format!("# {}", text.lines().next().unwrap_or_default());
                return own(EffectKind::InsertSection, "", &heading).ok_or_else(lacking);
            }
            Self::Undo => return own(EffectKind::Undo, "", "").ok_or_else(lacking),
            Self::Create | Self::CreateWithFolder | Self::Overwrite => (EffectKind::Write, section()),
            Self::Delete => (EffectKind::Delete, String::new()),
            Self::Append => (EffectKind::Append, format!("\n{text}")),
            Self::ReplaceSection => (EffectKind::ReplaceSection, section()),
        };
        let with = With {
            path: self.path(),
            content: &content,
            target: "## Scope",
        };
        subject.request(kind, with).ok_or_else(lacking)
    }

    /// Makes what must have been made before it.
    ///
    /// # Errors
    /// When that is refused.
    pub(super) fn prepare(self, subject: &Subject, client: &mut Client<'_>) -> Judgement {
        if self != Self::Undo {
            return Ok(());
        }
        match client.make(&Self::Insert.call(subject)?)? {
            Reply::Done(_) => Ok(()),
            Reply::Refused(refusal) => Err(fail(format!("a valid call was refused: {}", refusal.message))),
        }
    }
}

/// What each library begins with: [`DOCUMENTS`], and the files that the contract names.
pub(super) fn documents(subject: &Subject) -> Vec<(String, &'static str)> {
    let mut all: Vec<_> = DOCUMENTS
        .iter()
        .map(|(path, text)| ((*path).to_owned(), *text))
        .collect();
    for mutation in [Mutation::AppendEntry, Mutation::AppendText] {
        if let Ok(call) = mutation.call(subject) {
            all.push((call.path(), "{}\n"));
        }
    }
    all
}

/// A library with [`documents`].
///
/// # Errors
/// When the disk or git fails.
pub(super) fn library<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let all = documents(bench.subject);
    let all: Vec<_> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    bench.scene(&all)
}

/// As [`library`], in memory where there is a folder in memory.
///
/// # Errors
/// As [`library`].
pub(super) fn library_in_memory<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let all = documents(bench.subject);
    let all: Vec<_> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    Scene::in_memory(bench.subject, &bench.trace, &all)
}

/// Whether the server makes the folder of a new document.
fn makes_folders(bench: &Bench<'_>) -> Result<bool, Stop> {
    let scene = library(bench)?;
    let call = Mutation::CreateWithFolder.call(bench.subject)?;
    Ok(matches!(scene.start()?.make(&call)?, Reply::Done(_)))
}

/// The bytes of a document in a view.
pub(super) fn document<'a>(files: &'a Files, path: &str) -> Option<&'a [u8]> {
    files.get(Path::new(path)).map(|(_, bytes)| &bytes[..])
}

/// Makes a call that must succeed, and judges what it made of its document in a folder that held `before`; the folder after
/// it.
///
/// # Errors
/// When it is refused, or made something else.
pub(super) fn must(
    client: &mut Client<'_>,
    call: &Call,
    scene: &Scene<'_>,
    before: &Files,
) -> Result<Files, Stop> {
    if let Reply::Refused(refusal) = client.make(call)? {
        return Err(fail(format!("a valid call was refused: {}", refusal.message)));
    }
    let after = ledger::files(&scene.library())?;
    let path = &*call.path();
    semantics::allowed(call, document(before, path), document(&after, path))?;
    Ok(after)
}

/// A mutation of another document than that of `call`, or of the same where there is but one, to see whether the server can
/// still make one.
///
/// # Errors
/// When it has no tool for one.
pub(super) fn next(subject: &Subject, call: &Call) -> Result<Call, Stop> {
    let mut kinds = [EffectKind::Append, EffectKind::Write, EffectKind::Delete].into_iter();
    let with = With {
        path: NEXT,
        content: "One more.\n",
        target: "",
    };
    let found = kinds.find_map(|kind| subject.request(kind, with));
    let own = [Mutation::AppendEntry, Mutation::AppendText, Mutation::Insert].into_iter();
    let mut own = own.filter_map(|mutation| mutation.call_with(subject, "One more.\n").ok());
    let found = found.or_else(|| own.find(|it| it.path() != call.path() || call.tool.path.is_none()));
    found.ok_or_else(|| Stop::NotApplicable("the server can't change a document".into()))
}

/// Whether the call was made, by its document, which must be as before it or as after it.
///
/// # Errors
/// When it is neither.
pub(super) fn is_made(call: &Call, before: &Files, after: &Files) -> Result<bool, Stop> {
    let path = &*call.path();
    let (before, after) = (document(before, path), document(after, path));
    if before == after {
        return Ok(false);
    }
    let is_undo = call.tool.effect(&call.arguments).map(|effect| effect.kind) == Some(EffectKind::Undo);
    let judged = if is_undo {
        // The only change before is an insertion.
        ensure(after == Some(DOCUMENTS[0].1.as_bytes()), String::new)
    } else {
        semantics::allowed(call, before, after)
    };
    match judged {
        Ok(()) => Ok(true),
        Err(_) => Err(fail(format!(
            "`{path}` is neither what it was nor what it should become"
        ))
        .showing(path, before, after)),
    }
}

/// Fails when a call that was answered was not made, or one that was refused was.
///
/// # Errors
/// The failure.
pub(super) fn ensure_as_answered(reply: Option<&Reply>, is_made: bool) -> Judgement {
    match reply {
        Some(Reply::Done(_)) => ensure(is_made, || {
            "the call was acknowledged, and its change is not there".into()
        }),
        Some(Reply::Refused(refusal)) => ensure(!is_made, || {
            format!(
                "the call was refused (`{}`), and its change is there",
                refusal.message
            )
        }),
        None => Ok(()),
    }
}

/// Starts a server over `scene` that can be stepped through.
///
/// # Errors
/// When that is not possible here, or the server does not start.
pub(super) fn start<'a>(bench: &Bench<'a>, scene: &Scene<'a>) -> Result<(Client<'a>, Stepper), Stop> {
    let (target, stepper) = scene.connect_stepped(Counting::WhenArmed)?;
    Ok((Client::open(bench.subject, target, scene.library())?, stepper))
}
