//! Beginning runs, and removing their results.

use std::{mem, path::Path};

use serde_json::{Value, to_value};
use tabellion_code::State;
use tabellion_contracts::mcb::{
    IndexClearRequest, IndexClearResponse, IndexGitIndexRequest, IndexGitIndexResponse, IndexStartRequest,
    IndexStartResponse, VcsIndexRepositoryRequest, VcsIndexRepositoryResponse, tool,
};
use tabellion_platform::blocking;
use tabellion_runtime::{CallContext, Failure, FailureKind, Row, Rows, Staged, WriteCx, rows::RowError};
use tabellion_vcs::{GitRepository, ObjectId, Submodules, VcsError, Workspaces};
use tokio::task_local;

use super::{
    super::{
        call::{Call, entity, stage},
        values::{invalid, text},
    },
    COLLECTION, Indexer, NAME, OPERATION_ID, PATH, PROJECT_ID, collection, find_collection, refuse_token,
    rule,
    settings::{FILE, GitSettings},
    trees::Request,
    unusable,
};

/// Maximum bytes of a blob, for tools without an argument for that.
const MAX_BLOB: u64 = 1 << 20;

/// Kind of the collections of `index_repository`.
const REPOSITORY: &str = "repository";

/// A requested run.
struct Wanted<'w> {
    name: String,
    /// True if the caller has given the name.
    is_named: bool,
    path: &'w Path,
    kind: &'static str,
    request: Request,
}

/// A planned row, and the run that it names.
struct Planned<'p> {
    plan: tabellion_runtime::rows::Plan<'p>,
    row: Row,
    operation: String,
    started_at: i64,
}

pub(in super::super) async fn start(
    cx: &WriteCx<'_, Rows>,
    indexer: &Indexer,
    req: IndexStartRequest,
) -> Result<Staged<IndexStartResponse, Rows>, RowError> {
    refuse_token(req.token.as_ref())?;
    let folder = indexer
        .workspaces()
        .folder(&req.path)
        .map_err(|error| invalid("path", "/path", error.to_string()))?;
    if GitRepository::is_bare(&folder) {
        let message = format!(
            "`{}` is a repository without a work tree; index its branches with `action: git_index`",
            req.path
        );
        return Err(invalid("path", "/path", message));
    }
    let wanted = Wanted {
        is_named: req.collection.is_some(),
        name: named(req.collection, folder.path(), None)?,
        path: folder.path(),
        kind: "files",
        request: Request {
            extensions: req.extensions.unwrap_or_default(),
            exclude_dirs: req.exclude_dirs.unwrap_or_default(),
            ignore_patterns: req.ignore_patterns.unwrap_or_default(),
            max_file_size: req.max_file_size,
            follow_symlinks: req.follow_symlinks,
            branches: vec![],
            depth: 0,
        },
    };
    let _ = wanted.request.selection().choose(folder.path()).map_err(unusable)?;
    let planned = plan(cx, indexer, &wanted).await?;
    let answer = IndexStartResponse {
        operation_id: planned.operation.clone(),
        collection: text(&planned.row, NAME).unwrap_or_default().to_owned(),
        path: told(wanted.path),
        state: State::Indexing.word().into(),
        started_at: planned.started_at,
    };
    begin(cx, indexer, planned, answer)
}

