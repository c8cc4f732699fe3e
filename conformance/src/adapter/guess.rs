//! Drafts an adapter: matches a server's tools to the contract's by their names and arguments.
//!
//! Calls only the tool that is guessed to read documents, on a temporary library, to find the form of paths and the
//! location of the text.

use std::fmt::Write;

use serde_json::Value;
use tabellion_runtime::{ToolSpec, pointer, spec::EffectKind};

use super::{
    doing,
    offer::{self, Offer},
    smoke::DOCUMENT,
};
use crate::{Subject, client::Client, judgement::Stop, probe::Identity, reply, scene::Scene, trace::Trace};

/// Words in names of arguments and tools, by purpose.
const PATHS: &[&str] = &[
    "path", "file", "filename", "filepath", "note", "uri", "name", "document",
];
const CONTENTS: &[&str] = &["content", "contents", "text", "body", "data", "markdown"];
const OLDS: &[&str] = &["old", "search", "find", "from", "target"];
const NEWS: &[&str] = &["new", "replace", "replacement", "to", "with"];
const HEADINGS: &[&str] = &["heading", "section", "anchor", "target"];
const NOUNS: &[&str] = &[
    "file",
    "files",
    "note",
    "notes",
    "markdown",
    "md",
    "document",
    "documents",
    "text",
    "content",
];
const DRY_RUNS: &[&str] = &["dry", "preview", "simulate"];

/// A call of the server's tool.
#[derive(PartialEq)]
struct Entry {
    name: String,
    /// Arguments as TOML.
    arguments: String,
    /// Comment about what to verify, for people.
    comment: Option<&'static str>,
}

impl Entry {
    fn lines(&self) -> String {
        let comment = self
            .comment
            .map_or_else(String::new, |comment| format!("# {comment}\n"));
        format!(
            "{comment}name = {}\narguments = {}\n",
            toml(&self.name.as_str().into()),
            self.arguments
        )
    }
}

/// Findings of a call of the reading tool.
struct ReadProbe {
    /// Template of a document's path.
    path: &'static str,
    /// Source of its text in the response, as TOML.
    source: String,
}

/// Returns the TOML of an adapter for the subject's server.
///
/// # Errors
/// If the server does not start or list its tools, or the disk or git fails.
pub fn draft(subject: &Subject, identity: Option<&Identity>) -> Result<String, Stop> {
    let trace = Trace::default();
    let scene = Scene::new(subject, &trace, &[("notes/plan.md", DOCUMENT)])?;
    let mut client = scene.start()?;
    let offer = offer::ask(&mut client).map_err(crate::judgement::fail)?;
    let reading = reading(subject, &offer, &scene, &mut client)?;
    let path = reading.as_ref().map_or("{path}", |reading| reading.path);
    let mut toml = head(subject, identity);
    for tool in subject.contract.tools {
        let section = section(subject, tool, &offer, path, reading.as_ref());
        toml.push_str(&section);
    }
    let names: Vec<_> = offer.keys().map(String::as_str).collect();
    let _ = write!(toml, "\n# The server's tools: {}\n", names.join(", "));
    Ok(toml)
}

fn head(subject: &Subject, identity: Option<&Identity>) -> String {
    let launch = &subject.launch;
    let name = identity.map_or(&subject.name, |identity| &identity.name);
    let mut head = "# A draft: look at each entry, then try it with `tabellion-conformance smoke --adapter FILE`.\n\
        # Values: {/a/b} from the request, {library}, {absolute} path, {old} text and {new} text of an edit, {content}: the\n\
        # whole document after it.\n\n[server]\n"
        .to_owned();
    let mut say = |key: &str, value: Value| {
        let _ = writeln!(head, "{key} = {}", toml(&value));
    };
    say("name", name.as_str().into());
    if let Some(version) = identity
        .map(|identity| &identity.version)
        .filter(|version| !version.is_empty())
    {
        say("version", version.as_str().into());
    }
    say("contract", subject.contract.id.into());
    say("command", launch.command.clone().into());
    for (name, value) in &launch.environment {
        say(&format!("environment.{}", key(name)), value.as_str().into());
    }
    head
}

