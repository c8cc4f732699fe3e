//! Entries of servers: filled from the templates of `clients.toml`, and parsed.

use std::{collections::BTreeMap, env, fs, net::IpAddr, path::Path};

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
/// Options with which the arguments of an installed entry begin, after `serve`.
const FOLDERS: [&str; 2] = ["--library", "--data"];

impl Server {
    /// Returns true if the entry `name` of this server is Tabellion's: it starts a program of that name, its npm package, this very
    /// program or one with the arguments of `tabellion install`; or it connects with a key of Tabellion's, or without a key to a
    /// URL of its form that is on this machine or whose entry has its name. Other servers have URLs of this form too.
    pub fn is_ours(&self, name: &str) -> bool {
        let has_name = |text: &str| text.to_ascii_lowercase().starts_with("tabellion");
        match self {
            Self::Stdio { command, arguments, .. } => {
                // Windows paths too, on any system.
                let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
                let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
                let stem = stem.unwrap_or_default();
                has_name(stem)
                    || RUNNERS.contains(&stem) && arguments.iter().any(|argument| has_name(argument))
                    || matches!(&arguments[..], [serve, option, _, ..] if serve == "serve" && FOLDERS.contains(&&**option))
                    || is_this_program(Path::new(command))
            }
            Self::Http { key: Some(key), .. } => key.starts_with(KEY_PREFIX),
            Self::Http { url, key: None } => {
                let rest = url.split_once("://").map_or("", |(_, rest)| rest);
                let (authority, path) = rest.split_once('/').unwrap_or_default();
                (path == "mcp" || path.starts_with("mcp/")) && (has_name(name) || is_loopback(authority))
            }
        }
    }
}

fn is_this_program(command: &Path) -> bool {
    let running = env::current_exe().and_then(fs::canonicalize);
    running.is_ok_and(|running| fs::canonicalize(command).is_ok_and(|command| command == running))
}

/// Returns true if the host and port of a URL are on this machine.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    host.eq_ignore_ascii_case("localhost")
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
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
