//! A server over a workspace, its calls, and the rules for its hits.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    hit::{Hit, hits},
    tree::{Tree, word},
};
use crate::memory::{request, said};
use tabellion_conformance::{checks::prelude::*, judgement::accepted};

pub(super) const START: &[&str] = &["start"];
pub(super) const GIT_INDEX: &[&str] = &["git_index"];
pub(super) const STATUS: &[&str] = &["status"];
pub(super) const CLEAR: &[&str] = &["clear"];
pub(super) const CODE: &[&str] = &["code"];

/// The name of the collection of most checks.
pub(super) const SHOP: &str = "shop";
/// Maximum number of hits of a query.
pub(super) const ALL: u64 = 1_000;
/// Interval between two polls of a run's status.
const POLL_INTERVAL: Duration = Duration::from_millis(15);
/// Timeout for a run of a small tree.
const RUN_TIMEOUT: Duration = Duration::from_secs(60);

/// A server over a workspace of its own.
pub(super) struct Server<'b, 'a> {
    bench: &'b Bench<'a>,
    pub(super) scene: Scene<'a>,
    client: Client<'a>,
}

/// Creates the scene of a server with a workspace.
///
/// # Errors
/// If the server's command does not name a workspace.
pub(super) fn scene<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    if !bench.subject.launch.names("{workspace}") {
        let why = "the command does not name the folder with source code; put `{workspace}` into it, as in `--workspace {workspace}`";
        return Err(not_applicable(why));
    }
    Scene::of_rows(bench.subject, &bench.trace)
}

impl<'b, 'a> Server<'b, 'a> {
    /// Starts a server over an empty workspace.
    ///
    /// # Errors
    /// If the command does not name a workspace, or the server does not start.
    pub(super) fn start(bench: &'b Bench<'a>) -> Result<Self, Stop> {
        let scene = scene(bench)?;
        let client = scene.start()?;
        Ok(Self { bench, scene, client })
    }

    /// Ends the server and starts it again.
    pub(super) fn restarted(self) -> Result<Self, Stop> {
        let Self { bench, scene, client } = self;
        client.close()?;
        let client = scene.start()?;
        Ok(Self { bench, scene, client })
    }

    /// Kills the server and starts it again.
    pub(super) fn killed(self) -> Result<Self, Stop> {
        let Self { bench, scene, client } = self;
        scene.trace("the server is killed");
        client.target.kill();
        let client = scene.start()?;
        Ok(Self { bench, scene, client })
    }

