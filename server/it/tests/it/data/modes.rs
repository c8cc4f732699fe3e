//! Modes of operation, set by the option, the environment and the header, and their refusals.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Data, provenance};
use crate::{
    http,
    support::{Library, Server, ended},
};

const VARIABLE: &str = "MCB_EXECUTION_FLOW";
const HEADER: &str = "X-Execution-Flow";

/// The server's refusal of a call of `search`, which is not for `client-hybrid`.
fn refusal(server: &mut Server) -> Option<String> {
    let arguments = json!({ "resource": "memory", "query": "prices" });
    match server.call_with("search", arguments, provenance()) {
        Ok(_) => None,
        Err(refusal) => {
            assert_eq!((refusal.code, &refusal.data["rule"]), (-32602, &json!("mode")));
            Some(refusal.message)
        }
    }
}

fn not_allowed(mode: &str) -> Option<String> {
    Some(format!(
        "Operation mode matrix violation for 'search': flow '{mode}' is not allowed. Allowed flows: stdio-only, server-hybrid"
    ))
}

fn unknown(mode: &str) -> Option<String> {
    Some(format!(
        "Invalid execution_flow '{mode}'. Expected one of: stdio-only, client-hybrid, server-hybrid"
    ))
}

fn tools(server: &mut Server) -> Vec<Value> {
    let list = server.target.request("tools/list", json!({})).expect("a list");
    list["result"]["tools"].as_array().expect("tools").clone()
}

#[test]
fn the_option_goes_before_the_environment_which_goes_before_the_default() {
    let data = Data::new();
    let all = tools(&mut data.serve());
    for (option, variable, expected) in [
        (None, None, None),
        (Some("client-hybrid"), None, not_allowed("client-hybrid")),
        (Some("server-hybrid"), None, None),
        (None, Some("client-hybrid"), not_allowed("client-hybrid")),
        (None, Some("server-hybrid"), None),
        (Some("stdio-only"), Some("client-hybrid"), None),
        (Some("client-hybrid"), Some("stdio-only"), not_allowed("client-hybrid")),
        (None, Some("offline"), unknown("offline")),
        (None, Some(" "), None),
    ] {
        let mut command = data.command();
        command.args(option.map(|mode| format!("--mode={mode}")));
        match variable {
            Some(mode) => command.env(VARIABLE, mode),
            None => command.env_remove(VARIABLE),
        };
        let mut server = Server::start(&mut command);
        assert_eq!(refusal(&mut server), expected, "{option:?} {variable:?}");
        assert_eq!(tools(&mut server), all, "{option:?} {variable:?}");
        server.close();
    }
}

#[test]
fn over_http_each_request_has_its_mode_unless_the_server_has_one() {
    let data = Data::new();
    for (option, header, expected) in [
        (None, None, None),
        (None, Some("client-hybrid"), not_allowed("client-hybrid")),
        (None, Some("stdio-only"), None),
        (None, Some("offline"), unknown("offline")),
        (Some("server-hybrid"), Some("client-hybrid"), None),
        (Some("client-hybrid"), Some("stdio-only"), not_allowed("client-hybrid")),
    ] {
        let mut command = data.command();
        command.args(option.map(|mode| format!("--mode={mode}")));
        command.env_remove(VARIABLE).args(["--http", "0"]);
        let over_http = http::Server::start(command.stdin(Stdio::null()).stdout(Stdio::null()));
        let mut server = Server { target: over_http.connect() };
        let headers = header.map(|mode| (HEADER.to_owned(), mode.to_owned()));
        assert!(server.target.set_headers(headers.into_iter().collect()));
        assert_eq!(refusal(&mut server), expected, "{option:?} {header:?}");
        // The next request has no header, so the server's mode applies again.
        server.target.set_headers(vec![]);
        let without = option.filter(|mode| *mode == "client-hybrid").and_then(not_allowed);
        assert_eq!(refusal(&mut server), without, "{option:?} {header:?}");
        drop(server);
        assert_eq!(over_http.terminate(), Some(0));
    }
}

#[test]
fn a_mode_that_no_contract_has_stops_the_start() {
    let data = Data::new();
    let library = Library::empty();
    for (mut command, expected) in [
        (data.command(), "Expected one of: stdio-only, client-hybrid, server-hybrid"),
        (library.command(), "`--mode` is for contracts with modes of operation"),
    ] {
        let (code, _, said) = ended(command.args(["--mode", "offline"]));
        assert!(code != Some(0) && said.contains(expected), "{said}");
    }
    assert!(!data.folder().exists());
}
