//! The Rust that `provenance` becomes: its table, a type with a field each, and the step of a call that establishes it.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use tabellion_runtime::spec::{ProvenanceType, ProvenanceUse};

use super::read::{Provenance, ProvenanceDefault, ProvenanceField};
use crate::{
    contract::Contract,
    keys::{Emitted, EmittedTool},
    names,
    rust::text,
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
    Emitted {
        fields: quote!(provenance: Some(&PROVENANCE),),
        items: vec![table(provenance)],
        types: vec![call_provenance(provenance), conversions(provenance), step(contract, asks)],
        signatures: asks.then_some(signature).into_iter().collect(),
        first: quote!(let call = &self.with_provenance(tool, call).await?;),
        ..Emitted::default()
    }
}

pub(super) fn tool(used: ProvenanceUse) -> EmittedTool {
    let used = text::variant(used);
    EmittedTool::fields(quote!(provenance: Some(spec::ProvenanceUse::#used),))
}

fn table(provenance: &Provenance) -> TokenStream {
    let fields = provenance.fields.iter().map(|(name, field)| declaration(name, field));
    let session = text::optional(provenance.session.as_ref());
    let required = &provenance.required;
    let also_if = provenance.also_if.iter().map(|also| {
        let (field, then) = (&also.field, &also.then);
        quote!(spec::AlsoIf { field: #field, then: &[#(#then),*] })
    });
    let (error, message) = (&provenance.missing.error, &provenance.missing.message);
    quote! {
        /// Where calls come from.
        pub static PROVENANCE: spec::ProvenanceSpec = spec::ProvenanceSpec {
            fields: &[#(#fields),*],
            session: #session,
            required: &[#(#required),*],
            also_if: &[#(#also_if),*],
            missing: spec::MissingProvenance { error: #error, message: #message },
        };
    }
}

fn declaration(name: &str, field: &ProvenanceField) -> TokenStream {
    let (keys, headers, kind) = (&field.keys, &field.headers, text::variant(field.kind));
    let from = field.from.iter().map(text::variant);
    let discover = field.discover.map(|discovery| {
        let discovery = text::variant(discovery);
        quote!(spec::Discovery::#discovery)
    });
    let default = field.default.as_ref().map(|default| match default {
        ProvenanceDefault::Now(_) => quote!(spec::ProvenanceDefault::Now),
        ProvenanceDefault::Present(other) => quote!(spec::ProvenanceDefault::Present(#other)),
    });
    let (discover, default) = (text::optional(discover), text::optional(default));
    quote! {
        spec::ProvenanceField {
            name: #name,
            kind: spec::ProvenanceType::#kind,
            keys: &[#(#keys),*],
            headers: &[#(#headers),*],
            from: &[#(spec::ProvenancePlace::#from),*],
            discover: #discover,
            default: #default,
        }
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