pub(in super::super) async fn git_index(
    cx: &WriteCx<'_, Rows>,
    indexer: &Indexer,
    req: IndexGitIndexRequest,
) -> Result<Staged<IndexGitIndexResponse, Rows>, RowError> {
    refuse_token(req.token.as_ref())?;
    let path = req.path.or_else(|| Call::from_context(cx).provenance.text("repo_path").map(String::from));
    let path = path.ok_or(RowError::Missing { fields: vec!["path"] })?;
    let listed = listed(cx, indexer.workspaces(), &RepositoryRequest::branch(path))
        .map_err(|error| error.refusal("/path"))?;
    let mut ignore_patterns = listed.settings.ignore_patterns.clone();
    ignore_patterns.extend(req.ignore_patterns.unwrap_or_default());
    let wanted = Wanted {
        is_named: req.collection.is_some(),
        name: named(req.collection, &listed.path, listed.branches.first())?,
        path: &listed.path,
        kind: "branches",
        request: Request {
            extensions: req.extensions.unwrap_or_default(),
            exclude_dirs: req.exclude_dirs.unwrap_or_default(),
            ignore_patterns,
            max_file_size: req.max_file_size,
            follow_symlinks: false,
            branches: listed.branches.clone(),
            depth: 0,
        },
    };
    let _ = wanted.request.selection().choose(&listed.path).map_err(unusable)?;
    let planned = plan(cx, indexer, &wanted).await?;
    let answer = IndexGitIndexResponse {
        operation_id: planned.operation.clone(),
        collection: text(&planned.row, NAME).unwrap_or_default().to_owned(),
        path: told(wanted.path),
        state: State::Indexing.word().into(),
        started_at: planned.started_at,
        branches: wanted.request.branches,
    };
    begin(cx, indexer, planned, answer)
}

/// Reads the repository that a call names.
pub(in super::super) fn named_repository(
    cx: &WriteCx<'_, Rows>,
    indexer: &Indexer,
    req: &VcsIndexRepositoryRequest,
) -> Result<Listed, RowError> {
    let found = listed(cx, indexer.workspaces(), &RepositoryRequest::repository(req));
    found.map_err(|error| error.refusal("/repo_path"))
}

/// Indexes branches of a repository that the caller has named.
pub(in super::super) async fn repository(
    cx: &WriteCx<'_, Rows>,
    indexer: &Indexer,
    listed: &Listed,
) -> Result<Staged<VcsIndexRepositoryResponse, Rows>, RowError> {
    let wanted = Wanted {
        is_named: false,
        name: named(None, &listed.path, None)?,
        path: &listed.path,
        kind: REPOSITORY,
        request: Request {
            extensions: vec![],
            exclude_dirs: vec![],
            ignore_patterns: listed.settings.ignore_patterns.clone(),
            max_file_size: MAX_BLOB,
            follow_symlinks: false,
            branches: listed.branches.clone(),
            depth: listed.depth,
        },
    };
    let planned = plan(cx, indexer, &wanted).await?;
    let answer = VcsIndexRepositoryResponse {
        operation_id: planned.operation.clone(),
        repository_id: listed.id.clone(),
        path: told(wanted.path),
        default_branch: listed.default_branch.clone(),
        branches_found: listed.found.clone(),
        branches: wanted.request.branches,
        total_files: listed.files,
        commits_indexed: listed.commits,
        state: State::Indexing.word().into(),
    };
    begin(cx, indexer, planned, answer)
}

pub(in super::super) async fn clear(
    cx: &WriteCx<'_, Rows>,
    indexer: &Indexer,
    req: IndexClearRequest,
) -> Result<Staged<IndexClearResponse, Rows>, RowError> {
    refuse_token(req.token.as_ref())?;
    let call = Call::from_context(cx);
    let row = collection(&call, indexer, &req.collection).await?;
    let key = text(&row, "id").unwrap_or_default().to_owned();
    let (files, chunks) = blocking(|| indexer.index()?.counts(&key)).map_err(unusable)?;
    let mut plan = call.plan();
    plan.delete(entity(COLLECTION)?, &[row["id"].clone()]).await?;
    indexer.stop(&key);
    indexer.expect(&key);
    let answer = IndexClearResponse {
        collection: text(&row, NAME).unwrap_or_default().to_owned(),
        files,
        chunks,
        cleared: true,
    };
    stage(cx, plan, "delete", (COLLECTION, &row), answer)
}

