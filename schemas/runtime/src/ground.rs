//! The data that a contract reads and changes. Contexts, staged changes and stores are generic over it, so that a method of one ground
//! can't stage a change of a different ground.

use std::{borrow::Cow, fmt::Debug};

use crate::{
    approver::ProposedEffect,
    change::{Change, Content, Edit},
    failure::Failure,
    future::BoxFuture,
    ids::ContentId,
    meta::COMMIT,
    snapshot::{Document, Snapshot},
    spec::Shows,
};

/// The kind of data that a contract reads and changes, such as [`Documents`].
pub trait Ground: Sized + 'static {
    /// The view that methods read through. A session borrows its store, so a view has a lifetime.
    type View<'v>: Copy + Send + Sync;
    /// The change that a mutating method stages.
    type Change: Debug + Send + Sync;
    /// The state that a change replaces.
    type Before: Send + Sync;
    /// `_meta` key of the commit id in a response that has no member for it.
    const RECEIPT: &'static str;

    /// Returns the names of the edited items, for messages.
    fn names(change: &Self::Change) -> Vec<&str>;

    /// Returns the index, in [`Self::names`], of the item that `tabellion/ifBase` applies to.
    fn compared(_: &Self::Change) -> usize {
        0
    }

    /// Reads the state that `change` replaces.
    ///
    /// # Errors
    /// If it can't be read.
    fn before<'a>(
        view: Self::View<'a>,
        change: &'a Self::Change,
    ) -> BoxFuture<'a, Result<Self::Before, Failure>>;

    /// Returns the content id that `tabellion/ifBase` is compared with; `None` if there is none yet.
    fn base<'b>(before: &'b Self::Before, change: &Self::Change) -> Option<&'b ContentId>;

    /// Returns the effect of `change` on the edited items, for the question to a person.
    fn effect(before: &Self::Before, change: &Self::Change) -> ProposedEffect {
        let (_, _) = (before, change);
        ProposedEffect::Change
    }

    /// Returns the text that `change` appends.
    ///
    /// # Errors
    /// The reason why it is more than an append.
    fn appended(before: &Self::Before, change: &Self::Change) -> Result<String, String>;

    /// Returns the parts of a change that an approval covers, in a fixed order; an absent part differs from an empty one.
    ///
    /// # Errors
    /// As [`Ground::appended`].
    fn approved<'c>(
        before: &'c Self::Before,
        change: &'c Self::Change,
        shows: Shows,
    ) -> Result<Vec<Option<Cow<'c, [u8]>>>, String>;
}

/// A state of a ground that can be read.
pub trait HasView<G: Ground>: Send + Sync {
    /// Returns a view of it.
    fn view(&self) -> G::View<'_>;
}

/// A state that is read for one call.
pub type State<'a, G> = Box<dyn HasView<G> + 'a>;

/// Documents at paths.
#[derive(Debug)]
pub enum Documents {}

impl Ground for Documents {
    type View<'v> = &'v (dyn Snapshot + 'v);
    type Change = Change;
    /// The edited documents, in the order of the edits.
    type Before = Vec<Option<Document>>;
    const RECEIPT: &'static str = COMMIT;

    fn names(change: &Change) -> Vec<&str> {
        change.edits().iter().map(|edit| edit.path.as_str()).collect()
    }

    fn before<'a>(
        view: &'a dyn Snapshot,
        change: &'a Change,
    ) -> BoxFuture<'a, Result<Self::Before, Failure>> {
        Box::pin(async { change.edits().iter().map(|edit| view.read(&edit.path)).collect() })
    }

    fn compared(change: &Change) -> usize {
        change.compared()
    }

    fn base<'b>(before: &'b Self::Before, change: &Change) -> Option<&'b ContentId> {
        let document = before.get(change.compared())?.as_ref()?;
        Some(&document.id)
    }

    fn effect(before: &Self::Before, change: &Change) -> ProposedEffect {
        let sides = || before.iter().zip(change.edits());
        if sides().all(|(old, edit)| old.is_none() && edit.content.bytes().is_some()) {
            ProposedEffect::Create
        } else if sides().all(|(old, edit)| old.is_some() && edit.content.bytes().is_none()) {
            ProposedEffect::Delete
        } else {
            ProposedEffect::Change
        }
    }

    fn appended(before: &Self::Before, change: &Change) -> Result<String, String> {
        let mut text = String::new();
        for (old, edit) in before.iter().zip(change.edits()) {
            let appended = appended(bytes(old), &edit.content)?;
            text += str::from_utf8(appended).map_err(|_| "what is appended is not UTF-8")?;
        }
        Ok(text)
    }

    fn approved<'c>(
        before: &'c Self::Before,
        change: &'c Change,
        shows: Shows,
    ) -> Result<Vec<Option<Cow<'c, [u8]>>>, String> {
        let mut parts = vec![];
        for (old, Edit { path, content }) in before.iter().zip(change.edits()) {
            parts.push(Some(path.as_bytes().into()));
            match shows {
                Shows::Appended => parts.push(Some(appended(bytes(old), content)?.into())),
                Shows::Diff => parts.extend([bytes(old), content.bytes()].map(|bytes| bytes.map(Cow::from))),
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

/// Returns the appended bytes, without a line ending that only ends the last line of `old`, so that the result does not depend on whether
/// that line has been ended meanwhile.
fn appended<'c>(old: Option<&[u8]>, content: &'c Content) -> Result<&'c [u8], String> {
    let old = old.unwrap_or_default();
    let added = content
        .bytes()
        .and_then(|new| new.strip_prefix(old))
        .ok_or("a tool that may only append changes existing text")?;
    let is_open = !old.is_empty() && !old.ends_with(b"\n");
    let ending = [&b"\r\n"[..], b"\n"];
    let ended = ending.iter().find_map(|ending| added.strip_prefix(*ending));
    Ok(ended.filter(|_| is_open).unwrap_or(added))
}
