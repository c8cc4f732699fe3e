//! Requests, responses and their parts: typify's types, in the contract's order.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use schemars::schema::{InstanceType, Schema, SchemaObject};
use serde_json::Value;
use syn::{Item, ItemStruct};
use typify::{TypeSpace, TypeSpaceImpl, TypeSpaceSettings};

use super::{fields, tidy, union};
use crate::types::Types;

/// Returns the types, each with its few impls, and the functions that fill in defaults.
pub(super) fn items(types: &Types) -> Result<Vec<TokenStream>, String> {
    let mut file = syn::parse2::<syn::File>(typify(types)?).map_err(|error| error.to_string())?;
    tidy::file(&mut file);
    let (mut of_types, rest) = by_owner(file.items);
    let mut tokens = vec![];
    for (name, definition) in &types.definitions {
        let variants = union::variants(name, definition);
        if definition.tag.is_some() {
            of_types.remove(name);
            let structs = variants.iter().map(|variant| {
                let items = of_types.remove(&variant.type_name).unwrap_or_default();
                the_struct(items, &variant.schema).ok_or_else(|| format!("`{name}` has no named fields"))
            });
            let structs = structs.collect::<Result<_, _>>()?;
            tokens.push(union::item(name, definition, &variants, structs));
        } else {
            for mut item in of_types.remove(name).unwrap_or_default() {
                if let Item::Struct(item) = &mut item {
                    fields::settle(&mut item.fields, &definition.schema);
                }
                tokens.push(item.to_token_stream());
            }
        }
        for (alias, _) in types.aliases.iter().filter(|(_, target)| *target == name) {
            let (alias, name) = (format_ident!("{alias}"), format_ident!("{name}"));
            tokens.push(quote!(pub type #alias = #name;));
        }
    }
    if let Some(unknown) = of_types.keys().next() {
        return Err(format!("it invented a type `{unknown}`"));
    }
    tokens.extend(rest.iter().map(ToTokens::to_token_stream));
    Ok(tokens)
}

fn typify(types: &Types) -> Result<TokenStream, String> {
    let mut settings = TypeSpaceSettings::default();
    // typify's own choice, `DateTime<Utc>`, loses the offset; this one preserves it.
    let date_time = SchemaObject {
        instance_type: Some(InstanceType::String.into()),
        format: Some("date-time".into()),
        ..SchemaObject::default()
    };
    settings.with_derive("PartialEq".into()).with_map_type("::std::collections::BTreeMap").with_conversion(
        date_time,
        "::chrono::DateTime<::chrono::FixedOffset>",
        [TypeSpaceImpl::Display, TypeSpaceImpl::FromStr].into_iter(),
    );
    let mut definitions = vec![];
    for (name, definition) in &types.definitions {
        if definition.tag.is_none() {
            definitions.push((name.clone(), parsed(name, &definition.schema)?));
            continue;
        }
        // Stands in for the union, so that references to it resolve.
        definitions
            .push((name.clone(), parsed(name, &serde_json::json!({ "type": "object", "properties": {} }))?));
        for variant in union::variants(name, definition) {
            let schema = parsed(name, &variant.schema)?;
            definitions.push((variant.type_name, schema));
        }
    }
    // The lints catch schemas on which typify panics; a case that they miss is still a problem's text.
    catch_unwind(AssertUnwindSafe(|| {
        let mut space = TypeSpace::new(&settings);
        space.add_ref_types(definitions).map_err(|error| error.to_string())?;
        Ok(space.to_stream())
    }))
    .unwrap_or_else(|_| Err("it panicked".into()))
}

fn parsed(name: &str, schema: &Value) -> Result<Schema, String> {
    serde_json::from_value(schema.clone()).map_err(|error| format!("{name}: {error}"))
}

/// Returns the items that define a type or an impl for it, by its name, and the others.
fn by_owner(items: Vec<Item>) -> (BTreeMap<String, Vec<Item>>, Vec<Item>) {
    let (mut of_types, mut rest) = (BTreeMap::<_, Vec<_>>::new(), vec![]);
    for item in items {
        let owner = match &item {
            Item::Struct(item) => item.ident.to_string(),
            Item::Enum(item) => item.ident.to_string(),
            Item::Impl(item) => item.self_ty.to_token_stream().to_string(),
            _ => {
                rest.push(item);
                continue;
            }
        };
        of_types.entry(owner).or_default().push(item);
    }
    (of_types, rest)
}

fn the_struct(items: Vec<Item>, schema: &Value) -> Option<ItemStruct> {
    items.into_iter().find_map(|item| match item {
        Item::Struct(mut item) => {
            fields::settle(&mut item.fields, schema);
            Some(item)
        }
        _ => None,
    })
}
