//! The extension that caches the ids of the trees that the index's entries make.
//!
//! A tree on the way to a changed entry gets its new id where we know it (the cached one is the commit's we know the
//! successor of), else it is marked as unknown, as git does. The others stay.

use gix::ObjectId;

use super::extensions::Changed;

const ID_BYTES: usize = 20;
const UNKNOWN: &[u8] = b"-1";

/// The extension's content after the change; `None` when `old` can't be read.
pub(super) fn changed(old: &[u8], changed: Changed<'_>) -> Option<Vec<u8>> {
    let mut new = Vec::with_capacity(old.len());
    let mut rest = old;
    let mut path = String::new();
    // For each folder that we are in: how many below it are still to come, and how long its path is.
    let mut open: Vec<(usize, usize)> = Vec::new();
    while !rest.is_empty() {
        let node = Node::read(&mut rest)?;
        if let Some((left, length)) = open.last_mut() {
            *left = left.checked_sub(1)?;
            path.truncate(*length);
            if *length > 0 {
                path.push('/');
            }
            // What is no UTF-8 is on the way to no document.
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

/// A folder of the extension: name, how many entries are below it, how many folders are in it, and its tree's id, which
/// a folder with an unknown count does not have.
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
        Some(Self {
            name,
            entries,
            folders,
            id,
        })
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

/// The bytes before `end`, which is taken off too.
fn up_to<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a [u8]> {
    let at = rest.iter().position(|byte| *byte == end)?;
    let (before, after) = rest.split_at(at);
    *rest = &after[1..];
    Some(before)
}
