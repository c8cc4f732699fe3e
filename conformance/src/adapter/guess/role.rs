//! Guesses which tool could have an effect, and with which arguments.

use serde_json::Value;
use tabellion_runtime::spec::EffectKind;

use super::listing::{key, kind, opens, resolved, toml};
use crate::adapter::{offer::Offer, parse::FILL_IN};

/// Words in names of arguments and tools, by purpose.
const PATHS: &[&str] = &["path", "file", "filename", "filepath", "note", "uri", "name", "document"];
const CONTENTS: &[&str] = &["content", "contents", "text", "body", "data", "markdown"];
const OLDS: &[&str] = &["old", "search", "find", "from", "target"];
const NEWS: &[&str] = &["new", "replace", "replacement", "to", "with"];
const HEADINGS: &[&str] = &["heading", "section", "anchor", "target"];
pub(super) const NOUNS: &[&str] =
    &["file", "files", "note", "notes", "markdown", "md", "document", "documents", "text", "content"];
const HASHES: &[&str] = &["hash", "sha256", "checksum", "etag"];
const STARTS: &[&str] = &["start", "from", "first"];
const ENDS: &[&str] = &["end", "to", "last"];
const LINES: &[&str] = &["line", "lineno"];
const PAGES: &[&str] = &["cursor", "offset", "page"];
const DRY_RUNS: &[&str] = &["dry", "preview", "simulate"];

/// A call of the server's tool.
#[derive(PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Arguments as TOML.
    pub(super) arguments: String,
    /// Comment for the person who verifies the draft.
    pub(super) comment: Option<&'static str>,
}

impl Entry {
    pub(super) fn lines(&self) -> String {
        let comment = self.comment.map_or_else(String::new, |comment| format!("# {comment}\n"));
        format!("{comment}name = {}\narguments = {}\n", toml(&self.name.as_str().into()), self.arguments)
    }
}

/// An effect for which to find a tool.
pub(super) struct WantedEffect<'a> {
    pub(super) kind: EffectKind,
    /// Pointer to the text in the request.
    pub(super) content: &'a str,
    pub(super) target: Option<&'a str>,
    /// Template of a path.
    pub(super) path: &'a str,
    pub(super) previews: bool,
}

