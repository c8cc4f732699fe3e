//! `ToolError`: the contract's error table as a type.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use tabellion_runtime::FailureKind;

use super::text;
use crate::{contract::Contract, names};

/// Returns the table, the enum, and its conversions for the runtime.
pub(super) fn items(contract: &Contract) -> Vec<TokenStream> {
    let errors = &contract.spec.errors;
    let variants: Vec<_> = errors.keys().map(|name| format_ident!("{}", names::type_name(name))).collect();
    let constructors = errors.keys().map(|name| format_ident!("{}", names::value_name(name)));
    let docs: Vec<_> = errors
        .values()
        .map(|error| {
            let message = error.message.trim_end_matches('.');
            text::docs(&format!("{message} (code {}).", error.code))
        })
        .collect();
    let rows = errors.iter().map(|(name, error)| {
        let (code, message) = (Literal::i32_unsuffixed(error.code), &error.message);
        quote!(spec::ErrorSpec { name: #name, code: #code, message: #message })
    });
    let indices = (0..errors.len()).map(Literal::usize_unsuffixed);
    let count = Literal::usize_unsuffixed(errors.len());
    vec![
        quote! {
            /// Every error that a tool of this contract can answer with. An implementation says in `detail` what
            /// happened, where and what to do; without it, the client reads the contract's message.
            #[derive(Clone, Debug, PartialEq)]
            pub enum ToolError {
                #(#docs #variants { detail: String, data: Map<String, Value> },)*
            }
        },
        quote! {
            impl ToolError {
                #(
                    #docs
                    pub fn #constructors(detail: impl Into<String>) -> Self {
                        Self::#variants { detail: detail.into(), data: Map::new() }
                    }
                )*
                /// Returns the same error with one more detail for programs.
                #[must_use]
                pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
                    let data = match &mut self {
                        #(Self::#variants { data, .. })|* => data,
                    };
                    data.insert(key.into(), value.into());
                    self
                }
            }
        },
        failures(contract),
        quote! {
            impl ContractError for ToolError {
                fn answer(self) -> ErrorAnswer {
                    let (row, detail, data) = match self {
                        #(Self::#variants { detail, data } => (&ERRORS[#indices], detail, data),)*
                    };
                    CONTRACT.answer(row, detail, data)
                }
            }
        },
        quote! {
            impl fmt::Display for ToolError {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&self.clone().answer().message)
                }
            }
        },
        quote!(impl std::error::Error for ToolError {}),
        quote! {
            static ERRORS: [spec::ErrorSpec; #count] = [#(#rows),*];
        },
    ]
}

/// Returns the conversion of failures to errors.
fn failures(contract: &Contract) -> TokenStream {
    let arms = FailureKind::ALL.iter().filter_map(|kind| {
        let error = format_ident!("{}", names::type_name(contract.error_or_nearest(*kind)?));
        let kind = text::variant(kind);
        Some(quote!(FailureKind::#kind => Self::#error { detail, data },))
    });
    quote! {
        impl From<Failure> for ToolError {
            fn from(failure: Failure) -> Self {
                let Failure { kind, message: detail, data, .. } = failure;
                match kind {
                    #(#arms)*
                }
            }
        }
    }
}
