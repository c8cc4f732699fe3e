//! Constants of the runtime's types as Rust. Their `Debug` form is Rust, but lacks the names of enums and the `&` of references, and has
//! fields with default values; this module adds and removes these. So generated constants and those built at run time come from one value.

use std::fmt::Debug;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, ExprStruct, FieldValue, parse::Parse};

/// The enum of each field (`Struct.field`) and of each variant's argument (`Enum.Variant`): `Debug` leaves its name out.
const ENUMS: &[(&str, &str)] = &[
    ("Also.on", "Action"),
    ("Approval.shows", "Shows"),
    ("Assignment.value", "Assigned"),
    ("ClauseSpec.asks", "Asks"),
    ("ClauseSpec.at", "GateTime"),
    ("ClauseSpec.severity", "Severity"),
    ("Effect.kind", "EffectKind"),
    ("EntitySpec.rules", "RowRule"),
    ("EntitySpec.scope", "Scope"),
    ("FieldSpec.kind", "FieldType"),
    ("FieldSpec.range", "Range"),
    ("FieldSpec.text", "TextRule"),
    ("FieldType.Now", "Moment"),
    ("Guarantee.kind", "GuaranteeKind"),
    ("ListFilter.by", "FilterBy"),
    ("ProvenanceField.default", "ProvenanceDefault"),
    ("ProvenanceField.discover", "Discovery"),
    ("ProvenanceField.from", "ProvenancePlace"),
    ("ProvenanceField.kind", "ProvenanceType"),
    ("RateLimit.per", "RateLimitPer"),
    ("Reference.on_delete", "OnDelete"),
    ("RestEndpoint.is", "RestOperation"),
    ("RestEndpoint.method", "RestMethod"),
    ("RoleSpec.kind", "CallerKind"),
    ("RoleSpec.scope", "ScopeWord"),
    ("RowOperation.action", "Action"),
    ("StateKind.Final", "Outcome"),
    ("StateSpec.kind", "StateKind"),
    ("ToolSpec.provenance", "ProvenanceUse"),
    ("TransitionSpec.unless", "Unless"),
    ("WorkflowSpec.starts", "Starts"),
];

/// Structs that fields hold by reference: `Debug` leaves the `&` out.
const REFERRED: &[&str] = &["ExecutionsSpec", "SessionsSpec"];

/// Returns the expression of a constant.
///
/// # Panics
/// If its `Debug` form is not that of structs, enums, slices, texts and numbers, or if the field of an enum is not in `ENUMS`.
pub(crate) fn expression(value: &impl Debug) -> TokenStream {
    written(&parsed(value), "")
}

/// Returns the expression of a constant struct, with these expressions of the `given` fields.
///
/// # Panics
/// As [`expression`].
pub(crate) fn with_fields(value: &impl Debug, given: &[(&str, TokenStream)]) -> TokenStream {
    structure(&parsed(value), "", given)
}

