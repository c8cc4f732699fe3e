//! `CONTRACT` and `TOOLS`: the declaration of a contract as constants. The keys' files emit their fields.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::{schemas, text::Texts};
use crate::{
    contract::Contract,
    keys::{Emitted, registry},
    names,
};

/// Returns the statics, with the items of the keys.
pub(super) fn items(contract: &Contract, keys: &[Emitted], texts: &mut Texts) -> Vec<TokenStream> {
    let fields = keys.iter().map(|key| &key.fields);
    let tools = contract.tools.iter().map(|tool| registry::emitted_entry(tool, texts));
    let tools: Vec<_> = tools.collect();
    let file = format!("{}.json", contract.spec.rust.module);
    let count = Literal::usize_unsuffixed(contract.tools.len());
    let names = contract.tools.iter().map(|tool| {
        let name = &tool.spec.name;
        let constant = format_ident!("{}", names::constant(name));
        quote!(pub const #constant: &str = #name;)
    });
    let parts: TokenStream = contract.tools.iter().filter_map(registry::emitted_parts).collect();
    let mut items = vec![
        quote! {
            /// The schemas and examples.
            static TEXTS: Texts = Texts::new(include_str!(#file));
        },
        quote! {
            /// What the contract says of itself.
            pub static CONTRACT: ContractSpec = ContractSpec {
                #(#fields)*
                ..ContractSpec::EMPTY
            };
        },
        quote! {
            /// The tools' names, for callers.
            pub mod tool {
                #(#names)*
            }
        },
        parts,
        quote! {
            /// The tools, in the order in which clients see them.
            pub static TOOLS: [ToolSpec; #count] = [#(#tools),*];
        },
    ];
    items.extend(keys.iter().flat_map(|key| key.items.clone()));
    items.extend(schemas::module(contract, texts));
    items
}
