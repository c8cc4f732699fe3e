//! Names of commits: branches, tags and ids.

use gix::{ObjectId, bstr::ByteSlice, hash::Prefix, objs::Kind};

use crate::{
    error::{VcsError, text},
    repository::GitRepository,
};

/// Folders of the references to branches: those here, and those that were fetched from `origin`.
const LOCAL: &str = "refs/heads/";
const ORIGIN: &str = "refs/remotes/origin/";

/// Upper bound of the branches that an error lists.
const MAX_LISTED: usize = 20;

/// Upper bound of the branches that a misspelt name is compared with.
const MAX_COMPARED: usize = 2000;

/// Default names of a project's main branch.
const MAIN_BRANCHES: [&str; 3] = ["main", "master", "trunk"];

/// A commit, and its requested name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The name.
    pub name: String,
    /// Id of the commit.
    pub commit: ObjectId,
}

/// Upper bound of the commits that a name can go back.
const MAX_STEPS: usize = 100_000;

/// Splits `main~2^2` into the name and the parents that lead back from it: the first, the first, the second, from 0. `None` if there are
/// no steps back, or they can't be understood.
fn steps_back(name: &str) -> Option<(&str, Vec<usize>)> {
    let begins = name.find(['~', '^'])?;
    let (of, mut rest) = name.split_at(begins);
    let mut steps = vec![];
    while !rest.is_empty() {
        let behind = rest.strip_prefix(['~', '^'])?;
        let mark = &rest[..1];
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let number = match &behind[..digits] {
            "" => 1,
            digits => digits.parse().ok()?,
        };
        match (mark, number) {
            ("~", number) if number <= MAX_STEPS - steps.len() => steps.extend(vec![0; number]),
            ("^", 0) => {}
            ("^", parent) if steps.len() < MAX_STEPS => steps.push(parent - 1),
            _ => return None,
        }
        rest = &behind[digits..];
    }
    Some((of, steps))
}

impl GitRepository {
    /// Returns the commit that `name` denotes: a branch, tag, or id of a commit, of which 4 digits are enough, or an ancestor of these, as
    /// in `HEAD~2` and `main^2`. Names are resolved in git's order: HEAD, a full name such as `refs/heads/main`, a tag, a branch, a branch
    /// of a remote, and then an id. If there is none, a branch of `origin`.
    ///
    /// # Errors
    /// If there is none, or it is ambiguous or not a commit; if its history does not go back so far.
    pub fn revision(&self, name: &str) -> Result<Revision, VcsError> {
        let Some((of, steps)) = steps_back(name) else {
            return self.named(name);
        };
        let mut commit = self.named(of)?.commit;
        for parent in steps {
            let found = self.git.find_commit(commit);
            let found = found.map_err(|error| self.damaged("a commit", &error))?;
            let Some(next) = found.parent_ids().nth(parent) else {
                return Err(VcsError::UnknownRevision {
                    name: name.to_owned(),
                    existing: format!("the history of `{of}` does not go back to it"),
                });
            };
            commit = next.detach();
            let is_missing = self.git.try_find_header(commit);
            if is_missing.map_err(|error| self.damaged("a commit", &error))?.is_none() {
                return Err(VcsError::Incomplete {
                    path: self.path().to_owned(),
                    what: "a commit so far back",
                    remedy: "fetch the history with `git fetch --unshallow`",
                });
            }
        }
        Ok(Revision { name: name.to_owned(), commit })
    }

