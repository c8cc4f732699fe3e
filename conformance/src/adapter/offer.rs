//! What tools a server offers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Subject, client::Client, judgement::Stop, scene::Scene, trace::Trace};

/// More pages than this of a list are not asked for.
const MAX_PAGES: usize = 100;

/// A server's tools, by name, as its `tools/list` shows them.
pub type Offer = BTreeMap<String, Value>;

/// Asks for all tools.
///
/// # Errors
/// When the server does not answer with a list of tools.
pub fn ask(client: &mut Client<'_>) -> Result<Offer, String> {
    let (mut offer, mut params) = (Offer::new(), json!({}));
    for _ in 0..MAX_PAGES {
        let response = client
            .request("tools/list", params)
            .map_err(|error| error.to_string())?;
        let result = &response["result"];
        let Some(tools) = result["tools"].as_array() else {
            return Err(format!("`tools/list` was answered with {response}"));
        };
        let named = tools
            .iter()
            .filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), tool.clone())));
        offer.extend(named);
        match &result["nextCursor"] {
            Value::String(cursor) => params = json!({ "cursor": cursor }),
            _ => break,
        }
    }
    Ok(offer)
}

/// What a subject's server lacks of the tools that it is to have: the contract's, or those that the adapter names.
///
/// # Errors
/// When it does not start or answer.
pub fn lacking(subject: &Subject) -> Result<Lacking, Stop> {
    let trace = Trace::default();
    let scene = Scene::new(subject, &trace, &[("README.md", "# Library\n")])?;
    let offer = ask(&mut scene.start()?).map_err(crate::judgement::fail)?;
    let wanted = subject.adapter.names(subject.contract);
    let all = wanted.len();
    let names = wanted
        .into_iter()
        .filter(|name| !offer.contains_key(name))
        .collect();
    Ok(Lacking { names, all })
}

/// Tools that a server should have and lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Their names.
    pub names: Vec<String>,
    /// How many it should have.
    pub all: usize,
}
