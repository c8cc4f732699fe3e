//! Rules over source files: rule files, findings, and metrics of complexity.
//!
//! A [`RuleSet`] has the rules of this crate and those of a workspace, each read from a file. [`run`] runs them on a file or a folder and
//! returns a [`Report`]; [`analyze`] measures one file. Findings are data: only an invalid request or an unreadable file is an error. The
//! crate depends on no contract, and writes no files.
//!
//! | module | does |
//! |---|---|
//! | `rule`, `names` | a rule, and the closed sets of names that its file uses |
//! | `rule_file`, `tree`, `compile`, `problem` | reading a rule file: TOML, YAML, JSON; queries, regular expressions, globs |
//! | `set` | the rules of this crate and of a workspace |
//! | `flat`, `grammar` | a syntax tree as a list; the roles of its nodes, for each language |
//! | `metrics`, `halstead`, `signature` | complexity |
//! | `context`, `rust_tests` | the contexts of a place: in a test, in an asynchronous function, documented |
//! | `check` | the rules on one file |
//! | `files`, `run` | the files of a run, and the rules on all of them |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod check;
mod compile;
mod context;
mod files;
mod flat;
mod grammar;
mod halstead;
mod metrics;
mod names;
mod plan;
mod problem;
mod rule;
mod rule_file;
mod run;
mod rust_tests;
mod set;
mod signature;
mod test_paths;
mod tree;

#[cfg(test)]
mod tests;

pub use self::{
    files::{MAX_FILE_BYTES, SKIPPED_FOLDERS, SkipReason, Skipped},
    metrics::{FileMetrics, FunctionMetrics},
    rule::{Category, Rule, Severity},
    run::{Analysis, Finding, MAX_FINDINGS, Report, RunError, Scope, analyze, run},
    set::{RuleFileError, RuleSet, Selection, SelectionError},
};
