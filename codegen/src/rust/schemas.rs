//! `mod schema`: the schemas of requests, responses and resources.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::text;
use crate::{
    contract::{Authored, Contract},
    views,
};

/// Returns the module with a static for each schema.
pub(super) fn module(contract: &Contract) -> TokenStream {
    let schemas = contract.schemas().map(|authored| schema(&authored));
    let imports = if contract
        .schemas()
        .any(|authored| !views::rules(authored.schema).is_empty())
    {
        quote!(
            use super::{Rule, Schema};
        )
    } else {
        quote!(
            use super::Schema;
        )
    };
    quote! {
        /// The schemas of requests and responses: as clients see them, and as they are enforced where that is more.
        mod schema {
            #imports
            #(#schemas)*
        }
    }
}

/// Returns the name of the static for a schema.
pub(crate) fn name(authored: &Authored<'_>) -> Ident {
    format_ident!("{}", authored.constant)
}

fn schema(authored: &Authored<'_>) -> TokenStream {
    let name = name(authored);
    let wire = text::json(&views::wire(authored.schema));
    let Some(enforced) = authored.enforced_beyond_wire() else {
        return quote!(pub(super) static #name: Schema = Schema::plain(#wire););
    };
    let enforced = text::json(&enforced);
    let rules = views::rules(authored.schema);
    let rules = rules.iter().map(|rule| {
        let (at, id, message) = (&rule.enforced, &rule.id, &rule.message);
        quote!(Rule { at: #at, id: #id, message: #message })
    });
    quote!(pub(super) static #name: Schema = Schema::new(#wire, #enforced, &[#(#rules),*]);)
}