/// Returns the entry of a tool as TOML; a comment if nothing is guessed.
fn section(
    subject: &Subject,
    tool: &'static ToolSpec,
    offer: &Offer,
    path: &str,
    reading: Option<&ReadProbe>,
) -> String {
    if offer.contains_key(tool.name) {
        return same(tool);
    }
    let does = doing(subject.contract, tool);
    let path = path.replace("{path}", &format!("{{{}}}", tool.path.unwrap_or_default()));
    let guesses = does.effects.iter().map(|effect| {
        let wanted = WantedEffect {
            kind: effect.kind,
            content: effect.content.unwrap_or_default(),
            target: effect.target,
            path: &path,
            previews: does.name != tool.name,
        };
        (effect.kind, wanted.entry(offer))
    });
    let guesses: Vec<_> = guesses.collect();
    let Some(first) = guesses.iter().find_map(|(_, entry)| entry.as_ref()) else {
        return nothing(tool, offer);
    };
    let mut lines = format!("\n[tools.{}]\n", tool.name);
    let response = response(subject, tool, reading);
    if guesses.iter().all(|(_, entry)| entry.as_ref() == Some(first)) {
        return lines + &first.lines() + &response;
    }
    lines.push_str(&response);
    for (name, entry) in &guesses {
        match entry {
            Some(entry) => {
                let _ = write!(lines, "\n[tools.{}.{name}]\n{}", tool.name, entry.lines());
            }
            None => {
                let _ = write!(lines, "\n# Nothing is guessed for `{name}`.\n");
            }
        }
    }
    lines
}

/// Returns the entry of a tool that the server has under the contract's name.
fn same(tool: &ToolSpec) -> String {
    let members = |schema: &Value, each: &dyn Fn(&str) -> String| {
        let names = schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|all| all.keys());
        let members: Vec<_> = names.map(|name| each(name)).collect();
        members.join(", ")
    };
    let arguments = members(&tool.input.wire(), &|name| {
        format!("{} = \"{{/{name}}}\"", key(name))
    });
    let response = members(&tool.output.wire(), &|name| {
        format!("\"/{name}\" = {{ at = \"/structuredContent/{name}\" }}")
    });
    format!(
        "\n[tools.{0}]\nname = \"{0}\"\narguments = {{ {arguments} }}\nresponse = {{ {response} }}\n",
        tool.name
    )
}

/// Returns the comment for a tool for which nothing is guessed.
fn nothing(tool: &ToolSpec, offer: &Offer) -> String {
    let wanted = words(tool.name);
    let wanted: Vec<_> = wanted
        .iter()
        .filter(|word| !NOUNS.contains(&word.as_str()) && *word != "get")
        .collect();
    let close = offer
        .keys()
        .filter(|name| words(name).iter().any(|word| wanted.contains(&word)));
    let close: Vec<_> = close.map(String::as_str).collect();
    let close = if close.is_empty() {
        "…".to_owned()
    } else {
        close.join(" or ")
    };
    format!(
        "\n# Nothing is guessed for `{0}`: {1}\n# [tools.{0}]\n# name = \"{close}\"\n# arguments = {{}}\n# response = {{}}\n",
        tool.name, tool.description
    )
}

/// Returns the lines that map the response.
fn response(subject: &Subject, tool: &ToolSpec, reading: Option<&ReadProbe>) -> String {
    let mut members = Vec::new();
    let schema = tool.output.wire();
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        let pointer = format!("/{name}");
        let mut effects = tool.effects.iter();
        let mut previews = subject.contract.previews.iter();
        let source =
            if effects.any(|effect| effect.kind == EffectKind::Read && effect.content == Some(&pointer)) {
                reading.map_or("{ text = true }", |reading| &reading.source)
            } else if previews.any(|pair| pair.preview == tool.name && pair.diff == pointer) {
                "{ text = true }"
            } else if schema["properties"][name]["type"] == "boolean" {
                "{ is = true }"
            } else {
                continue;
            };
        members.push(format!("{} = {source}", toml(&pointer.into())));
    }
    let mut lines = format!("response = {{ {} }}\n", members.join(", "));
    if let Some(commit) = tool.commit {
        let _ = writeln!(
            lines,
            "# If it tells the commit, add to the response: \"{commit}\" = {{ at = \"/structuredContent/…\" }}"
        );
    }
    lines
}

/// An effect for which to find a tool.
struct WantedEffect<'a> {
    kind: EffectKind,
    /// Pointer to the text in the request.
    content: &'a str,
    target: Option<&'a str>,
    /// Template of a path.
    path: &'a str,
    previews: bool,
}

