//! Tests of the lineage: a table of hand edits, and whole histories compared with a model.

mod hand_edits;
mod histories;

use std::convert::Infallible;

use super::{Lineage, Listed, SectionId, Version};
use crate::{Flavor, editor::ParsedDocument};

const PATH: &str = "notes/plan.md";

fn parsed(text: &str) -> ParsedDocument<'_> {
    ParsedDocument::new(text, Flavor::of_path(PATH)).expect("a small document")
}

/// In these tests a content is its own id.
fn load(content: &str) -> Result<Vec<u8>, Infallible> {
    Ok(content.as_bytes().to_vec())
}

fn follow(lineage: &mut Lineage, versions: &[Version]) {
    match lineage.follow(versions, None, load) {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

fn list(lineage: &Lineage, text: &str, listed: Option<&Listed>) -> Listed {
    match lineage.ids_uncommitted(&parsed(text), listed, load) {
        Ok(listed) => listed,
        Err(never) => match never {},
    }
}

fn by_hand(content: &str) -> Version {
    Version { commit: "by hand".into(), content: Some(content.into()), change: None }
}

/// Returns the headings of a document, each with its id.
fn ids(lineage: &Lineage, text: &str) -> Vec<(String, SectionId)> {
    let document = parsed(text);
    let titles = document.sections().iter().map(|section| section.text.clone());
    titles.zip(lineage.ids(&document)).collect()
}