    /// Returns the commit of a name without steps back.
    fn named(&self, name: &str) -> Result<Revision, VcsError> {
        let unreadable = |error: gix::Error| self.damaged("a reference", &error);
        let candidates: &[&str] = match name {
            "HEAD" | "@" => &[],
            _ if name.starts_with("refs/") => &[""],
            _ => &["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"],
        };
        if matches!(name, "HEAD" | "@") {
            let head = self.git.head().map_err(unreadable)?;
            let Some(id) = head.id() else {
                let reason = "HEAD is on a branch without commits";
                return Err(match self.branches()?[..] {
                    [] => VcsError::NoCommits(self.path().to_owned()),
                    _ => VcsError::NoDefault { reason, existing: self.existing("")? },
                });
            };
            return self.commit_at(name, id.detach());
        }
        let reference = |full: String| -> Result<Option<ObjectId>, VcsError> {
            // An invalid name of a reference matches none.
            let Ok(full) = gix::refs::FullName::try_from(full) else {
                return Ok(None);
            };
            let found = self.git.try_find_reference(full.as_ref()).map_err(unreadable)?;
            let Some(mut found) = found else { return Ok(None) };
            let id = found.peel_to_id().map_err(unreadable)?;
            Ok(Some(id.detach()))
        };
        for prefix in candidates {
            if let Some(id) = reference(format!("{prefix}{name}"))? {
                return self.commit_at(name, id);
            }
        }
        if let Some(id) = self.by_id(name)? {
            return self.commit_at(name, id);
        }
        if let Some(id) = reference(format!("{ORIGIN}{name}"))? {
            return self.commit_at(name, id);
        }
        Err(VcsError::UnknownRevision { name: name.to_owned(), existing: self.existing(name)? })
    }

    /// Returns the object whose id has this prefix; `None` if there is none, or the text has other characters than digits.
    fn by_id(&self, digits: &str) -> Result<Option<ObjectId>, VcsError> {
        let Ok(prefix) = Prefix::from_hex(digits) else {
            return Ok(None);
        };
        let mut candidates = std::collections::HashSet::new();
        let found = self.git.objects.lookup_prefix(prefix, Some(&mut candidates));
        match found.map_err(|error| self.damaged("the objects", &error))? {
            None => Ok(None),
            Some(Ok(id)) => Ok(Some(id)),
            // As in git, digits that match a single commit denote it, even if they match other objects.
            Some(Err(())) => {
                let is_commit = |id: &ObjectId| {
                    let header = self.git.find_header(*id);
                    header.is_ok_and(|header| header.kind() == Kind::Commit)
                };
                let mut commits = candidates.into_iter().filter(is_commit);
                match (commits.next(), commits.next()) {
                    (Some(id), None) => Ok(Some(id)),
                    _ => Err(VcsError::AmbiguousRevision(digits.to_owned())),
                }
            }
        }
    }

    /// Returns the commit at an object, which may be a tag of it.
    fn commit_at(&self, name: &str, id: ObjectId) -> Result<Revision, VcsError> {
        let object = self.git.find_object(id);
        let object = object.map_err(|error| self.damaged("an object", &error))?;
        let commit = object.peel_to_commit();
        let commit = commit.map_err(|_| VcsError::NotACommit(name.to_owned()))?;
        Ok(Revision { name: name.to_owned(), commit: commit.id })
    }

    /// Returns a sentence about the existing branches, beginning with the one that was probably meant.
    fn existing(&self, name: &str) -> Result<String, VcsError> {
        let mut branches = self.branches()?;
        if branches.is_empty() {
            let remote = self.branches_below(ORIGIN)?.into_iter().filter(|name| name != "HEAD");
            branches = remote.map(|name| format!("origin/{name}")).collect();
        }
        let similar = branches.iter().take(MAX_COMPARED);
        let similar = similar.map(|branch| (strsim::damerau_levenshtein(name, branch), branch));
        let similar = similar.min_by_key(|(distance, _)| *distance);
        let similar =
            similar.filter(|(distance, _)| !name.is_empty() && *distance <= 1 + name.chars().count() / 4);
        let mut sentence = match similar {
            Some((_, branch)) => format!("did you mean `{branch}`? "),
            None => String::new(),
        };
        if branches.is_empty() {
            sentence.push_str("there are no branches yet; commit something first");
            return Ok(sentence);
        }
        let listed: Vec<_> = branches.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
        sentence.push_str(&format!("branches are {}", listed.join(", ")));
        let more = branches.len() - listed.len();
        if more > 0 {
            sentence.push_str(&format!(" and {more} more"));
        }
        Ok(sentence)
    }