impl WantedEffect<'_> {
    /// Returns the best guess. The whole document is written only if the server has no tool for a part of it.
    pub(super) fn entry(&self, offer: &Offer) -> Option<Entry> {
        let ways = self.ways();
        let is_whole = |way: &ToolRole| way.whole && self.kind != EffectKind::Write;
        let finer = |way: &&ToolRole| !is_whole(way) && way.is_edit;
        let has_finer = || {
            [APPENDS, SECTIONS].concat().iter().filter(finer).any(|way| self.best(offer, &[*way]).is_some())
        };
        let (entry, way) = self.best(offer, ways)?;
        if !is_whole(&way) || !has_finer() {
            return Some(entry);
        }
        let parts: Vec<_> = ways.iter().filter(|way| !is_whole(way)).copied().collect();
        Some(self.best(offer, &parts)?.0)
    }

    /// Returns the guesses for a document that does not exist and for one that exists, if a server has different tools for
    /// them.
    pub(super) fn entries_by_state(&self, offer: &Offer) -> Option<[Entry; 2]> {
        if self.kind != EffectKind::Write || self.best(offer, WRITES).is_some() {
            return None;
        }
        let (new, _) = self.best(offer, CREATES)?;
        let (existing, _) = self.best(offer, OVERWRITES)?;
        Some([Entry { comment: None, ..new }, existing])
    }

    fn best(&self, offer: &Offer, ways: &[ToolRole]) -> Option<(Entry, ToolRole)> {
        let candidates = offer.iter().flat_map(|(name, tool)| {
            ways.iter().enumerate().filter_map(move |(number, way)| {
                let score = score(name, way.verbs)? - 4 * i32::try_from(number).unwrap_or(i32::MAX / 8);
                let arguments = self.arguments(&tool["inputSchema"], way)?;
                Some((score, name, arguments, way))
            })
        });
        let best = candidates.max_by_key(|(score, name, ..)| (*score, std::cmp::Reverse(name.len())))?;
        let (_, name, arguments, way) = best;
        let entry =
            Entry { name: name.clone(), arguments, comment: way.comment.or(self.remark(&offer[name])) };
        Some((entry, *way))
    }

    /// Returns a remark on properties of the tool that its arguments cannot show.
    fn remark(&self, tool: &Value) -> Option<&'static str> {
        let names = tool["inputSchema"]["properties"].as_object()?.keys();
        let mut words = names.flat_map(|name| words(name));
        let is_paged = self.kind == EffectKind::Read && words.any(|word| PAGES.contains(&&*word));
        is_paged.then_some(
            "It may answer in pages: then fill its argument with `{next}`, and say with `next` where a page tells it.",
        )
    }

    /// Returns the kinds of tools that could have the effect, the best first.
    fn ways(&self) -> &'static [ToolRole] {
        match self.kind {
            EffectKind::Read => READS,
            EffectKind::Delete => DELETES,
            EffectKind::Write => ANY_WRITES,
            EffectKind::Append => APPENDS,
            EffectKind::Prepend => PREPENDS,
            EffectKind::ReplaceSection | EffectKind::InsertBefore | EffectKind::InsertAfter => SECTIONS,
            // No common tool name suggests these effects.
            EffectKind::AppendLine
            | EffectKind::ReadSection
            | EffectKind::InsertSection
            | EffectKind::UpdateSection
            | EffectKind::DeleteSection
            | EffectKind::MoveSection
            | EffectKind::Undo
            | EffectKind::Redo => &[],
        }
    }

    /// Returns the arguments as TOML; `None` if the tool cannot have the effect.
    fn arguments(&self, schema: &Value, way: &ToolRole) -> Option<String> {
        let mut seen = ToolArguments::default();
        let made = self.object(schema, schema, way, &mut seen)?;
        let whole = (!way.path || seen.path) && (way.needs)(&seen) && (!self.previews || seen.dry_run);
        whole.then_some(made)
    }

    fn object<'a>(
        &self,
        schema: &'a Value,
        root: &'a Value,
        way: &ToolRole,
        seen: &mut ToolArguments<'a>,
    ) -> Option<String> {
        if !opens(schema, &seen.around) {
            return None;
        }
        seen.around.push(schema);
        let members = self.members(schema, root, way, seen);
        seen.around.pop();
        members
    }

    fn members<'a>(
        &self,
        schema: &'a Value,
        root: &'a Value,
        way: &ToolRole,
        seen: &mut ToolArguments<'a>,
    ) -> Option<String> {
        let properties = schema["properties"].as_object()?;
        if let (1, Some((name, property))) = (properties.len(), properties.iter().next()) {
            let property = resolved(property, root);
            // The only argument holds all of them.
            if property["properties"].is_object() {
                let object = self.object(property, root, way, seen)?;
                return Some(format!("{{ {} = {object} }}", key(name)));
            }
        }
        let required =
            |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
        let mut members = Vec::new();
        for (name, property) in properties {
            let property = resolved(property, root);
            if let Some(value) = self.value(name, property, root, required(name), way, seen) {
                members.push(format!("{} = {value}", key(name)));
            }
        }
        Some(format!("{{ {} }}", members.join(", ")))
    }

    /// Returns the TOML for one argument; `None` to omit it.
    fn value<'a>(
        &self,
        name: &str,
        property: &'a Value,
        root: &'a Value,
        required: bool,
        way: &ToolRole,
        seen: &mut ToolArguments<'a>,
    ) -> Option<String> {
        let words = words(name);
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let kind = kind(property);
        let text = kind == Some("string");
        let effect = self.kind.to_string();
        let synonyms = match self.kind {
            EffectKind::Write => MODES_OF_WHOLE,
            _ if way.whole => MODES_OF_WHOLE,
            _ => &[effect.as_str()][..],
        };
        let modes = property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(mode) = modes.into_iter().find(|mode| synonyms.contains(&&*mode.replace('-', "_"))) {
            seen.mode = true;
            return Some(toml(&mode.into()));
        }
        if property.get("enum").is_some() && !required {
            return None;
        }
        if text && way.old_and_new && !seen.old && has(OLDS) {
            seen.old = true;
            return Some(toml(&"{old}".into()));
        }
        if text && way.old_and_new && has(NEWS) {
            seen.new = true;
            return Some(toml(&"{new}".into()));
        }
        if text && self.target.is_some() && !way.old_and_new && has(HEADINGS) {
            seen.heading = true;
            return self.target.map(|target| toml(&format!("{{{target}}}").into()));
        }
        if text && !way.old_and_new && has(CONTENTS) && !seen.content && self.kind != EffectKind::Read {
            seen.content = true;
            let value = if way.whole { "{content}".to_owned() } else { format!("{{{}}}", self.content) };
            return Some(toml(&value.into()));
        }
        if text && required && has(HASHES) {
            return Some(toml(&"{sha256}".into()));
        }
        if text && has(PATHS) && (required || !seen.path) {
            seen.path = true;
            return Some(toml(&self.path.into()));
        }
        let is_plural = |word: &String| word.strip_suffix('s').is_some_and(|one| PATHS.contains(&one));
        if kind == Some("array") && !seen.path && words.iter().any(is_plural) {
            let items = resolved(&property["items"], root);
            if items["type"] == "string" {
                seen.path = true;
                return Some(toml(&vec![self.path].into()));
            }
        }
        if kind == Some("boolean") && has(DRY_RUNS) {
            seen.dry_run = self.previews;
            return self.previews.then(|| "true".to_owned());
        }
        if kind == Some("boolean") && words.iter().any(|word| word == "confirm" || word == "confirmed") {
            return Some("true".to_owned());
        }
        if kind == Some("array")
            && (way.old_and_new || required)
            && resolved(&property["items"], root).get("properties").is_some()
        {
            let item = self.object(resolved(&property["items"], root), root, way, seen)?;
            return Some(format!("[{item}]"));
        }
        if kind == Some("integer") && way.old_and_new && has(LINES) && (has(STARTS) || has(ENDS)) {
            let hole = if has(STARTS) { "{old_start_line}" } else { "{old_end_line}" };
            return Some(toml(&hole.into()));
        }
        if kind == Some("integer") && required && has(STARTS) {
            return Some("1".to_owned());
        }
        required.then(|| toml(&format!("{FILL_IN}: {}", kind.unwrap_or("a value")).into()))
    }
}

