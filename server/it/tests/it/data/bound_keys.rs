//! Keys that are bound to an org or a user.

use serde_json::{Value, json};

use super::Data;
use crate::{
    http::key,
    support::{Outcome, Server},
};

fn create(server: &mut Server, resource: &str, data: Value) -> Outcome<Value> {
    let arguments = json!({ "action": "create", "resource": resource, "data": data });
    Ok(server.call_with("entity", arguments, json!({}))?.response)
}

#[test]
fn the_calls_of_a_key_are_in_its_org_and_by_its_user() {
    let data = Data::new();
    let mut server = data.serve();
    let org = json!({ "id": "acme", "name": "Acme" });
    create(&mut server, "org", org).expect("an org");
    let user = json!({ "action": "create", "resource": "user", "org_id": "acme", "data": { "id": "ada", "email": "ada@example.org", "display_name": "Ada" } });
    server.call_with("entity", user, json!({})).expect("a user");
    server.close();

    let file = data.beside("keys.json");
    let file = file.to_str().expect("a path");
    let new = |more: &[&str]| {
        let all = ["create", "--keys", file, "--name", "Ada Example", "--scope", "write"];
        key(&[&all, more].concat()).trim().to_owned()
    };
    let (bound, free) = (new(&["--org", "acme", "--user", "ada"]), new(&[]));
    assert!(key(&["list", "--keys", file]).contains("\torg acme\tuser ada\n"));

    let over_http = data.serve_http(&["--keys", file]);
    let [mut ada, mut other] = [bound, free].map(|key| Server { target: over_http.connect_with(&key) });
    let project = json!({
        "action": "create", "resource": "project", "project_id": "shop", "data": { "name": "Shop", "path": "/shop" },
    });
    let made = ada.call_with("project", project, json!({})).expect("a project");
    assert_eq!(made.response["org_id"], "acme");
    let plan = create(&mut ada, "plan", json!({ "project_id": "shop", "title": "P" })).expect("a plan");
    assert_eq!(plan["created_by"], "ada");

    // Callers of a different org do not find the org's rows, and its callers find no other rows.
    let get = |resource: &str, id: &str, org: Option<&str>| {
        let mut arguments = json!({ "action": "get", "resource": resource, "id": id });
        if let Some(org) = org {
            arguments["org_id"] = org.into();
        }
        arguments
    };
    let plan = plan["id"].as_str().expect("an id");
    for (is_ada, arguments, is_there) in [
        (true, get("plan", plan, None), true),
        (false, get("plan", plan, None), false),
        (false, get("plan", plan, Some("acme")), true),
        (true, get("user", "user_default", None), false),
        (true, get("user", "user_default", Some("org_default")), false),
        (true, get("org", "org_default", None), false),
        (true, get("org", "acme", None), true),
        (false, get("org", "org_default", None), true),
    ] {
        let server = if is_ada { &mut ada } else { &mut other };
        let found = server.call_with("entity", arguments.clone(), json!({}));
        let rule = found.as_ref().err().map(|refusal| refusal.data["rule"].clone());
        assert_eq!(rule, (!is_there).then(|| json!("not_found")), "{arguments}");
    }
    drop((ada, other));
    assert_eq!(over_http.terminate(), Some(0));
}
