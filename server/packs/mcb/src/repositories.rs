//! Git repositories in the workspaces: listing, differences between branches with their dependents, and searching a branch.

use std::path::Path;

use serde_json::Value;
use tabellion_contracts::mcb::{
    BranchHit, ComparedFile, Dependent, FileStatus, ImpactSummary, ImpactedFile, ListedRepository,
    VcsAnalyzeImpactRequest, VcsAnalyzeImpactResponse, VcsCompareBranchesRequest, VcsCompareBranchesResponse,
    VcsIndexRepositoryRequest, VcsIndexRepositoryResponse, VcsListRepositoriesRequest,
    VcsListRepositoriesResponse, VcsSearchBranchRequest, VcsSearchBranchResponse, VcsTool,
};
use tabellion_platform::blocking;
use tabellion_runtime::{Failure, FailureKind, ReadCx, Rows, Violation, WriteCx, context};
use tabellion_vcs::{self as vcs, GitRepository, Revision, TreeComparison, VcsError, Workspaces};

use super::{
    call::Call,
    state::{Answer, Change, Memory, refused},
    values::{MAX_NAMED, first},
};

/// `repo_id` of any repository.
const ANY: &str = "*";
/// The commit that is checked out.
const HEAD: &str = "HEAD";
/// Key in `_meta` with the names that an impact does not follow.
const AMBIGUOUS: &str = "tabellion/ambiguous";

/// Names of the rules that a request breaks.
const PATH: &str = "path";
const NO_SUCH: &str = "no_such";

impl VcsTool for Memory {
    async fn vcs_index_repository(
        &self,
        cx: &WriteCx<'_, Rows>,
        req: VcsIndexRepositoryRequest,
    ) -> Change<VcsIndexRepositoryResponse> {
        let listed = super::code::start::named_repository(cx, &self.code, &req).map_err(refused)?;
        check_id(cx, &req.repo_id, &listed.id, &listed.path).await?;
        super::code::start::repository(cx, &self.code, &listed).await.map_err(refused)
    }

    async fn vcs_list_repositories(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsListRepositoriesRequest,
    ) -> Answer<VcsListRepositoriesResponse> {
        let found = blocking(|| {
            let folder = self.workspaces.folder(&req.repo_path)?;
            vcs::repositories(&self.workspaces, &folder, &cx.stop())
        });
        let found = found.map_err(failure)?;
        let wanted = wanted(cx, &req.repo_id).await?;
        let is_wanted = |repository: &&vcs::RepositorySummary| match &wanted {
            None => true,
            Some(Wanted { id, path }) => repository.id == *id || path.as_deref() == Some(&*repository.path),
        };
        let limit = size(req.limit);
        let all: Vec<_> = found.repositories.iter().filter(is_wanted).collect();
        note_cut(cx, all.len() > limit || found.truncated, all.len() as u64);
        let unreadable: Vec<_> =
            found.unreadable.iter().map(|(path, error)| format!("`{path}`: {error}")).collect();
        cx.warn([(!unreadable.is_empty()).then(|| {
            format!(
                "repositories are left out that can't be read: {}",
                first(&unreadable, MAX_NAMED).join("; ")
            )
        })]);
        let repositories: Vec<_> = all
            .into_iter()
            .take(limit)
            .map(|repository| ListedRepository {
                id: repository.id.clone(),
                path: repository.path.clone(),
                default_branch: repository.default_branch.clone(),
                head: repository.head.clone(),
            })
            .collect();
        Ok(VcsListRepositoriesResponse { count: repositories.len() as u64, repositories })
    }

    async fn vcs_compare_branches(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsCompareBranchesRequest,
    ) -> Answer<VcsCompareBranchesResponse> {
        let comparison = read(cx, &self.workspaces, &req.repo_id, &req.repo_path, |repository| {
            compared(cx, repository, req.base_branch.as_deref(), req.target_branch.as_deref())
        })
        .await?;
        let limit = size(req.limit);
        note_cut(cx, comparison.files.len() > limit, comparison.files.len() as u64);
        let files = comparison.files.iter().take(limit).map(|file| ComparedFile {
            path: file.path.clone(),
            old_path: file.old_path.clone(),
            status: status(file.status),
            additions: file.additions,
            deletions: file.deletions,
            binary: file.binary,
        });
        Ok(VcsCompareBranchesResponse {
            files: files.collect(),
            base_branch: comparison.base.name.clone(),
            head_branch: comparison.target.name.clone(),
            merge_base: Some(comparison.merge_base.to_string()),
            files_changed: comparison.files.len() as u64,
            additions: comparison.additions,
            deletions: comparison.deletions,
        })
    }

