//! `use` declarations for exactly the names that a module uses.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

/// Names that a module may import, with their paths. A contract's types can't have these names.
const KNOWN: &[(&str, &[&str])] = &[
    ("std", &["collections::BTreeMap", "fmt", "future::Future", "num::NonZeroU32", "sync::Arc"]),
    ("chrono", &["DateTime", "FixedOffset"]),
    ("serde", &["Deserialize", "Serialize"]),
    ("serde_json", &["Map", "Value"]),
    (
        "tabellion_runtime",
        &[
            "Answer",
            "BoxFuture",
            "CallContext",
            "Contract",
            "ContractError",
            "ContractSpec",
            "ErrorAnswer",
            "Examples",
            "Failure",
            "FailureKind",
            "ReadCx",
            "Rejection",
            "Rows",
            "Schema",
            "Staged",
            "Store",
            "Texts",
            "ToolSpec",
            "WriteCx",
            "dispatch",
            "resources_and_prompts",
            "spec",
        ],
    ),
];

/// Returns true if a generated module may import `name`.
pub(crate) fn may_import(name: &str) -> bool {
    KNOWN.iter().flat_map(|(_, paths)| *paths).any(|path| last(path) == name)
}

/// Returns the imports of a module with these items.
pub(super) fn for_items(items: &[TokenStream]) -> TokenStream {
    let mut used = BTreeSet::new();
    for item in items {
        identifiers(item.clone(), &mut used);
    }
    let lines = KNOWN.iter().filter_map(|(from, names)| {
        let names: Vec<_> = names.iter().copied().filter(|name| used.contains(last(name))).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some(format!("use {from}::{name};")),
            names => Some(format!("use {from}::{{{}}};", names.join(", "))),
        }
    });
    let lines: TokenStream = lines.collect::<String>().parse().expect("paths of names are tokens");
    quote!(#lines)
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn identifiers(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                found.insert(name.to_string());
            }
            TokenTree::Group(group) => identifiers(group.stream(), found),
            _ => {}
        }
    }
}
