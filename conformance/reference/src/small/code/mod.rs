//! The code of the contract `mcb`: sources of a workspace, indexed in one JSON document, with a separate engine.
//!
//! Files are blocks between empty lines; functions are found by the words before their names. Searching reads the whole index, and
//! branches are the git program's.

mod branches;
mod files;
mod find;
mod impact;
mod metrics;
mod repositories;
mod rules;
mod source;
mod sources;
mod store;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Answer, Refusal, invalid, now};
use crate::mutant::{Mutant, is};
use source::Source;
use store::{Collection, Store};

/// Default number of commits of a branch that are indexed.
const DEPTH: u64 = 50;

/// The parameters of a run.
struct Wanted {
    name: String,
    path: PathBuf,
    kind: &'static str,
    branches: Vec<String>,
    depth: usize,
    request: Value,
}

/// Returns the name of a collection: the requested one, else that of the folder.
fn named(arguments: &Value, path: &Path) -> String {
    let folder = path.file_name().unwrap_or_default().to_string_lossy();
    arguments["collection"].as_str().unwrap_or(&folder).to_owned()
}

pub(super) struct Code {
    store: Store,
    workspace: Option<PathBuf>,
    /// True if runs continue once the answer is sent.
    is_due: bool,
}

impl Code {
    /// Opens the index, and ends the runs of processes that died.
    pub(super) fn new(folder: &Path, workspace: Option<&Path>) -> Self {
        let code = Self {
            store: Store::new(folder),
            workspace: workspace.and_then(|path| path.canonicalize().ok()),
            is_due: false,
        };
        // The next call reports the problem with the file.
        let _ = code.recover();
        code
    }

    fn recover(&self) -> Result<(), Refusal> {
        if is(Mutant::IndexInMemory) {
            return self.store.change(|state| {
                state.collections.clear();
                Ok(())
            });
        }
        if is(Mutant::TakesRunsForDone) {
            return self.store.change(|state| {
                for collection in &mut state.collections {
                    collection.state = "idle".into();
                }
                Ok(())
            });
        }
        self.run_all()
    }

