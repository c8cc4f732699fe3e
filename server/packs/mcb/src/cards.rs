//! Rows as cards for people: the newest, or those around the best match, read by the contract's own tools.

use serde_json::{Value, json};
use tabellion_contracts::mcb::tool;
use tabellion_pack::cards::{Card, CardsError, Rows};
use tabellion_runtime::{CallContext, Contract, ErrorAnswer, Rejection};

/// Maximum number of cards.
const LIMIT: usize = 100;
/// Observations before and after the best match.
const AROUND: usize = 12;

/// Refusal of a tool.
struct Refusal {
    message: String,
    is_not_found: bool,
}

impl From<Refusal> for CardsError {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.message)
    }
}

/// Returns cards of the rows that `call` may see: the newest, or observations around the best match of `query`.
///
/// # Errors
/// That of the tool. A query without a match is not an error.
pub(super) async fn cards(
    contract: &dyn Contract,
    call: &CallContext,
    rows: Rows,
    query: Option<&str>,
) -> Result<Vec<Card>, CardsError> {
    let read = async |name: &str, arguments: Value| match contract.call(call, name, arguments).await {
        Ok(answer) => Ok(answer.response),
        Err(Rejection::Declared(ErrorAnswer { message, data, .. })) => {
            Err(Refusal { is_not_found: data.get("rule").is_some_and(|rule| rule == "not_found"), message })
        }
        Err(other) => {
            Err(Refusal { is_not_found: false, message: format!("a defect of this program: {other:?}") })
        }
    };
    match (rows, query) {
        (Rows::Observations, None) => {
            let newest = json!({ "action": "list", "resource": "observation", "limit": LIMIT });
            let found = read(tool::MEMORY, newest).await?;
            Ok(list(&found, "results").map(|it| card(it, "content_preview", "observation_type")).collect())
        }
        (Rows::Observations, Some(query)) => {
            let around = json!({
                "action": "timeline", "resource": "observation", "query": query, "depth_before": AROUND, "depth_after": AROUND
            });
            let found = match read(tool::MEMORY, around).await {
                Err(error) if error.is_not_found => return Ok(vec![]),
                found => found?,
            };
            let best = &found["anchor_id"];
            let cards = list(&found, "timeline").map(|it| Card {
                best: it["observation_id"] == *best,
                ..card(it, "content", "observation_type")
            });
            Ok(cards.collect())
        }
        (Rows::Sessions, _) => {
            let found = read(tool::SESSION, json!({ "action": "list", "limit": LIMIT })).await?;
            Ok(list(&found, "sessions").map(|it| card(it, "session_summary", "status")).collect())
        }
        (Rows::Issues, _) => {
            let projects = json!({ "action": "list", "resource": tool::PROJECT, "project_id": "*" });
            let projects = read(tool::PROJECT, projects).await?;
            let mut cards = vec![];
            for project in list(&projects, "items") {
                let Some(id) = project["id"].as_str() else {
                    continue;
                };
                let name = project["name"].as_str().unwrap_or(id);
                let issues = json!({ "action": "list", "resource": "issue", "project_id": id });
                let issues = read(tool::PROJECT, issues).await?;
                cards.extend(list(&issues, "items").map(|issue| {
                    let mut card = card(issue, "description", "status");
                    card.facts.insert(0, name.to_owned());
                    card
                }));
            }
            Ok(cards)
        }
        (Rows::Collections, _) => {
            let found = read(tool::INDEX, json!({ "action": "status" })).await?;
            Ok(list(&found, "collections").map(|it| card(it, "error", "status")).collect())
        }
    }
}

fn list<'v>(answer: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    answer[name].as_array().into_iter().flatten()
}

fn card(row: &Value, text: &str, state: &str) -> Card {
    let string = |name: &str| row[name].as_str().map(str::to_owned);
    let text = string(text).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default().to_owned();
    let names = ["title", "name", "collection", "topic", "agent_type"];
    let title = names.iter().find_map(|name| string(name));
    let time = ["created_at", "started_at", "updated_at", "last_indexed_at"];
    let time = time.iter().find_map(|name| row[*name].as_i64());
    let tags = row["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let shown = [
        "session_id",
        "file_path",
        "priority",
        "issue_type",
        "model",
        "files_indexed",
        "files_total",
        "chunks",
        "vectors_done",
    ];
    let facts = shown.iter().filter_map(|name| match &row[*name] {
        Value::String(text) if !text.is_empty() => Some(format!("{}: {text}", name.replace('_', " "))),
        Value::Number(number) => Some(format!("{}: {number}", name.replace('_', " "))),
        _ => None,
    });
    Card {
        text: if title.is_some() {
            text
        } else {
            text.get(first.len()..).unwrap_or_default().trim().to_owned()
        },
        title: title.unwrap_or(first),
        state: string(state).unwrap_or_default(),
        seconds: time,
        facts: tags.chain(facts).collect(),
        best: false,
    }
}
