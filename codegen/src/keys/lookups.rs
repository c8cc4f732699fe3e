//! Rust for lookups by name, shared by prompts, resources and templates: methods of `impl Contract`, completions, and
//! the comparison of completions.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{changes::Changes, names, rust::text};

/// Returns a method of `impl Contract`: it makes the `check`, and calls the arm for the value of `named`.
pub(super) fn method(
    signature: &TokenStream,
    check: Option<&TokenStream>,
    named: &TokenStream,
    arms: &[TokenStream],
    otherwise: &TokenStream,
) -> TokenStream {
    quote! {
        #signature {
            let (implementation, store) = (&self.implementation, &self.store);
            Box::pin(async move {
                #check
                match #named {
                    #(#arms)*
                    _ => #otherwise,
                }
            })
        }
    }
}

/// Returns the trait method that completes `value`, an argument of a prompt or a variable of a template. `what` names it for people.
pub(super) fn completion_signature(owner: &str, value: &str, what: &str) -> TokenStream {
    let docs = text::docs(&format!("Returns values for {what} that begin with `value`, best first."));
    let method = text::ident(&names::completion_method(owner, value));
    quote! {
        #docs
        fn #method(
            &self,
            cx: &ReadCx<'_>,
            value: &str,
        ) -> impl Future<Output = Result<Vec<String>, ToolError>> + Send;
    }
}

/// Returns the arm of `complete` or `complete_variable` that calls the method of [`completion_signature`].
pub(super) fn completion_arm(owner: &str, value: &str) -> TokenStream {
    let method = text::ident(&names::completion_method(owner, value));
    quote! {
        (#owner, #value) => resources_and_prompts::completion(
            implementation, &**store, call, value,
            |service, cx, value| Box::pin(service.#method(cx, value)),
        ).await,
    }
}

/// Adds the changes of an argument or a variable: whether it completes, and its description, before and after. `words` names it in
/// messages: ``argument `topic` of prompt `review` ``.
pub(super) fn compare_completion(
    changes: &mut Changes<'_>,
    words: &str,
    (completed, was): (bool, &str),
    (completes, is): (bool, &str),
) {
    match (completed, completes) {
        (true, false) => changes.breaking(format!("{words} no longer completes")),
        (false, true) => changes.compatible(format!("{words} completes")),
        _ => {}
    }
    if was != is {
        changes.compatible(format!("{words} is described otherwise"));
    }
}