/// A kind of tool that could have an effect.
#[derive(Clone, Copy)]
struct ToolRole {
    verbs: &'static [&'static str],
    /// True if the tool needs a path.
    path: bool,
    /// True if the tool replaces one text by another.
    old_and_new: bool,
    /// True if the tool writes the whole document.
    whole: bool,
    /// True if the tool is about a part of a document.
    is_edit: bool,
    needs: fn(&ToolArguments<'_>) -> bool,
    comment: Option<&'static str>,
}

/// Purposes for which a tool has an argument.
#[derive(Debug, Default)]
struct ToolArguments<'a> {
    /// The objects that are being drafted, each inside of the one before.
    around: Vec<&'a Value>,
    path: bool,
    content: bool,
    old: bool,
    new: bool,
    heading: bool,
    mode: bool,
    dry_run: bool,
}

const fn way(verbs: &'static [&'static str], needs: fn(&ToolArguments<'_>) -> bool) -> ToolRole {
    ToolRole { verbs, path: true, old_and_new: false, whole: false, is_edit: false, needs, comment: None }
}

const EDITS: &[&str] = &["edit", "patch", "replace", "update", "modify"];
const WRITE: &[&str] = &["write", "save", "put", "overwrite", "update"];
const CREATE: &[&str] = &["create", "add", "new"];
/// Values of an argument that mean to write the whole document.
const MODES_OF_WHOLE: &[&str] = &["write", "overwrite", "replace"];
const EDIT: ToolRole =
    ToolRole { old_and_new: true, is_edit: true, ..way(EDITS, |seen| seen.old && seen.new) };
const WHOLE: ToolRole = ToolRole {
    whole: true,
    comment: Some(
        "Writes the whole document: a concurrent change is overwritten by the client, not lost by the server.",
    ),
    ..way(WRITE, |seen| seen.content)
};
const BY_MODE: ToolRole = ToolRole {
    is_edit: true,
    ..way(&["write", "save", "put", "edit", "patch", "update", "modify"], |seen| seen.content && seen.mode)
};
const READS: &[ToolRole] = &[way(&["read", "get", "open", "view", "fetch", "cat"], |_| true)];
const DELETES: &[ToolRole] = &[way(&["delete", "remove", "trash"], |_| true)];
const WRITES: &[ToolRole] = &[way(WRITE, |seen| seen.content)];
const OVERWRITES: &[ToolRole] = &[way(EDITS, |seen| seen.content && seen.mode)];
const CREATES: &[ToolRole] = &[ToolRole {
    comment: Some(
        "If it refuses a document that exists, make this table `new`, and map another tool as `existing`.",
    ),
    ..way(CREATE, |seen| seen.content)
}];
const ANY_WRITES: &[ToolRole] = &[WRITES[0], OVERWRITES[0], CREATES[0]];
const APPENDS: &[ToolRole] =
    &[ToolRole { is_edit: true, ..way(&["append"], |seen| seen.content) }, BY_MODE, EDIT, WHOLE];
