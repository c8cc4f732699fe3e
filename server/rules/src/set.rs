//! The set of rules: those of this crate, and those of a workspace.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, LazyLock},
};

use tabellion_platform::OpenError;
use thiserror::Error;

use crate::{
    files::Workspace,
    problem::Problem,
    rule::{Category, Rule},
    rule_file::{self, EXTENSIONS, MAX_BYTES, RuleFile},
};

/// The folder of a workspace's rules.
const FOLDER: &str = ".mcb/rules";
/// Further rule files of a workspace are left out.
const MAX_FILES: usize = 500;
/// Maximum number of left-out files that an error names.
const MAX_NAMED: usize = 5;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        /// The files of this crate's rules.
        pub(crate) const EMBEDDED: &[(&str, &str)] = &[$(($name, include_str!(concat!("../rules/", $name))),)*];
    };
}

embedded![
    "ASYNC001.toml",
    "DOC001.toml",
    "METRIC001.toml",
    "METRIC002.toml",
    "METRIC003.toml",
    "METRIC004.toml",
    "METRIC006.toml",
    "ORG001.toml",
    "QUAL001.toml",
    "QUAL002.toml",
    "QUAL004.toml",
    "QUAL006.toml",
    "SEC001.toml",
    "SOLID001.toml",
    "SOLID002.toml",
    "SOLID003.toml",
    "TEST001.toml",
    "TODO001.toml",
];

static BUILT_IN: LazyLock<Vec<Arc<Rule>>> = LazyLock::new(|| {
    let read = |(name, text): &(&str, &str)| {
        let file = rule_file::read("toml", text).unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
        Arc::new(file.rule)
    };
    EMBEDDED.iter().map(read).collect()
});

/// A rule file that is left out, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {message}")]
pub struct RuleFileError {
    /// The file, relative to the workspace, with `/`.
    pub file: String,
    /// The line of the problem, from 1.
    pub line: usize,
    /// The problem and its correction.
    pub message: String,
}

/// Rules, each id once, in the order of their ids.
#[derive(Debug, Clone)]
pub struct RuleSet {
    rules: Vec<Arc<Rule>>,
    errors: Vec<RuleFileError>,
}

/// The rules to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The ids of rules; if empty, all enabled rules.
    pub rules: Vec<String>,
    /// The name of a category.
    pub category: Option<String>,
    /// Paths from the workspace, with `/`, of files and folders that are not checked.
    pub without: Vec<String>,
}

/// A selection names an unknown rule or category.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectionError {
    /// No rule has this id; it may be in one of the files that are left out.
    #[error(
        "no rule `{id}`; there are {}{}",
        known.join(", "),
        left_out.iter().map(|error| format!("; left out is {error}")).collect::<String>()
    )]
    Rule {
        /// The requested id.
        id: String,
        /// All ids.
        known: Vec<String>,
        /// The first files that are left out.
        left_out: Vec<RuleFileError>,
    },
    /// None of the rules is of the category.
    #[error("none of these rules is of the category `{category}`; leave out `rules` or `category`")]
    Neither {
        /// The category.
        category: String,
    },
    /// No category has this name.
    #[error("no category `{name}`; there are {}", known.join(", "))]
    Category {
        /// The requested name.
        name: String,
        /// All names.
        known: Vec<&'static str>,
    },
}

impl RuleSet {
    /// Returns the rules of this crate.
    #[must_use]
    pub fn built_in() -> Self {
        Self { rules: BUILT_IN.clone(), errors: Vec::new() }
    }

    /// Returns the rules of this crate and of the files in `.mcb/rules` of a workspace. A file that can't be used is left out and listed
    /// by [`errors`](Self::errors).
    ///
    /// A rule of the workspace replaces this crate's rule of the same id if it sets `overrides = true`; else it is left out.
    #[must_use]
    pub fn of_workspace(workspace: &Path) -> Self {
        let mut set = Self::built_in();
        let mut taken = BTreeSet::new();
        let folder = workspace.join(FOLDER);
        let workspace = match Workspace::open(workspace) {
            Ok(workspace) => workspace,
            Err(cause) => {
                set.errors.push(error(FOLDER, unreadable(&cause.into())));
                return set;
            }
        };
        let (names, problem) = rule_files(&workspace, &folder);
        set.errors.extend(problem.map(|problem| error(FOLDER, problem)));
        for name in names {
            let file = format!("{FOLDER}/{name}");
            let read =
                read_file(&workspace, &folder.join(&name), &name).and_then(|file| set.add(file, &mut taken));
            set.errors.extend(read.err().map(|problem| error(&file, problem)));
        }
        set.rules.sort_by(|one, other| one.id.cmp(&other.id));
        set
    }

