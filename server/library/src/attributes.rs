//! The git attributes of a file that affect the bytes git stores.

use gix::{attrs::State, config::Snapshot, index, worktree::stack::state::attributes::Source};
use tabellion_runtime::Failure;

use super::failures::InRepository;

const NAMES: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

/// The attributes of a file.
#[derive(Debug)]
pub(super) struct Attributes {
    pub(super) text: State,
    pub(super) crlf: State,
    pub(super) eol: State,
    pub(super) ident: State,
    filter: State,
    encoding: State,
}

impl Attributes {
    /// Returns the attributes of the file at `path`, relative to the top of the repository.
    ///
    /// # Errors
    /// If an attributes file can't be read.
    pub(super) fn of(git: &gix::Repository, path: &str) -> Result<Self, Failure> {
        const WHAT: &str = "the attributes";
        let no_index = index::State::new(git.object_hash());
        let mut stack = git
            .attributes_only(&no_index, Source::WorktreeThenIdMapping)
            .reading(WHAT)?;
        let mut found = stack.selected_attribute_matches(NAMES);
        stack
            .at_path(path, None)
            .reading(WHAT)?
            .matching_attributes(&mut found);
        let mut states = found
            .iter_selected()
            .map(|found| found.assignment.state.to_owned());
        let mut next = || states.next().unwrap_or(State::Unspecified);
        Ok(Self {
            text: next(),
            crlf: next(),
            eol: next(),
            ident: next(),
            filter: next(),
            encoding: next(),
        })
    }

    /// Returns the attribute for which git would store something that this program can't produce: a filter's output, or
    /// another encoding.
    pub(super) fn out_of_reach(&self, config: &Snapshot<'_>) -> Option<String> {
        match &self.encoding {
            State::Set => return Some("working-tree-encoding".to_owned()),
            State::Value(name) if !is_utf8(name.as_ref().as_bstr()) => {
                return Some(format!("working-tree-encoding={}", name.as_ref().as_bstr()));
            }
            _ => {}
        }
        let State::Value(name) = &self.filter else {
            return None;
        };
        let name = name.as_ref().as_bstr();
        let value = |key: &str| config.plumbing().string_by("filter", Some(name), key);
        let runs = |key: &str| value(key).is_some_and(|program| !program.is_empty());
        let is_required = config
            .plumbing()
            .boolean_by("filter", Some(name), "required")
            .is_ok_and(|required| required == Some(true));
        (runs("clean") || runs("process") || is_required).then(|| format!("filter={name}"))
    }
}

fn is_utf8(encoding: &[u8]) -> bool {
    encoding.is_empty() || encoding.eq_ignore_ascii_case(b"utf-8") || encoding.eq_ignore_ascii_case(b"utf8")
}

/// Returns true if an attribute has the value `value`.
pub(super) fn is(state: &State, value: &str) -> bool {
    matches!(state, State::Value(found) if found.as_ref().as_bstr() == value)
}
