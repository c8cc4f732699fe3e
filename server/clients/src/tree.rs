//! The formats' common model: a document as a tree of maps, lists and scalars, each with its place in the text.

use std::ops::Range;

use serde_json::Value;

/// A value in a document. Equality ignores its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Its bytes in the text. In TOML, whose tables are scattered, only the first of them.
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

/// Kind and content of a [`Node`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Text(String),
    /// Any other scalar, or an alias, verbatim.
    Bare(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// A key of a map, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    /// The key's bytes in the text.
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Node,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        (&self.key, &self.value) == (&other.key, &other.value)
    }
}

impl Node {
    /// Returns the members of a map; none for other kinds.
    pub(crate) fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Map(members) => members,
            _ => &[],
        }
    }

    /// Returns the value of a key of a map.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let member = self.members().iter().find(|member| member.key == key);
        member.map(|member| &member.value)
    }

    /// Returns the text of a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns true if the value has no entry: null, an empty map or an empty list.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Null => true,
            Kind::Map(members) => members.is_empty(),
            Kind::List(items) => items.is_empty(),
            Kind::Text(_) | Kind::Bare(_) => false,
        }
    }

    /// Returns the name of the value's kind, for messages.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "null",
            Kind::Text(_) => "a string",
            Kind::Bare(_) => "a number, boolean or alias",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// Returns the value as JSON. Values without a JSON type (a date, an alias) become strings.
    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Text(text) => Value::String(text.clone()),
            Kind::Bare(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(members) => {
                let member = |member: &Member| (member.key.clone(), member.value.to_json());
                Value::Object(members.iter().map(member).collect())
            }
        }
    }
}

/// The place of an entry: the key of the servers, their shape, and the entry's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryPath<'a> {
    pub(crate) servers: &'a str,
    pub(crate) shape: Shape,
    pub(crate) name: &'a str,
}

/// Shape of a client's servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shape {
    /// A map by name.
    #[default]
    Map,
    /// A list of maps, each with its `name`.
    List,
}

impl EntryPath<'_> {
    /// Returns the positions of the entries with this name among all entries.
    pub(crate) fn positions(self, root: &Node) -> Vec<usize> {
        match root.get(self.servers).map(|servers| &servers.kind) {
            Some(Kind::Map(members)) => {
                let named = |(_, member): &(usize, &Member)| member.key == self.name;
                members.iter().enumerate().filter(named).map(|(at, _)| at).collect()
            }
            Some(Kind::List(items)) => {
                let named =
                    |(_, item): &(usize, &Node)| item.get("name").and_then(Node::as_str) == Some(self.name);
                items.iter().enumerate().filter(named).map(|(at, _)| at).collect()
            }
            _ => vec![],
        }
    }

    /// Returns the entry with this name.
    pub(crate) fn entry(self, root: &Node) -> Option<&Node> {
        let at = *self.positions(root).first()?;
        match &root.get(self.servers)?.kind {
            Kind::Map(members) => Some(&members[at].value),
            Kind::List(items) => Some(&items[at]),
            _ => None,
        }
    }

    /// Returns the document without this entry, and without the servers if they are then empty: to clients, an empty map is the
    /// same as a missing one.
    pub(crate) fn without(self, root: Option<&Node>) -> Vec<Member> {
        let Some(root) = root else { return vec![] };
        let mut members = root.members().to_vec();
        for member in members.iter_mut().filter(|member| member.key == self.servers) {
            for at in self.positions(root) {
                match &mut member.value.kind {
                    Kind::Map(members) => drop(members.remove(at)),
                    Kind::List(items) => drop(items.remove(at)),
                    _ => {}
                }
            }
        }
        members.retain(|member| member.key != self.servers || !member.value.is_empty());
        members
    }
}
