//! `mod schema`: the schemas of requests, responses and resources, with their texts.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::text::{Texts, kept};
use crate::contract::{Authored, Contract};

/// Returns the module with a static for each schema.
pub(super) fn module(contract: &Contract, texts: &mut Texts) -> TokenStream {
    let schemas = contract.schemas().map(|authored| schema(&authored, texts));
    let schemas: Vec<_> = schemas.collect();
    quote! {
        /// The schemas of requests, responses and resources.
        mod schema {
            use super::{Schema, TEXTS, Text};
            #(#schemas)*
        }
    }
}

/// Returns the name of the static for a schema.
pub(crate) fn name(authored: &Authored<'_>) -> Ident {
    format_ident!("{}", authored.constant)
}

fn schema(authored: &Authored<'_>, texts: &mut Texts) -> TokenStream {
    let name = name(authored);
    let text = kept(texts, authored.constant.to_lowercase(), authored.schema.clone());
    let of = if authored.refuses_others() {
        quote!(request)
    } else {
        quote!(authored)
    };
    quote!(pub(super) static #name: Schema = Schema::#of(#text);)
}
