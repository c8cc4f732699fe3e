//! Generates configuration files that a client would read.

use proptest::{prelude::*, sample::select};

use crate::{Client, Format, tree::Shape};

/// A file's text without the format: each format renders it differently.
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    /// Other people's servers.
    servers: Vec<&'static str>,
    /// Other settings before and after the servers.
    settings: (bool, bool),
    comments: bool,
    trailing_commas: bool,
    bom: bool,
    crlf: bool,
    indent: &'static str,
    /// Presence of the servers, and their layout.
    container: Container,
    final_newline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Container {
    Missing,
    Null,
    OneLine,
    Lines,
}

pub(super) fn sketches() -> impl Strategy<Value = Sketch> {
    let servers = proptest::sample::subsequence(vec!["github", "files", "größe", "x.y z"], 0..=4);
    let containers = select(vec![
        Container::Missing,
        Container::Null,
        Container::OneLine,
        Container::Lines,
        Container::Lines,
    ]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let indents = select(vec!["  ", "    ", "\t", ""]);
    (servers, any::<(bool, bool)>(), flags, indents, containers).prop_map(
        |(servers, settings, flags, indent, container)| Sketch {
            servers,
            settings,
            comments: flags.0,
            trailing_commas: flags.1,
            bom: flags.2,
            crlf: flags.3,
            final_newline: flags.4,
            indent,
            container,
        },
    )
}

impl Sketch {
    pub(super) fn text(&self, client: &Client) -> String {
        let key = client.place("").servers;
        let lines = match (client.format(), client.place("").shape) {
            (Format::Json | Format::Jsonc, _) => self.json(key),
            (Format::Toml, _) => self.toml(key),
            (Format::Yaml, shape) => self.yaml(key, shape),
        };
        let newline = if self.crlf { "\r\n" } else { "\n" };
        let mut text = lines.join(newline);
        if self.final_newline && !text.is_empty() {
            text.push_str(newline);
        }
        if self.bom {
            text.insert(0, '\u{feff}');
        }
        text
    }

    fn json(&self, key: &str) -> Vec<String> {
        let (one, two) = (self.indent, self.indent.repeat(2));
        let server = |name: &&str| format!(r#""{name}": {{ "command": "npx", "args": [] }}"#);
        let mut members = vec![];
        if self.settings.0 {
            members.push(vec![format!(r#"{one}"theme": "da\"rk""#)]);
        }
        match self.container {
            Container::Missing => {}
            Container::Null => members.push(vec![format!(r#"{one}"{key}": null"#)]),
            Container::OneLine => {
                let servers: Vec<_> = self.servers.iter().map(server).collect();
                members.push(vec![format!(r#"{one}"{key}": {{{}}}"#, servers.join(", "))]);
            }
            Container::Lines => {
                let mut lines = vec![format!(r#"{one}"{key}": {{{}"#, self.comment(" // ours"))];
                let count = self.servers.len();
                for (number, name) in self.servers.iter().enumerate() {
                    if self.comments {
                        lines.push(format!("{two}/* {name}, with a }} */"));
                    }
                    let comma = if number + 1 < count || self.trailing_commas { "," } else { "" };
                    lines.push(format!("{two}{}{comma}{}", server(name), self.comment(" // x,")));
                }
                lines.push(format!("{one}}}"));
                members.push(lines);
            }
        }
        if self.settings.1 {
            members.push(vec![format!(r#"{one}"list": [1, 2.50, true]"#)]);
        }
        let mut lines = vec![];
        if self.comments {
            lines.push("// head".to_owned());
        }
        lines.push("{".into());
        let count = members.len();
        for (number, mut member) in members.into_iter().enumerate() {
            if number + 1 < count || self.trailing_commas {
                member.last_mut().expect("a line").push(',');
            }
            lines.extend(member);
        }
        lines.push("}".into());
        lines.extend(self.comments.then(|| "// tail".to_owned()));
        lines
    }

    fn toml(&self, key: &str) -> Vec<String> {
        let mut lines = vec![];
        if self.comments {
            lines.push("# head".to_owned());
        }
        if self.settings.0 {
            lines.push(format!("model = \"größe\"{}", self.comment(" # c")));
        }
        let server = |name: &&str| format!("\"{name}\" = {{ command = \"npx\", args = [] }}");
        match self.container {
            Container::Missing => {}
            Container::Null => {
                for name in &self.servers {
                    lines.push(format!("{key}.\"{name}\".command = 'x'"));
                }
            }
            Container::OneLine => {
                let servers: Vec<_> = self.servers.iter().map(server).collect();
                lines.push(format!("{key} = {{ {} }}", servers.join(", ")));
            }
            Container::Lines => {
                for name in &self.servers {
                    lines.push(format!("[{key}.\"{name}\"]{}", self.comment(" # t")));
                    lines.push("command = \"npx\"".into());
                    lines.push("args = []".into());
                    lines.push(format!("[{key}.\"{name}\".env]"));
                    lines.push("A = 'b'".into());
                    lines.push(String::new());
                }
            }
        }
        if self.settings.1 {
            lines.push("[other]".into());
            lines.push("text = '''".into());
            lines.push("[mcp_servers.tabellion]".into());
            lines.push("'''".into());
        }
        lines
    }

    fn yaml(&self, key: &str, shape: Shape) -> Vec<String> {
        let unit = if self.indent == "    " { "    " } else { "  " };
        let mut lines = vec![];
        if self.trailing_commas {
            lines.push("---".to_owned());
        }
        if self.comments {
            lines.push("# head".into());
        }
        if self.settings.0 {
            lines.push("name: größe".into());
            lines.push("text: |".into());
            lines.push("  extensions:".into());
            lines.push(String::new());
        }
        let (open, close) = match shape {
            Shape::Map => ('{', '}'),
            Shape::List => ('[', ']'),
        };
        let server = |name: &&str| match shape {
            Shape::Map => format!("\"{name}\": {{cmd: npx, args: []}}"),
            Shape::List => format!("{{name: \"{name}\", args: []}}"),
        };
        match self.container {
            Container::Missing => {}
            Container::Null => lines.push(format!("{key}:{}", self.comment(" # none"))),
            Container::Lines if !self.servers.is_empty() => {
                lines.push(format!("{key}:{}", self.comment(" # ours")));
                for name in &self.servers {
                    if self.comments {
                        lines.push(format!("{unit}# {name}"));
                    }
                    match shape {
                        Shape::Map => {
                            lines.push(format!("{unit}\"{name}\":"));
                            lines.push(format!("{unit}{unit}args: []"));
                        }
                        Shape::List => {
                            let unit = if self.indent.is_empty() { "" } else { unit };
                            lines.push(format!("{unit}- name: \"{name}\""));
                            lines.push(format!("{unit}  args: []"));
                        }
                    }
                }
            }
            Container::OneLine | Container::Lines => {
                let servers: Vec<_> = self.servers.iter().map(server).collect();
                lines.push(format!("{key}: {open}{}{close}", servers.join(", ")));
            }
        }
        if self.settings.1 {
            lines.push("last: >-".into());
            lines.push("  folded".into());
            lines.push("  text".into());
        }
        lines
    }

    fn comment(&self, text: &'static str) -> &'static str {
        if self.comments { text } else { "" }
    }
}
