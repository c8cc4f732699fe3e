//! One mutation of each kind, and the library that it is made in.

use std::path::Path;

use crate::{checks::prelude::*, ledger::Files, request::with_effect, semantics};

/// Documents of every library; a contract's named files are added.
const DOCUMENTS: &[(&str, &str)] = &[
    (DOCUMENT, "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n"),
    ("notes/other.md", "# Other\n\nStays.\n"),
    ("README.md", "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";
/// Path of a new document.
const NEW: &str = "notes/new.md";
/// Path of a new document in a new folder.
const DEEP: &str = "notes/new/deep.md";
/// Path of the document that the next mutation changes.
const NEXT: &str = "notes/other.md";

named! {
    /// A kind of mutation.
    #[derive(PartialOrd, Ord)]
    pub(super) enum Mutation {
        /// Creates a document.
        Create = "create",
        /// Creates a document in a new folder.
        CreateWithFolder = "create with its folder",
        Overwrite = "overwrite",
        Delete = "delete",
        Append = "append",
        ReplaceSection = "replace a section",
        /// Appends an object to a file that the contract names.
        AppendEntry = "append an entry",
        /// Appends a text to a file that the contract names.
        AppendText = "append a text",
        /// Inserts a section before the first one.
        Insert = "insert a section",
        /// Undoes such an insertion.
        Undo = "undo",
    }
}

impl Mutation {
    /// Returns the mutations that the server supports.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn supported(bench: &Bench<'_>) -> Result<Vec<Self>, Stop> {
        let subject = bench.subject;
        let mut all = Self::ALL.to_vec();
        all.retain(|mutation| mutation.call(subject).is_ok());
        if all.contains(&Self::CreateWithFolder) && !creates_folders(bench)? {
            all.retain(|mutation| *mutation != Self::CreateWithFolder);
        }
        nonempty(all, "no tool of the server declares a change of a document that can be tried here")
    }

    /// Returns the path of the document to change, where the contract does not name one.
    fn path(self) -> &'static str {
        match self {
            Self::Create => NEW,
            Self::CreateWithFolder => DEEP,
            _ => DOCUMENT,
        }
    }

    /// Returns the call that makes the mutation.
    ///
    /// # Errors
    /// If the server has no tool for it.
    pub(super) fn call(self, subject: &Subject) -> Result<Call, Stop> {
        self.call_with(subject, "Less of it, but in more words.\n")
    }

    /// Returns the call with the given text. All other mutations remain possible after it.
    pub(super) fn call_with(self, subject: &Subject, text: &str) -> Result<Call, Stop> {
        let section = || format!("## Scope\n\n{text}");
        let no_tool = || not_applicable(format!("the server has no tool to {self}"));
        let own = |kind, content: &str, target| {
            let (tool, effect) = subject.tool_with(kind)?;
            let with = With { path: DOCUMENT, content, target };
            with_effect(tool, effect, with)
        };
        // Supported only if the contract names the file.
        let fixed = |kind, content: &str| own(kind, content, "").filter(|call| call.path() != DOCUMENT);
        let (kind, content) = match self {
            Self::AppendEntry => return fixed(EffectKind::AppendLine, text.trim_end()).ok_or_else(no_tool),
            Self::AppendText => return fixed(EffectKind::Append, text).ok_or_else(no_tool),
            Self::Insert => {
                let heading = format!("# {}", text.lines().next().unwrap_or_default());
                return own(EffectKind::InsertSection, "", &heading).ok_or_else(no_tool);
            }
            Self::Undo => return own(EffectKind::Undo, "", "").ok_or_else(no_tool),
            Self::Create | Self::CreateWithFolder | Self::Overwrite => (EffectKind::Write, section()),
            Self::Delete => (EffectKind::Delete, String::new()),
            Self::Append => (EffectKind::Append, format!("\n{text}")),
            Self::ReplaceSection => (EffectKind::ReplaceSection, section()),
        };
        let with = With { path: self.path(), content: &content, target: "## Scope" };
        subject.placed(kind, with).ok_or_else(no_tool)
    }

    /// Makes the call that must precede the mutation: an insertion before an undo.
    pub(super) fn prepare(self, subject: &Subject, client: &mut Client<'_>) -> Judgement {
        if self != Self::Undo {
            return Ok(());
        }
        client.make(&Self::Insert.call(subject)?)?.must("a valid call")?;
        Ok(())
    }
}

