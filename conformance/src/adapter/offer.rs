//! Lists the tools that a server offers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Subject, client::Client, judgement::Stop, scene::Scene, trace::Trace};

/// Number of pages of a list after which no more are requested.
const MAX_PAGES: usize = 100;

/// Tools of a server, by name, as in its `tools/list`.
pub type Offer = BTreeMap<String, Value>;

/// Requests the list of all tools.
///
/// # Errors
/// If the server does not answer with a list of tools.
pub fn ask(client: &mut Client<'_>) -> Result<Offer, String> {
    let (mut offer, mut params) = (Offer::new(), json!({}));
    for _ in 0..MAX_PAGES {
        let response = client.request("tools/list", params).map_err(|error| error.to_string())?;
        let result = &response["result"];
        let Some(tools) = result["tools"].as_array() else {
            return Err(format!("`tools/list` was answered with {response}"));
        };
        let named = tools.iter().filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), tool.clone())));
        offer.extend(named);
        match &result["nextCursor"] {
            Value::String(cursor) => params = json!({ "cursor": cursor }),
            _ => break,
        }
    }
    Ok(offer)
}

/// Returns the required tools that the server lacks: of the contract's, or of those that the adapter names.
pub fn lacking(subject: &Subject) -> Result<MissingTools, Stop> {
    let trace = Trace::default();
    let scene = Scene::new(subject, &trace, &[("README.md", "# Library\n")])?;
    let offer = ask(&mut scene.start()?).map_err(crate::judgement::fail)?;
    let wanted = subject.adapter.names(subject.contract);
    let all = wanted.len();
    let names = wanted.into_iter().filter(|name| !offer.contains_key(name)).collect();
    Ok(MissingTools { names, all })
}

/// Required tools that a server lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTools {
    /// Names of the missing tools.
    pub names: Vec<String>,
    /// Number of required tools.
    pub all: usize,
}
