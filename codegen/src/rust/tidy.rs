//! Simplifies typify's code.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, ExprMethodCall, Item, Meta, Path, Token, Visibility,
    parse::Parser,
    parse_quote,
    punctuated::Punctuated,
    visit_mut::{self, VisitMut},
};

use super::{fields, text};

/// The usual order of derives.
const DERIVES: &[&str] = &[
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "PartialEq",
    "Eq",
    "PartialOrd",
    "Ord",
    "Serialize",
    "Deserialize",
];

/// Arguments of `#[serde(…)]` that name functions.
const FUNCTIONS: &[&str] = &["skip_serializing_if", "deserialize_with"];

/// Removes unused code, and shortens paths.
pub(super) fn file(file: &mut syn::File) {
    file.items.retain(is_used);
    for item in &mut file.items {
        match item {
            Item::Mod(item) => {
                item.vis = Visibility::Inherited;
                Reasons.visit_item_mod_mut(item);
            }
            item => Tidy.visit_item_mut(item),
        }
    }
}

/// Returns true if an impl is to be kept. typify generates many conversions; only serde's, `Default`, and `Display` of string enums remain.
fn is_used(item: &Item) -> bool {
    match item {
        Item::Impl(item) => item.trait_.as_ref().is_some_and(|(path, _)| {
            let name = path.segments.last().map(|last| last.ident.to_string());
            matches!(name.as_deref(), Some("Default" | "Display"))
        }),
        Item::Mod(item) => item.ident != "error",
        _ => true,
    }
}

/// Adds the reason why a default can't fail: its schema accepts it, which the lint checks.
struct Reasons;

impl VisitMut for Reasons {
    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        visit_mut::visit_expr_method_call_mut(self, call);
        if call.method == "unwrap" {
            let value = &call.receiver;
            *call = parse_quote!(#value.expect("the type of a field has its default"));
        }
    }
}

struct Tidy;

impl VisitMut for Tidy {
    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        shorten(path);
    }

    fn visit_attributes_mut(&mut self, attrs: &mut Vec<Attribute>) {
        let docs: Vec<_> = attrs.iter().filter_map(doc).collect();
        attrs.retain(|attr| doc(attr).is_none());
        let docs = docs.join("\n");
        if !is_mere_name(&docs) {
            let docs = Attribute::parse_outer.parse2(text::docs(&docs));
            attrs.splice(0..0, docs.unwrap_or_default());
        }
        for attr in attrs.iter_mut() {
            if attr.path().is_ident("derive") {
                *attr = derives(attr);
            } else if attr.path().is_ident("serde") {
                let arguments = fields::arguments(std::slice::from_ref(attr)).into_iter().map(argument);
                *attr = parse_quote!(#[serde(#(#arguments),*)]);
            }
        }
    }
}

fn doc(attr: &Attribute) -> Option<String> {
    fields::string(&attr.meta, "doc")
}

/// Removes doc comments that only repeat a name.
fn is_mere_name(docs: &str) -> bool {
    docs.starts_with('`') && docs.ends_with('`') && docs.matches('`').count() == 2
}

fn derives(attr: &Attribute) -> Attribute {
    let paths = attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
    let names: Vec<_> = paths
        .into_iter()
        .flatten()
        .filter_map(|path| path.segments.last().map(|last| last.ident.to_string()))
        .collect();
    let known = DERIVES.iter().filter(|known| names.iter().any(|name| name == *known));
    let known = known.map(|name| quote::format_ident!("{name}"));
    parse_quote!(#[derive(#(#known),*)])
}

/// `"::std::option::Option::is_none"` in an argument of `#[serde(…)]` is `"Option::is_none"`.
fn argument(meta: Meta) -> TokenStream {
    for key in FUNCTIONS {
        if let Some(function) = fields::string(&meta, key)
            && let Some(short) = function.strip_prefix("::std::option::")
        {
            let path = meta.path();
            return quote!(#path = #short);
        }
    }
    meta.to_token_stream()
}

/// `::std::string::String` is `String`: a name of the prelude, or an import of the module.
fn shorten(path: &mut Path) {
    if path.leading_colon.is_none() {
        return;
    }
    let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let kept = match names.as_slice() {
        ["std", "string", "String"]
        | ["std", "option", "Option"]
        | ["std", "vec", "Vec"]
        | ["std", "boxed", "Box"]
        | ["std", "default", "Default"]
        | ["std", "collections", "BTreeMap"]
        | ["serde_json", "Map" | "Value"]
        | ["chrono", "DateTime" | "FixedOffset"] => 1,
        ["std", "fmt", "Display" | "Formatter" | "Result"] => 2,
        _ => return,
    };
    path.leading_colon = None;
    path.segments = path.segments.iter().skip(names.len() - kept).cloned().collect();
}
