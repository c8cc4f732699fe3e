//! Tests of the Markdown functions: tables of cases, the CommonMark specification, and properties over random documents.

mod bounds;
mod diffs;
mod documents;
mod editor;
mod editor_properties;
mod front_matter;
mod git;
mod mdx_errors;
mod merges;
mod operations;
mod outlines;
mod pathological;
mod previews;
mod properties;
mod slugs;
mod specification;
mod targets;

use super::{Edit, Flavor, Outline, Plan};

/// Plans an edit whose target exists.
fn plan(old: &str, flavor: Flavor, edit: &Edit<'_>) -> Plan {
    super::plan(old, flavor, edit).unwrap_or_else(|error| panic!("{edit:?} of {old:?}: {error}"))
}

fn outline(text: &str) -> Outline {
    Outline::parse(text, Flavor::CommonMark)
}

fn append(content: &str) -> Edit<'_> {
    Edit::Append { content }
}

fn prepend(content: &str) -> Edit<'_> {
    Edit::Prepend { content }
}

fn replace<'a>(target: &'a str, content: &'a str) -> Edit<'a> {
    Edit::ReplaceSection { target, content }
}

fn before<'a>(target: &'a str, content: &'a str) -> Edit<'a> {
    Edit::InsertBefore { target, content }
}

fn after<'a>(target: &'a str, content: &'a str) -> Edit<'a> {
    Edit::InsertAfter { target, content }
}
