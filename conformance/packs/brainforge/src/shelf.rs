//! A library of notes, its callers and their calls.

use std::{collections::BTreeMap, ffi::OsString, fs, os::unix::ffi::OsStringExt, path::PathBuf};

use percent_encoding::percent_decode_str;
use tabellion_runtime::spec::{AuthSpec, CallerKind, RoleSpec};

use super::{
    tool::Tool,
    written::{Status, Written},
};
use tabellion_conformance::{
    Ledger, bytes, callers,
    checks::prelude::*,
    http::{Request, Url},
    judgement::Shows,
    reply::text,
};

/// Maximum number of hits of a search.
pub(super) const MAX_FOUND: u64 = 100;

/// The caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    /// A person who may write, and whose notes need no approval.
    Person,
    Agent,
}

/// The refusal of a call.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    /// The details of the error.
    pub(super) details: Map<String, Value>,
    pub(super) message: String,
}

/// A library of notes, and its callers.
pub(super) struct Shelf<'b, 'a> {
    pub(super) bench: &'b Bench<'a>,
    pub(super) scene: Scene<'a>,
    clients: BTreeMap<By, Client<'a>>,
}

/// Returns the unique word of a version; no two begin alike.
pub(super) fn word(number: usize) -> String {
    const SYLLABLES: [&str; 10] = ["ba", "co", "du", "fo", "gi", "ho", "ju", "ka", "lo", "mu"];
    let digits = format!("{number:04}");
    let syllables = digits.bytes().rev().map(|digit| SYLLABLES[usize::from(digit - b'0')]);
    format!("{}zex", syllables.collect::<String>())
}

/// Returns the content of a note with this word. The title, which a server may keep from the first version, does not contain it.
pub(super) fn content(word: &str) -> String {
    format!("# A note\n\nA sentence on {word}, and no other.\n")
}

