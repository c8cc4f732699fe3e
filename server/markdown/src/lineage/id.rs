//! Section ids, and the digest of a history from which they are derived.

use std::{collections::HashMap, collections::HashSet, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

use super::matching::Fingerprint;

const PREFIX: &str = "s-";

/// The id of a section, written as `s-` and sixteen hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SectionId(u64);

/// A text is not a section id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id of a section is `s-` and sixteen hexadecimal digits")]
pub struct ParseSectionIdError;

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:016x}", self.0)
    }
}

impl FromStr for SectionId {
    type Err = ParseSectionIdError;

    /// Parses the form that [`Display`](fmt::Display) writes, and no other.
    fn from_str(text: &str) -> Result<Self, ParseSectionIdError> {
        let digits = text.strip_prefix(PREFIX).ok_or(ParseSectionIdError)?;
        let id = u64::from_str_radix(digits, 16).map(Self).map_err(|_| ParseSectionIdError)?;
        if id.to_string() == text { Ok(id) } else { Err(ParseSectionIdError) }
    }
}

impl TryFrom<String> for SectionId {
    type Error = ParseSectionIdError;

    fn try_from(text: String) -> Result<Self, ParseSectionIdError> {
        text.parse()
    }
}

impl From<SectionId> for String {
    fn from(id: SectionId) -> Self {
        id.to_string()
    }
}

/// The digest of a document's path and all its contents so far, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryDigest([u8; 20]);

impl HistoryDigest {
    /// Returns the digest before the first version.
    pub(super) fn of_document(path: &str) -> Self {
        Self(digest(&[b"document", path.as_bytes()]))
    }

    /// Returns the digest after one more version.
    pub(super) fn after_version(self, content: Option<&str>) -> Self {
        Self(digest(&[&self.0, content.unwrap_or_default().as_bytes()]))
    }

    /// Returns an unused id for the next version. Each purpose and number gives a different id.
    pub(super) fn id(self, purpose: &[&[u8]], number: usize) -> SectionId {
        let number = number.to_string();
        let mut parts: Vec<&[u8]> = vec![&self.0];
        parts.extend(purpose);
        parts.push(number.as_bytes());
        let digest = digest(&parts);
        SectionId(digest[..8].iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }

    /// Returns the ids of the `new` sections of the next version: the ids of the old sections in `pairs`, and new ids for
    /// the others.
    ///
    /// The id of a new section is derived from its heading: it stays while a person edits the section's text. Among several new
    /// sections with the same heading it is derived from the text too, so their ids are never mixed up.
    pub(super) fn assign_ids(
        self,
        pairs: &[Option<usize>],
        old: &[SectionId],
        new: &[Fingerprint],
    ) -> Vec<SectionId> {
        let mut used: HashSet<SectionId> = pairs.iter().flatten().map(|old_index| old[*old_index]).collect();
        let mut namesakes: HashMap<&str, usize> = HashMap::new();
        for (section, pair) in new.iter().zip(pairs) {
            *namesakes.entry(&section.title).or_default() += usize::from(pair.is_none());
        }
        let mut twins: HashMap<[&[u8]; 3], usize> = HashMap::new();
        let ids = new.iter().zip(pairs).map(|(section, pair)| {
            if let Some(old_index) = pair {
                return old[*old_index];
            }
            let title = section.title.as_bytes();
            let text: &[u8] = section.digest.as_ref().map_or(&[], |digest| digest);
            let purpose: [&[u8]; 3] = match namesakes[&*section.title] {
                1 => [b"heading", title, &[]],
                _ => [b"section", title, text],
            };
            let number = twins.entry(purpose).or_default();
            loop {
                let id = self.id(&purpose, *number);
                *number += 1;
                if used.insert(id) {
                    return id;
                }
            }
        });
        ids.collect()
    }
}

/// Returns the digest of a list of texts. Lengths are included: lists with the same concatenation differ.
fn digest(parts: &[&[u8]]) -> [u8; 20] {
    let mut sha1 = Sha1::new();
    for part in parts {
        sha1.update((part.len() as u64).to_le_bytes());
        sha1.update(part);
    }
    sha1.finalize().into()
}
