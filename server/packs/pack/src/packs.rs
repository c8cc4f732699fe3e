//! A list of packs, and looking contracts up in it.

use std::{env, fmt, path::PathBuf, sync::Arc};

use tabellion_library::{Library, path::LibraryPath};
use tabellion_records::{Location, Records, Start};
use tabellion_runtime::{Contract, ContractSpec, Failure, downloads::Downloads};
use tabellion_vcs::{WorkspaceError, Workspaces};

use crate::{Derived, Implementation, Pack, cards::CardsOf, review::Review};

/// A contract, and its rows, if it is over rows.
pub type WithRows = (Arc<dyn Contract>, Option<Arc<Records>>);

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
    /// The file of the server's API keys, which callers can't name.
    pub keys: Option<PathBuf>,
    /// True if the process makes one call: the end of the contract then waits for the work that the call began in the background.
    pub finishes: bool,
}

/// The reason that a contract can't be served.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No contract has this name.
    #[error("there is no contract `{name}`; the contracts are {}", all.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Names of the contracts that there are.
        all: Vec<&'static str>,
    },
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

/// A program's packs: the contracts that it can serve. The first one is served by default.
#[derive(Clone, Copy, Default)]
pub struct Packs(pub &'static [&'static Pack]);

impl fmt::Debug for Packs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Packs").field(&self.names()).finish()
    }
}

impl Packs {
    /// Returns all packs.
    pub fn all(self) -> impl Iterator<Item = &'static Pack> {
        self.0.iter().copied()
    }

    /// Returns the name of the contract that is served by default.
    ///
    /// # Panics
    /// If there are no packs.
    pub fn default_name(self) -> &'static str {
        self.0[0].spec.id
    }

    /// Returns the declarations of all contracts.
    pub fn specs(self) -> Vec<&'static ContractSpec> {
        self.all().map(|pack| pack.spec).collect()
    }

    /// Returns the names of all contracts.
    pub fn names(self) -> Vec<&'static str> {
        self.all().map(|pack| pack.spec.id).collect()
    }

    /// Returns the contracts over documents.
    pub fn over_documents(self) -> impl Iterator<Item = &'static ContractSpec> {
        self.all().map(|pack| pack.spec).filter(|spec| spec.rows.is_none())
    }

    /// Returns the contracts over rows.
    pub fn over_rows(self) -> impl Iterator<Item = &'static ContractSpec> {
        self.all().map(|pack| pack.spec).filter(|spec| spec.rows.is_some())
    }

    /// Returns the names of the contracts over rows.
    pub fn names_over_rows(self) -> Vec<&'static str> {
        self.over_rows().map(|spec| spec.id).collect()
    }

    /// Returns the names of the contracts that are served over REST.
    pub fn names_over_rest(self) -> Vec<&'static str> {
        let over_rest = self.all().filter(|pack| !pack.spec.rest.is_empty());
        over_rest.map(|pack| pack.spec.id).collect()
    }

    /// Returns the declaration of the contract called `name`.
    pub fn spec(self, name: &str) -> Option<&'static ContractSpec> {
        self.pack(name).map(|pack| pack.spec)
    }

    /// Returns the contract called `name`, served from `grounds`, and its rows, if it is over rows. Missing rows
    /// are created. The caller settles them when the process ends.
    ///
    /// # Errors
    /// [`ServiceError`]: a library, document or folder that the contract needs is missing, or can't be opened.
    pub fn service(self, name: &str, grounds: &Grounds) -> Result<WithRows, ServiceError> {
        let pack =
            self.pack(name).ok_or_else(|| ServiceError::Unknown { name: name.into(), all: self.names() })?;
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
                let own = [Some(data.folder().to_owned()), grounds.keys.clone()].into_iter().flatten();
                let workspaces = Workspaces::new(&grounds.workspaces, &working_directory)?.without(own);
                let records = Arc::new(Records::open(data.clone(), rows, Start::Serve)?);
                let contract = over(Arc::clone(&records), Arc::new(workspaces), grounds.finishes);
                Ok((contract, Some(records)))
            }
        }
    }

    /// Returns the downloads that the contract called `name` offers from `library`; `None` if it has none.
    pub fn downloads(self, name: &str, library: &Library) -> Option<Arc<dyn Downloads>> {
        let downloads = self.pack(name)?.downloads?;
        Some(downloads(library))
    }

    /// Returns the index of words of the contract called `name` over `records`; `None` if it has none.
    pub fn words(self, name: &str, records: Arc<Records>) -> Option<Arc<dyn Derived>> {
        let words = self.pack(name)?.words?;
        Some(words(records))
    }

    /// Returns the cards of the rows of the contract called `name`; `None` if it shows none.
    pub fn cards(self, name: &str) -> Option<CardsOf> {
        self.pack(name)?.cards
    }

    /// Returns the reviews of all contracts that have one.
    pub fn reviews(self) -> impl Iterator<Item = &'static Review> {
        self.all().filter_map(|pack| pack.review.as_ref())
    }

    /// Returns the review of the first contract that has one and is among `specs`.
    pub fn review_of(self, specs: &[&'static ContractSpec]) -> Option<&'static Review> {
        self.reviews().find(|review| specs.iter().any(|spec| spec.id == review.contract.id))
    }

    /// Returns the documents of `library` that contracts can't understand, each as its path and a sentence for each problem.
    ///
    /// # Errors
    /// If the library can't be read.
    pub fn problems(self, library: &Library) -> Result<Vec<(String, Vec<String>)>, Failure> {
        let of_packs = self.all().filter_map(|pack| pack.problems);
        let found: Vec<_> = of_packs.map(|problems| problems(library)).collect::<Result<_, _>>()?;
        Ok(found.concat())
    }

    fn pack(self, name: &str) -> Option<&'static Pack> {
        self.all().find(|pack| pack.spec.id == name)
    }
}