    fn add(&mut self, file: RuleFile, taken: &mut BTreeSet<String>) -> Result<(), Problem> {
        let RuleFile { rule, id_line, overrides } = file;
        if taken.contains(&rule.id) {
            return Err(Problem::new(
                id_line,
                format!("id `{}` is taken by a different file of this folder", rule.id),
            ));
        }
        match self.rules.iter_mut().find(|known| known.id == rule.id) {
            Some(known) if overrides => {
                taken.insert(rule.id.clone());
                *known = Arc::new(rule);
            }
            Some(_) => {
                let problem = format!(
                    "id `{}` is taken by a rule of the server; say `overrides = true` to replace it",
                    rule.id
                );
                return Err(Problem::new(id_line, problem));
            }
            None => {
                taken.insert(rule.id.clone());
                self.rules.push(Arc::new(rule));
            }
        }
        Ok(())
    }

    /// Returns all rules, sorted by id.
    #[must_use]
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// Returns the rule files that were left out.
    #[must_use]
    pub fn errors(&self) -> &[RuleFileError] {
        &self.errors
    }

    /// Returns the rules of a category, or all, sorted by id.
    ///
    /// # Errors
    /// If there is no such category.
    pub fn list_rules(&self, category: Option<&str>) -> Result<Vec<Arc<Rule>>, SelectionError> {
        let category = category.map(category_of).transpose()?;
        let is_listed = |rule: &&Arc<Rule>| category.is_none_or(|category| rule.category == category);
        Ok(self.rules.iter().filter(is_listed).cloned().collect())
    }

    /// Returns the selected rules: those with its ids, enabled or not, or all enabled ones; of its category alone.
    ///
    /// # Errors
    /// If an id or the category does not exist, or none of the ids is of the category.
    pub fn select(&self, selection: &Selection) -> Result<Vec<Arc<Rule>>, SelectionError> {
        for id in &selection.rules {
            if !self.rules.iter().any(|rule| rule.id == *id) {
                let known = self.rules.iter().map(|rule| rule.id.clone()).collect();
                let left_out = self.errors.iter().take(MAX_NAMED).cloned().collect();
                return Err(SelectionError::Rule { id: id.clone(), known, left_out });
            }
        }
        let mut rules = self.list_rules(selection.category.as_deref())?;
        rules.retain(|rule| {
            if selection.rules.is_empty() { rule.enabled } else { selection.rules.contains(&rule.id) }
        });
        match &selection.category {
            Some(category) if rules.is_empty() && !selection.rules.is_empty() => {
                Err(SelectionError::Neither { category: category.clone() })
            }
            _ => Ok(rules),
        }
    }
}

fn category_of(name: &str) -> Result<Category, SelectionError> {
    let found = Category::ALL.iter().copied().find(|category| category.name() == name);
    found.ok_or_else(|| SelectionError::Category {
        name: name.to_owned(),
        known: Category::ALL.iter().map(|category| category.name()).collect(),
    })
}

fn error(file: &str, problem: Problem) -> RuleFileError {
    RuleFileError { file: file.to_owned(), line: problem.line, message: problem.message }
}

/// Returns the names of the rule files of a workspace, sorted, and the problem of their folder, if any. Links are not followed.
fn rule_files(workspace: &Workspace, folder: &Path) -> (Vec<String>, Option<Problem>) {
    let names = match workspace.names(folder) {
        Ok(names) => names.into_iter(),
        Err(OpenError::Symlink) => {
            let problem = Problem::new(1, "is a link, which is not followed; make it a folder");
            return (Vec::new(), Some(problem));
        }
        Err(error) => return (Vec::new(), Some(unreadable(&error))),
    };
    let mut names: Vec<String> = names.filter(|name| extension(name).is_some()).collect();
    names.sort();
    let problem = (names.len() > MAX_FILES).then(|| {
        Problem::new(1, format!("has {} rule files; only the first {MAX_FILES} are read", names.len()))
    });
    names.truncate(MAX_FILES);
    (names, problem)
}

fn extension(name: &str) -> Option<&str> {
    let (_, extension) = name.rsplit_once('.')?;
    EXTENSIONS.contains(&extension).then_some(extension)
}

fn unreadable(error: &OpenError) -> Problem {
    Problem::new(1, format!("can't be read: {error}"))
}

fn read_file(workspace: &Workspace, path: &Path, name: &str) -> Result<RuleFile, Problem> {
    let bytes = workspace.bytes(path, MAX_BYTES as u64).map_err(|error| match error {
        OpenError::Symlink | OpenError::Special => {
            Problem::new(1, "is no regular file; put the rule here itself")
        }
        OpenError::TooLarge { size, limit } => {
            Problem::new(1, format!("a rule file has at most {limit} bytes; this one has {size}"))
        }
        error => unreadable(&error),
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
        Problem::new(line, "is not UTF-8")
    })?;
    rule_file::read(extension(name).unwrap_or_default(), &text)
}
