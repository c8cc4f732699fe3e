//! The trait of a contract.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{method, text};
use crate::{
    contract::{Contract, Side, Tool},
    keys::Emitted,
    names,
};

/// Returns the trait with one method per tool, and those of resources and prompts.
pub(super) fn definition(contract: &Contract, trait_name: &Ident, keys: &[Emitted]) -> TokenStream {
    let mut docs = format!(
        "{}: the {}, one method each. Implementors write `async fn`.",
        contract.spec.title,
        if contract.operations().any(|tool| tool.operation.is_some()) {
            "tools and their operations"
        } else {
            "tools"
        },
    );
    if contract.methods().any(|tool| tool.spec.mutating) {
        docs += "\n\nA tool that changes something writes nothing by itself: it returns the change, [`Staged`], and the\n\
                 runtime makes it.";
    }
    let docs = text::docs(&docs);
    let methods = contract.methods().map(|tool| signature(contract, tool));
    let others = keys.iter().flat_map(|key| &key.signatures);
    quote! {
        #docs
        pub trait #trait_name: Send + Sync + 'static {
            #(#methods)*
            #(#others)*
        }
    }
}

fn signature(contract: &Contract, tool: &Tool) -> TokenStream {
    let spec = &tool.spec;
    let errors: Vec<_> = spec.errors.iter().map(|error| format!("`{error}`")).collect();
    let docs = text::docs(&format!(
        "{}\n\n# Errors\n{}",
        spec.description,
        errors.join(", ")
    ));
    let base = tool.rust_base();
    let name = method(&base);
    let [request, response] = Side::ALL.map(|side| format_ident!("{}", names::root(&base, side)));
    let ground = contract.spec.rows.iter().map(|_| quote!(, Rows));
    let ground: TokenStream = ground.collect();
    let (cx, response) = if spec.mutating {
        (quote!(WriteCx), quote!(Staged<#response #ground>))
    } else {
        (quote!(ReadCx), quote!(#response))
    };
    quote! {
        #docs
        fn #name(
            &self,
            cx: &#cx<'_ #ground>,
            req: #request,
        ) -> impl Future<Output = Result<#response, ToolError>> + Send;
    }
}
