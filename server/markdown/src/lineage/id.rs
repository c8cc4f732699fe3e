//! Section ids, and the digest of a history from which they are derived.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    str::FromStr,
};

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

    /// Returns the ids of the `new` sections of the next version: those that are known, and new ids for the others.
    ///
    /// A new id is derived from the section's heading, those above it, and its text, whatever other sections there are. Sections
    /// that are equal in these keep their ids, in their order, as long as they are equally many.
    pub(super) fn assign_ids(self, known: &[Option<SectionId>], new: &[Fingerprint]) -> Vec<SectionId> {
        let mut paths: Vec<[u8; 20]> = Vec::with_capacity(new.len());
        for section in new {
            let above: &[u8] = section.parent.map_or(&[], |parent| &paths[parent]);
            paths.push(digest(&[above, section.title.as_bytes()]));
        }
        let keys: Vec<_> = paths.iter().zip(new).map(|(path, section)| (path, section.digest)).collect();
        // The number of equal sections that need an id, and the next number.
        let mut twins: HashMap<_, (usize, usize)> = HashMap::new();
        for (key, _) in keys.iter().zip(known).filter(|(_, known)| known.is_none()) {
            twins.entry(*key).or_default().0 += 1;
        }
        let mut used: HashSet<SectionId> = known.iter().flatten().copied().collect();
        let ids = keys.iter().zip(known).map(|(key, known)| {
            if let Some(id) = known {
                return *id;
            }
            let (path, text) = key;
            let text: &[u8] = text.as_ref().map_or(&[], |text| text);
            let (count, number) = twins.entry(*key).or_default();
            loop {
                let id = self.id(&[b"section", *path, text, count.to_string().as_bytes()], *number);
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
