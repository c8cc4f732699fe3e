//! Breaking changes, each with an example of a loss: one change of a contract each.

mod support;

use serde_json::{Value, json};
use support::{changed, check_cases};
use tabellion_codegen::{Contract, compat, load};

fn contract(change: &Value) -> Contract {
    let contracts = load(&changed(change)).unwrap_or_else(|problems| panic!("{problems}"));
    contracts.into_iter().next().unwrap()
}

#[test]
fn each_change_is_breaking_or_not_and_shows_what_is_lost() {
    check_cases("tests/compat", |change| {
        let old = contract(&json!({ "contract": change["contract"] }));
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

#[test]
fn a_role_that_may_no_longer_call_an_endpoint_is_a_loss() {
    let with = |roles: Value| {
        let endpoint =
            json!({ "method": "GET", "path": "/instances", "is": "instance.list", "roles": roles });
        let mut set = json!({ "drafts/contract.json#/rest": { "endpoints": [endpoint] } });
        for (error, status) in
            [("AUTH_REQUIRED", 401), ("INVALID", 422), ("UNAVAILABLE", 503), ("FAILED", 500)]
        {
            set[format!("drafts/contract.json#/errors/{error}/http")] = status.into();
        }
        contract(&json!({ "contract": "drafts", "set": set }))
    };
    let changes = compat::compare(&with(json!(["owner", "agent"])), &with(json!(["owner", "reviewer"])));
    let said: Vec<_> = changes.iter().map(|change| (change.breaking, change.what.as_str())).collect();
    assert_eq!(
        said,
        [
            (true, "role `agent` may no longer call endpoint `GET /instances`"),
            (false, "role `reviewer` may call endpoint `GET /instances`"),
        ]
    );
}

#[test]
fn the_same_change_backwards_is_breaking_where_it_loosened() {
    let old = contract(&json!({}));
    let raised = json!({ "set": { "$/read_note.json#/inputSchema/properties/lines/minimum": 2 } });
    let back = compat::compare(&contract(&raised), &old);
    assert_eq!(back.iter().map(|change| change.breaking).collect::<Vec<_>>(), [false]);
}
