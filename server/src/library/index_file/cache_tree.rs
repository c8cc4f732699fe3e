//! The extension that caches the ids of the trees that the index's entries make.
//!
//! A tree on the way to a changed entry gets its new id where we know it (the cached one is the commit's we know the
//! successor of), else it is marked as unknown, as git does. The others stay.

use gix::ObjectId;

use super::extensions::Changed;
use crate::library::tree::Step;

const ID_BYTES: usize = 20;
const UNKNOWN: &[u8] = b"-1";

/// The extension's content after the change; `None` when `old` can't be read.
pub(super) fn changed(old: &[u8], changed: Changed<'_>) -> Option<Vec<u8>> {
    let folders: Vec<&str> = changed.path.split('/').collect();
    let folders = &folders[..folders.len() - 1];
    let mut new = Vec::with_capacity(old.len());
    let mut rest = old;
    // For each folder that we are in: how many below it are still to come, and whether it is on the way to the path.
    let mut open: Vec<(usize, bool)> = Vec::new();
    while !rest.is_empty() {
        let node = Node::read(&mut rest)?;
        let depth = open.len();
        let on_way = match open.last_mut() {
            None => node.name.is_empty(),
            Some((left, above)) => {
                *left = left.checked_sub(1)?;
                *above
                    && folders
                        .get(depth - 1)
                        .is_some_and(|folder| folder.as_bytes() == node.name)
            }
        };
        let known = if on_way && changed.set { None } else { node.id };
        let id = if on_way {
            known.and_then(|id| successor(changed.trees.get(depth), id))
        } else {
            known
        };
        node.write(id, &mut new);
        open.push((node.folders, on_way));
        while open.last().is_some_and(|(left, _)| *left == 0) {
            open.pop();
        }
    }
    open.is_empty().then_some(new)
}

fn successor(step: Option<&Step>, id: ObjectId) -> Option<ObjectId> {
    step.filter(|(old, _)| *old == Some(id)).and_then(|(_, new)| *new)
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
