//! What git keeps of a file's bytes: the same, but for line endings where attributes or configuration say so.
//!
//! Only `text`, `crlf`, `eol`, `core.autocrlf` and `core.eol` count. Filters that run a program never run, nor is any
//! other encoding than the file's own made: such a file is kept as it is. Towards the working tree nothing is converted:
//! a document has the bytes that it was given.

use std::borrow::Cow;

use gix::{
    attrs::StateRef,
    bstr::ByteSlice,
    filter::{
        Pipeline,
        plumbing::eol::{
            AttributesDigest, AutoCrlf, Configuration, Mode, convert_to_git, convert_to_git::Options,
        },
    },
    index,
    worktree::stack::state::attributes::Source,
};
use tabellion_schemas::Failure;

use super::{Library, index_file, pending::Index, trouble::InRepository};

/// The attributes that say something of line endings.
const ATTRIBUTES: [&str; 3] = ["text", "crlf", "eol"];

/// What git keeps of `bytes` at `path`, which is relative to the top of the repository.
pub(super) fn to_git<'a>(library: &Library, path: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, Failure> {
    if bytes.find("\r\n").is_none() {
        return Ok(Cow::Borrowed(bytes));
    }
    let git = library.repository.git();
    let config = Pipeline::options(&git)
        .reading("the configured line endings")?
        .eol_config;
    let digest = digest(&git, path, config)?;
    let mut kept = Vec::new();
    // A file that already has CRLF in the index keeps it under `text=auto`.
    let mut indexed = |buffer: &mut Vec<u8>| {
        let Some(blob) = in_index(library, &git, path) else {
            return Ok(None);
        };
        *buffer = blob;
        Ok(Some(()))
    };
    let options = Options {
        round_trip_check: None,
        config,
    };
    let converted =
        convert_to_git(bytes, digest, &mut kept, &mut indexed, options).reading("line endings")?;
    Ok(if converted {
        Cow::Owned(kept)
    } else {
        Cow::Borrowed(bytes)
    })
}

fn in_index(library: &Library, git: &gix::Repository, path: &str) -> Option<Vec<u8>> {
    let index = Index::read(&library.repository.index()).ok()?;
    let kept = index_file::look_up(&index.bytes, path).ok()??;
    Some(git.find_blob(kept.blob).ok()?.detach().data)
}

/// What attributes and configuration make of the file together, as git's `convert_attrs` does it.
fn digest(git: &gix::Repository, path: &str, config: Configuration) -> Result<AttributesDigest, Failure> {
    const WHAT: &str = "the attributes";
    let no_index = index::State::new(git.object_hash());
    let mut stack = git
        .attributes_only(&no_index, Source::WorktreeThenIdMapping)
        .reading(WHAT)?;
    let mut found = stack.selected_attribute_matches(ATTRIBUTES);
    stack
        .at_path(path, None)
        .reading(WHAT)?
        .matching_attributes(&mut found);
    let states: Vec<StateRef<'_>> = found
        .iter_selected()
        .map(|found| found.assignment.state)
        .collect();
    let [text, crlf, eol] = states[..] else {
        return Ok(AttributesDigest::Binary);
    };
    let digest = match kind(text).or_else(|| kind(crlf)) {
        Some(AttributesDigest::Binary) => return Ok(AttributesDigest::Binary),
        kind => match (kind, eol) {
            (Some(AttributesDigest::TextAuto), eol) if is(eol, "lf") => Some(AttributesDigest::TextAutoInput),
            (Some(AttributesDigest::TextAuto), eol) if is(eol, "crlf") => {
                Some(AttributesDigest::TextAutoCrlf)
            }
            (_, eol) if is(eol, "lf") => Some(AttributesDigest::TextInput),
            (_, eol) if is(eol, "crlf") => Some(AttributesDigest::TextCrlf),
            (kind, _) => kind,
        },
    };
    Ok(match (digest, config.auto_crlf) {
        (Some(AttributesDigest::Text), _) => match config.to_eol() {
            Mode::Lf => AttributesDigest::TextInput,
            Mode::CrLf => AttributesDigest::TextCrlf,
        },
        (Some(digest), _) => digest,
        (None, AutoCrlf::Disabled) => AttributesDigest::Binary,
        (None, AutoCrlf::Enabled) => AttributesDigest::TextAutoCrlf,
        (None, AutoCrlf::Input) => AttributesDigest::TextAutoInput,
    })
}

/// What `text`, or its older name `crlf`, says; `None` when nothing.
fn kind(state: StateRef<'_>) -> Option<AttributesDigest> {
    match state {
        StateRef::Set => Some(AttributesDigest::Text),
        StateRef::Unset => Some(AttributesDigest::Binary),
        state if is(state, "auto") => Some(AttributesDigest::TextAuto),
        state if is(state, "input") => Some(AttributesDigest::TextInput),
        _ => None,
    }
}

fn is(state: StateRef<'_>, value: &str) -> bool {
    state.as_bstr().is_some_and(|found| found == value)
}
