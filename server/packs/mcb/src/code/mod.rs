//! Indexes of code: rows describe the collections, and the index is derived from them, in a file next to them.
//!
//! | module | does |
//! |---|---|
//! | `indexer` | updates the index to the rows, in the background |
//! | `start`, `status` | runs and their states, as operations |
//! | `find` | searching |
//! | `trees` | sources of files: folders, branches of repositories |
//! | `settings` | `[git]` in `.mcp-context.toml` |

pub(super) mod find;
mod indexer;
mod settings;
pub(super) mod start;
pub(super) mod status;
mod tool;
mod trees;

pub(super) use self::indexer::{Collections, Indexer};

use tabellion_code::CodeError;
use tabellion_platform::blocking;
use tabellion_runtime::{
    Failure, FailureKind, Row,
    rows::{Filter, RowError, Select},
    text::composed,
};
use tabellion_sqlite::unwritable;
use tabellion_vcs::VcsError;

use super::{
    call::{Call, entity},
    values::{invalid, text},
};

/// Name of the entity.
pub(super) const COLLECTION: &str = "collection";
/// Fields of it.
const NAME: &str = "name";
const PROJECT_ID: &str = "project_id";
const OPERATION_ID: &str = "operation_id";
const PATH: &str = "path";

/// Returns the collections of the caller's project as this machine has them, in order of their names. A discovered
/// project changes with the repository's remote and name: then those of the caller's work tree that were begun in other projects are found, too.
async fn collections(call: &Call<'_>, indexer: &Indexer) -> Result<Vec<Row>, RowError> {
    let project = call.provenance.text(PROJECT_ID).unwrap_or_default();
    let work_tree =
        call.provenance.is_discovered(PROJECT_ID).then(|| call.provenance.text("repo_path")).flatten();
    let mut filters = vec![Filter::is("org_id", call.org())];
    filters.extend(work_tree.is_none().then(|| Filter::is(PROJECT_ID, project)));
    let all = call.read(Select::new(entity(COLLECTION)?, filters)).await?;
    let (mut rows, mut others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|row| text(row, PROJECT_ID).unwrap_or_default() == project);
    others.retain(|other| {
        let is_within =
            work_tree.is_some_and(|top| text(other, PATH).is_some_and(|path| within(path, top).is_some()));
        let name = text(other, NAME).unwrap_or_default();
        is_within && !rows.iter().any(|row| text(row, NAME).is_some_and(|own| is_same_name(own, name)))
    });
    rows.append(&mut others);
    rows.sort_by(|a, b| a[NAME].as_str().cmp(&b[NAME].as_str()));
    blocking(|| rows.iter_mut().try_for_each(|row| indexer.localize(row))).map_err(unusable)?;
    Ok(rows)
}

/// Returns the collection of that name, if it exists. Older data may have several equivalent names: then the exact one takes precedence.
async fn find_collection(call: &Call<'_>, indexer: &Indexer, name: &str) -> Result<Option<Row>, RowError> {
    let mut rows = collections(call, indexer).await?;
    rows.retain(|row| text(row, NAME).is_some_and(|other| is_same_name(other, name)));
    let exact = rows.iter().position(|row| text(row, NAME) == Some(name));
    Ok((!rows.is_empty()).then(|| rows.swap_remove(exact.unwrap_or(0))))
}

async fn collection(call: &Call<'_>, indexer: &Indexer, name: &str) -> Result<Row, RowError> {
    let found = find_collection(call, indexer, name).await?;
    found.ok_or_else(|| no_collection(call, name))
}

/// Returns true if two names mean the same collection: names differ neither by the case and composition of letters nor by the choice of `-`,
/// `.` or `_` between words.
fn is_same_name(one: &str, other: &str) -> bool {
    let folded = |name: &str| composed(&name.to_lowercase()).replace(['-', '.'], "_");
    folded(one.trim()) == folded(other.trim())
}

/// Returns the path relative to a folder, if it is inside.
fn within<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

fn no_collection(call: &Call<'_>, name: &str) -> RowError {
    let message = format!(
        "there is no collection `{}` in the project `{}`; the status of all names those that there are",
        name.escape_debug(),
        call.provenance.text(PROJECT_ID).unwrap_or_default().escape_debug()
    );
    Failure::new(FailureKind::NotFound, message).with("rule", "no_collection").into()
}

/// Returns the refusal of a token, since tokens can't be checked here.
pub(super) fn refuse_token(token: Option<&String>) -> Result<(), RowError> {
    match token {
        None => Ok(()),
        Some(_) => Err(invalid("token", "/token", "token can't be checked here; leave it out")),
    }
}

/// Returns the failure for the client: the path of the index is only logged, and so is the cause unless the client can have it mended.
fn unusable(error: CodeError) -> Failure {
    match error {
        CodeError::Busy => Failure::busy(error.to_string()),
        CodeError::Filter(message) => Failure::new(FailureKind::Invalid, message),
        CodeError::Remade => Failure::new(FailureKind::Io, error.to_string()),
        _ => {
            tracing::error!(%error, "the index of code can't be used");
            let reason = unwritable(&error).unwrap_or("the server's log says why");
            let message = format!("the index of code can't be used now: {reason}");
            Failure::new(FailureKind::Io, message).with_source(error)
        }
    }
}

/// Returns the name of the rule that a path or repository breaks.
fn rule(error: &VcsError) -> &'static str {
    match error {
        VcsError::UnknownRevision { .. } | VcsError::AmbiguousRevision(_) | VcsError::NotACommit(_) => {
            "no_such"
        }
        _ => "path",
    }
}
