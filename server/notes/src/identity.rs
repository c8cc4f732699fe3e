//! Ids of files without one, names of new files, and the paths of notes.

use sha1::{Digest as _, Sha1};
use unicode_normalization::UnicodeNormalization as _;
use uuid::{Builder, Uuid};

/// Namespace of ids that are derived from paths.
const PATHS: Uuid = Uuid::from_u128(0x0b6f_2c1e_58a4_4d3c_9f27_6a1d_e0c4_8b95);
/// Namespace of ids of links without one.
const LINKS: Uuid = Uuid::from_u128(0x7d0e_93a6_1f5b_4c82_8e44_25b9_c6fa_d013);
/// Folder of workflow instances, whose documents are not notes.
pub(crate) const WORKFLOWS: &str = "workflows";
/// Folder of new notes.
const NOTES: &str = "notes/";
/// Maximum bytes of the part of a file name that comes from the title.
const MAX_SLUG_BYTES: usize = 80;

/// Returns true if the document at `path` is a note: all are, except those in the folder `workflows`.
pub fn is_note(path: &str) -> bool {
    let below = path.strip_prefix(WORKFLOWS);
    !below.is_some_and(|below| below.starts_with('/'))
}

/// Returns the id of a file without one: the UUIDv5 of its path.
pub fn derived_id(path: &str) -> Uuid {
    version_5(PATHS, path.as_bytes())
}

/// Returns the `n`-th id of a path, for use if other files claim the earlier ones. The one with the number 0 is [`derived_id`].
pub(crate) fn alternate_id(path: &str, n: u32) -> Uuid {
    match n {
        0 => derived_id(path),
        // A path can't contain NUL.
        _ => version_5(PATHS, format!("{path}\0{n}").as_bytes()),
    }
}

/// Derives the id of a link without one from its ends and its relation.
pub(crate) fn link_id(source: Uuid, to: Uuid, relation: &str) -> Uuid {
    version_5(LINKS, &[source.as_bytes(), to.as_bytes(), relation.as_bytes()].concat())
}

fn version_5(namespace: Uuid, name: &[u8]) -> Uuid {
    let digest = Sha1::new().chain_update(namespace.as_bytes()).chain_update(name).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_sha1_bytes(bytes).into_uuid()
}

/// Returns the path of a new note: `notes/SLUG-ID8.md`, of the title's words and the first eight digits of the id.
pub fn file_name(title: &str, id: Uuid) -> String {
    format!("{NOTES}{}{}", slug(title), id_suffix(id))
}

/// Returns true if a file name has the form that tools give to the note with this id; such a file takes precedence in claiming the id.
pub fn is_named_for(path: &str, id: Uuid) -> bool {
    path.ends_with(&id_suffix(id))
}

/// Returns the rank of a path among files that claim one id, of which the lowest owns it: the one whose name a tool made for that id, or
/// else the shortest, or else the first.
pub(crate) fn claim(path: &str, id: Uuid) -> impl Ord + use<> {
    (!is_named_for(path, id), path.len(), path.to_owned())
}

/// Returns the suffix of file names that tools make for a note.
pub(crate) fn id_suffix(id: Uuid) -> String {
    format!("-{}.md", &id.simple().to_string()[..8])
}

/// Returns a title's words in lower case, joined by hyphens; `note` if there are none.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    let composed: String = title.nfc().collect();
    for word in composed.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        let hyphen = if slug.is_empty() { "" } else { "-" };
        if slug.len() + hyphen.len() + word.len() > MAX_SLUG_BYTES {
            if slug.is_empty() {
                slug.push_str(&word[..word.floor_char_boundary(MAX_SLUG_BYTES)]);
            }
            break;
        }
        slug.push_str(hyphen);
        slug.push_str(word);
    }
    if slug.is_empty() { "note".into() } else { slug }
}

/// Returns the key of a note's chunk in an index.
pub(crate) fn chunk_key(id: Uuid, place: u32) -> String {
    format!("{id}/{place}")
}

/// Returns the note's id and the place of a key.
pub(crate) fn parse_chunk_key(key: &str) -> Option<(Uuid, u32)> {
    let (id, place) = key.split_once('/')?;
    Some((Uuid::try_parse(id).ok()?, place.parse().ok()?))
}