/// Plans the row of a run.
///
/// # Errors
/// If a run of the collection is in progress, or a name that the caller has not given is that of a different collection.
async fn plan<'v>(
    cx: &WriteCx<'v, Rows>,
    indexer: &Indexer,
    wanted: &Wanted<'_>,
) -> Result<Planned<'v>, RowError> {
    let call = Call::from_context(cx);
    let is_different = |row: &Row| {
        let path = text(row, PATH).unwrap_or_default();
        let is_same = path == told(wanted.path) && text(row, "kind") == Some(wanted.kind);
        // A folder that is not here is a different machine's, or was moved.
        !wanted.is_named && !is_same && Path::new(path).exists()
    };
    let mut name = wanted.name.clone();
    let mut earlier = find_collection(&call, indexer, &name).await?;
    if wanted.kind == REPOSITORY && earlier.as_ref().is_some_and(is_different) {
        // Callers can't name it.
        name = format!("{name}@{REPOSITORY}");
        earlier = find_collection(&call, indexer, &name).await?;
    }
    if let Some(row) = &earlier {
        if is_different(row) {
            return Err(taken(row, wanted.kind));
        }
        let operation = text(row, OPERATION_ID).unwrap_or_default();
        let (state, _) = blocking(|| indexer.standing(row)).map_err(unusable)?;
        if state == State::Indexing {
            let message = format!(
                "the collection is being indexed by operation `{operation}`; wait until its status is idle"
            );
            let failure = Failure::new(FailureKind::Conflict, message).with("rule", "indexing");
            return Err(failure.with(OPERATION_ID, operation).into());
        }
    }
    let (operation, started_at) = (call.fresh_id(), call.now());
    let mut data = Row::new();
    data.insert(PATH.into(), told(wanted.path).into());
    data.insert("kind".into(), wanted.kind.into());
    data.insert("request".into(), to_value(&wanted.request).unwrap_or(Value::Null));
    data.insert(OPERATION_ID.into(), operation.as_str().into());
    data.insert("started_at".into(), started_at.into());
    data.insert("provenance".into(), call.provenance.to_value());
    // A collection that was begun in another project of the same folder is from now on in the caller's.
    if let Some(project) = call.provenance.text(PROJECT_ID) {
        data.insert(PROJECT_ID.into(), project.into());
    }
    let mut plan = call.plan();
    let row = match &earlier {
        Some(earlier) => plan.update(entity(COLLECTION)?, &[earlier["id"].clone()], data).await?,
        None => {
            data.insert(NAME.into(), name.into());
            plan.create(entity(COLLECTION)?, data).await?
        }
    };
    Ok(Planned { plan, row, operation, started_at })
}

/// Returns the refusal of a default name that a different collection has.
fn taken(row: &Row, kind: &str) -> RowError {
    let field = |field: &str| text(row, field).unwrap_or_default();
    let name = field(NAME);
    let (pointer, remedy) = match kind {
        REPOSITORY => {
            let clear =
                format!("`index` with `action: clear` and `collection: {name}` makes room for this one");
            ("/repo_path", clear)
        }
        _ => ("/collection", "give this one a name, as `collection`".to_owned()),
    };
    let message =
        format!("the collection `{name}` indexes the {} `{}`; {remedy}", field("kind"), field(PATH));
    invalid("collection_taken", pointer, message)
}

fn begin<T: Send + 'static>(
    cx: &WriteCx<'_, Rows>,
    indexer: &Indexer,
    planned: Planned<'_>,
    answer: T,
) -> Result<Staged<T, Rows>, RowError> {
    indexer.expect(&planned.operation);
    stage(cx, planned.plan, "begin", (COLLECTION, &planned.row), answer)
}

/// Returns the collection's name: as given, or else that of the folder, with the branch if there is one.
///
/// # Errors
/// If a blank name is given.
fn named(given: Option<String>, path: &Path, branch: Option<&String>) -> Result<String, RowError> {
    if given.as_ref().is_some_and(|name| name.trim().is_empty()) {
        let message = "must not be blank; leave it out to use the folder's name";
        return Err(invalid("not_blank", "/collection", message));
    }
    Ok(given.unwrap_or_else(|| {
        let folder =
            path.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
        match branch {
            Some(branch) => format!("{folder}@{branch}"),
            None => folder,
        }
    }))
}

