//! What a contract reads and changes. Contexts, staged changes and stores are generic over it, so that a method of one
//! ground can't stage a change of another.

use std::fmt::Debug;

use crate::{
    change::{Change, Content, Edit},
    failure::Failure,
    ids::ContentId,
    snapshot::{Document, Snapshot},
    spec::Shows,
};

/// What a contract reads and changes: [`Documents`], say.
pub trait Ground: Sized + 'static {
    /// What methods read through. A session borrows its store, so a view has a lifetime.
    type View<'v>: Copy + Send + Sync;
    /// What a mutating method stages.
    type Change: Debug + Send + Sync;
    /// What a change replaces.
    type Before: Send + Sync;

    /// Names what a change is about, for messages. The first is what `tabellion/ifBase` is compared with.
    fn names(change: &Self::Change) -> Vec<&str>;

    /// Reads what `change` replaces.
    ///
    /// # Errors
    /// When it can't be read.
    fn before(view: Self::View<'_>, change: &Self::Change) -> Result<Self::Before, Failure>;

    /// Returns the content id that `tabellion/ifBase` is compared with; `None` where there is nothing yet.
    fn base(before: &Self::Before) -> Option<&ContentId>;

    /// Returns the text that `change` appends.
    ///
    /// # Errors
    /// The reason why it does not just append text.
    fn appended(before: &Self::Before, change: &Self::Change) -> Result<String, String>;

    /// Returns the parts of a change that an approval holds for, in a fixed order; an absent part differs from an empty one.
    ///
    /// # Errors
    /// As [`Ground::appended`].
    fn approved<'c>(
        before: &'c Self::Before,
        change: &'c Self::Change,
        shows: Shows,
    ) -> Result<Vec<Option<&'c [u8]>>, String>;
}

/// A state of a ground that can be read.
pub trait HasView<G: Ground>: Send + Sync {
    /// Returns a view of it.
    fn view(&self) -> G::View<'_>;
}

/// Documents at paths.
#[derive(Debug)]
pub enum Documents {}

impl Ground for Documents {
    type View<'v> = &'v (dyn Snapshot + 'v);
    type Change = Change;
    /// The documents that are edited, in the order of the edits.
    type Before = Vec<Option<Document>>;

    fn names(change: &Change) -> Vec<&str> {
        change.edits().iter().map(|edit| edit.path.as_str()).collect()
    }

    fn before(view: &dyn Snapshot, change: &Change) -> Result<Self::Before, Failure> {
        change.edits().iter().map(|edit| view.read(&edit.path)).collect()
    }

    fn base(before: &Self::Before) -> Option<&ContentId> {
        before.first()?.as_ref().map(|document| &document.id)
    }

    fn appended(before: &Self::Before, change: &Change) -> Result<String, String> {
        let mut text = String::new();
        for (old, edit) in before.iter().zip(change.edits()) {
            let appended = appended(bytes(old), &edit.content)?;
            text += str::from_utf8(appended).map_err(|_| "what is appended is no text")?;
        }
        Ok(text)
    }

    fn approved<'c>(
        before: &'c Self::Before,
        change: &'c Change,
        shows: Shows,
    ) -> Result<Vec<Option<&'c [u8]>>, String> {
        let mut parts = vec![];
        for (old, Edit { path, content }) in before.iter().zip(change.edits()) {
            parts.push(Some(path.as_bytes()));
            match shows {
                Shows::Appended => parts.push(Some(appended(bytes(old), content)?)),
                Shows::Diff => parts.extend([bytes(old), content.bytes()]),
            }
        }
        Ok(parts)
    }
}

impl<T: Snapshot> HasView<Documents> for T {
    fn view(&self) -> &dyn Snapshot {
        self
    }
}

fn bytes(document: &Option<Document>) -> Option<&[u8]> {
    document.as_ref().map(|document| document.bytes.as_slice())
}

/// Returns the bytes that are added. A line ending that only ends the last line of `old` is left out, so that they are the
/// same whether or not that line is ended meanwhile.
fn appended<'c>(old: Option<&[u8]>, content: &'c Content) -> Result<&'c [u8], String> {
    let old = old.unwrap_or_default();
    let added = content
        .bytes()
        .and_then(|new| new.strip_prefix(old))
        .ok_or("a tool that may only append changes what was there")?;
    let is_open = !old.is_empty() && !old.ends_with(b"\n");
    let ending = [&b"\r\n"[..], b"\n"];
    let ended = ending.iter().find_map(|ending| added.strip_prefix(*ending));
    Ok(ended.filter(|_| is_open).unwrap_or(added))
}
