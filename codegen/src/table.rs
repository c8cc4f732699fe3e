//! The table of a contract at run time: what the generated `CONTRACT` has, without generating it. For programs that take any
//! contract, such as a conformance suite.
//!
//! The runtime's tables are statics, so what is built here is leaked. The file of each key fills its fields.

use serde_json::Value;
use tabellion_runtime::{Schema, Text, spec::ContractSpec};

use crate::{
    contract::{Authored, Contract},
    keys::KEYS,
    rust::text,
};

/// Returns the table of a contract without problems.
pub(crate) fn of(contract: &Contract) -> &'static ContractSpec {
    let mut table = ContractSpec::EMPTY;
    for key in KEYS {
        key.fill(contract, &mut table);
    }
    Box::leak(Box::new(table))
}

/// Returns a schema as the generated `mod schema` has it.
pub(crate) fn schema(authored: &Authored<'_>) -> &'static Schema {
    Box::leak(Box::new(Schema::authored(written(&authored.text()))))
}

/// Returns a text as the generated file has it.
pub(crate) fn written(value: &Value) -> Text {
    Text::Written(leaked(&text::pretty(value)))
}

pub(crate) fn leaked(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

pub(crate) fn list<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    Vec::leak(items.into_iter().collect())
}
