//! The index extension that caches tree ids.
//!
//! A tree above a changed entry gets its new id if that is known (if the cached id is that of the commit whose successor is
//! known); otherwise it is marked unknown, as git does. Other trees are unchanged.

use gix::ObjectId;

use super::layout::Changed;

const ID_BYTES: usize = 20;
const UNKNOWN: &[u8] = b"-1";

/// Returns the extension's content after the change; `None` if `old` is invalid.
pub(super) fn changed(old: &[u8], changed: Changed<'_>) -> Option<Vec<u8>> {
    let mut new = Vec::with_capacity(old.len());
    let mut rest = old;
    let mut path = String::new();
    // For each open folder: the number of remaining children, and the length of its path.
    let mut open: Vec<(usize, usize)> = Vec::new();
    while !rest.is_empty() {
        let node = Node::read(&mut rest)?;
        if let Some((left, length)) = open.last_mut() {
            *left = left.checked_sub(1)?;
            path.truncate(*length);
            if *length > 0 {
                path.push('/');
            }
            // A name that is not UTF-8 is above no document.
            path.push_str(std::str::from_utf8(node.name).unwrap_or("\0"));
        }
        let id = match changed.folders.get(&*path) {
            None => node.id,
            Some((_, true)) | Some((None, false)) => None,
            Some((Some((before, after)), false)) => node.id.filter(|id| Some(*id) == *before).and(*after),
        };
        node.write(id, &mut new);
        open.push((node.folders, path.len()));
        while open.last().is_some_and(|(left, _)| *left == 0) {
            open.pop();
        }
    }
    open.is_empty().then_some(new)
}

/// A folder in the extension: name, number of entries below it, number of folders in it, and its tree's id, which is missing if the
/// count is unknown.
struct Node<'a> {
    name: &'a [u8],
    entries: &'a [u8],
    folders: usize,
    id: Option<ObjectId>,
}

impl<'a> Node<'a> {
    fn read(rest: &mut &'a [u8]) -> Option<Self> {
        let name = up_to(rest, 0)?;
        let entries = up_to(rest, b' ')?;
        let folders = std::str::from_utf8(up_to(rest, b'\n')?).ok()?.parse().ok()?;
        let id = if entries.starts_with(b"-") {
            None
        } else {
            let (id, after) = rest.split_at_checked(ID_BYTES)?;
            *rest = after;
            Some(ObjectId::from_bytes_or_panic(id))
        };
        Some(Self { name, entries, folders, id })
    }

    fn write(&self, id: Option<ObjectId>, new: &mut Vec<u8>) {
        new.extend_from_slice(self.name);
        new.push(0);
        new.extend_from_slice(if id.is_some() { self.entries } else { UNKNOWN });
        new.extend(format!(" {}\n", self.folders).bytes());
        if let Some(id) = id {
            new.extend_from_slice(id.as_slice());
        }
    }
}

/// Returns the bytes before `end`, and consumes both.
fn up_to<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let at = rest.iter().position(|byte| *byte == end)?;
    let (before, after) = rest.split_at(at);
    *rest = &after[1..];
    Some(before)
}