/// Returns the role of a person whose notes need no approval, or of an agent.
fn role(auth: &AuthSpec, bench: &Bench<'_>, by: By) -> Result<&'static RoleSpec, Stop> {
    let contract = bench.subject.contract;
    let kind = match by {
        By::Person => CallerKind::Human,
        By::Agent => CallerKind::Agent,
    };
    let tools = Tool::ALL.map(|tool| tool.find(contract));
    let may_all = |role: &RoleSpec| {
        let mut tools = tools.iter().flatten();
        tools.all(|tool| tool.roles.is_empty() || tool.roles.contains(&role.name))
    };
    let mut roles = auth.roles.iter();
    let found = roles.find(|role| role.kind == kind && may_all(role));
    found.ok_or_else(|| not_applicable(format!("the contract has no role of this kind: {kind}")))
}

impl<'b, 'a> Shelf<'b, 'a> {
    /// Creates an empty library.
    pub(super) fn start(bench: &'b Bench<'a>) -> Result<Self, Stop> {
        let documents: &[(&str, &str)] = &[];
        Ok(Self {
            bench,
            scene: Scene::in_memory(bench.subject, &bench.trace, documents)?,
            clients: BTreeMap::new(),
        })
    }

    /// Ends the servers; the next call starts one.
    pub(super) fn restart(&mut self) -> Judgement {
        for (_, client) in std::mem::take(&mut self.clients) {
            client.close()?;
        }
        Ok(())
    }

    /// Returns a client with a server of its own.
    pub(super) fn another(&self, by: By) -> Result<Client<'a>, Stop> {
        let auth = self.bench.subject.contract.auth;
        let role = auth.map(|auth| role(auth, self.bench, by)).transpose()?;
        callers::open(self.bench, &self.scene, role)
    }

    fn client(&mut self, by: By) -> Result<&mut Client<'a>, Stop> {
        if !self.clients.contains_key(&by) {
            let client = self.another(by)?;
            self.clients.insert(by, client);
        }
        let client = self.clients.get_mut(&by);
        client.ok_or_else(|| Stop::Harness("there is no client".into()))
    }

    /// Calls a tool; returns the answer and its `_meta`, or the refusal.
    pub(super) fn ask(
        &mut self,
        by: By,
        tool: Tool,
        arguments: &Value,
    ) -> Result<Result<(Value, Value), Refused>, Stop> {
        let bench = self.bench;
        ask(bench, self.client(by)?, tool, arguments)
    }

    /// As [`ask`](Self::ask), for a call that is valid.
    pub(super) fn must(&mut self, by: By, tool: Tool, arguments: &Value) -> Result<Value, Stop> {
        match self.ask(by, tool, arguments)? {
            Ok((answer, _)) => Ok(answer),
            Err(why) => Err(why.of_valid(arguments)),
        }
    }

    /// Fails unless a call is refused and changes nothing; returns the refusal.
    pub(super) fn must_not(
        &mut self,
        by: By,
        tool: Tool,
        arguments: &Value,
        why: &str,
    ) -> Result<Refused, Stop> {
        let before = self.scene.view()?;
        match self.ask(by, tool, arguments)? {
            Ok((answer, _)) => Err(fail(format!("`{arguments}` was answered, {why}: {answer}"))),
            Err(refused) => {
                before.same(&self.scene.view()?, "a refused call")?;
                Ok(refused)
            }
        }
    }

    /// Calls a tool that writes a note, and returns the written note, or the refusal.
    pub(super) fn write(
        &mut self,
        by: By,
        tool: Tool,
        arguments: &Value,
    ) -> Result<Result<Written, Refused>, Stop> {
        let bench = self.bench;
        write(bench, self.client(by)?, tool, arguments)
    }

    /// As [`write`](Self::write), for a call that is valid.
    pub(super) fn must_write(&mut self, by: By, tool: Tool, arguments: &Value) -> Result<Written, Stop> {
        self.write(by, tool, arguments)?.map_err(|why| why.of_valid(arguments))
    }

    /// Creates a note with this word.
    pub(super) fn create(&mut self, by: By, word: &str) -> Result<Written, Stop> {
        self.must_write(by, Tool::Create, &creation(by, word))
    }

    /// Changes a note, so that it has this word.
    pub(super) fn update(&mut self, by: By, id: &str, version: u64, word: &str) -> Result<Written, Stop> {
        self.must_write(by, Tool::Update, &change(id, version, word))
    }

    /// Returns true if a search for the word shows it to this caller.
    pub(super) fn sees(&mut self, by: By, word: &str) -> Result<bool, Stop> {
        let found = self.must(by, Tool::Search, &json!({ "query": word, "limit": MAX_FOUND }))?;
        let results = found["results"].as_array();
        Ok(results.into_iter().flatten().any(|hit| {
            let (excerpt, title) = (&hit["excerpt"], &hit["metadata"]["title"]);
            [excerpt, title].iter().any(|text| text.as_str().is_some_and(|text| text.contains(word)))
        }))
    }

    /// Fails unless a search shows the word exactly if `should` is true.
    pub(super) fn ensure_seen(&mut self, by: By, word: &str, should: bool, why: &str) -> Judgement {
        let sees = self.sees(by, word)?;
        ensure(sees == should, || {
            let does = if sees { "shows" } else { "does not show" };
            format!("a search {does} `{word}`, {why}")
        })
    }

    /// Fails unless the library has one commit since `earlier`, and nothing else uncommitted; `what` is the beginning of the sentence.
    pub(super) fn ensure_one_commit(&self, earlier: &Ledger, what: &str) -> Judgement {
        let later = self.scene.view()?.library;
        let commits = later.commits_since(earlier).len();
        ensure(commits == 1 && later.status == earlier.status, || {
            format!("{what} {commits} commits, and `git status` says: {}", later.status)
        })
        .map_err(|stop| stop.shows(Shows::Commits))
    }

    /// Reads a resource; `None` if the server refuses it.
    pub(super) fn resource(&mut self, by: By, uri: &str) -> Result<Option<Value>, Stop> {
        let client = self.client(by)?;
        let answer = client.request("resources/read", json!({ "uri": uri }))?;
        let text = answer["result"]["contents"][0]["text"].as_str();
        Ok(text.and_then(|text| serde_json::from_str(text).ok()))
    }

    /// Exports notes; returns the answer, and the file that it links to.
    pub(super) fn export(&mut self, by: By, arguments: &Value) -> Result<(Value, Vec<u8>), Stop> {
        let answer = self.must(by, Tool::Export, arguments)?;
        let url = answer["download_url"].as_str().unwrap_or_default();
        let file = self.fetch(url)?;
        Ok((answer, file))
    }

    /// Fetches the URL of an export.
    pub(super) fn fetch(&self, url: &str) -> Result<Vec<u8>, Stop> {
        let nothing = |why: String| fail(format!("nothing can be fetched from `{url}`: {why}"));
        if let Some(path) = url.strip_prefix("file://") {
            let path = OsString::from_vec(percent_decode_str(path).collect());
            return fs::read(path).map_err(|error| nothing(error.to_string()));
        }
        let parsed = Url::parse(url).map_err(&nothing)?;
        let response = Request::new("GET").send(&parsed, self.bench.subject.launch.patience);
        let mut response = response.map_err(|error| nothing(error.to_string()))?;
        if response.status != 200 {
            return Err(nothing(response.title()));
        }
        response.bytes().map_err(|error| nothing(error.to_string()))
    }

    /// Returns the path of the one file of the library that contains the word.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub(super) fn file_with(&self, word: &str) -> Result<String, Stop> {
        let files = self.scene.files()?;
        let with: Vec<PathBuf> = files
            .into_iter()
            .filter_map(|(path, (_, bytes))| bytes::contain(&bytes, word).then_some(path))
            .collect();
        match with.as_slice() {
            [path] => Ok(path.to_string_lossy().into_owned()),
            _ => Err(fail(format!("`{word}` should be in one file, but is in {with:?}"))),
        }
    }
}

