//! Reads git repositories inside of workspaces, without the git program: comparisons, search, impact, and blobs of branches.
//!
//! [`Workspaces`] checks every path before a file is opened. [`GitRepository`] is a repository that is entirely in the workspaces; its
//! methods read one answer each, from commits alone. This crate depends on no contract.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod blobs;
mod checkout;
mod commits;
mod compare;
mod content;
mod error;
mod facts;
mod impact;
mod repositories;
mod repository;
mod revision;
mod seal;
mod search;
mod workspaces;

#[cfg(test)]
mod testing;

pub use gix::ObjectId;

pub use self::{
    blobs::{BlobEntry, Blobs, Submodules},
    checkout::Checkout,
    commits::CommitEntry,
    compare::{FileChange, FileStatus, LineRange, TreeComparison, line_ranges},
    content::Objects,
    error::VcsError,
    facts::{WorkspaceFacts, facts},
    impact::{Dependent, FileImpact, Impact, MAX_DEPENDENTS},
    repositories::{REPOSITORY_DEPTH, RepositoryList, RepositorySummary, repositories},
    repository::GitRepository,
    revision::Revision,
    search::{BranchLine, BranchSearch, MAX_QUERY_BYTES, MAX_SEARCHED_BYTES, SNIPPET_CHARS},
    workspaces::{WorkspaceError, WorkspacePath, WorkspacePathError, Workspaces},
};
