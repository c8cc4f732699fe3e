//! `mod schema`: the schemas of resources.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::text::Texts;
use crate::contract::{Authored, Contract};

/// Returns the module with a static for each resource's schema, if there are any.
pub(super) fn module(contract: &Contract, texts: &mut Texts) -> Option<TokenStream> {
    let resources = 0..contract.spec.resources.len();
    let schemas = resources.map(|i| {
        let authored = contract.resource_schema(i);
        let (name, text) = (name(&authored), authored.constant.to_lowercase());
        let text = texts.keep(text, authored.text());
        quote!(pub(super) static #name: Schema = Schema::authored(#text);)
    });
    let schemas: Vec<_> = schemas.collect();
    (!schemas.is_empty()).then(|| {
        quote! {
            /// The schemas of resources.
            mod schema {
                use super::{Schema, TEXTS};
                #(#schemas)*
            }
        }
    })
}

/// Returns the name of the static for a resource's schema.
pub(crate) fn name(authored: &Authored<'_>) -> Ident {
    format_ident!("{}", authored.constant)
}