fn told(path: &Path) -> String {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// Request to read a repository.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct RepositoryRequest {
    path: String,
    branches: Option<Vec<String>>,
    /// Flag to count files and commits, and number of commits whose messages are taken; `None` if the tool has no such arguments.
    counts: Option<(bool, Option<u64>)>,
}

impl RepositoryRequest {
    fn branch(path: String) -> Self {
        Self { path, branches: None, counts: None }
    }

    fn repository(req: &VcsIndexRepositoryRequest) -> Self {
        Self {
            path: req.repo_path.clone(),
            branches: req.branches.clone().filter(|branches| !branches.is_empty()),
            counts: Some((req.include_commits, req.depth)),
        }
    }

    /// Parses the request from a call's raw arguments; `None` if the call does not index a repository.
    pub(in super::super) fn parse(name: &str, arguments: &Value) -> Option<Self> {
        match (name, arguments["action"].as_str()?) {
            (tool::INDEX, "git_index") => Some(Self::branch(arguments["path"].as_str()?.to_owned())),
            (tool::VCS, "index_repository") => {
                let mut arguments = arguments.clone();
                arguments.as_object_mut()?.remove("action");
                Some(Self::repository(&serde_json::from_value(arguments).ok()?))
            }
            _ => None,
        }
    }
}

task_local! {
    /// The repository read for this task's call before it took the store's turn to write.
    static READ_AHEAD: (RepositoryRequest, Result<Listed, Refused>);
}

/// Makes a call. The repository that it asks for, if any, is read first: other calls can write meanwhile.
pub(in super::super) async fn with_repository<T>(
    call: &CallContext,
    workspaces: &Workspaces,
    asked: Option<RepositoryRequest>,
    work: impl Future<Output = T>,
) -> T {
    let Some(asked) = asked else {
        return work.await;
    };
    let read = blocking(|| Listed::read(workspaces, &asked, &call.stop()));
    READ_AHEAD.scope((asked, read), work).await
}

/// Returns the repository read ahead; reads it now if the path came from elsewhere than the arguments.
fn listed(
    cx: &WriteCx<'_, Rows>,
    workspaces: &Workspaces,
    asked: &RepositoryRequest,
) -> Result<Listed, Refused> {
    let ahead = READ_AHEAD.try_with(|(read, listed)| (read == asked).then(|| listed.clone()));
    match ahead.ok().flatten() {
        Some(listed) => listed,
        None => blocking(|| Listed::read(workspaces, asked, &cx.stop())),
    }
}

/// A repository, and the branches to index.
#[derive(Debug, Clone)]
pub(in super::super) struct Listed {
    pub(in super::super) path: std::path::PathBuf,
    pub(in super::super) id: String,
    settings: GitSettings,
    found: Vec<String>,
    default_branch: Option<String>,
    branches: Vec<String>,
    /// Number of commits of each branch whose messages are taken.
    depth: u64,
    /// Numbers of files and commits in all branches to index, if they were to be counted.
    files: u64,
    commits: u64,
}

/// Reason why a repository can't be indexed.
#[derive(Debug, Clone)]
enum Refused {
    Repository {
        rule: &'static str,
        message: String,
    },
    /// A branch of the call's list, by its place there.
    Branch {
        rule: &'static str,
        at: usize,
        message: String,
    },
    Settings(String),
    Stopped,
}

impl Refused {
    /// Returns the refusal of a branch by the place where it is named.
    fn branch(error: VcsError, at: usize, asked: &RepositoryRequest, settings: &GitSettings) -> Self {
        match Self::from(error) {
            Self::Repository { rule, message } if asked.branches.is_some() => {
                Self::Branch { rule, at, message }
            }
            Self::Repository { message, .. } if !settings.branches.is_empty() => {
                Self::Settings(format!("`[git] branches` of `{FILE}`: {message}"))
            }
            other => other,
        }
    }