    /// Returns a path in the workspace.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.scene.workspace().join(path)
    }

    /// Returns a path in the workspace as calls name it.
    pub(super) fn named(&self, path: &str) -> String {
        self.path(path).to_string_lossy().into_owned()
    }

    /// Writes a file of the workspace.
    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> Result<(), Stop> {
        self.scene.trace(format!("`{path}` is written"));
        write(&self.path(path), content.as_ref())
    }

    /// Writes a tree below the folder `shop` of the workspace.
    pub(super) fn put_tree(&self, tree: &Tree) -> Result<(), Stop> {
        fs::create_dir_all(self.path(SHOP))?;
        for (path, source) in tree {
            write(&self.path(&format!("{SHOP}/{path}")), source.text().as_bytes())?;
        }
        self.scene.trace(format!("{} files are written", tree.len()));
        Ok(())
    }

    /// Makes a call.
    pub(super) fn ask(&mut self, is: &[&str], arguments: &Value) -> Result<Reply, Stop> {
        let (tool, arguments) = request(self.bench, is, arguments)?;
        self.client.call(tool, &arguments)
    }

    /// Makes a valid call; returns the response.
    pub(super) fn must(&mut self, is: &[&str], arguments: &Value) -> Result<Value, Stop> {
        let done = self.ask(is, arguments)?.must(said(is, arguments))?;
        Ok(done.response)
    }

    /// Makes a call that must be refused; returns the message.
    pub(super) fn must_not(&mut self, is: &[&str], arguments: &Value, why: &str) -> Result<String, Stop> {
        match self.ask(is, arguments)? {
            Reply::Done(_) => {
                Err(accepted(format!("`{}` with `{arguments}` was accepted, {why}", is.join(" "))))
            }
            Reply::Refused(refusal) => Ok(refusal.message),
        }
    }

    /// Begins to index the folder `shop`, with further arguments.
    pub(super) fn begin(&mut self, more: &Value) -> Result<Value, Stop> {
        let mut arguments = Map::from_iter([
            ("path".to_owned(), json!(self.named(SHOP))),
            ("collection".to_owned(), json!(SHOP)),
        ]);
        arguments.extend(more.as_object().cloned().unwrap_or_default());
        self.must(START, &arguments.into())
    }

    /// Indexes the folder `shop`, and waits for it; returns the status.
    pub(super) fn index(&mut self, more: &Value) -> Result<Value, Stop> {
        self.begin(more)?;
        let name = more["collection"].as_str().unwrap_or(SHOP).to_owned();
        self.idle(&name)
    }

    pub(super) fn status(&mut self, collection: &str) -> Result<Value, Stop> {
        let answer = self.must(STATUS, &json!({ "collection": collection }))?;
        let of = |entry: &&Value| entry["collection"] == collection;
        let found = answer["collections"].as_array().into_iter().flatten().find(of);
        let none = || fail(format!("the status of `{collection}` does not have it: {answer}"));
        found.cloned().ok_or_else(none)
    }

    /// Waits until a collection is idle; returns its status.
    pub(super) fn idle(&mut self, collection: &str) -> Result<Value, Stop> {
        let since = Instant::now();
        loop {
            let status = self.status(collection)?;
            match status["state"].as_str() {
                Some("idle") => return Ok(status),
                Some("failed") => {
                    return Err(fail(format!("the run of `{collection}` failed: {}", status["error"])));
                }
                _ if since.elapsed() > RUN_TIMEOUT => {
                    let seconds = RUN_TIMEOUT.as_secs();
                    return Err(fail(format!(
                        "the run of `{collection}` is not over after {seconds} s: {status}"
                    )));
                }
                _ => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Searches the code; returns the hits.
    pub(super) fn search(&mut self, query: &str, more: &Value) -> Result<Vec<Hit>, Stop> {
        let mut arguments =
            Map::from_iter([("query".to_owned(), json!(query)), ("limit".to_owned(), json!(ALL))]);
        arguments.extend(more.as_object().cloned().unwrap_or_default());
        let answer = self.must(CODE, &arguments.into())?;
        Ok(hits(&answer))
    }

    /// Fails unless a search for the word of each file of the tree finds it, and all hits match the current content of these files. `gone`
    /// are words that no file contains any more.
    pub(super) fn holds(&mut self, tree: &Tree, gone: &[usize], when: &str) -> Judgement {
        let texts: BTreeMap<_, _> =
            tree.iter().map(|(path, source)| (path.as_str(), source.text())).collect();
        for (path, source) in tree {
            let own = word(source.word);
            let found = self.search(&own, &json!({ "collection": SHOP }))?;
            for hit in &found {
                hit.is_of(&texts, &own, when)?;
            }
            let has = found.iter().any(|hit| hit.is_in(path) && hit.content.contains(&own));
            ensure(has, || {
                let paths: Vec<_> = found.iter().map(|hit| &hit.file_path).collect();
                format!("{when}, `{own}` does not find `{path}`, which has it, but {paths:?}")
            })?;
        }
        for number in gone {
            let old = word(*number);
            for hit in self.search(&old, &json!({}))? {
                hit.is_of(&texts, &old, when)?;
                ensure(!hit.content.contains(&old), || {
                    format!("{when}, `{old}` finds `{}`, which no longer has it", hit.file_path)
                })?;
            }
        }
        Ok(())
    }
}

/// Writes a file, with the folders above it.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), Stop> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    Ok(fs::write(path, content)?)
}
