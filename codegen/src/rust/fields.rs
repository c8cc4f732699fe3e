//! The fields of a struct.

use quote::{ToTokens, quote};
use serde_json::Value;
use syn::{Attribute, Expr, Field, Fields, Lit, Meta, Token, Type, parse_quote, punctuated::Punctuated};

/// Restores the schema's order of fields, which is the order in JSON (typify sorts them by name), and the `Option` of optional
/// collections (typify drops it, so that absent and empty would be equal).
pub(super) fn settle(fields: &mut Fields, schema: &Value) {
    let (Fields::Named(fields), Some(properties)) = (fields, schema["properties"].as_object()) else {
        return;
    };
    let mut sorted: Vec<_> = std::mem::take(&mut fields.named).into_iter().collect();
    sorted.sort_by_key(|field| {
        let name = wire_name(field);
        let place = properties.keys().position(|property| *property == name);
        place.unwrap_or(usize::MAX)
    });
    for field in &mut sorted {
        if let Some(property) = properties.get(&wire_name(field)) {
            keep_absence(field, property.get("default").is_some());
        }
    }
    fields.named.extend(sorted);
    if !fields.named.empty_or_trailing() {
        fields.named.push_punct(Token![,](proc_macro2::Span::call_site()));
    }
}

/// Sets the serde attributes: an absent value stays absent or becomes the default, which is always serialized.
fn keep_absence(field: &mut Field, has_default: bool) {
    let arguments = arguments(&field.attrs);
    let is_skip = |meta: &Meta| string(meta, "skip_serializing_if").is_some();
    let skips_empty = |meta: &Meta| {
        string(meta, "skip_serializing_if").is_some_and(|function| function.ends_with("::is_empty"))
    };
    if !arguments.iter().any(skips_empty) {
        return;
    }
    let mut kept: Vec<_> = arguments
        .iter()
        .filter(|meta| !is_skip(meta) && (has_default || !meta.path().is_ident("default")))
        .map(ToTokens::to_token_stream)
        .collect();
    if !has_default {
        kept.push(quote!(skip_serializing_if = "Option::is_none"));
        let collection: &Type = &field.ty;
        field.ty = parse_quote!(Option<#collection>);
    }
    field.attrs.retain(|attr| !attr.path().is_ident("serde"));
    field.attrs.push(parse_quote!(#[serde(#(#kept),*)]));
}

/// Returns the JSON name of a field.
fn wire_name(field: &Field) -> String {
    let renamed = arguments(&field.attrs).into_iter().find_map(|meta| string(&meta, "rename"));
    renamed.unwrap_or_else(|| field.ident.as_ref().map(ToString::to_string).unwrap_or_default())
}

/// Returns the arguments of `#[serde(…)]`.
pub(super) fn arguments(attrs: &[Attribute]) -> Vec<Meta> {
    let serde = attrs.iter().filter(|attr| attr.path().is_ident("serde"));
    serde
        .filter_map(|attr| attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok())
        .flatten()
        .collect()
}

/// Returns the string that `key = "…"` sets.
pub(super) fn string(meta: &Meta, key: &str) -> Option<String> {
    let Meta::NameValue(meta) = meta else { return None };
    match &meta.value {
        Expr::Lit(value) if meta.path.is_ident(key) => match &value.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
