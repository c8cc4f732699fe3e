//! Constants of the runtime's types as Rust. Their `Debug` form is Rust except for the names of enums, references, and fields with default
//! values, so generated constants and those built at run time come from one value.

use std::fmt::Debug;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{
    Expr, ExprStruct, FieldValue, Member,
    visit_mut::{self, VisitMut},
};

/// The enums of constants, by their variants.
const ENUMS: &[(&str, &[&str])] = &[
    ("Scope", &["Global", "Org", "Root"]),
    (
        "FieldType",
        &[
            "Id", "Ref", "Text", "Integer", "Number", "Boolean", "Enum", "Time", "Now", "Json", "List",
            "Secret", "Next", "Seq",
        ],
    ),
    ("OnDelete", &["Restrict", "Cascade", "Clear"]),
    ("Moment", &["Create", "Change"]),
    ("Action", &["Create", "Get", "Update", "List", "Delete"]),
    ("Assigned", &["Now", "Json", "Field"]),
    ("TextRule", &["NotBlank", "MaxBytes", "Pattern", "Email", "JsonValue", "JsonObject", "JsonTexts"]),
    ("Range", &["AfterNow", "UntilNow"]),
    ("RowRule", &["AnyOf", "Differ", "Ordered"]),
    ("FilterBy", &["Value", "Item", "Words"]),
];

/// The bases of structs, which supply their fields with default values.
const BASES: &[(&str, &str)] = &[
    ("EntitySpec", "spec::EntitySpec::EMPTY"),
    ("RowsSpec", "spec::RowsSpec::EMPTY"),
    ("Reference", "spec::Reference::EMPTY"),
];

/// Returns the expression of a constant.
///
/// # Panics
/// If its `Debug` form is not that of structs, enums, slices, texts and numbers.
pub(crate) fn expression(value: &impl Debug) -> TokenStream {
    let mut expression: Expr = syn::parse_str(&format!("{value:?}")).expect("a constant is an expression");
    Rewrite { enums: vec![] }.visit_expr_mut(&mut expression);
    expression.into_token_stream()
}

/// Returns the expression of a constant struct as its difference from the result of `constructor`.
///
/// # Panics
/// As [`expression`], or if the types differ.
pub(crate) fn differing<T: Debug>(value: &T, base: &T, constructor: TokenStream) -> TokenStream {
    let fields =
        |value: &T| -> ExprStruct { syn::parse_str(&format!("{value:?}")).expect("a constant is a struct") };
    let (value, base) = (fields(value), fields(base));
    let given = value.fields.into_iter().zip(base.fields);
    let text = |field: &FieldValue| field.to_token_stream().to_string();
    let given = given.filter_map(|(field, base)| (text(&field) != text(&base)).then_some(field));
    let given: Vec<_> = given
        .map(|mut field| {
            Rewrite { enums: vec![] }.visit_field_value_mut(&mut field);
            field
        })
        .collect();
    let name = value.path;
    if given.is_empty() { constructor } else { quote!(spec::#name { #(#given,)* ..#constructor }) }
}

/// Qualifies names with their paths. If several enums have a variant of that name, the field decides.
struct Rewrite {
    enums: Vec<&'static str>,
}

impl Rewrite {
    fn path(&self, name: &str) -> Option<TokenStream> {
        if matches!(name, "Some" | "None") {
            return None;
        }
        let name_of = format_ident!("{name}");
        let of = ENUMS.iter().filter(|(_, variants)| variants.contains(&name));
        let mut of: Vec<_> = of.map(|(of, _)| *of).collect();
        if let Some(wanted) = self.enums.last() {
            of.retain(|of| of == wanted);
        }
        Some(match of.first() {
            Some(of) => {
                let of = format_ident!("{of}");
                quote!(spec::#of::#name_of)
            }
            None => quote!(spec::#name_of),
        })
    }

    fn rename(&self, path: &mut syn::Path) {
        if let Some(name) = path.get_ident().map(ToString::to_string)
            && let Some(tokens) = self.path(&name)
        {
            *path = syn::parse2(tokens).expect("a path is a path");
        }
    }
}

impl VisitMut for Rewrite {
    fn visit_field_value_mut(&mut self, field: &mut FieldValue) {
        let of = match &field.member {
            Member::Named(name) if name == "kind" => Some("FieldType"),
            Member::Named(name) if name == "value" => Some("Assigned"),
            Member::Named(name) if name == "action" => Some("Action"),
            Member::Named(name) if name == "on" => Some("Action"),
            _ => None,
        };
        self.enums.extend(of);
        visit_mut::visit_field_value_mut(self, field);
        if of.is_some() {
            self.enums.pop();
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        // The argument of a variant may belong to another enum.
        if let Expr::Call(call) = expression {
            if let Expr::Path(function) = &mut *call.func {
                self.rename(&mut function.path);
            }
            let outer = std::mem::take(&mut self.enums);
            let is_now = call.func.to_token_stream().to_string().ends_with("Now");
            self.enums.extend(is_now.then_some("Moment"));
            for argument in &mut call.args {
                self.visit_expr_mut(argument);
            }
            self.enums = outer;
            return;
        }
        visit_mut::visit_expr_mut(self, expression);
        match expression {
            Expr::Path(path) => self.rename(&mut path.path),
            // All fields come from the base.
            Expr::Struct(literal) if literal.fields.is_empty() => {
                if let Some(base) = literal.rest.take() {
                    *expression = *base;
                }
            }
            Expr::Array(_) => {
                let array = &expression;
                *expression = syn::parse2(quote!(&#array)).expect("a reference to an array is an expression");
            }
            _ => {}
        }
    }

    fn visit_expr_struct_mut(&mut self, literal: &mut ExprStruct) {
        let name = literal.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let outer = std::mem::take(&mut self.enums);
        for field in &mut literal.fields {
            self.visit_field_value_mut(field);
        }
        self.enums = outer;
        let is_variant = self.enums.last() == Some(&"FieldType");
        if is_variant {
            self.rename(&mut literal.path);
        } else if let Some(name) = literal.path.get_ident() {
            literal.path = syn::parse2(quote!(spec::#name)).expect("a path is a path");
        }
        let says_nothing = |field: &FieldValue| {
            let value = field.expr.to_token_stream().to_string();
            matches!(value.as_str(), "None" | "false" | "& []" | "spec :: OnDelete :: Restrict")
        };
        let base = if name == "FieldSpec" {
            let given = |wanted: &str| {
                let mut fields = literal.fields.iter();
                fields.find(|field| field.member == format_ident!("{wanted}").into()).map(|field| &field.expr)
            };
            let (name, kind) = (given("name"), given("kind"));
            Some(quote!(spec::FieldSpec::new(#name, #kind)))
        } else {
            let base = BASES.iter().find(|(of, _)| *of == name);
            base.map(|(_, base)| base.parse().expect("a path is tokens"))
        };
        let Some(base) = base else { return };
        let kept = literal.fields.iter().filter(|field| {
            let is_of_base = name == "FieldSpec"
                && [format_ident!("name"), format_ident!("kind")]
                    .into_iter()
                    .any(|name| field.member == name.into());
            !says_nothing(field) && !is_of_base
        });
        let (path, kept): (_, Vec<_>) = (&literal.path, kept.collect());
        let whole =
            if kept.is_empty() { quote!(#path { ..#base }) } else { quote!(#path { #(#kept,)* ..#base }) };
        *literal = syn::parse2(whole).expect("a struct with a base is an expression");
    }
}