    fn refusal(self, pointer: &str) -> RowError {
        match self {
            Self::Branch { rule, at, message } => invalid(rule, &format!("/branches/{at}"), message),
            Self::Repository { rule, message } => invalid(rule, pointer, message),
            Self::Settings(message) => invalid("settings", "/path", message),
            Self::Stopped => Failure::stopped().into(),
        }
    }
}

impl From<VcsError> for Refused {
    fn from(error: VcsError) -> Self {
        match error {
            VcsError::Cancelled => Self::Stopped,
            _ => Self::Repository { rule: rule(&error), message: error.to_string() },
        }
    }
}

/// Returns branches under one name each: `refs/heads/main` is `main`, and so is `HEAD` where both are at one commit.
fn distinct(found: &[String], branches: &[String], commits: &[ObjectId]) -> Vec<String> {
    let is_branch = |name: &str| found.iter().any(|branch| branch == name);
    let short = |name: &'_ String| {
        let short = name.strip_prefix("refs/heads/").filter(|short| is_branch(short));
        short.unwrap_or(name).to_owned()
    };
    let mut named: Vec<(String, &ObjectId)> = branches.iter().map(short).zip(commits).collect();
    // Branches first: other names give way to them.
    let mut order: Vec<usize> = (0..named.len()).collect();
    order.sort_by_key(|at| !is_branch(&named[*at].0));
    let mut seen: Vec<usize> = vec![];
    for at in order {
        let (name, commit) = &named[at];
        let is_again = |other: &usize| {
            let (other, same) = &named[*other];
            other == name || (!is_branch(name) && same == commit)
        };
        if !seen.iter().any(is_again) {
            seen.push(at);
        }
    }
    seen.sort_unstable();
    seen.into_iter().map(|at| mem::take(&mut named[at].0)).collect()
}

impl Listed {
    /// Reads the repository at a path. Branches are the requested ones, or else those of the settings, or else the default branch.
    fn read(
        workspaces: &Workspaces,
        asked: &RepositoryRequest,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, Refused> {
        let at = workspaces.folder(&asked.path).map_err(VcsError::from)?;
        GitRepository::read(workspaces, &at, cancelled, Refused::from, |repository| {
            let path = repository.path().to_owned();
            let settings = GitSettings::read(at.root(), &path).map_err(Refused::Settings)?;
            let default_branch = repository.default_branch()?;
            let mut branches = asked.branches.clone().unwrap_or_else(|| settings.branches.clone());
            if branches.is_empty() {
                branches.extend(default_branch.clone());
            }
            if branches.is_empty() {
                return Err(VcsError::NoCommits(path).into());
            }
            let found = repository.branches()?;
            let mut commits_of = vec![];
            for (at, branch) in branches.iter().enumerate() {
                let commit = repository.revision(branch).map(|revision| revision.commit);
                commits_of.push(commit.map_err(|error| Refused::branch(error, at, asked, &settings))?);
            }
            let branches = distinct(&found, &branches, &commits_of);
            let depth = match asked.counts {
                Some((true, depth)) => depth.unwrap_or(settings.depth),
                _ => 0,
            };
            let (mut files, mut commits) = (0, 0);
            for branch in &branches {
                let revision = repository.revision(branch)?;
                if asked.counts.is_none() {
                    continue;
                }
                for blob in repository.blobs(&revision, Submodules::Skip, cancelled)? {
                    blob?;
                    files += 1;
                }
                let depth = usize::try_from(depth).unwrap_or(usize::MAX);
                commits += repository.commits(&revision, depth, cancelled)?.len() as u64;
            }
            Ok(Self {
                id: repository.id(),
                path,
                settings,
                found,
                default_branch,
                branches,
                depth,
                files,
                commits,
            })
        })
    }
}
