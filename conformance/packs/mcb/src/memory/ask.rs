//! Callers of a memory, with the provenance that its tools require, and their calls.

use tabellion_runtime::{ContractSpec, pointer, spec::ProvenanceType};

use super::note::Resource;
use tabellion_conformance::{checks::prelude::*, rows::client::now};

/// Actions of a memory on each of its resources.
const ACTIONS: [&str; 5] = ["store", "get", "list", "timeline", "inject"];
/// Searches observations of all types.
pub(super) const MEMORY: &[&str] = &["memory"];
/// Searches those of one type.
pub(super) const CONTEXT: &[&str] = &["context"];

/// The origin of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Caller(pub(super) usize);

impl Caller {
    /// Number of callers. Each differs from the previous one in more of its provenance.
    pub(super) const MANY: usize = 4;

    pub(super) fn session(self) -> &'static str {
        ["session-a", "session-b", "session-c", "session-d"][self.0 % Self::MANY]
    }

    pub(super) fn repo(self) -> &'static str {
        ["repo-a", "repo-a", "repo-b", "repo-c"][self.0 % Self::MANY]
    }

    pub(super) fn project(self) -> &'static str {
        ["acme/shop", "acme/shop", "acme/shop", "acme/bank"][self.0 % Self::MANY]
    }

    /// Returns the provenance that the contract requires, as a request's `_meta`.
    fn meta(self, contract: &ContractSpec) -> Map<String, Value> {
        let Some(provenance) = contract.provenance else {
            return Map::new();
        };
        let fields = provenance.fields.iter();
        let required = fields.filter(|field| provenance.required.contains(&field.name));
        let value = |name: &str, kind| match (name, kind) {
            ("session_id", _) => self.session().into(),
            ("project_id", _) => self.project().into(),
            ("repo_id", _) => self.repo().into(),
            (_, ProvenanceType::String) => format!("{name}-{}", self.0).into(),
            (_, ProvenanceType::Integer) => now().into(),
            (_, ProvenanceType::Boolean) => false.into(),
        };
        required
            .filter_map(|field| Some(((*field.keys.first()?).to_owned(), value(field.name, field.kind))))
            .collect()
    }
}

/// A server with a memory, over a folder of its own.
pub(super) struct Memory<'b, 'a> {
    bench: &'b Bench<'a>,
    pub(super) scene: Scene<'a>,
    client: Client<'a>,
}

impl<'b, 'a> Memory<'b, 'a> {
    /// Starts a server over a new folder.
    ///
    /// # Errors
    /// If the contract has no memory, or the server does not start.
    pub(super) fn start(bench: &'b Bench<'a>) -> Result<Self, Stop> {
        let scene = Scene::of_rows(bench.subject, &bench.trace)?;
        let client = scene.start()?;
        Ok(Self { bench, scene, client })
    }

    /// Ends the server and starts it again over the same folder.
    pub(super) fn restarted(self) -> Result<Self, Stop> {
        let Self { bench, scene, client } = self;
        client.close()?;
        let client = scene.start()?;
        Ok(Self { bench, scene, client })
    }

    /// Starts a second server alongside the first, over the same folder, and makes one call of it.
    pub(super) fn beside(&self, by: Caller, is: &[&str], arguments: &Value) -> Result<Value, Stop> {
        let mut client = self.scene.start()?;
        let answer = ask(self.bench, &mut client, by, is, arguments)?;
        client.close()?;
        done(answer, is, arguments)
    }

    /// Makes a call.
    pub(super) fn ask(&mut self, by: Caller, is: &[&str], arguments: &Value) -> Result<Reply, Stop> {
        ask(self.bench, &mut self.client, by, is, arguments)
    }

    /// Makes a valid call; returns the response.
    pub(super) fn must(&mut self, by: Caller, is: &[&str], arguments: &Value) -> Result<Value, Stop> {
        let reply = self.ask(by, is, arguments)?;
        done(reply, is, arguments)
    }

    /// As [`must`](Self::must), of a resource.
    pub(super) fn read(
        &mut self,
        action: &str,
        resource: Resource,
        arguments: &Value,
    ) -> Result<Value, Stop> {
        self.must(READER, &[action, resource.word()], arguments)
    }
}

fn ask(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    by: Caller,
    is: &[&str],
    arguments: &Value,
) -> Result<Reply, Stop> {
    let (tool, arguments) = request(bench, is, arguments)?;
    client.call_with(tool, &arguments, by.meta(bench.subject.contract))
}

/// The caller that reads other callers' notes.
pub(super) const READER: Caller = Caller(3);

fn done(reply: Reply, is: &[&str], arguments: &Value) -> Result<Value, Stop> {
    let done = reply.must(said(is, arguments))?;
    Ok(done.response)
}

/// Returns the name of a call in messages.
pub(crate) fn said(is: &[&str], arguments: &Value) -> String {
    format!("the valid call `{}` with `{arguments}`", is.join(" "))
}

/// Returns true if a contract has the operations of a memory.
pub(crate) fn is_of(contract: &ContractSpec) -> bool {
    let has = |is: &[&str]| find(contract, is).is_some();
    let of = |action| Resource::ALL.iter().all(move |resource| has(&[action, resource.word()]));
    ACTIONS.into_iter().all(of) && has(MEMORY) && has(CONTEXT)
}

/// Returns the operation with these values of its selectors.
pub(crate) fn find(contract: &ContractSpec, is: &[&str]) -> Option<&'static ToolSpec> {
    let has = |tool: &&ToolSpec| tool.operation.is_some_and(|operation| operation.is == is);
    let mut all = contract.operations().filter(has);
    all.next()
}

/// Returns the operation with these values of its selectors, and the arguments with them.
///
/// # Errors
/// If the server has no such operation.
pub(crate) fn request(
    bench: &Bench<'_>,
    is: &[&str],
    arguments: &Value,
) -> Result<(&'static ToolSpec, Value), Stop> {
    let none = || not_applicable(format!("the server has no operation `{}`", is.join(" ")));
    let tool = find(bench.subject.contract, is).ok_or_else(none)?;
    if !bench.subject.adapter.has(tool, None) {
        return Err(none());
    }
    let mut all = Map::new();
    for (selector, value) in tool.operation.iter().flat_map(|it| it.select.iter().zip(it.is)) {
        if let Some((_, name)) = pointer::split_last(selector) {
            all.insert(name, json!(value));
        }
    }
    all.extend(arguments.as_object().cloned().unwrap_or_default());
    Ok((tool, all.into()))
}