/// Returns the arguments that create a note with this word.
pub(super) fn creation(by: By, word: &str) -> Value {
    let mut arguments = json!({ "content": content(word), "metadata": {} });
    match by {
        By::Person => arguments["note_type"] = "permanent".into(),
        By::Agent => arguments["ai_justification"] = "the suite asks for it".into(),
    }
    arguments
}

/// Returns the arguments that change a note, so that it has this word.
pub(super) fn change(id: &str, version: u64, word: &str) -> Value {
    json!({ "note_id": id, "version": version, "content": content(word), "change_reason": "the suite asks for it" })
}

/// Calls a tool as a client; returns the answer and its `_meta`, or the refusal.
pub(super) fn ask(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    tool: Tool,
    arguments: &Value,
) -> Result<Result<(Value, Value), Refused>, Stop> {
    let contract = bench.subject.contract;
    let spec = tool.find(contract);
    let spec = spec.ok_or_else(|| not_applicable(format!("the contract has no tool like this: {tool:?}")))?;
    let message = client.call_raw(spec, arguments, Map::new())?;
    let result = &message["result"];
    Ok(match Refusal::from_message(&message) {
        None => Ok((result["structuredContent"].clone(), result["_meta"].clone())),
        Some(refusal) => Err(Refused {
            details: callers::details(contract, &message),
            message: if refusal.message.is_empty() { text(result) } else { refusal.message },
        }),
    })
}

/// As [`Shelf::write`], for any client.
pub(super) fn write(
    bench: &Bench<'_>,
    client: &mut Client<'_>,
    tool: Tool,
    arguments: &Value,
) -> Result<Result<Written, Refused>, Stop> {
    Ok(match ask(bench, client, tool, arguments)? {
        Ok((answer, meta)) => Ok(Written::read(&answer, meta["review_workflow_id"].as_str())?),
        Err(refused) => Err(refused),
    })
}

/// Returns the answer of a call that must be part of the library at once.
pub(super) fn made(written: Written) -> Result<Written, Stop> {
    match &written.status {
        Status::Made => Ok(written),
        Status::Waits(_) => Err(fail(format!(
            "version {} of note {} waits for a person, although a person wrote it",
            written.version, written.id
        ))),
    }
}

impl Refused {
    /// Returns the reason that a case is not shown: a valid call was refused.
    pub(super) fn of_valid(&self, arguments: &Value) -> Stop {
        let refusal = Refusal { code: None, message: self.message.clone() };
        refused(format!("`{arguments}`"), &refusal)
    }
}
