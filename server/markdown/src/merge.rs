//! Merging two changes of one text: lines that only one side changed are taken from that side.

use diffy::{ConflictStyle, MergeOptions};

/// Two changes of the same lines. Holds the text with both sides between conflict markers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("both sides changed the same lines")]
pub struct MergeConflict(pub Vec<u8>);

/// Returns `ours` with the change from `base` to `theirs`. Takes time that grows with the lines and with how many differ.
///
/// # Errors
/// If both sides changed the same or adjacent lines differently.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, MergeConflict> {
    if theirs == base || theirs == ours {
        return Ok(ours.to_vec());
    }
    if ours == base {
        return Ok(theirs.to_vec());
    }
    MergeOptions::new()
        .set_conflict_style(ConflictStyle::Merge)
        .set_incomplete_hunk_style(diffy::IncompleteHunkStyle::Git)
        .merge_bytes(base, ours, theirs)
        .map_err(MergeConflict)
}
