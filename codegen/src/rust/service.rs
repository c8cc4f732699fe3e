//! The traits of a contract, and `Service`: an implementation of them with its store, as a `Contract`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::text;
use crate::{
    contract::{Contract, Side, Tool},
    keys::{Emitted, State},
    names,
};

/// Returns the trait with a method per tool, and those of resources and prompts; and a trait for each tool with operations, which the first
/// trait includes.
pub(super) fn traits(contract: &Contract, trait_name: &Ident, keys: &[Emitted]) -> Vec<TokenStream> {
    let parts = contract.tools.iter().filter(|tool| has_trait(tool));
    let name = |tool: &Tool| format_ident!("{}", names::tool_trait(tool.spec.name));
    let supers: Vec<Ident> = parts.clone().map(name).collect();
    let rest = if supers.is_empty() {
        "the tools, one method each"
    } else {
        "the tools, one trait each for those with operations"
    };
    let mut docs = format!("{}: {rest}. Implementors write `async fn`.", contract.spec.title);
    if contract.methods().any(|tool| tool.spec.mutating) {
        docs += "\n\nA tool that changes something writes nothing by itself: it returns the change, [`Staged`], and the\n\
                 runtime makes it.";
    }
    let docs = text::docs(&docs);
    let alone = contract.tools.iter().filter(|tool| tool.spec.select.is_empty());
    let methods = alone.map(|tool| signature(contract, tool));
    let others = keys.iter().flat_map(|key| &key.signatures);
    let bounds = if supers.is_empty() { quote!(Send + Sync + 'static) } else { quote!(#(#supers)+*) };
    let joined = quote! {
        #docs
        pub trait #trait_name: #bounds {
            #(#methods)*
            #(#others)*
        }
    };
    let traits = parts.zip(&supers).map(|(tool, name)| {
        let docs = text::docs(&format!("`{}`: {}", tool.spec.name, tool.spec.description));
        let with_method = tool.parts.iter().filter(|part| part.rows.is_none());
        let methods = with_method.map(|part| signature(contract, part));
        quote! {
            #docs
            pub trait #name: Send + Sync + 'static {
                #(#methods)*
            }
        }
    });
    std::iter::once(joined).chain(traits).collect()
}

/// Returns true if a tool has its own trait: it has operations with methods.
fn has_trait(tool: &Tool) -> bool {
    tool.parts.iter().any(|part| part.rows.is_none())
}

fn signature(contract: &Contract, tool: &Tool) -> TokenStream {
    let spec = &tool.spec;
    let errors: Vec<_> = spec.errors.iter().map(|error| format!("`{error}`")).collect();
    let docs = text::docs(&format!("{}\n\n# Errors\n{}", spec.description, errors.join(", ")));
    let base = tool.rust_base();
    let name = format_ident!("{}", names::value_name(&base));
    let [request, response] = Side::ALL.map(|side| format_ident!("{}", side.type_name(&base)));
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

/// Returns the struct and its `impl Contract`.
pub(super) fn items(contract: &Contract, trait_name: &Ident, keys: &[Emitted]) -> Vec<TokenStream> {
    let arms = contract.methods().map(|operation| {
        let method = names::value_name(&operation.rust_base());
        text::arm(operation.label(), operation.spec.mutating, &method)
    });
    let others = keys.iter().flat_map(|key| &key.arms);
    let first = keys.iter().map(|key| &key.first);
    let before = keys.iter().map(|key| &key.before);
    // Operations that follow from entities need no method.
    let last = match contract.spec.rows {
        Some(_) => quote!(tabellion_runtime::rows::run::<ToolError, _>(&ROWS, run).await),
        None => quote!(Err(Rejection::UnknownTool)),
    };
    let methods = keys.iter().flat_map(|key| &key.methods);
    let store = match contract.spec.rows {
        Some(_) => quote!(Arc<dyn Store<Rows>>),
        None => quote!(Arc<dyn Store>),
    };
    let state = || keys.iter().filter_map(|key| key.state.as_ref());
    let fields = state().map(|State { name, of_type, .. }| quote!(#name: #of_type));
    let values = state().map(|State { name, value, .. }| quote!(#name: #value));
    vec![
        quote! {
            /// An implementation and the store that it reads and the runtime changes.
            pub struct Service<S> {
                implementation: S,
                store: #store,
                #(#fields,)*
            }
        },
        quote! {
            impl<S: #trait_name> Service<S> {
                /// Puts `implementation` in front of `store`.
                pub fn new(implementation: S, store: #store) -> Self {
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
                    Box::pin(async move {
                        let tool = dispatch::tool(&CONTRACT, tool)?;
                        #(#first)*
                        let operation = dispatch::operation::<ToolError>(tool, &arguments)?;
                        #(#before)*
                        let (service, store) = (&self.implementation, &*self.store);
                        let run = dispatch::Run { operation, service, store, call, arguments };
                        match operation.label() {
                            #(#arms)*
                            #(#others)*
                            _ => #last,
                        }
                    })
                }
                #(#methods)*
            }
        },
    ]
}
