//! A rule: its names, the contexts in which it holds, and its finder.

use std::{collections::BTreeMap, fmt};

use globset::GlobSet;
use regex::Regex;
use tabellion_syntax::Language;

use crate::names::names;

names! {
    /// Severity of a finding.
    pub enum Severity {
        /// Fails the run.
        Error = "error",
        /// Worth fixing.
        Warning = "warning",
        /// Worth knowing.
        Info = "info",
    }
}

names! {
    /// The subject of a rule: the categories of MCB's rules.
    pub enum Category {
        /// Layers and their borders.
        Architecture = "architecture",
        /// Settings.
        Configuration = "configuration",
        /// Passing objects their dependencies.
        DependencyInjection = "dependency_injection",
        /// Comments for readers.
        Documentation = "documentation",
        /// Numbers measured on the code.
        Metrics = "metrics",
        /// Moving from one library to the next.
        Migration = "migration",
        /// Structure and constants.
        Organization = "organization",
        /// Speed.
        Performance = "performance",
        /// Failures and poor readability.
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
        /// Conversion of errors.
        ErrorBoundary = "error_boundary",
        /// Missing parts of an implementation.
        Implementation = "implementation",
        /// Checks of the PMAT tool.
        Pmat = "pmat",
    }
}

names! {
    /// Surroundings of a place in a source file.
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
    /// A metric of a function or of a file.
    pub(crate) enum Metric {
        /// McCabe's number of a function.
        Cyclomatic = "cyclomatic",
        /// Cognitive complexity of a function.
        Cognitive = "cognitive",
        /// Lines from the first to the last of a function.
        Lines = "lines",
        /// Lines of a function that hold code.
        Sloc = "sloc",
        /// Maximum nesting of control structures in a function.
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
    /// Its category.
    pub category: Category,
    /// The severity of its findings.
    pub severity: Severity,
    /// True if it runs without being selected by its id.
    pub enabled: bool,
    /// Description of its findings.
    pub description: String,
    /// The reason for it, and its differences from MCB's rule of the same id.
    pub rationale: String,
    /// Template of a finding's message, with the placeholders `{value}`, `{limit}`, `{name}` and `{text}`.
    pub message: String,
    /// Advice on fixing a finding.
    pub suggestion: Option<String>,
    pub(crate) languages: Vec<Language>,
    pub(crate) when: Vec<Context>,
    pub(crate) unless: Vec<Context>,
    pub(crate) finder: Finder,
}

/// The method that produces a rule's findings.
#[derive(Debug)]
pub(crate) enum Finder {
    Selectors(Vec<Selector>),
    Regex { patterns: Vec<Regex>, except: Vec<Regex> },
    Path { globs: GlobSet, except: GlobSet },
    Metrics(BTreeMap<Metric, Limit>),
}

/// A tree-sitter query for one language.
#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) language: Language,
    /// The query, with patterns whose captures `match` are findings.
    pub(crate) pattern: String,
    /// The number of its patterns.
    pub(crate) patterns: usize,
    /// Maximum number of nodes of the capture `count`, if they are counted.
    pub(crate) max_count: Option<usize>,
}

/// Bound of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Max(u32),
    Min(u32),
}

impl Rule {
    /// Returns the sorted names of the languages that the rule applies to; none if it applies to every file.
    #[must_use]
    pub fn languages(&self) -> Vec<&'static str> {
        self.languages.iter().map(|language| language.name()).collect()
    }

    /// Returns the key of the finder in the rule's file: `selectors`, `regex`, `path` or `metrics`.
    #[must_use]
    pub fn engine(&self) -> &'static str {
        match self.finder {
            Finder::Selectors(_) => "selectors",
            Finder::Regex { .. } => "regex",
            Finder::Path { .. } => "path",
            Finder::Metrics(_) => "metrics",
        }
    }

    /// Returns true if the rule applies to files of this language; `None` is an unknown language.
    pub(crate) fn looks_at(&self, language: Option<Language>) -> bool {
        match language {
            _ if self.languages.is_empty() => true,
            Some(language) => self.languages.contains(&language),
            None => false,
        }
    }

    /// Returns true if the rule needs the syntax tree of a file.
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
