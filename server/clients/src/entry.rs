//! Entries of servers: filled from the templates of `clients.toml`, and parsed.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};

/// Connection from a client to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// The client starts a program and uses its standard input and output.
    Stdio {
        /// Path of the program, or a name that is looked up.
        command: String,
        /// Arguments.
        arguments: Vec<String>,
        /// Added environment variables. New entries have none; existing ones keep a person's.
        env: BTreeMap<String, String>,
    },
    /// The client connects over Streamable HTTP.
    Http {
        /// URL of the library.
        url: String,
        /// API key, sent as a bearer token.
        key: Option<String>,
    },
}

/// Prefix of API keys.
const KEY_PREFIX: &str = "tbl_";
/// Programs that run a package by its name.
const RUNNERS: [&str; 3] = ["npx", "bunx", "pnpm"];

impl Server {
    /// Returns true if this is Tabellion: a program of that name, its npm package, or a URL of its form, without a key or with one
    /// of its form.
    pub fn is_ours(&self) -> bool {
        let has_name = |text: &str| text.to_ascii_lowercase().starts_with("tabellion");
        match self {
            Self::Stdio { command, arguments, .. } => {
                // Windows paths too, on any system.
                let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
                let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str());
                let stem = stem.unwrap_or_default();
                has_name(stem)
                    || RUNNERS.contains(&stem) && arguments.iter().any(|argument| has_name(argument))
            }
            Self::Http { url, key } => {
                let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
                let path = path.map_or("", |(_, path)| path);
                (path == "mcp" || path.starts_with("mcp/"))
                    && key.as_ref().is_none_or(|key| key.starts_with(KEY_PREFIX))
            }
        }
    }
}

/// Returns a template with its placeholders replaced.
pub(crate) fn fill(template: &Value, name: &str, server: &Server) -> Option<Value> {
    Some(match template {
        Value::String(text) => Value::String(fill_text(text, name, server)?),
        Value::Array(items) => {
            let mut filled = vec![];
            for item in items {
                match (item.as_str(), server) {
                    (Some("{args}"), Server::Stdio { arguments, .. }) => {
                        filled.extend(arguments.iter().cloned().map(Value::String));
                    }
                    _ => filled.extend(fill(item, name, server)),
                }
            }
            Value::Array(filled)
        }
        Value::Object(members) => {
            let filled = members.iter().filter_map(|(key, value)| {
                let value = fill(value, name, server)?;
                Some((key.clone(), value))
            });
            let filled: Map<_, _> = filled.collect();
            // Without a key, the headers are empty and left out.
            if filled.is_empty() && !members.is_empty() {
                return None;
            }
            Value::Object(filled)
        }
        other => other.clone(),
    })
}

fn fill_text(text: &str, name: &str, server: &Server) -> Option<String> {
    match server {
        Server::Stdio { command, .. } if text == "{command}" => Some(command.clone()),
        Server::Http { url, .. } if text == "{url}" => Some(url.clone()),
        Server::Http { key, .. } if text.contains("{key}") => {
            key.as_ref().map(|key| text.replace("{key}", key))
        }
        _ => Some(text.replace("{name}", name)),
    }
}

/// Returns the server of an entry that was made from this template, possibly with further fields.
pub(crate) fn read(template: &Value, entry: &Value, env: &str) -> Option<Server> {
    let mut found = EntryValues::default();
    found.compare(template, entry);
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    match (found.command, found.url) {
        (Some(command), _) => {
            let env = entry.get(env).and_then(Value::as_object).into_iter().flatten();
            Some(Server::Stdio {
                command,
                arguments: found.arguments,
                env: env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect(),
            })
        }
        (None, Some(url)) => Some(Server::Http { url, key: found.key }),
        (None, None) => None,
    }
}

/// Values of an entry in the places of the placeholders.
#[derive(Default)]
struct EntryValues {
    command: Option<String>,
    arguments: Vec<String>,
    url: Option<String>,
    key: Option<String>,
}

impl EntryValues {
    fn compare(&mut self, template: &Value, entry: &Value) {
        match (template, entry) {
            (Value::String(template), Value::String(text)) => match template.as_str() {
                "{command}" => self.command = Some(text.clone()),
                "{url}" => self.url = Some(text.clone()),
                _ => {
                    if let Some(prefix) = template.strip_suffix("{key}") {
                        self.key = Some(text.strip_prefix(prefix).unwrap_or(text).into());
                    }
                }
            },
            (Value::Array(templates), Value::Array(items)) => {
                let mut items = items.iter();
                for template in templates {
                    if template.as_str() == Some("{args}") {
                        let rest = items.by_ref().filter_map(Value::as_str);
                        self.arguments = rest.map(str::to_owned).collect();
                    } else if let Some(item) = items.next() {
                        self.compare(template, item);
                    }
                }
            }
            (Value::Object(templates), Value::Object(entries)) => {
                for (key, template) in templates {
                    if let Some(entry) = entries.get(key) {
                        self.compare(template, entry);
                    }
                }
            }
            _ => {}
        }
    }
}
