//! The table of a contract at run time: what the generated `CONTRACT` has, without generating it. For programs that take any
//! contract, such as a conformance suite.
//!
//! The runtime's tables are statics, so what is built here is leaked. The file of each key fills its fields.

use tabellion_runtime::{
    schema::{Rule, Schema},
    spec::ContractSpec,
};

use crate::{
    contract::{Authored, Contract},
    keys::KEYS,
    rust::text,
    views,
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
    let wire = leaked(&text::pretty(&views::wire(authored.schema)));
    let schema = if let Some(enforced) = authored.enforced_beyond_wire() {
        let enforced = leaked(&text::pretty(&enforced));
        let rules = views::rules(authored.schema);
        let rules = rules.iter().map(|rule| Rule {
            at: leaked(&rule.enforced),
            id: leaked(&rule.id),
            message: leaked(&rule.message),
        });
        Schema::new(wire, enforced, list(rules))
    } else {
        Schema::plain(wire)
    };
    Box::leak(Box::new(schema))
}

pub(crate) fn leaked(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

pub(crate) fn list<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    Vec::leak(items.into_iter().collect())
}
