//! The Rust that `provenance` becomes: its table, a type with a field each, and the step of a call that establishes it.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use tabellion_runtime::spec::{self, ProvenanceType};

use super::read::{Provenance, ProvenanceDefault};
use crate::{
    contract::Contract,
    keys::Emitted,
    leak::{list, texts},
    names,
    rust::{literal, text},
};

/// Name of the type with a field for each field of the contract.
pub(crate) const TYPE: &str = "CallProvenance";
/// Trait method that returns the provenance bound to a session.
pub(crate) const METHOD: &str = "bound_provenance";

pub(super) fn contract(contract: &Contract, provenance: &Provenance) -> Emitted {
    let ground = contract.spec.rows.iter().map(|_| quote!(, Rows));
    let ground: TokenStream = ground.collect();
    let method = format_ident!("{METHOD}");
    let signature = quote! {
        /// Returns what is bound to the session with this id: provenance of calls that name the session and do not say it
        /// themselves. Nothing, unless an implementation keeps sessions.
        ///
        /// # Errors
        /// If it can't be read. An unknown session is none: nothing is bound to it.
        fn #method(
            &self,
            cx: &ReadCx<'_ #ground>,
            session: &str,
        ) -> impl Future<Output = Result<CallProvenance, ToolError>> + Send {
            let _ = (cx, session);
            async { Ok(CallProvenance::default()) }
        }
    };
    let asks = provenance.asks_sessions();
    let table = literal::expression(&table(provenance));
    Emitted {
        fields: quote!(provenance: Some(&PROVENANCE),),
        items: vec![quote! {
            /// Where calls come from.
            pub static PROVENANCE: spec::ProvenanceSpec = #table;
        }],
        types: vec![call_provenance(provenance), conversions(provenance), step(contract, asks)],
        signatures: asks.then_some(signature).into_iter().collect(),
        first: quote!(let call = &self.with_provenance(tool, call).await?;),
        ..Emitted::default()
    }
}

/// Returns the table of the contract's provenance.
pub(super) fn table(provenance: &Provenance) -> spec::ProvenanceSpec {
    let fields = provenance.fields.iter().map(|(name, field)| spec::ProvenanceField {
        name,
        kind: field.kind,
        keys: texts(&field.keys),
        headers: texts(&field.headers),
        from: list(field.from.iter().copied()),
        discover: field.discover,
        default: field.default.as_ref().map(|default| match default {
            ProvenanceDefault::Now(_) => spec::ProvenanceDefault::Now,
            ProvenanceDefault::Present(other) => spec::ProvenanceDefault::Present(other),
        }),
    });
    spec::ProvenanceSpec {
        fields: list(fields),
        session: provenance.session,
        required: texts(&provenance.required),
        also_if: list(provenance.also_if.iter().copied()),
        missing: provenance.missing,
    }
}

/// Returns the identifier of a field.
fn identifier(name: &str) -> Ident {
    text::ident(&names::value_name(name))
}

fn call_provenance(provenance: &Provenance) -> TokenStream {
    let name = format_ident!("{TYPE}");
    let fields = provenance.fields.iter().map(|(name, field)| {
        let name = identifier(name);
        let kind = match field.kind {
            ProvenanceType::String => quote!(String),
            ProvenanceType::Integer => quote!(i64),
            ProvenanceType::Boolean => quote!(bool),
        };
        quote!(pub #name: Option<#kind>)
    });
    quote! {
        /// Where a call came from. A method has it from `CallProvenance::from(cx.provenance())`.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct #name {
            #(#fields,)*
        }
    }
}

fn conversions(provenance: &Provenance) -> TokenStream {
    let (reads, writes): (Vec<_>, Vec<_>) = provenance
        .fields
        .iter()
        .map(|(name, field)| {
            let field_name = identifier(name);
            let read = match field.kind {
                ProvenanceType::String => quote!(from.text(#name).map(str::to_owned)),
                ProvenanceType::Integer => quote!(from.integer(#name)),
                ProvenanceType::Boolean => quote!(from.boolean(#name)),
            };
            (quote!(#field_name: #read), quote!((#name, self.#field_name.map(Value::from))))
        })
        .unzip();
    let asked = provenance.asks_sessions().then(|| {
        quote! {
            impl CallProvenance {
                /// Returns the fields with a value, by name.
                fn into_values(self) -> Map<String, Value> {
                    let fields = [#(#writes),*];
                    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
                    given.collect()
                }
            }
        }
    });
    quote! {
        impl From<&tabellion_runtime::Provenance> for CallProvenance {
            fn from(from: &tabellion_runtime::Provenance) -> Self {
                Self { #(#reads,)* }
            }
        }

        #asked
    }
}

/// Returns the step of a call that establishes its provenance.
fn step(contract: &Contract, asks: bool) -> TokenStream {
    let trait_name = format_ident!("{}", contract.spec.rust.trait_name);
    let method = format_ident!("{METHOD}");
    let bound = if asks {
        quote! {
            |service, cx, session| Box::pin(async move {
                let bound = service.#method(cx, session).await?;
                Ok(bound.into_values())
            })
        }
    } else {
        quote!(|_, _, _| Box::pin(async { Ok(Map::new()) }))
    };
    quote! {
        impl<S: #trait_name> Service<S> {
            /// Returns the context of a call of `tool` with its provenance.
            async fn with_provenance(
                &self,
                tool: &'static ToolSpec,
                call: &CallContext,
            ) -> Result<CallContext, Rejection> {
                tabellion_runtime::provenance::establish::<_, ToolError, _>(
                    &CONTRACT, tool, call, &self.implementation, &*self.store, #bound,
                ).await
            }
        }
    }
}
