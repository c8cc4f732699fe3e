//! Unions: the structs that typify generates for the variants become the variants of one enum.
//!
//! typify could generate the enum itself, but it guesses the representation from the fields; the contract declares it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;
use syn::{Fields, ItemStruct, Visibility};

use super::text;
use crate::{names, schema::remove_property, types::Definition};

/// One variant of a union.
pub(super) struct Variant {
    /// The tag's value.
    value: String,
    /// The type that typify generates from its fields.
    pub(super) type_name: String,
    /// The fields, without the tag.
    pub(super) schema: Value,
}

/// Returns the variants of the type `name`; none if it is not a union.
pub(super) fn variants(name: &str, definition: &Definition) -> Vec<Variant> {
    let Some(tag) = &definition.tag else { return vec![] };
    let schemas = definition.schema["oneOf"].as_array().into_iter().flatten();
    schemas
        .enumerate()
        .map(|(i, schema)| {
            let mut schema = schema.clone();
            let value = schema["properties"][tag]["enum"][0].as_str().unwrap_or_default().to_string();
            remove_property(&mut schema, tag);
            let type_name = format!("{name}Variant{i}");
            Variant { value, type_name, schema }
        })
        .collect()
}

/// Returns the enum of `variants`, with the structs that typify generated from them in the same order.
pub(super) fn item(
    name: &str,
    definition: &Definition,
    variants: &[Variant],
    structs: Vec<ItemStruct>,
) -> TokenStream {
    let name = format_ident!("{name}");
    let tag = &definition.tag;
    let docs = definition.schema["description"].as_str().map(text::docs);
    let is_closed = variants.iter().all(|variant| variant.schema["additionalProperties"] == false);
    let closed = is_closed.then(|| quote!(, deny_unknown_fields));
    let variants = variants.iter().zip(structs).map(|(variant, mut fields)| {
        for field in &mut fields.fields {
            field.vis = Visibility::Inherited;
        }
        let value = &variant.value;
        let name = format_ident!("{}", names::type_name(value));
        let rename = (name != value).then(|| quote!(#[serde(rename = #value)]));
        match fields.fields {
            Fields::Named(fields) if !fields.named.is_empty() => quote!(#rename #name #fields),
            _ => quote!(#rename #name),
        }
    });
    quote! {
        #docs
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = #tag #closed)]
        pub enum #name {
            #(#variants,)*
        }
    }
}