    async fn vcs_search_branch(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsSearchBranchRequest,
    ) -> Answer<VcsSearchBranchResponse> {
        if let (Some(target), Some(base)) = (&req.target_branch, &req.base_branch)
            && target != base
        {
            let message = "`base_branch` and `target_branch` name different branches, and one is searched; leave one out";
            return Err(invalid("one_branch", "/base_branch", message.into()).into());
        }
        let name = req.target_branch.as_deref().or(req.base_branch.as_deref());
        let (id, revision, found) = read(cx, &self.workspaces, &req.repo_id, &req.repo_path, |repository| {
            let revision = revision(repository, name, "/target_branch")?;
            let found = repository.search(&revision, &req.query, size(req.limit), &cx.stop());
            Ok((repository.id(), revision, found.map_err(failure)?))
        })
        .await?;
        note_cut(cx, found.total > found.lines.len() as u64, found.total);
        let results: Vec<_> = found
            .lines
            .into_iter()
            .map(|line| BranchHit { path: line.path, line: line.line, snippet: line.snippet })
            .collect();
        Ok(VcsSearchBranchResponse {
            repository_id: id,
            branch: revision.name,
            query: req.query,
            count: results.len() as u64,
            total: found.total,
            results,
        })
    }

    async fn vcs_analyze_impact(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: VcsAnalyzeImpactRequest,
    ) -> Answer<VcsAnalyzeImpactResponse> {
        let limit = size(req.limit);
        let (comparison, impact) = read(cx, &self.workspaces, &req.repo_id, &req.repo_path, |repository| {
            let comparison =
                compared(cx, repository, req.base_branch.as_deref(), req.target_branch.as_deref())?;
            let impact = repository.impact(&comparison, limit, &cx.stop());
            Ok((comparison, impact.map_err(failure)?))
        })
        .await?;
        let is_cut = comparison.files.len() > limit
            || impact.skipped > 0
            || impact.files.iter().any(|file| file.total_dependents > file.dependents.len() as u64);
        note_cut(cx, is_cut, comparison.files.len() as u64);
        if !impact.ambiguous.is_empty() {
            cx.note(AMBIGUOUS, impact.ambiguous);
        }
        let count = |status| comparison.files.iter().filter(|file| file.status == status).count() as u64;
        let summary = ImpactSummary {
            total_files: comparison.files.len() as u64,
            added: count(vcs::FileStatus::Added),
            modified: count(vcs::FileStatus::Modified),
            deleted: count(vcs::FileStatus::Deleted),
            renamed: count(vcs::FileStatus::Renamed),
            total_changes: comparison.additions + comparison.deletions,
        };
        let files = impact.files.into_iter().map(|file| ImpactedFile {
            path: file.change.path,
            status: status(file.change.status),
            impact: file.change.additions + file.change.deletions,
            additions: file.change.additions,
            deletions: file.change.deletions,
            symbols: file.symbols,
            dependents: file.dependents.into_iter().map(dependent).collect(),
        });
        Ok(VcsAnalyzeImpactResponse {
            impacted_files: files.collect(),
            base_ref: comparison.base.name,
            head_ref: comparison.target.name,
            impact_score: impact.score,
            summary,
        })
    }
}

fn dependent(user: vcs::Dependent) -> Dependent {
    Dependent { path: user.path, symbol: user.symbol, line: user.line as u64 }
}

fn status(status: vcs::FileStatus) -> FileStatus {
    match status {
        vcs::FileStatus::Added => FileStatus::Added,
        vcs::FileStatus::Modified => FileStatus::Modified,
        vcs::FileStatus::Deleted => FileStatus::Deleted,
        vcs::FileStatus::Renamed => FileStatus::Renamed,
    }
}

/// The repository that `repo_id` names.
struct Wanted {
    id: String,
    /// Canonical path of the repository, from the row with that id.
    path: Option<String>,
}

/// Returns the repository that `repo_id` names; `None` for any repository.
async fn wanted(cx: &ReadCx<'_, Rows>, id: &str) -> Answer<Option<Wanted>> {
    if id == ANY {
        return Ok(None);
    }
    let row = Call::from_context(cx).get("repository", id).await.map_err(refused)?;
    let path = row.as_ref().and_then(|row| row.get("local_path")).and_then(Value::as_str);
    let path = path.and_then(|path| Path::new(path).canonicalize().ok());
    Ok(Some(Wanted { id: id.to_owned(), path: path.map(|path| path.to_string_lossy().into_owned()) }))
}

/// Checks that the repository with an id, at a path, is the one that `repo_id` names.
pub(super) async fn check_id(cx: &ReadCx<'_, Rows>, asked: &str, id: &str, path: &Path) -> Answer<()> {
    let wanted = wanted(cx, asked).await?;
    Ok(is_wanted(wanted.as_ref(), id, path)?)
}

