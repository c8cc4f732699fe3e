//! Checks of a note's content and metadata in a request.

use serde_json::{Map, Value};
use tabellion_contracts::brainforge::{ToolError, WORKFLOW_AGENT_NOTE_REVIEW};
use tabellion_notes::KEPT_KEYS;
use tabellion_runtime::{KnownCaller, spec::CallerKind, text};

use super::values::{invalid, is_tag};

/// Maximum bytes of a note's content.
const MAX_CONTENT_BYTES: usize = 1 << 20;
/// Maximum bytes of metadata as JSON.
const MAX_METADATA_BYTES: usize = 16 << 10;
/// Maximum bytes of the metadata of an agent's link.
const MAX_AGENT_LINK_BYTES: usize = 1 << 10;
/// Keys that claim approval, and keys that claim it if their value is the name of a review's state. Tools set neither.
const DECISION_KEYS: [&str; 5] = ["approved", "approved_by", "approved_at", "reviewed", "reviewer"];
const STATE_KEYS: [&str; 5] = ["status", "state", "review", "review_status", "review_state"];
/// Names in answers that are no keys of front matter. A value of such a key would have no effect on the answers.
const ANSWERED_KEYS: [&str; 11] = [
    "note_id",
    "note_type",
    "updated_at",
    "path",
    "content",
    "metadata",
    "excerpt",
    "similarity_score",
    "new_version",
    "previous_version",
    "review_workflow_id",
];
/// Keys with a meaning that callers set. Beside one, a second spelling of it would have no effect.
const FREE_KEYS: [&str; 4] = ["title", "tags", "source", "sensitive"];
/// Maximum number of tags, and of characters of one.
const MAX_TAGS: usize = 10;
const MAX_TAG_CHARS: usize = 100;
/// Maximum characters of other texts.
const MAX_TITLE_CHARS: usize = 200;
const MAX_SOURCE_CHARS: usize = 2000;

/// Checks content: its size, and that it does not begin with front matter.
pub(super) fn check_content(content: &str) -> Result<(), ToolError> {
    if content.len() > MAX_CONTENT_BYTES {
        let message = format!(
            "`content` has {} bytes, and at most {MAX_CONTENT_BYTES} are allowed; divide it into several notes",
            content.len()
        );
        return Err(invalid("too_large", message));
    }
    // Rendering a note reports the same error, but only once a proposal is published.
    tabellion_notes::render(&tabellion_notes::Metadata::default(), content)
        .map(drop)
        .map_err(|error| invalid("front_matter", error.to_string()))
}

/// Checks metadata of a note that has so many tags: its size, that no key is reserved for tools or a second spelling of one with a meaning, and that values are valid.
pub(super) fn check_metadata(metadata: &Map<String, Value>, has_tags: usize) -> Result<(), ToolError> {
    check_size(metadata, MAX_METADATA_BYTES)?;
    for (key, value) in metadata {
        let spelled = FREE_KEYS.iter().find(|free| text::reading(free) == text::reading(key));
        let advice = match spelled {
            Some(free) if free == key => continue,
            Some(free) => format!("write it `{free}`"),
            None if is_kept(key, value) => {
                "it reads like what the server says of a note; leave it out".to_owned()
            }
            None => continue,
        };
        let message = format!("`metadata.{key}` can't be set: {advice}");
        return Err(invalid("immutable", message).with("key", key.as_str()));
    }
    for (key, max) in [("title", MAX_TITLE_CHARS), ("source", MAX_SOURCE_CHARS)] {
        match metadata.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(value))
                if value.chars().count() <= max && (value.trim().is_empty() || !text::is_blank(value)) => {}
            Some(_) => {
                let message = format!(
                    "`metadata.{key}` is a text of at most {max} characters, one of which is visible"
                );
                return Err(invalid("metadata", message).with("key", key));
            }
        }
    }
    let is_tag =
        |tag: &Value| tag.as_str().is_some_and(|tag| is_tag(tag) && tag.chars().count() <= MAX_TAG_CHARS);
    let max_tags = MAX_TAGS.max(has_tags);
    match metadata.get("tags") {
        None | Some(Value::Null) => {}
        Some(Value::Array(tags)) if tags.len() <= max_tags && tags.iter().all(is_tag) => {}
        Some(_) => {
            let message = format!(
                "`metadata.tags` is a list of at most {max_tags} tags of at most {MAX_TAG_CHARS} characters each; a blank and `#` alone are none"
            );
            return Err(invalid("metadata", message).with("key", "tags"));
        }
    }
    match metadata.get("sensitive") {
        None | Some(Value::Null | Value::Bool(_)) => Ok(()),
        Some(_) => Err(invalid("metadata", "`metadata.sensitive` is true or false").with("key", "sensitive")),
    }
}

/// Returns true for metadata that resembles values set by tools, or claims approval. A person who skims a note takes `Reviewed-By` and
/// `status: approved` for the server's word.
fn is_kept(key: &str, value: &Value) -> bool {
    let key = text::reading(key);
    let reads_like = |other: &&str| text::reading(other) == key;
    if KEPT_KEYS.iter().chain(&ANSWERED_KEYS).chain(&DECISION_KEYS).any(reads_like) {
        return true;
    }
    let says = value.as_str().map(text::reading).unwrap_or_default();
    STATE_KEYS.iter().any(reads_like)
        && WORKFLOW_AGENT_NOTE_REVIEW.states.iter().any(|state| text::reading(state.name) == says)
}

/// Checks metadata of a link. Agents' links are not reviewed, so their metadata is limited: it cannot hold a note's text.
pub(super) fn check_link_metadata(
    metadata: &Map<String, Value>,
    caller: &KnownCaller,
) -> Result<(), ToolError> {
    if caller.kind == CallerKind::Human {
        return check_size(metadata, MAX_METADATA_BYTES);
    }
    check_size(metadata, MAX_AGENT_LINK_BYTES)?;
    match metadata.iter().find(|(_, value)| value.is_array() || value.is_object()) {
        None => Ok(()),
        Some((key, _)) => {
            let message =
                format!("`metadata.{key}` of a link by an agent is a text, a number, true, false or null");
            Err(invalid("metadata", message).with("key", key.as_str()))
        }
    }
}

fn check_size(metadata: &Map<String, Value>, max: usize) -> Result<(), ToolError> {
    let bytes = serde_json::to_vec(metadata).map_or(usize::MAX, |json| json.len());
    if bytes <= max {
        return Ok(());
    }
    let message = format!("`metadata` has {bytes} bytes as JSON, and at most {max} are allowed");
    Err(invalid("too_large", message))
}
