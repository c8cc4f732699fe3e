//! `Service`: an implementation with its store, as a `Contract`.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::method;
use crate::{
    contract::{Contract, Tool},
    keys::{Emitted, KEYS, State},
};

/// Returns the struct and its `impl Contract`.
pub(super) fn items(contract: &Contract, trait_name: &Ident, keys: &[Emitted]) -> Vec<TokenStream> {
    let arms = contract.tools.iter().enumerate().map(|(i, tool)| arm(i, tool));
    let methods = keys.iter().flat_map(|key| &key.methods);
    let state = || keys.iter().filter_map(|key| key.state.as_ref());
    let fields = state().map(|State { name, of_type, .. }| quote!(#name: #of_type));
    let values = state().map(|State { name, value, .. }| quote!(#name: #value));
    vec![
        quote! {
            /// An implementation and the store that it reads and the runtime changes.
            pub struct Service<S> {
                implementation: S,
                store: Arc<dyn Store>,
                #(#fields,)*
            }
        },
        quote! {
            impl<S: #trait_name> Service<S> {
                /// Puts `implementation` in front of `store`.
                pub fn new(implementation: S, store: Arc<dyn Store>) -> Self {
                    Self { implementation, store, #(#values,)* }
                }
            }
        },
        quote! {
            impl<S: #trait_name> Contract for Service<S> {
                fn spec(&self) -> &'static ContractSpec {
                    &CONTRACT
                }

                fn call<'a>(
                    &'a self,
                    call: &'a CallContext,
                    tool: &'a str,
                    arguments: Value,
                ) -> BoxFuture<'a, Result<Answer, Rejection>> {
                    let (implementation, store) = (&self.implementation, &self.store);
                    Box::pin(async move {
                        match tool {
                            #(#arms)*
                            _ => Err(Rejection::UnknownTool),
                        }
                    })
                }
                #(#methods)*
            }
        },
    ]
}

/// Returns the dispatch of the tool with index `i` in `TOOLS`.
fn arm(i: usize, tool: &Tool) -> TokenStream {
    let (name, i) = (&tool.spec.name, Literal::usize_unsuffixed(i));
    if tool.spec.select.is_empty() {
        let call = call(tool, &quote!(&TOOLS[#i]));
        return quote!(#name => #call,);
    }
    let arms = tool.parts.iter().map(|part| {
        let (label, call) = (part.label(), call(part, &quote!(operation)));
        quote!(#label => #call,)
    });
    quote! {
        #name => {
            let operation = dispatch::operation::<ToolError>(&TOOLS[#i], &arguments)?;
            match operation.label() {
                #(#arms)*
                _ => Err(Rejection::UnknownTool),
            }
        }
    }
}

/// Returns the call of an operation's method. `entry` is its entry in `TOOLS`.
fn call(tool: &Tool, entry: &TokenStream) -> TokenStream {
    let method = method(&tool.rust_base());
    let dispatch = format_ident!("{}", if tool.spec.mutating { "mutate" } else { "read" });
    let before: TokenStream = KEYS.iter().map(|key| key.emit_tool(tool).before).collect();
    let tool = if before.is_empty() { entry } else { &quote!(tool) };
    let call = quote! {
        dispatch::#dispatch(
            #tool, implementation, &**store, call, arguments,
            |service, cx, req| Box::pin(service.#method(cx, req)),
        ).await
    };
    if before.is_empty() {
        return call;
    }
    quote! {
        {
            let tool = #entry;
            #before
            #call
        }
    }
}
