//! `Service`: an implementation made servable.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::{method, offers};
use crate::contract::Contract;

/// The struct and its `impl Contract`.
pub(super) fn items(contract: &Contract, trait_name: &Ident) -> Vec<TokenStream> {
    let arms = contract.tools.iter().enumerate().map(|(i, tool)| {
        let (name, method, i) = (
            &tool.spec.name,
            method(&tool.spec.name),
            Literal::usize_unsuffixed(i),
        );
        let dispatch = format_ident!("{}", if tool.spec.mutating { "mutate" } else { "read" });
        let dispatch = quote! {
            dispatch::#dispatch(
                &TOOLS[#i], implementation, &**store, call, arguments,
                |service, cx, req| Box::pin(service.#method(cx, req)),
            ).await
        };
        match tool.spec.rate_limit {
            None => quote!(#name => #dispatch,),
            Some(_) => quote! {
                #name => {
                    self.rate_limits.count::<ToolError>(&TOOLS[#i], call)?;
                    #dispatch
                }
            },
        }
    });
    let offers = offers::dispatch(contract);
    let is_limited = !contract.spec.rate_limits.is_empty();
    let field = is_limited.then(|| quote!(rate_limits: RateLimits,));
    let value = is_limited.then(|| quote!(rate_limits: RateLimits::new(&RATE_LIMITS),));
    vec![
        quote! {
            /// An implementation and the store that it reads and the runtime changes.
            pub struct Service<S> {
                implementation: S,
                store: Arc<dyn Store>,
                #field
            }
        },
        quote! {
            impl<S: #trait_name> Service<S> {
                /// Puts `implementation` in front of `store`.
                pub fn new(implementation: S, store: Arc<dyn Store>) -> Self {
                    Self { implementation, store, #value }
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
                #(#offers)*
            }
        },
    ]
}