/// Returns the field `place` of a struct, `Struct.field`, with a comma; nothing if it has its `usual` value.
///
/// # Panics
/// As [`expression`].
pub(crate) fn set_field<T: Debug>(place: &str, value: &T, usual: &T) -> TokenStream {
    if format!("{value:?}") == format!("{usual:?}") {
        return TokenStream::new();
    }
    let name = format_ident!("{}", place.rsplit('.').next().unwrap_or_default());
    let value = written(&parsed(value), place);
    quote!(#name: #value,)
}

/// Returns the expression of a constant struct as its difference from the result of `constructor`.
///
/// # Panics
/// As [`expression`], or if the types differ.
pub(crate) fn differing<T: Debug>(value: &T, base: &T, constructor: TokenStream) -> TokenStream {
    let [value, base]: [ExprStruct; 2] = [value, base].map(|value| parsed(value));
    let text = |field: &FieldValue| field.to_token_stream().to_string();
    let name = &value.path;
    let given = value.fields.iter().zip(&base.fields).filter(|(field, base)| text(field) != text(base));
    let given = given.map(|(field, _)| {
        let member = &field.member;
        let value = written(&field.expr, &format!("{}.{}", name.to_token_stream(), member.to_token_stream()));
        quote!(#member: #value)
    });
    let given: Vec<_> = given.collect();
    if given.is_empty() { constructor } else { quote!(spec::#name { #(#given,)* ..#constructor }) }
}

fn parsed<T: Parse>(value: &impl Debug) -> T {
    syn::parse_str(&format!("{value:?}")).expect("the `Debug` form of a constant is an expression")
}

/// Returns the enum of the values at `place`.
fn enum_at(place: &str) -> Option<&'static str> {
    ENUMS.iter().find(|(of, _)| *of == place).map(|(_, name)| *name)
}

/// Returns the path of a struct, or of a variant of the enum at `place`.
fn path(name: &str, place: &str) -> TokenStream {
    let name = format_ident!("{name}");
    match enum_at(place) {
        Some(of) => {
            let of = format_ident!("{of}");
            quote!(spec::#of::#name)
        }
        None => quote!(spec::#name),
    }
}

/// Returns the path of a variant of the enum at `place`.
///
/// # Panics
/// If `ENUMS` does not have `place`.
fn variant(name: &str, place: &str) -> TokenStream {
    assert!(
        enum_at(place).is_some(),
        "`{name}` is a variant of an enum: add (\"{place}\", name of the enum) to `ENUMS` in codegen/src/rust/literal.rs",
    );
    path(name, place)
}

/// Returns the Rust of a value at `place`.
fn written(value: &Expr, place: &str) -> TokenStream {
    let text = |value: &dyn ToTokens| value.to_token_stream().to_string();
    match value {
        Expr::Path(name) if name.path.is_ident("None") => quote!(None),
        Expr::Path(name) => variant(&text(name), place),
        Expr::Call(call) if text(&call.func) == "Some" => {
            let inner = written(&call.args[0], place);
            quote!(Some(#inner))
        }
        Expr::Call(call) => {
            let name = text(&call.func);
            // The argument of a variant may belong to another enum.
            let inside = format!("{}.{name}", enum_at(place).unwrap_or_default());
            let (path, arguments) = (variant(&name, place), call.args.iter().map(|it| written(it, &inside)));
            quote!(#path(#(#arguments),*))
        }
        Expr::Array(array) => {
            let items = array.elems.iter().map(|item| written(item, place));
            quote!(&[#(#items),*])
        }
        Expr::Tuple(tuple) => {
            let items = tuple.elems.iter().map(|item| written(item, place));
            quote!((#(#items),*))
        }
        Expr::Struct(literal) => structure(literal, place, &[]),
        other => other.to_token_stream(),
    }
}

/// Returns the Rust of a struct at `place`. If it has a base, that supplies the fields with default values.
fn structure(literal: &ExprStruct, place: &str, given: &[(&str, TokenStream)]) -> TokenStream {
    let name = literal.path.to_token_stream().to_string();
    let path = path(&name, place);
    let fields = literal.fields.iter().map(|field| {
        let member = field.member.to_token_stream().to_string();
        let value = given.iter().find(|(name, _)| *name == member).map(|(_, value)| value.clone());
        let value = value.unwrap_or_else(|| written(&field.expr, &format!("{name}.{member}")));
        (member, value)
    });
    let mut fields: Vec<_> = fields.collect();
    let base = match name.as_str() {
        "EntitySpec" | "RowsSpec" | "Reference" => Some(quote!(#path::EMPTY)),
        "RestEndpoint" => Some(quote!(#path::NEW)),
        "FieldSpec" => {
            // In the order of the struct's fields, which is also that of the constructor.
            let arguments = fields.extract_if(.., |(member, _)| matches!(member.as_str(), "name" | "kind"));
            let arguments: Vec<_> = arguments.map(|(_, value)| value).collect();
            Some(quote!(#path::new(#(#arguments),*)))
        }
        _ => None,
    };
    let says_nothing = |value: &TokenStream| {
        matches!(value.to_string().as_str(), "None" | "false" | "& []" | "spec :: OnDelete :: Restrict")
    };
    fields.retain(|(_, value)| base.is_none() || !says_nothing(value));
    let given = fields.iter().map(|(member, value)| {
        let member = format_ident!("{member}");
        quote!(#member: #value)
    });
    match base {
        Some(base) if fields.is_empty() => base,
        Some(base) => quote!(#path { #(#given,)* ..#base }),
        None if REFERRED.contains(&name.as_str()) => quote!(&#path { #(#given),* }),
        None => quote!(#path { #(#given),* }),
    }
}
