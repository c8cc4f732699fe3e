//! The extensions after an index's entries: keeps, changes or drops each.

use super::{
    cache_tree,
    layout::{Changed, IndexError, be32},
};

const HEADER_BYTES: usize = 8;

/// Writes the extensions in `old`, adapted to the change.
pub(super) fn write_changed(new: &mut Vec<u8>, old: &[u8], changed: Changed<'_>) -> Result<(), IndexError> {
    let start = new.len();
    write(new, old, changed)?;
    let resized = new.len() - start != old.len();
    if resized && !changed.moved {
        new.truncate(start);
        write(new, old, Changed { moved: true, ..changed })?;
    }
    Ok(())
}

fn write(new: &mut Vec<u8>, old: &[u8], changed: Changed<'_>) -> Result<(), IndexError> {
    let mut rest = old;
    while !rest.is_empty() {
        let (name, content, after) = split(rest).ok_or(IndexError::Damaged("an extension is cut off"))?;
        let whole = &rest[..rest.len() - after.len()];
        rest = after;
        match name {
            b"TREE" => {
                // An invalid one can be dropped: it only saves time.
                if let Some(content) = cache_tree::changed(content, changed) {
                    push(new, name, &content);
                }
            }
            b"link" => return Err(IndexError::Split),
            // Offsets of entries, and a hash of the extensions' sizes.
            b"EOIE" | b"IEOT" if changed.moved => {}
            // Both refer to entries by position, or to untracked names.
            b"FSMN" | b"UNTR" if changed.set => {}
            b"EOIE" | b"IEOT" | b"FSMN" | b"UNTR" | b"REUC" | b"sdir" => new.extend_from_slice(whole),
            _ if name[0].is_ascii_uppercase() && changed.set => {}
            _ if name[0].is_ascii_uppercase() => new.extend_from_slice(whole),
            _ => return Err(IndexError::Extension(String::from_utf8_lossy(name).into_owned())),
        }
    }
    Ok(())
}

/// # Errors
/// [`IndexError::Split`] if most entries are in another file.
pub(super) fn check_whole(mut extensions: &[u8]) -> Result<(), IndexError> {
    while let Some((name, _, after)) = split(extensions) {
        if name == b"link" {
            return Err(IndexError::Split);
        }
        extensions = after;
    }
    Ok(())
}

/// Splits off the first extension: name, content, rest.
fn split(extensions: &[u8]) -> Option<(&[u8; 4], &[u8], &[u8])> {
    let (name, rest) = extensions.split_first_chunk::<4>()?;
    let size = be32(rest.get(..4)?) as usize;
    let content = rest.get(4..4 + size)?;
    Some((name, content, &extensions[HEADER_BYTES + size..]))
}

fn push(new: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    new.extend_from_slice(name);
    new.extend((content.len() as u32).to_be_bytes());
    new.extend_from_slice(content);
}