    /// Returns the short names of the local branches, in order.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn branches(&self) -> Result<Vec<String>, VcsError> {
        self.branches_below(LOCAL)
    }

    /// Returns the names of the references below a folder, in order and without it.
    fn branches_below(&self, folder: &str) -> Result<Vec<String>, VcsError> {
        let unreadable = |error: gix::Error| self.damaged("the branches", &error);
        let references = self.git.references().map_err(unreadable)?;
        let mut names = Vec::new();
        for branch in references.prefixed(folder).map_err(unreadable)? {
            let branch = branch.map_err(unreadable)?;
            let name = branch.name().as_bstr();
            names.push(text(name.strip_prefix(folder.as_bytes()).unwrap_or(name).to_owned()));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the project's main branch: the one that `origin` names; else `main`, `master` or `trunk`, here or else at `origin`; else the
    /// checked-out branch; else the only one. `None` if none of them exists.
    ///
    /// # Errors
    /// If the branches can't be read.
    pub fn default_branch(&self) -> Result<Option<String>, VcsError> {
        if let Some((name, _)) = self.main_branch()? {
            return Ok(Some(name));
        }
        // Before the first commit, the branch is the one that will be created.
        let head = self.checkout()?.branch;
        if head.is_some() {
            return Ok(head);
        }
        match &self.branches()?[..] {
            [only] => Ok(Some(only.clone())),
            _ => Ok(None),
        }
    }

    /// Returns the commit of the main branch, for comparisons with it, even if a tag has its name. The checked-out branch is taken only if
    /// it is the only one: compared with itself, it would seem to have no changes.
    ///
    /// # Errors
    /// If no branch is known to be the main one; if the branches can't be read.
    pub fn default_revision(&self) -> Result<Revision, VcsError> {
        let (name, reference) = match (self.main_branch()?, &self.branches()?[..]) {
            (Some(main), _) => main,
            (None, [only]) => (only.clone(), format!("refs/heads/{only}")),
            (None, []) if self.checkout()?.commit.is_none() => {
                return Err(VcsError::NoCommits(self.path().to_owned()));
            }
            (None, _) => {
                let reason = "no branch is known to be the default one";
                return Err(VcsError::NoDefault { reason, existing: self.existing("")? });
            }
        };
        Ok(Revision { name, ..self.named(&reference)? })
    }

    /// Returns the short and the full name of the branch that is known to be the main one: of a bare repository, the checked-out one.
    fn main_branch(&self) -> Result<Option<(String, String)>, VcsError> {
        let (here, there) = (self.branches()?, self.branches_below(ORIGIN)?);
        let local = |name: &str| {
            let reference = || (name.to_owned(), format!("{LOCAL}{name}"));
            here.iter().any(|branch| branch == name).then(reference)
        };
        let remote = |name: &str| {
            let reference = || (name.to_owned(), format!("{ORIGIN}{name}"));
            there.iter().any(|branch| branch == name).then(reference)
        };
        let checked_out = if self.git.is_bare() { self.checkout()?.branch } else { None };
        Ok(checked_out
            .and_then(|name| local(&name))
            .or_else(|| self.origins_branch().and_then(|name| local(&name).or_else(|| remote(&name))))
            .or_else(|| MAIN_BRANCHES.into_iter().find_map(local))
            .or_else(|| MAIN_BRANCHES.into_iter().find_map(remote)))
    }

    /// Returns the short name of the branch that the remote repository `origin` has checked out.
    fn origins_branch(&self) -> Option<String> {
        let head = self.git.try_find_reference("refs/remotes/origin/HEAD").ok()??;
        let target = head.target();
        let name = target.try_name()?.as_bstr().strip_prefix(ORIGIN.as_bytes())?;
        Some(name.to_str_lossy().into_owned())
    }

    /// Returns the best common ancestor of two commits, as git chooses it.
    pub(crate) fn merge_base(&self, base: &Revision, target: &Revision) -> Result<ObjectId, VcsError> {
        let unreadable = |error: gix::Error| self.damaged("the history", &error);
        let cache = self.git.commit_graph_if_enabled().map_err(unreadable)?;
        let mut graph = self.git.revision_graph(cache.as_ref());
        let found = gix_revision::merge_base(base.commit, &[target.commit], &mut graph);
        let found = found.map_err(unreadable)?;
        let found = found.map(|bases| *bases.first());
        if let Some(found) = found {
            return Ok(found);
        }
        if self.git.is_shallow().map_err(unreadable)? {
            return Err(VcsError::Incomplete {
                path: self.path().to_owned(),
                what: "a commit that both branches go back to",
                remedy: "fetch the history with `git fetch --unshallow`",
            });
        }
        Err(VcsError::Unrelated { base: base.name.clone(), target: target.name.clone() })
    }
}

#[cfg(test)]
#[path = "revision_tests.rs"]
mod tests;
