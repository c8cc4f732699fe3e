//! Breaking changes, each with an example of a loss: one change of a contract each.

mod support;

use serde_json::{Value, json};
use support::{changed, check_cases};
use tabellion_codegen::{Contract, compat, load};

fn contract(change: &Value) -> Contract {
    let contracts = load(&changed(change)).unwrap_or_else(|problems| panic!("{problems}"));
    contracts.into_iter().next().unwrap()
}

/// Each case is a change of a contract, whose old version has the parts in `before`.
#[test]
fn each_change_is_breaking_or_not_and_shows_what_is_lost() {
    check_cases("tests/compat", |change| {
        let old = contract(&json!({ "contract": change["contract"], "set": change["before"] }));
        let mut text = String::new();
        for change in compat::compare(&old, &contract(change)) {
            let kind = if change.breaking { "BREAKING" } else { "ok" };
            let about = change.tool.as_deref().unwrap_or("contract");
            text += &format!("{kind} {about}: {}\n", change.what);
            if let Some(example) = change.example {
                text += &format!("  as {example}\n");
            }
        }
        text
    });
}