const PREPENDS: &[ToolRole] = &[way(&["prepend"], |seen| seen.content), BY_MODE, EDIT, WHOLE];
const SECTIONS: &[ToolRole] = &[way(EDITS, |seen| seen.content && seen.heading && seen.mode), EDIT, WHOLE];

/// Returns the score of a tool's name, higher for a better fit; `None` if it contains none of the verbs.
fn score(name: &str, verbs: &[&str]) -> Option<i32> {
    let words = words(name);
    let verb = verbs.iter().position(|verb| words.iter().any(|word| word == verb))?;
    let others = words.iter().filter(|word| !verbs.contains(&word.as_str()));
    let nouns = others.clone().filter(|word| NOUNS.contains(&word.as_str())).count();
    let strange = others.count() - nouns;
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX / 8);
    Some(20 - number(verb) + number(nouns.min(1)) - 3 * number(strange))
}

/// Returns the words of a name such as `readTextFile` or `read-text-file`, in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::listing, *};

    #[test]
    fn a_part_is_edited_by_a_tool_for_parts() {
        let text = json!({ "type": "string" });
        let tool = |name: &str, arguments: &[&str]| {
            let properties: serde_json::Map<_, _> =
                arguments.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
            (name.to_owned(), json!({ "name": name, "inputSchema": { "properties": properties } }))
        };
        let write = tool("write_note", &["path", "text"]);
        let replace = tool("replace_in_note", &["path", "old_text", "new_text"]);
        for (offer, kind, expected) in [
            (Offer::from([write.clone()]), EffectKind::Prepend, "write_note"),
            (Offer::from([write.clone(), replace.clone()]), EffectKind::Prepend, "replace_in_note"),
            (Offer::from([write.clone(), replace.clone()]), EffectKind::ReplaceSection, "replace_in_note"),
            (Offer::from([write, replace]), EffectKind::Write, "write_note"),
        ] {
            let wanted = WantedEffect { kind, content: "/content", target: None, path: "P", previews: false };
            assert_eq!(wanted.entry(&offer).expect("a guess").name, expected, "{kind}");
        }
    }

    #[test]
    fn arguments_are_drafted_from_their_names() {
        let text = || json!({ "type": "string" });
        let paths = json!({ "paths": { "type": "array", "items": text() } });
        let change = json!({
            "path": text(), "start_line": { "type": "integer" }, "search_pattern": text(), "replace_content": text(),
        });
        let changes =
            json!({ "changes": { "type": "array", "items": { "type": "object", "properties": change } } });
        let tree = json!({ "changes": { "type": "array", "items": { "type": "object", "properties": {
            "path": text(), "search": text(), "replace": text(),
            "then": { "type": "array", "items": { "$ref": "#/properties/changes/items" } },
        } } } });
        let lines = json!({
            "filepath": text(), "old": text(), "new": text(),
            "fromLine": { "type": "integer" }, "toLine": { "type": "integer" },
        });
        let cases = [
            ("read_content", EffectKind::Read, &paths, r#"{ paths = ["P"] }"#),
            ("delete_items", EffectKind::Delete, &paths, r#"{ paths = ["P"] }"#),
            (
                "edit_file",
                EffectKind::Append,
                &changes,
                r#"{ changes = [{ path = "P", replace_content = "{new}", search_pattern = "{old}", start_line = "{old_start_line}" }] }"#,
            ),
            (
                "edit_tree",
                EffectKind::Append,
                &tree,
                r#"{ changes = [{ path = "P", replace = "{new}", search = "{old}" }] }"#,
            ),
            (
                "edit_lines",
                EffectKind::ReplaceSection,
                &lines,
                r#"{ filepath = "P", fromLine = "{old_start_line}", new = "{new}", old = "{old}", toLine = "{old_end_line}" }"#,
            ),
        ];
        for (tool, kind, properties, expected) in cases {
            let schema =
                json!({ "type": "object", "properties": properties, "required": ["paths", "changes"] });
            let offer = Offer::from([(tool.to_owned(), json!({ "name": tool, "inputSchema": schema }))]);
            let wanted = WantedEffect { kind, content: "/content", target: None, path: "P", previews: false };
            let members = |text: &str| {
                let table: toml::Table = format!("x = {text}").parse().expect("TOML");
                table
            };
            let entry = wanted.entry(&offer).expect("a guess");
            assert_eq!(members(&entry.arguments), members(expected), "{tool}");
            assert!(listing::tools(&offer).contains(tool));
        }
    }
}