    /// Answers a call.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer, Refusal> {
        let response = match (tool, arguments["action"].as_str().unwrap_or_default()) {
            ("index", "start") => self.start(arguments)?,
            ("index", "git_index") => self.git_index(arguments)?,
            ("index", "status") => self.status(arguments)?,
            ("index", "clear") => self.clear(arguments)?,
            ("search", _) => {
                self.is_due = true;
                find::search(&self.store.read()?, arguments)?
            }
            ("validate", "run") => rules::run(&self.inside(arguments, "path")?, arguments)?,
            ("validate", "list_rules") => rules::list(arguments)?,
            ("validate", "analyze") => metrics::analyze(&self.inside(arguments, "path")?)?,
            ("vcs", "index_repository") => self.index_repository(arguments)?,
            ("vcs", "list_repositories") => {
                repositories::list(&self.inside(arguments, "repo_path")?, arguments)?
            }
            ("vcs", "compare_branches") => {
                branches::compare(&self.inside(arguments, "repo_path")?, arguments)?
            }
            ("vcs", "search_branch") => branches::search(&self.inside(arguments, "repo_path")?, arguments)?,
            ("vcs", "analyze_impact") => impact::analyze(&self.inside(arguments, "repo_path")?, arguments)?,
            (tool, action) => return Err(invalid(format!("this server has no `{tool} {action}`"))),
        };
        Ok(Answer::Response(response))
    }

    /// Continues runs, once the answer is sent.
    pub(super) fn answered(&mut self) {
        if std::mem::take(&mut self.is_due) {
            // A run that fails is not `idle`.
            let _ = self.run_all();
        }
    }

    /// Returns a path in the workspace, with all links resolved.
    fn inside(&self, arguments: &Value, name: &str) -> Result<PathBuf, Refusal> {
        let path = Path::new(arguments[name].as_str().unwrap_or_default());
        let found = path
            .canonicalize()
            .map_err(|_| invalid(format!("there is no `{}`", path.display())))?;
        let is_inside = self
            .workspace
            .as_ref()
            .is_some_and(|workspace| found.starts_with(workspace));
        if is_inside || is(Mutant::NamesOutside) {
            return Ok(found);
        }
        Err(invalid(format!("`{}` is not in the workspace", path.display())))
    }

    fn start(&mut self, arguments: &Value) -> Result<Value, Refusal> {
        let path = self.inside(arguments, "path")?;
        if !path.is_dir() {
            return Err(invalid("the path is not a folder"));
        }
        let wanted = Wanted {
            name: named(arguments, &path),
            path,
            kind: "files",
            branches: Vec::new(),
            depth: 0,
            request: arguments.clone(),
        };
        let (answer, _) = self.begin(wanted)?;
        Ok(answer)
    }

    fn git_index(&mut self, arguments: &Value) -> Result<Value, Refusal> {
        let path = self.inside(arguments, "path")?;
        let branches = repositories::branches(&path, &Value::Null)?;
        let wanted = Wanted {
            name: named(arguments, &path),
            path,
            kind: "branches",
            branches: branches.clone(),
            depth: 0,
            request: arguments.clone(),
        };
        let (mut answer, _) = self.begin(wanted)?;
        answer["branches"] = branches.into();
        Ok(answer)
    }

    fn index_repository(&mut self, arguments: &Value) -> Result<Value, Refusal> {
        let path = self.inside(arguments, "repo_path")?;
        let id = repositories::chosen(&path, arguments)?;
        let branches = repositories::branches(&path, &arguments["branches"])?;
        let depth = match arguments["include_commits"].as_bool() {
            Some(true) => branches::limit(&json!({ "limit": arguments["depth"] }), DEPTH),
            _ => 0,
        };
        let wanted = Wanted {
            name: named(arguments, &path),
            path: path.clone(),
            kind: "repository",
            branches: branches.clone(),
            depth,
            request: json!({}),
        };
        let (begun, sources) = self.begin(wanted)?;
        let commits = sources.iter().filter(|source| source.is_message()).count();
        Ok(json!({
            "operation_id": begun["operation_id"], "repository_id": id, "path": path.to_string_lossy(),
            "default_branch": repositories::default_branch(&path), "branches_found": repositories::local(&path)?,
            "branches": branches, "total_files": sources.len() - commits, "commits_indexed": commits, "state": "indexing",
        }))
    }

    /// Begins a run, in place of an earlier one of the same name. Returns the answer, and the texts to index.
    fn begin(&mut self, wanted: Wanted) -> Result<(Value, Vec<Source>), Refusal> {
        let mut collection = Collection {
            name: wanted.name,
            path: wanted.path,
            kind: wanted.kind.into(),
            branches: wanted.branches,
            depth: wanted.depth,
            request: wanted.request,
            operation_id: String::new(),
            state: if is(Mutant::SaysIndexed) {
                "idle"
            } else {
                "indexing"
            }
            .into(),
            is_done: false,
            started_at: now(),
            finished_at: None,
            total: 0,
            failed: vec![],
            files: store::Files::default(),
        };
        let sources = sources::of(self.workspace.as_deref(), &collection)?;
        collection.total = sources.len();
        let begun = self.store.change(|state| {
            state.last += 1;
            collection.operation_id = format!("run-{}", state.last);
            let hashes = state.cleared.remove(&collection.name).unwrap_or_default();
            let old = state.take(&collection.name);
            collection.files = old.map_or(hashes, |old| old.files);
            let begun = json!({
                "operation_id": collection.operation_id, "collection": collection.name, "path": collection.path.to_string_lossy(),
                "state": "indexing", "started_at": collection.started_at,
            });
            state.collections.push(collection);
            Ok(begun)
        })?;
        self.is_due = !is(Mutant::SaysIndexed);
        Ok((begun, sources))
    }

    fn status(&self, arguments: &Value) -> Result<Value, Refusal> {
        let state = self.store.read()?;
        let asked = arguments["collection"].as_str();
        let all: Vec<_> = state.asked(asked)?.map(Collection::status).collect();
        Ok(json!({ "count": all.len(), "collections": all }))
    }

    fn clear(&self, arguments: &Value) -> Result<Value, Refusal> {
        let name = arguments["collection"].as_str().unwrap_or_default();
        self.store.change(|state| {
            let gone = state.take(name).ok_or_else(|| store::no_collection(name))?;
            let (files, chunks) = (gone.files.len(), gone.chunks().count());
            if is(Mutant::ClearKeepsHashes) {
                let mut hashes = gone.files;
                hashes.values_mut().for_each(|file| file.chunks.clear());
                state.cleared.insert(name.to_owned(), hashes);
            }
            Ok(json!({ "collection": name, "files": files, "chunks": chunks, "cleared": true }))
        })
    }

    /// Ends all runs.
    fn run_all(&self) -> Result<(), Refusal> {
        let state = self.store.read()?;
        let due = state.collections.iter().filter(|collection| !collection.is_done);
        due.map(|collection| collection.name.clone())
            .collect::<Vec<_>>()
            .iter()
            .try_for_each(|name| self.run(name))
    }

    /// Indexes the texts of a collection, each of them in one change.
    fn run(&self, name: &str) -> Result<(), Refusal> {
        let state = self.store.read()?;
        let Some(mut collection) = state.named(name).cloned() else {
            return Ok(());
        };
        let mut taken = sources::of(self.workspace.as_deref(), &collection)?;
        sources::break_run(&mut taken, &collection);
        (collection.total, collection.failed) = (taken.len(), vec![]);
        let limit = collection.request["max_file_size"].as_u64().unwrap_or(1 << 20);
        for source in &taken {
            let place = source.place();
            let text = String::from_utf8(source.read(&collection.path))
                .ok()
                .filter(|text| text.len() as u64 <= limit);
            let Some(text) = text else {
                collection.failed.push(source.path.clone());
                collection.files.remove(&place);
                continue;
            };
            let old = collection.files.get(&place);
            if old.is_none_or(|old| !old.is_of(source, &text)) {
                collection.files.insert(place, files::File::new(source, &text));
                self.store.change(|state| state.replace(&collection))?;
            }
        }
        let places: BTreeSet<_> = taken.iter().map(Source::place).collect();
        let is_left = |place: &String| {
            places.contains(place)
                || is(Mutant::KeepsRemoved)
                || is(Mutant::KeepsUnfitting) && collection.path.join(place).exists()
        };
        collection.files.retain(|place, _| is_left(place));
        collection.state = "idle".into();
        (collection.is_done, collection.finished_at) = (true, Some(now()));
        self.store.change(|state| state.replace(&collection))
    }
}
