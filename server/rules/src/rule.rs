//! A rule: what it is called, where it holds, and how it finds what it looks for.

use std::{collections::BTreeMap, fmt};

use globset::GlobSet;
use regex::Regex;
use tabellion_syntax::Language;

use crate::names::names;

names! {
    /// How much a finding matters.
    pub enum Severity {
        /// A run that has one does not pass.
        Error = "error",
        /// Worth mending.
        Warning = "warning",
        /// Worth knowing.
        Info = "info",
    }
}

names! {
    /// What a rule is about: the categories of MCB's rules.
    pub enum Category {
        /// Layers and their borders.
        Architecture = "architecture",
        /// Settings.
        Configuration = "configuration",
        /// How objects get what they need.
        DependencyInjection = "dependency_injection",
        /// Comments for readers.
        Documentation = "documentation",
        /// Numbers measured on the code.
        Metrics = "metrics",
        /// Moving from one library to the next.
        Migration = "migration",
        /// Where things are.
        Organization = "organization",
        /// Speed.
        Performance = "performance",
        /// What makes code fail or hard to read.
        Quality = "quality",
        /// The five principles of object-oriented design.
        Solid = "solid",
        /// Tests.
        Testing = "testing",
        /// Web frameworks.
        WebFramework = "web_framework",
        /// Asynchronous code.
        Async = "async",
        /// Names.
        Naming = "naming",
        /// Simplicity.
        Kiss = "kiss",
        /// Unfinished changes of structure.
        Refactoring = "refactoring",
        /// Where errors are turned into others.
        ErrorBoundary = "error_boundary",
        /// What is missing from an implementation.
        Implementation = "implementation",
        /// Checks of the PMAT tool.
        Pmat = "pmat",
    }
}

names! {
    /// What surrounds a place in a source file.
    pub(crate) enum Context {
        /// A test, or code that is compiled for tests alone.
        Test = "test",
        /// The body of an asynchronous function.
        Async = "async",
        /// An item that has a documentation comment.
        Documented = "documented",
        /// A comment.
        Comment = "comment",
        /// The body of a function.
        Function = "function",
        /// The value of a constant.
        Constant = "constant",
    }
}

names! {
    /// What is measured of a function, or of a file.
    pub(crate) enum Metric {
        /// McCabe's number of a function.
        Cyclomatic = "cyclomatic",
        /// Cognitive complexity of a function.
        Cognitive = "cognitive",
        /// Lines from the first to the last of a function.
        Lines = "lines",
        /// Lines of a function that hold code.
        Sloc = "sloc",
        /// How deep control structures are nested in a function.
        Nesting = "nesting",
        /// Parameters of a function.
        Parameters = "parameters",
        /// Maintainability index of a function.
        MaintainabilityIndex = "maintainability_index",
        /// Lines of a file.
        FileLines = "file_lines",
    }
}

/// A rule, ready to run.
#[derive(Debug)]
pub struct Rule {
    /// Its id, such as `QUAL001`.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// What it is about.
    pub category: Category,
    /// How much its findings matter.
    pub severity: Severity,
    /// Whether it runs when it is not asked for by its id.
    pub enabled: bool,
    /// What it finds.
    pub description: String,
    /// Why, and how it differs from MCB's rule of the same id.
    pub rationale: String,
    /// What is said of a finding, with `{value}`, `{limit}`, `{name}` and `{text}` filled in.
    pub message: String,
    /// What to do about a finding.
    pub suggestion: Option<String>,
    pub(crate) languages: Vec<Language>,
    pub(crate) when: Vec<Context>,
    pub(crate) unless: Vec<Context>,
    pub(crate) finder: Finder,
}

/// How a rule finds what it looks for.
#[derive(Debug)]
pub(crate) enum Finder {
    Selectors(Vec<Selector>),
    Regex {
        patterns: Vec<Regex>,
        except: Vec<Regex>,
    },
    Path {
        globs: GlobSet,
        except: GlobSet,
    },
    Metrics(BTreeMap<Metric, Limit>),
}

/// A tree-sitter query for one language.
#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) language: Language,
    /// The query, with patterns whose captures `match` are findings.
    pub(crate) pattern: String,
    /// How many patterns it has.
    pub(crate) patterns: usize,
    /// How many nodes of the capture `count` are still fine, if they are counted.
    pub(crate) max_count: Option<usize>,
}

/// What a metric may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Max(u32),
    Min(u32),
}

impl Rule {
    /// Returns the names of the languages that the rule looks at, sorted; none if it looks at every file.
    #[must_use]
    pub fn languages(&self) -> Vec<&'static str> {
        self.languages.iter().map(|language| language.name()).collect()
    }

    /// Returns how the rule finds what it looks for: `selectors`, `regex`, `path` or `metrics`, as its file names it.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        match self.finder {
            Finder::Selectors(_) => "selectors",
            Finder::Regex { .. } => "regex",
            Finder::Path { .. } => "path",
            Finder::Metrics(_) => "metrics",
        }
    }

    /// Returns whether the rule looks at files of this language; `None` for files of no known language.
    pub(crate) fn looks_at(&self, language: Option<Language>) -> bool {
        match language {
            _ if self.languages.is_empty() => true,
            Some(language) => self.languages.contains(&language),
            None => false,
        }
    }

    /// Returns whether the rule asks for the syntax tree of a file.
    pub(crate) fn needs_tree(&self) -> bool {
        match &self.finder {
            Finder::Selectors(_) => true,
            Finder::Metrics(limits) => limits.keys().any(|metric| *metric != Metric::FileLines),
            Finder::Regex { .. } => !self.when.is_empty() || !self.unless.is_empty(),
            Finder::Path { .. } => false,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Max(number) | Self::Min(number)) = self;
        number.fmt(formatter)
    }
}
