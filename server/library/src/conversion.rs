//! Converts a file's bytes to those that git stores: line endings and identifiers may differ, depending on attributes and configuration.
//!
//! `text`, `crlf`, `eol`, `ident`, `core.autocrlf` and `core.eol` are supported. Filters never run, and encodings are not
//! converted: files that need either are refused. A document has exactly the bytes that were written; only one that comes from a commit
//! alone gets the line endings that git would check out ([`from_git`]).

use std::borrow::Cow;

use gix::{
    ObjectId,
    attrs::State,
    bstr::ByteSlice,
    filter::{
        Pipeline,
        plumbing::{
            eol::{
                AttributesDigest, AutoCrlf, Configuration, Mode, convert_to_git, convert_to_git::Options,
                convert_to_worktree,
            },
            ident,
        },
    },
};
use tabellion_runtime::Failure;

use super::{
    attributes::{Attributes, is},
    failures::{InRepository, refused},
    index::Index,
    index_file,
    objects::blob_id,
    working_tree::WorkingTree,
};

/// Returns the bytes that git stores for `bytes` at `path`, relative to the top of the repository.
pub(super) fn to_git<'a>(
    working_tree: &WorkingTree,
    path: &str,
    bytes: &'a [u8],
) -> Result<Cow<'a, [u8]>, Failure> {
    let (has_crlf, has_ident) = (bytes.find("\r\n").is_some(), bytes.find("$Id:").is_some());
    if !has_crlf && !has_ident {
        return Ok(Cow::Borrowed(bytes));
    }
    let git = working_tree.repository.git();
    let attributes = Attributes::for_path(&git, path)?;
    let mut kept = Cow::Borrowed(bytes);
    if has_crlf {
        kept = with_gits_line_endings(working_tree, &git, path, &attributes, bytes)?;
    }
    if has_ident && attributes.ident == State::Set {
        let mut without = Vec::new();
        if ident::undo(&kept, &mut without).reading("identifiers")? {
            kept = Cow::Owned(without);
        }
    }
    Ok(kept)
}

/// Returns the bytes with the line endings that git checks out for the stored `bytes` at `path`.
pub(super) fn from_git(git: &gix::Repository, path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if bytes.find_byte(b'\n').is_none() {
        return Ok(bytes);
    }
    let config = Pipeline::options(git).reading("the configured line endings")?.eol_config;
    let digest = digest(&Attributes::for_path(git, path)?, config);
    let mut checked_out = Vec::new();
    let converted = convert_to_worktree(&bytes, digest, &mut checked_out, config).reading("line endings")?;
    Ok(if converted { checked_out } else { bytes })
}

/// Returns the id of the bytes that git stores for `bytes`, whose own id is `id`, at `path`.
pub(super) fn kept_id(
    working_tree: &WorkingTree,
    path: &str,
    bytes: &[u8],
    id: ObjectId,
) -> Result<ObjectId, Failure> {
    match to_git(working_tree, path, bytes)? {
        Cow::Borrowed(_) => Ok(id),
        Cow::Owned(kept) => blob_id(&kept),
    }
}

/// # Errors
/// Refused if the file at `path` needs a conversion that is not supported.
pub(super) fn check(git: &gix::Repository, path: &str) -> Result<(), Failure> {
    let attributes = Attributes::for_path(git, path)?;
    match attributes.out_of_reach(&git.config_snapshot()) {
        None => Ok(()),
        Some(attribute) => Err(refused(format!(
            "`{path}` has git's attribute `{attribute}`, and a commit could not hold what git would keep of it; change it \
             with git, or take the attribute away in `.gitattributes`"
        ))),
    }
}

fn with_gits_line_endings<'a>(
    working_tree: &WorkingTree,
    git: &gix::Repository,
    path: &str,
    attributes: &Attributes,
    bytes: &'a [u8],
) -> Result<Cow<'a, [u8]>, Failure> {
    let config = Pipeline::options(git).reading("the configured line endings")?.eol_config;
    let mut kept = Vec::new();
    // A file that already has CRLF in the index keeps it under `text=auto`.
    let mut indexed = |buffer: &mut Vec<u8>| {
        let Some(blob) = in_index(working_tree, git, path) else {
            return Ok(None);
        };
        *buffer = blob;
        Ok(Some(()))
    };
    let options = Options { round_trip_check: None, config };
    let digest = digest(attributes, config);
    let converted =
        convert_to_git(bytes, digest, &mut kept, &mut indexed, options).reading("line endings")?;
    Ok(if converted { Cow::Owned(kept) } else { Cow::Borrowed(bytes) })
}

fn in_index(working_tree: &WorkingTree, git: &gix::Repository, path: &str) -> Option<Vec<u8>> {
    let index = Index::read(&working_tree.repository.index()).ok()?;
    let kept = index_file::look_up(&index.bytes, path).ok()??;
    Some(git.find_blob(kept.blob).ok()?.detach().data)
}

/// Combines the attributes and configuration of a file, as git's `convert_attrs` does.
fn digest(attributes: &Attributes, config: Configuration) -> AttributesDigest {
    let Attributes { text, crlf, eol, .. } = attributes;
    let digest = match kind(text).or_else(|| kind(crlf)) {
        Some(AttributesDigest::Binary) => return AttributesDigest::Binary,
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
    match (digest, config.auto_crlf) {
        (Some(AttributesDigest::Text), _) => match config.to_eol() {
            Mode::Lf => AttributesDigest::TextInput,
            Mode::CrLf => AttributesDigest::TextCrlf,
        },
        (Some(digest), _) => digest,
        (None, AutoCrlf::Disabled) => AttributesDigest::Binary,
        (None, AutoCrlf::Enabled) => AttributesDigest::TextAutoCrlf,
        (None, AutoCrlf::Input) => AttributesDigest::TextAutoInput,
    }
}

/// Reads `text`, or its older name `crlf`; `None` if unspecified.
fn kind(state: &State) -> Option<AttributesDigest> {
    match state {
        State::Set => Some(AttributesDigest::Text),
        State::Unset => Some(AttributesDigest::Binary),
        state if is(state, "auto") => Some(AttributesDigest::TextAuto),
        state if is(state, "input") => Some(AttributesDigest::TextInput),
        _ => None,
    }
}
