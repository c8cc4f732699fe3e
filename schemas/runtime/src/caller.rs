//! The caller of a call: its name and rights, and the side that waits, cancels and receives progress.

use std::{borrow::Cow, fmt, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{
    identity::{Identity, PersonNames},
    spec::{AuthSpec, CallerKind, ScopeWord},
    text,
};

/// The progress of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Amount done, in any unit. It only grows.
    pub done: u64,
    /// Total amount, if it is known.
    pub total: Option<u64>,
    /// The current activity, for people.
    pub message: Cow<'static, str>,
}

/// The waiting side of a call. Methods may be called from any thread, and often.
pub trait Caller: Send + Sync {
    /// Returns true if the call was cancelled.
    fn has_cancelled(&self) -> bool;

    /// Receives progress. Reports that do not grow are ignored.
    fn hear(&self, progress: Progress);
}

/// A caller, or none: the call is then never cancelled, and progress is dropped.
#[derive(Clone, Default)]
pub struct Waiting(pub(crate) Option<Arc<dyn Caller>>);

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Waiting" } else { "NotWaiting" })
    }
}

/// A caller, as the server has authenticated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCaller {
    /// The kind of caller: a person or a program.
    pub kind: CallerKind,
    /// The identity, which alone decides what the caller owns.
    pub identity: Identity,
    /// The name shown to people: a verified address, an account, or the name of a key's owner; for an agent, with the agent's name. A
    /// comparison of it can refuse a call, never permit one.
    pub name: Arc<str>,
    /// The person's own name, if `name` is their address.
    pub own_name: Option<Arc<str>>,
    /// The agent's own description of itself.
    pub agent: Option<Agent>,
    /// Names of its roles in the contract.
    pub roles: Vec<&'static str>,
    /// Permissions of its key in the contract.
    pub scopes: Vec<ScopeWord>,
}

/// An agent's name and version, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// The name.
    pub name: Option<String>,
    /// The version.
    pub version: Option<String>,
}

impl Agent {
    /// Returns the agent with a client's name and version. Those without a visible letter or digit count as absent.
    pub fn said(name: Option<String>, version: Option<String>) -> Self {
        let is_said = |part: &String| text::is_legible(part);
        Self { name: name.filter(is_said), version: version.filter(is_said) }
    }

    /// Reads `NAME@VERSION` or `NAME`; `None` if a part has no visible letter or digit.
    pub fn parse(agent: &str) -> Option<Self> {
        let (name, version) = match agent.rsplit_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (agent, None),
        };
        (text::is_legible(name) && version.is_none_or(text::is_legible))
            .then(|| Self { name: Some(name.into()), version: version.map(str::to_owned) })
    }

    /// Returns this agent if its name is known, else `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self.name {
            None => other,
            Some(_) => self,
        }
    }
}

impl fmt::Display for Agent {
    /// Writes `NAME@VERSION`, as far as they are known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_deref().unwrap_or("unknown"))?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

impl KnownCaller {
    /// Returns a person whose key permits `scopes`, with the roles that `auth` gives them.
    pub fn human(auth: &AuthSpec, identity: Identity, name: &str, scopes: Vec<ScopeWord>) -> Self {
        Self {
            kind: CallerKind::Human,
            identity,
            name: name.into(),
            own_name: None,
            agent: None,
            roles: auth.roles_of(CallerKind::Human, &scopes),
            scopes,
        }
    }

    /// Returns an agent that acts for the person `holder`, whom people know as `name`. It never has the scope `review`.
    pub fn agent(
        auth: &AuthSpec,
        agent: Agent,
        holder: Identity,
        name: &str,
        mut scopes: Vec<ScopeWord>,
    ) -> Self {
        scopes.retain(|scope| *scope != ScopeWord::Review);
        let called = agent.name.as_deref().unwrap_or("unknown");
        Self {
            kind: CallerKind::Agent,
            identity: holder.with_agent(called),
            name: format!("agent:{called}/{name}").into(),
            own_name: None,
            roles: auth.roles_of(CallerKind::Agent, &scopes),
            agent: Some(agent),
            scopes,
        }
    }

    /// Returns the caller with the person's own name, for a caller that is shown by address.
    #[must_use]
    pub fn with_own_name(self, own_name: Option<&str>) -> Self {
        Self { own_name: own_name.map(Arc::from), ..self }
    }

    /// Returns the names by which it is compared with other people.
    pub(crate) fn person(&self) -> PersonNames<'_> {
        PersonNames { shown: &self.name, own: self.own_name.as_deref() }
    }

    /// Returns the caller's facts for gates.
    pub fn to_facts(&self) -> Value {
        let mut facts = Map::new();
        facts.insert("kind".into(), json!(self.kind));
        facts.insert("roles".into(), json!(self.roles));
        facts.insert("identity".into(), self.identity.to_string().into());
        if let Some(agent) = &self.agent {
            let said = [("name", &agent.name), ("version", &agent.version)];
            let said =
                said.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.as_deref()?.into())));
            facts.insert("agent".into(), said.collect::<Map<_, _>>().into());
        }
        facts.into()
    }
}