impl WantedEffect<'_> {
    /// Returns the best guess.
    fn entry(&self, offer: &Offer) -> Option<Entry> {
        let candidates = offer.iter().flat_map(|(name, tool)| {
            let ways = self.ways();
            ways.iter().enumerate().filter_map(move |(number, way)| {
                let score = score(name, way.verbs)? - 4 * i32::try_from(number).unwrap_or(i32::MAX / 8);
                let arguments = self.arguments(&tool["inputSchema"], way)?;
                Some((score, name, arguments, way.comment))
            })
        });
        let best = candidates.max_by_key(|(score, name, ..)| (*score, std::cmp::Reverse(name.len())))?;
        let (_, name, arguments, comment) = best;
        Some(Entry {
            name: name.clone(),
            arguments,
            comment,
        })
    }

    /// Returns the kinds of tools that could have the effect, the best first.
    fn ways(&self) -> &'static [ToolRole] {
        match self.kind {
            EffectKind::Read => READS,
            EffectKind::Delete => DELETES,
            EffectKind::Write => WRITES,
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
        let made = self.object(schema, way, &mut seen)?;
        let whole = (!way.path || seen.path) && (way.needs)(&seen) && (!self.previews || seen.dry_run);
        whole.then_some(made)
    }

    fn object(&self, schema: &Value, way: &ToolRole, seen: &mut ToolArguments) -> Option<String> {
        let required = |name: &str| {
            schema["required"]
                .as_array()
                .is_some_and(|all| all.iter().any(|it| it == name))
        };
        let mut members = Vec::new();
        for (name, property) in schema["properties"].as_object()? {
            if let Some(value) = self.value(name, property, required(name), way, seen) {
                members.push(format!("{} = {value}", key(name)));
            }
        }
        Some(format!("{{ {} }}", members.join(", ")))
    }

    /// Returns the TOML for one argument; `None` to omit it.
    fn value(
        &self,
        name: &str,
        property: &Value,
        required: bool,
        way: &ToolRole,
        seen: &mut ToolArguments,
    ) -> Option<String> {
        let words = words(name);
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let kind = kind(property);
        let text = kind == Some("string");
        let effect = self.kind.to_string();
        let modes = property["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        if let Some(mode) = modes
            .into_iter()
            .find(|mode| *mode == effect || mode.replace('-', "_") == effect)
        {
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
            let value = if way.whole {
                "{content}".to_owned()
            } else {
                format!("{{{}}}", self.content)
            };
            return Some(toml(&value.into()));
        }
        if text && has(PATHS) && (required || !seen.path) {
            seen.path = true;
            return Some(toml(&self.path.into()));
        }
        if kind == Some("boolean") && has(DRY_RUNS) {
            seen.dry_run = self.previews;
            return self.previews.then(|| "true".to_owned());
        }
        if kind == Some("boolean") && words.iter().any(|word| word == "confirm" || word == "confirmed") {
            return Some("true".to_owned());
        }
        if kind == Some("array") && way.old_and_new && property["items"].get("properties").is_some() {
            let item = self.object(&property["items"], way, seen)?;
            return Some(format!("[{item}]"));
        }
        required.then(|| toml(&format!("FILL IN: {}", kind.unwrap_or("a value")).into()))
    }
}

/// A kind of tool that could have an effect.
struct ToolRole {
    verbs: &'static [&'static str],
    /// Whether the tool needs a path.
    path: bool,
    /// Whether the tool replaces one text by another.
    old_and_new: bool,
    /// Whether the tool writes the whole document.
    whole: bool,
    needs: fn(&ToolArguments) -> bool,
    comment: Option<&'static str>,
}

/// Purposes for which a tool has an argument.
#[derive(Debug, Default)]
struct ToolArguments {
    path: bool,
    content: bool,
    old: bool,
    new: bool,
    heading: bool,
    mode: bool,
    dry_run: bool,
}

const fn way(verbs: &'static [&'static str], needs: fn(&ToolArguments) -> bool) -> ToolRole {
    ToolRole {
        verbs,
        path: true,
        old_and_new: false,
        whole: false,
        needs,
        comment: None,
    }
}

