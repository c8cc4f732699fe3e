//! Calls that store a text, and the texts that were acknowledged.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{
    WireError, bytes,
    checks::prelude::*,
    launch::{StoreCall, not_ours},
    ledger::{self, Files},
    own::Own,
};

/// Number of further looks for a missing text, and the pause before each.
const LATE_LOOKS: usize = 20;
const LATE: Duration = Duration::from_millis(100);

/// Returns a case for each call of `--store`.
pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let calls = bench.subject.launch.store.iter();
    Ok(calls.map(|call| Case::new(call.tool.clone(), call)).collect())
}

/// A store, and the texts that its server acknowledged.
pub(super) struct Store<'a> {
    pub(super) scene: Scene<'a>,
    call: StoreCall,
    /// Number of texts so far.
    made: usize,
    /// Texts whose calls succeeded.
    acknowledged: Vec<String>,
}

impl<'a> Store<'a> {
    /// Creates a store with one text: this verifies that the server accepts the call, and keeps the text in a file.
    ///
    /// # Errors
    /// As "not shown", if the call is refused, or no file has the text.
    pub(super) fn new(bench: &Bench<'a>, case: &Case) -> Result<Self, Stop> {
        // A server that runs already is neither killed nor started twice.
        if bench.subject.launch.running().is_some() {
            return Err(not_ours());
        }
        let mut store = Self {
            scene: bench.scene(&[("README.md", "# Library\n")])?,
            call: case.read()?,
            made: 0,
            acknowledged: Vec::new(),
        };
        let mut client = store.scene.start()?;
        let first = store.must_store(&mut client)?;
        if !store.has(&first)? {
            return Err(store.where_is(client, &first)?);
        }
        client.close()?;
        Ok(store)
    }

    /// Returns the reason why a text is not in the store although its call succeeded: it comes later, or is not found at
    /// all.
    fn where_is(&mut self, mut client: Client<'_>, text: &str) -> Result<Stop, Stop> {
        let late =
            |when: &str| fail(format!("`{text}` was acknowledged, and came into the store only {when}"));
        for _ in 0..LATE_LOOKS {
            thread::sleep(LATE);
            if self.has(text)? {
                return Ok(late("after that"));
            }
        }
        let _ = self.store(&mut client)?;
        if self.has(text)? {
            return Ok(late("with the next call"));
        }
        client.close()?;
        if self.has(text)? {
            return Ok(late("when the server ended"));
        }
        Ok(not_shown(
            "no file has the text that a successful call stored, also after the server's end: it may be kept elsewhere, or in \
             a different form",
        ))
    }

    /// Returns a new text.
    pub(super) fn text(&mut self) -> String {
        self.made += 1;
        format!("storedtext{:05}", self.made)
    }

    /// Returns the parameters of the call that stores `text`.
    pub(super) fn params(&self, text: &str) -> Value {
        json!({ "name": self.call.tool, "arguments": self.call.filled(text) })
    }

    /// Sends a call without waiting for its answer; returns its id.
    pub(super) fn post(&self, client: &mut Client<'_>, text: &str) -> Result<i64, WireError> {
        client.post_request("tools/call", self.params(text))
    }

    /// Stores a new text, if the server does not refuse it.
    pub(super) fn store(&mut self, client: &mut Client<'_>) -> Result<Result<String, Refusal>, Stop> {
        let text = self.text();
        let answer = client.request("tools/call", self.params(&text))?;
        Ok(match Refusal::from_message(&answer) {
            Some(refusal) => Err(refusal),
            None => {
                self.acknowledged.push(text.clone());
                Ok(text)
            }
        })
    }

    /// Stores a new text.
    pub(super) fn must_store(&mut self, client: &mut Client<'_>) -> Result<String, Stop> {
        let tool = self.call.tool.clone();
        self.store(client)?.map_err(|refusal| refused(format!("a call of `{tool}`"), &refusal))
    }

    /// Notes that a call succeeded.
    pub(super) fn acknowledge(&mut self, text: String) {
        self.acknowledged.push(text);
    }

    /// Returns the bytes of the files that may be the store's, by their paths: those of the library and of the folder for data.
    pub(super) fn files(&self) -> Result<Files, Stop> {
        let library = self.scene.library();
        let mut files: Files =
            self.scene.files()?.into_iter().map(|(path, it)| (library.join(path), it)).collect();
        let data = self.scene.data();
        if data.is_dir() {
            let (found, _) = ledger::files_and_folders(&data, &Own::default())?;
            files.extend(found.into_iter().map(|(path, it)| (data.join(path), it)));
        }
        Ok(files)
    }

    /// Returns the files that have a text.
    pub(super) fn with(&self, text: &str) -> Result<Vec<PathBuf>, Stop> {
        let files = self.files()?.into_iter();
        let has = files.filter(|(_, (_, bytes))| bytes::contain(bytes, text));
        Ok(has.map(|(path, _)| path).collect())
    }

    fn has(&self, text: &str) -> Result<bool, Stop> {
        Ok(!self.with(text)?.is_empty())
    }

    /// Fails unless each acknowledged text is in the store.
    pub(super) fn ensure_kept(&self, when: &str) -> Judgement {
        let files = self.files()?;
        let lost: Vec<_> = self
            .acknowledged
            .iter()
            .filter(|text| !files.values().any(|(_, bytes)| bytes::contain(bytes, text)))
            .map(String::as_str)
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        let few: Vec<_> = lost.iter().take(3).copied().collect();
        Err(fail(format!(
            "{} of {} acknowledged texts are not in the store {when}: {}{}",
            lost.len(),
            self.acknowledged.len(),
            few.join(", "),
            if lost.len() > few.len() { ", …" } else { "" }
        )))
    }
}

/// Returns the name of a file, for people.
pub(super) fn name(file: &Path) -> std::borrow::Cow<'_, str> {
    file.file_name().unwrap_or_default().to_string_lossy()
}

/// Waits for the answers to all `posted` calls; returns the texts of those that succeeded.
pub(super) fn answered(client: &mut Client<'_>, posted: &[(i64, String)]) -> Result<Vec<String>, Stop> {
    let mut open: HashSet<i64> = posted.iter().map(|(id, _)| *id).collect();
    let mut done = Vec::new();
    while !open.is_empty() {
        let message = client.receive()?;
        let Some(id) = message["id"].as_i64().filter(|id| open.remove(id)) else {
            continue;
        };
        if Refusal::from_message(&message).is_none() {
            let text = posted.iter().find(|(posted, _)| *posted == id);
            done.extend(text.map(|(_, text)| text.clone()));
        }
    }
    Ok(done)
}