fn is_wanted(wanted: Option<&Wanted>, id: &str, path: &Path) -> Result<(), Failure> {
    let here = path.to_string_lossy();
    if wanted.is_none_or(|wanted| wanted.id == id || wanted.path.as_deref() == Some(&*here)) {
        return Ok(());
    }
    let message = format!("repo_id is not the repository at repo_path; that is {id}");
    Err(invalid(NO_SUCH, "/repo_id", message))
}

/// Returns the result of `work` on the repository at a path, if it is the one that `repo_id` names.
async fn read<T>(
    cx: &ReadCx<'_, Rows>,
    workspaces: &Workspaces,
    id: &str,
    path: &str,
    mut work: impl FnMut(&GitRepository) -> Result<T, Failure>,
) -> Answer<T> {
    let wanted = wanted(cx, id).await?;
    let found = blocking(|| {
        let at = workspaces.folder(path).map_err(|error| failure(error.into()))?;
        GitRepository::read(workspaces, &at, &cx.stop(), failure, |repository| {
            if wanted.is_some() {
                is_wanted(wanted.as_ref(), &repository.id(), repository.path())?;
            }
            work(repository)
        })
    });
    Ok(found?)
}

/// Compares two branches. The default base is the default branch, the default target the commit that is checked out.
fn compared(
    cx: &ReadCx<'_, Rows>,
    repository: &GitRepository,
    base: Option<&str>,
    target: Option<&str>,
) -> Result<TreeComparison, Failure> {
    let base = match base {
        Some(_) => revision(repository, base, "/base_branch")?,
        None => repository.default_revision().map_err(|error| unnamed(error, "/base_branch"))?,
    };
    let target = revision(repository, Some(target.unwrap_or(HEAD)), "/target_branch")?;
    let comparison = repository.compare(&base, &target, &cx.stop());
    comparison.map_err(failure)
}

/// Returns the commit of a branch; of the default branch if no name is given.
fn revision(repository: &GitRepository, name: Option<&str>, pointer: &str) -> Result<Revision, Failure> {
    let default = match name {
        Some(_) => None,
        None => repository.default_branch().map_err(failure)?,
    };
    let name = name.or(default.as_deref()).unwrap_or(HEAD);
    repository.revision(name).map_err(|error| unnamed(error, pointer))
}

/// Returns the failure of a request whose member names no commit.
fn unnamed(error: VcsError, pointer: &str) -> Failure {
    match error {
        VcsError::NoDefault { .. } => {
            invalid(NO_SUCH, pointer, format!("{error}; give `{}`", pointer.trim_start_matches('/')))
        }
        VcsError::UnknownRevision { .. } | VcsError::AmbiguousRevision(_) | VcsError::NotACommit(_) => {
            invalid(NO_SUCH, pointer, error.to_string())
        }
        other => failure(other),
    }
}

/// Returns the failure for the client.
fn failure(error: VcsError) -> Failure {
    let message = error.to_string();
    match error {
        VcsError::Path(_)
        | VcsError::NoRepository(_)
        | VcsError::Outside { .. }
        | VcsError::Special { .. }
        | VcsError::Unsupported { .. }
        | VcsError::Incomplete { .. }
        | VcsError::NoCommits(_) => invalid(PATH, "/repo_path", message),
        VcsError::UnknownRevision { .. }
        | VcsError::NoDefault { .. }
        | VcsError::AmbiguousRevision(_)
        | VcsError::NotACommit(_)
        | VcsError::Unrelated { .. } => invalid(NO_SUCH, "/base_branch", message),
        VcsError::Query(_) => invalid("query", "/query", message),
        VcsError::TooLarge { .. } | VcsError::Budget { .. } => Failure::new(FailureKind::TooLarge, message),
        VcsError::Changing(_) => Failure::busy(message),
        VcsError::Cancelled => Failure::stopped(),
        VcsError::Damaged { .. } => {
            // Path and cause are logged; the client does not see them.
            tracing::error!(%error, "a repository can't be read");
            let message =
                "the repository can't be read; the server's log says why, and `git fsck` may say more";
            Failure::new(FailureKind::Io, message)
        }
    }
}

/// Returns the failure of a request that breaks a rule at a member.
fn invalid(rule: &'static str, pointer: &str, message: String) -> Failure {
    let violation = Violation { rule: rule.into(), pointer: pointer.into(), message: message.clone() };
    Failure { message, ..Failure::violations(&[violation]) }
}

/// Notes in the answer's `_meta` that it is truncated, and the total.
pub(super) fn note_cut(cx: &ReadCx<'_, Rows>, is_cut: bool, total: u64) {
    if is_cut {
        cx.note(context::TRUNCATED, true);
        cx.note(context::TOTAL, total);
    }
}

fn size(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