const EDITS: &[&str] = &["edit", "patch", "replace", "update", "modify"];
const WRITE: &[&str] = &["write", "save", "put", "overwrite", "create", "update"];
const EDIT: ToolRole = ToolRole {
    old_and_new: true,
    ..way(EDITS, |seen| seen.old && seen.new)
};
const WHOLE: ToolRole = ToolRole {
    whole: true,
    comment: Some(
        "Writes the whole document: a concurrent change is overwritten by the client, not lost by the server.",
    ),
    ..way(WRITE, |seen| seen.content)
};
const READS: &[ToolRole] = &[way(&["read", "get", "open", "view", "fetch", "cat"], |_| true)];
const DELETES: &[ToolRole] = &[way(&["delete", "remove", "trash"], |_| true)];
const WRITES: &[ToolRole] = &[way(WRITE, |seen| seen.content)];
const APPENDS: &[ToolRole] = &[
    way(&["append"], |seen| seen.content),
    way(WRITE, |seen| seen.content && seen.mode),
    EDIT,
    WHOLE,
];
const PREPENDS: &[ToolRole] = &[
    way(&["prepend"], |seen| seen.content),
    way(WRITE, |seen| seen.content && seen.mode),
    EDIT,
    WHOLE,
];
const SECTIONS: &[ToolRole] = &[
    way(EDITS, |seen| seen.content && seen.heading && seen.mode),
    EDIT,
    WHOLE,
];

/// Returns how well a tool's name fits; `None` if it contains none of the verbs.
fn score(name: &str, verbs: &[&str]) -> Option<i32> {
    let words = words(name);
    let verb = verbs
        .iter()
        .position(|verb| words.iter().any(|word| word == verb))?;
    let others = words.iter().filter(|word| !verbs.contains(&word.as_str()));
    let nouns = others
        .clone()
        .filter(|word| NOUNS.contains(&word.as_str()))
        .count();
    let strange = others.count() - nouns;
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX / 8);
    Some(20 - number(verb) + number(nouns.min(1)) - 3 * number(strange))
}

/// Returns the words of a name such as `readTextFile` or `read-text-file`, in lower case.
fn words(name: &str) -> Vec<String> {
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

/// Returns the type of an argument, ignoring `null`.
fn kind(property: &Value) -> Option<&str> {
    let of = |property: &'_ Value| property["type"].as_str().map(str::to_owned);
    let ways = property["anyOf"].as_array().into_iter().flatten();
    let known = ["string", "boolean", "array", "number", "integer", "object"];
    let types = std::iter::once(property).chain(ways).filter_map(of);
    types
        .into_iter()
        .find_map(|name| known.into_iter().find(|known| *known == name))
}

/// Calls the guessed reading tool with each form of path, and finds the text in the response.
fn reading(
    subject: &Subject,
    offer: &Offer,
    scene: &Scene<'_>,
    client: &mut Client<'_>,
) -> Result<Option<ReadProbe>, Stop> {
    let tools = subject.contract.tools.iter();
    let read = tools
        .flat_map(|tool| tool.effects)
        .find(|effect| effect.kind == EffectKind::Read);
    let Some(effect) = read else {
        return Ok(None);
    };
    let absolute = scene.path("notes/plan.md").to_string_lossy().into_owned();
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
        let arguments = format!("arguments = {}", entry.arguments);
        let arguments: toml::Table = arguments
            .parse()
            .map_err(|error| Stop::Harness(format!("{error}")))?;
        let params = serde_json::json!({ "name": entry.name, "arguments": arguments["arguments"] });
        let message = client.request("tools/call", params)?;
        if let Some(source) = source(&message["result"]) {
            return Ok(Some(ReadProbe { path, source }));
        }
    }
    Ok(None)
}

/// Returns the source of the document's text in a result, as TOML.
fn source(result: &Value) -> Option<String> {
    if let Some(pointer) = find(&result["structuredContent"], "/structuredContent") {
        return Some(format!("{{ at = {} }}", toml(&pointer.into())));
    }
    let text = reply::text(result);
    if text == DOCUMENT {
        return Some("{ text = true }".to_owned());
    }
    let json: Value = serde_json::from_str(&text).ok()?;
    find(&json, "").map(|pointer| format!("{{ json = {} }}", toml(&pointer.into())))
}

/// Returns a pointer to the document's text in `value`, which is at `at`.
fn find(value: &Value, at: &str) -> Option<String> {
    match value {
        Value::String(text) if text == DOCUMENT => Some(at.to_owned()),
        Value::Object(members) => {
            let mut members = members.iter();
            members.find_map(|(name, value)| find(value, &pointer::push(at, name)))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(number, item)| find(item, &format!("{at}/{number}"))),
        _ => None,
    }
}

/// Returns a TOML key, quoted if necessary.
fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_owned() } else { toml(&name.into()) }
}

/// Returns a string or a list of strings as TOML.
fn toml(value: &Value) -> String {
    // JSON strings and lists of strings are valid TOML.
    value.to_string()
}
