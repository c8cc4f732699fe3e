//! Finds out how the server reads: the form of paths, and the position of the text in its response.

use serde_json::Value;
use tabellion_runtime::{pointer, spec::EffectKind};

use super::{listing::toml, role::WantedEffect};
use crate::{
    Subject,
    adapter::{offer::Offer, parse::FILL_IN, smoke::DOCUMENT},
    client::Client,
    judgement::Stop,
    reply,
    scene::Scene,
};

/// Findings of a call of the reading tool.
pub(super) struct ReadProbe {
    /// Template of a document's path.
    pub(super) path: &'static str,
    /// Source of its text in the response, as TOML.
    pub(super) source: String,
}

/// Calls the guessed reading tool with each form of path, and finds the text in the response.
pub(super) fn reading(
    subject: &Subject,
    offer: &Offer,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
) -> Result<Option<ReadProbe>, Stop> {
    let mut tools = subject.contract.operations();
    let read = tools.clone().flat_map(|tool| tool.effects).find(|effect| effect.kind == EffectKind::Read);
    let Some(effect) = read else {
        return Ok(None);
    };
    let absolute = scene.path("notes/plan.md").to_string_lossy().into_owned();
    let pointer = tools.find_map(|tool| tool.path);
    let holes = [
        ("notes/plan.md", format!("{{{}}}", pointer.unwrap_or_default())),
        (&*absolute, "{absolute}".to_owned()),
    ];
    for (path, given) in [("{path}", "notes/plan.md"), ("{absolute}", &absolute)] {
        let wanted = WantedEffect {
            kind: effect.kind,
            content: effect.content.unwrap_or_default(),
            target: None,
            path: given,
            previews: false,
        };
        let Some(entry) = wanted.entry(offer) else {
            return Ok(None);
        };
        if entry.arguments.contains(FILL_IN) {
            return Ok(None);
        }
        let arguments = format!("arguments = {}", entry.arguments);
        let arguments: toml::Table = arguments.parse().map_err(|error| Stop::Harness(format!("{error}")))?;
        let params = serde_json::json!({ "name": entry.name, "arguments": arguments["arguments"] });
        let message = client.request("tools/call", params)?;
        if let Some(source) = source(&message["result"], &holes) {
            return Ok(Some(ReadProbe { path, source }));
        }
    }
    Ok(None)
}

/// Returns the source of the document's text in a result, as TOML; `holes` stand for names of members.
fn source(result: &Value, holes: &[(&str, String)]) -> Option<String> {
    if let Some(pointer) = find(&result["structuredContent"], "/structuredContent", holes) {
        return Some(format!("{{ at = {} }}", toml(&pointer.into())));
    }
    let text = reply::text(result);
    if text == DOCUMENT {
        return Some("{ text = true }".to_owned());
    }
    let json: Value = serde_json::from_str(&text).ok()?;
    find(&json, "", holes).map(|pointer| format!("{{ json = {} }}", toml(&pointer.into())))
}

/// Returns a pointer to the document's text in `value`, which is at `at`.
fn find(value: &Value, at: &str, holes: &[(&str, String)]) -> Option<String> {
    match value {
        Value::String(text) if text == DOCUMENT => Some(at.to_owned()),
        Value::Object(members) => {
            let mut members = members.iter();
            members.find_map(|(name, value)| {
                let hole = holes.iter().find(|(known, _)| known == name);
                let at = match hole {
                    Some((_, hole)) => format!("{at}/{hole}"),
                    None => pointer::push(at, &name.replace('{', "{{").replace('}', "}}")),
                };
                find(value, &at, holes)
            })
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(number, item)| find(item, &format!("{at}/{number}"), holes))
        }
        _ => None,
    }
}
