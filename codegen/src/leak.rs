//! Values of the runtime's tables that are built at run time. Tables are statics, so the values are leaked.

use serde_json::Value;
use tabellion_runtime::{Schema, Text};

use crate::{contract::Authored, rust::text};

/// Returns a schema in the form of the generated `mod schema`.
pub(crate) fn schema(authored: &Authored<'_>) -> &'static Schema {
    constant(Schema::authored(written(&authored.text())))
}

/// Returns a schema in the form of the other generated schemas.
pub(crate) fn exact(schema: &Value) -> &'static Schema {
    constant(Schema::exact(written(schema)))
}

/// Returns a text in the form of the generated file.
pub(crate) fn written(value: &Value) -> Text {
    Text::Written(leaked(&text::pretty(value)))
}

pub(crate) fn leaked(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

pub(crate) fn texts(texts: &[&'static str]) -> &'static [&'static str] {
    list(texts.iter().copied())
}

pub(crate) fn constant<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub(crate) fn list<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    Vec::leak(items.into_iter().collect())
}
