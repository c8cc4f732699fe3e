//! The packs: contracts that can be served, with their implementations.
//!
//! An entry in `ALL` makes a contract available; its tools, schemas and errors come from its JSON. Its implementation determines
//! whether it is served from a library or from rows in the data folder.

use std::{env, path::PathBuf, sync::Arc};

use tabellion_library::{Library, path::LibraryPath};
use tabellion_pack::{Derived, Implementation, Pack, cards::CardsOf, review::Review};
use tabellion_records::{Location, Records, Start};
use tabellion_runtime::{Contract, ContractSpec, Failure, downloads::Downloads};
use tabellion_vcs::{WorkspaceError, Workspaces};

/// A contract, and its rows, if it is over rows.
pub type WithRows = (Arc<dyn Contract>, Option<Arc<Records>>);

static ALL: &[&Pack] = &[
    &tabellion_documents::BRAINDRIVE_MARKDOWN,
    &tabellion_documents::LEARNING_OS,
    &tabellion_documents::SAFE_MARKDOWN_EDITOR,
    &tabellion_mcb::PACK,
    &tabellion_brainforge::PACK,
];

/// The library, rows and folders that contracts are served from.
#[derive(Clone, Default)]
pub struct Grounds {
    /// The library, for contracts over documents.
    pub library: Option<Arc<Library>>,
    /// The document, for contracts that work on one.
    pub document: Option<LibraryPath>,
    /// The place of the data, for contracts over rows.
    pub data: Option<Location>,
    /// Folders that callers can name paths in, for contracts that work on files of the host; without any, the work tree around the
    /// working directory.
    pub workspaces: Vec<PathBuf>,
}

/// The reason that a contract can't be served.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No contract has this name.
    #[error("there is no contract `{0}`; the contracts are {all}", all = names().join(", "))]
    Unknown(String),
    /// The contract works on a library.
    #[error("contract `{0}` works on a library; name its folder with `--library DIR`")]
    NoLibrary(&'static str),
    /// The contract works on one document.
    #[error(
        "contract `{0}` works on one document; choose it with `--document PATH`, relative to the library"
    )]
    NoDocument(&'static str),
    /// The contract keeps rows.
    #[error("contract `{0}` keeps rows; name their folder with `--data DIR`")]
    NoData(&'static str),
    /// The rows can't be opened.
    #[error("{0}")]
    Rows(#[from] Failure),
    /// A folder can't be a workspace.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// Returns the name of the contract that is served by default.
pub fn default() -> &'static str {
    ALL[0].spec.id
}

/// Returns the declarations of all contracts.
pub(crate) fn specs() -> Vec<&'static ContractSpec> {
    names().into_iter().filter_map(spec).collect()
}

/// Returns the names of all contracts.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|pack| pack.spec.id).collect()
}

/// Returns the contracts over documents.
pub(crate) fn over_documents() -> impl Iterator<Item = &'static ContractSpec> {
    ALL.iter()
        .map(|pack| pack.spec)
        .filter(|spec| spec.rows.is_none())
}

/// Returns the names of the contracts over rows.
pub fn names_over_rows() -> Vec<&'static str> {
    let over_rows = ALL.iter().filter(|pack| pack.spec.rows.is_some());
    over_rows.map(|pack| pack.spec.id).collect()
}

/// Returns the names of the contracts that are served over REST.
pub fn names_over_rest() -> Vec<&'static str> {
    let over_rest = ALL.iter().filter(|pack| !pack.spec.rest.is_empty());
    over_rest.map(|pack| pack.spec.id).collect()
}

/// Returns the declaration of the contract called `name`.
pub fn spec(name: &str) -> Option<&'static ContractSpec> {
    pack(name).map(|pack| pack.spec)
}

/// Returns the contract called `name`, served from `grounds`, and its rows, if it is over rows. Missing rows
/// are created. The caller settles them when the process ends.
///
/// # Errors
/// [`ServiceError`]: a library, document or folder that the contract needs is missing, or can't be opened.
pub fn service(name: &str, grounds: &Grounds) -> Result<WithRows, ServiceError> {
    let pack = pack(name).ok_or_else(|| ServiceError::Unknown(name.into()))?;
    let id = pack.spec.id;
    match pack.implementation {
        Implementation::Documents(over) => {
            let library = grounds.library.clone().ok_or(ServiceError::NoLibrary(id))?;
            let contract = over(library, grounds.document.as_ref());
            Ok((contract.ok_or(ServiceError::NoDocument(id))?, None))
        }
        Implementation::Rows(over) => {
            let (Some(data), Some(rows)) = (&grounds.data, pack.spec.rows) else {
                return Err(ServiceError::NoData(id));
            };
            let working_directory = env::current_dir().unwrap_or_default();
            let workspaces = Workspaces::new(&grounds.workspaces, &working_directory)?;
            let records = Arc::new(Records::open(data.clone(), rows, Start::Serve)?);
            let contract = over(Arc::clone(&records), Arc::new(workspaces));
            Ok((contract, Some(records)))
        }
    }
}

/// Returns the downloads that the contract called `name` offers from `library`; `None` if it has none.
pub(crate) fn downloads(name: &str, library: &Library) -> Option<Arc<dyn Downloads>> {
    let downloads = pack(name)?.downloads?;
    Some(downloads(library))
}

/// Returns the cards of the rows of the contract called `name`; `None` if it shows none.
pub(crate) fn cards(name: &str) -> Option<CardsOf> {
    pack(name)?.cards
}

/// Returns the index of words of the contract called `name` over `records`; `None` if it has none.
pub(crate) fn words(name: &str, records: Arc<Records>) -> Option<Arc<dyn Derived>> {
    let words = pack(name)?.words?;
    Some(words(records))
}

/// Returns all packs.
pub(crate) fn all() -> impl Iterator<Item = &'static Pack> {
    ALL.iter().copied()
}

/// Returns the reviews of all contracts that have one.
pub(crate) fn reviews() -> impl Iterator<Item = &'static Review> {
    all().filter_map(|pack| pack.review.as_ref())
}

/// Returns the review of the first of these contracts that has one.
pub(crate) fn review_of(specs: &[&'static ContractSpec]) -> Option<&'static Review> {
    reviews().find(|review| specs.iter().any(|spec| spec.id == review.contract.id))
}

/// Returns the documents of `library` that contracts can't understand, each as its path and a sentence for each problem.
///
/// # Errors
/// If the library can't be read.
pub(crate) fn problems(library: &Library) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let of_packs = all().filter_map(|pack| pack.problems);
    let found: Vec<_> = of_packs
        .map(|problems| problems(library))
        .collect::<Result<_, _>>()?;
    Ok(found.concat())
}

fn pack(name: &str) -> Option<&'static Pack> {
    ALL.iter().copied().find(|pack| pack.spec.id == name)
}