/// Returns the initial documents of each library: [`DOCUMENTS`], and the files that the contract names.
pub(super) fn documents(subject: &Subject) -> Vec<(String, &'static str)> {
    let places =
        |&(path, text): &(&str, &'static str)| subject.places(path).into_iter().map(move |path| (path, text));
    let mut all: Vec<_> = DOCUMENTS.iter().flat_map(places).collect();
    for mutation in [Mutation::AppendEntry, Mutation::AppendText] {
        if let Ok(call) = mutation.call(subject) {
            all.push((call.path(), "{}\n"));
        }
    }
    all
}

/// Creates a library with [`documents`].
pub(super) fn library<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let all = documents(bench.subject);
    let all: Vec<_> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    bench.scene(&all)
}

/// Creates a library with [`documents`], in memory if the machine has a file system there.
pub(super) fn library_in_memory<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let all = documents(bench.subject);
    let all: Vec<_> = all.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    Scene::in_memory(bench.subject, &bench.trace, &all)
}

/// Returns true if the server creates the folder of a new document.
fn creates_folders(bench: &Bench<'_>) -> Result<bool, Stop> {
    let scene = library(bench)?;
    let call = Mutation::CreateWithFolder.call(bench.subject)?;
    Ok(matches!(scene.start()?.make(&call)?, Reply::Done(_)))
}

/// Returns the bytes of the document at `path`.
pub(super) fn document<'a>(files: &'a Files, path: &str) -> Option<&'a [u8]> {
    files.get(Path::new(path)).map(|(_, bytes)| &bytes[..])
}

/// Makes a call that must succeed, judges its effect on its document, and returns the files after it.
///
/// `before` contains the files before the call.
pub(super) fn make_successfully(
    client: &mut Client<'_>,
    call: &Call,
    scene: &Scene<'_>,
    before: &Files,
) -> Result<Files, Stop> {
    client.make(call)?.must("a valid call")?;
    let after = scene.files()?;
    let path = &*call.path();
    semantics::allowed(call, document(before, path), document(&after, path))?;
    Ok(after)
}

/// Returns a further mutation, which shows that the server still works.
///
/// It changes a different document than `call` does, if possible.
///
/// # Errors
/// If the server has no tool for one.
pub(super) fn next_mutation(subject: &Subject, call: &Call) -> Result<Call, Stop> {
    let mut kinds = [EffectKind::Append, EffectKind::Write, EffectKind::Delete].into_iter();
    let with = With { path: NEXT, content: "One more.\n", target: "" };
    let found = kinds.find_map(|kind| subject.placed(kind, with));
    let own = [Mutation::AppendEntry, Mutation::AppendText, Mutation::Insert].into_iter();
    let mut own = own.filter_map(|mutation| mutation.call_with(subject, "One more.\n").ok());
    let found = found.or_else(|| own.find(|it| it.path() != call.path() || call.tool.path.is_none()));
    found.ok_or_else(|| {
        not_applicable("no tool of the server declares a change of a document that can be tried here")
    })
}

/// Returns true if the call's document has its new content, and false if it has its old one.
///
/// # Errors
/// If the document has neither.
pub(super) fn is_made(call: &Call, before: &Files, after: &Files) -> Result<bool, Stop> {
    let path = &*call.path();
    let (before, after) = (document(before, path), document(after, path));
    if before == after {
        return Ok(false);
    }
    let is_undo = call.tool.effect(&call.arguments).map(|effect| effect.kind) == Some(EffectKind::Undo);
    let judged = if is_undo {
        // Only an insertion preceded it, so the initial content must be back.
        ensure(after == Some(DOCUMENTS[0].1.as_bytes()), String::new)
    } else {
        semantics::allowed(call, before, after)
    };
    match judged {
        Ok(()) => Ok(true),
        Err(_) => {
            Err(fail(format!("`{path}` has neither its old nor its new content"))
                .showing(path, before, after))
        }
    }
}

/// Fails if an acknowledged call was not made, or if a refused one was.
///
/// # Errors
/// If the reply does not match the document.
pub(super) fn ensure_reply_matches(reply: Option<&Reply>, is_made: bool) -> Judgement {
    match reply {
        Some(Reply::Done(_)) => {
            ensure(is_made, || "the call was acknowledged, but its change is missing".into())
        }
        Some(Reply::Refused(refusal)) => ensure(!is_made, || {
            format!("the call was refused (`{}`), but its change is present", refusal.message)
        }),
        None => Ok(()),
    }
}
