//! The rules on all files of a folder, or on one.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tabellion_platform::{Kind, walk::WalkError};
use tabellion_syntax::{Language, may_be_program, source_language};
use thiserror::Error;

pub use crate::check::Finding;
use crate::{
    check::{self, Source},
    files::{SkipReason, Skipped, Workspace},
    metrics::FileMetrics,
    plan::Plan,
    rule::Severity,
    rust_tests::Modules,
    set::{RuleSet, Selection, SelectionError},
    test_paths,
};

/// A report lists at most this many findings; it counts all.
pub const MAX_FINDINGS: usize = 1000;
const MAX_THREADS: usize = 2;

/// The extent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One file.
    File,
    /// The files of a folder.
    Project,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// A file or a folder.
    pub scope: Scope,
    /// Findings that are errors, all of them.
    pub errors: usize,
    /// Findings that are warnings.
    pub warnings: usize,
    /// Findings that are worth knowing.
    pub infos: usize,
    /// Duration of the run.
    pub duration: Duration,
    /// At most [`MAX_FINDINGS`], sorted by file, line, column and rule. If there are more, the most severe ones are listed.
    pub findings: Vec<Finding>,
    /// Number of checked files.
    pub files: usize,
    /// Files that were not checked, sorted. A run on a folder leaves out files of unknown languages that are not UTF-8.
    pub skipped: Vec<Skipped>,
}

impl Report {
    /// Returns true if no finding is an error.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.errors == 0
    }

    /// Returns the number of findings, listed or not.
    #[must_use]
    pub fn total(&self) -> usize {
        self.errors + self.warnings + self.infos
    }
}

/// The metrics of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The file, relative to the workspace, with `/`.
    pub path: String,
    /// Its language.
    pub language: Language,
    /// The metrics.
    pub metrics: FileMetrics,
    /// Duration of the analysis.
    pub duration: Duration,
}

/// Reason for a missing report or analysis.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RunError {
    /// The selection names an unknown rule or category.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The path is neither a file nor a folder, or is outside of the workspace.
    #[error("`{path}` is neither a file nor a folder of the workspace")]
    NoSuchPath {
        /// The requested path.
        path: String,
    },
    /// A file that was requested by name can't be checked.
    #[error("`{path}`: {reason}")]
    Unusable {
        /// The file.
        path: String,
        /// The reason.
        reason: SkipReason,
    },
    /// The language of a file to be analysed can't be measured.
    #[error("`{path}` is in none of the languages that can be measured: {}", known.join(", "))]
    UnknownLanguage {
        /// The file.
        path: String,
        /// The names of the languages.
        known: Vec<&'static str>,
    },
    /// The folder exceeds the limits of a run.
    #[error("{0}")]
    TooMany(String),
    /// The caller cancelled the run.
    #[error("cancelled")]
    Cancelled,
}

/// Runs rules on a file, or on the files of a folder that the ignore rules do not exclude.
///
/// Both paths are absolute and hold no links; `path` is in `workspace` or equals it. `cancelled` is called often.
///
/// # Errors
/// If the selection or the path does not exist, a single file can't be read, a folder exceeds the limits, or the run was cancelled.
pub fn run(
    set: &RuleSet,
    workspace: &Path,
    path: &Path,
    selection: &Selection,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Report, RunError> {
    let begun = Instant::now();
    let rules = set.select(selection)?;
    let workspace = open(workspace)?;
    let scope = scope_of(&workspace, path)?;
    let (files, left_out) = if scope == Scope::File {
        (vec![path.to_path_buf()], Vec::new())
    } else {
        workspace.list(path, &selection.without, cancelled).map_err(|error| match error {
            WalkError::Cancelled => RunError::Cancelled,
            WalkError::Budget(_) => RunError::TooMany(error.to_string()),
            WalkError::Open(_) => RunError::NoSuchPath { path: workspace.relative(path) },
        })?
    };
    let job =
        Job { plan: Plan::new(&rules), workspace: &workspace, scope, modules: Modules::default(), cancelled };
    let mut tally = job.run(&files);
    if cancelled() {
        return Err(RunError::Cancelled);
    }
    if let (Scope::File, Some(skipped)) = (scope, tally.skipped.first()) {
        return Err(RunError::Unusable { path: skipped.file.clone(), reason: skipped.reason });
    }
    tally.cut(MAX_FINDINGS);
    tally.findings.sort();
    tally.skipped.extend(left_out);
    tally.skipped.sort();
    Ok(Report {
        scope,
        errors: tally.errors,
        warnings: tally.warnings,
        infos: tally.infos,
        duration: begun.elapsed(),
        findings: tally.findings,
        files: tally.files,
        skipped: tally.skipped,
    })
}

/// Measures a file.
///
/// Both paths are absolute and hold no links; `path` is in `workspace`.
///
/// # Errors
/// If there is no such file, it can't be read, or its language can't be measured.
pub fn analyze(workspace: &Path, path: &Path) -> Result<Analysis, RunError> {
    let begun = Instant::now();
    let workspace = open(workspace)?;
    let relative = workspace.relative(path);
    if scope_of(&workspace, path)? != Scope::File {
        return Err(RunError::NoSuchPath { path: relative });
    }
    let unknown = |path: String| {
        let known = Language::ALL
            .iter()
            .filter(|language| crate::grammar::Grammar::for_language(**language).is_some());
        RunError::UnknownLanguage { path, known: known.map(|language| language.name()).collect() }
    };
    if !may_be_program(&relative) {
        return Err(unknown(relative));
    }
    let unusable = |reason| RunError::Unusable { path: relative.clone(), reason };
    let text = workspace.read(path).map_err(unusable)?;
    let Some(language) = language_of(&relative, &text) else {
        return Err(unknown(relative));
    };
    let source = Source { path: &relative, text: &text, language: Some(language), is_test: false };
    match check::measure(&source).map_err(unusable)? {
        Some(metrics) => Ok(Analysis { path: relative, language, metrics, duration: begun.elapsed() }),
        None => Err(unknown(relative)),
    }
}

/// Returns the language of a file by its name, or its first line if that has no extension.
fn language_of(path: &str, text: &str) -> Option<Language> {
    Language::of_path(path).or_else(|| Language::of_name(source_language(path, text)?))
}

fn open(workspace: &Path) -> Result<Workspace, RunError> {
    Workspace::open(workspace).map_err(|_| RunError::NoSuchPath { path: workspace.display().to_string() })
}

fn scope_of(workspace: &Workspace, path: &Path) -> Result<Scope, RunError> {
    match workspace.kind(path) {
        Some(Kind::File) => Ok(Scope::File),
        Some(Kind::Folder) => Ok(Scope::Project),
        _ => Err(RunError::NoSuchPath { path: workspace.relative(path) }),
    }
}

/// The shared state of a run's threads.
struct Job<'run> {
    plan: Plan<'run>,
    workspace: &'run Workspace,
    scope: Scope,
    modules: Modules,
    cancelled: &'run (dyn Fn() -> bool + Sync),
}

impl Job<'_> {
    fn run(&self, files: &[PathBuf]) -> Tally {
        let threads =
            thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(files.len()).max(1);
        let next = AtomicUsize::new(0);
        let all = Mutex::new(Tally::default());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut tally = Tally::default();
                    while let Some(file) =
                        files.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !(self.cancelled)())
                    {
                        self.check(file, &mut tally);
                    }
                    all.lock().unwrap_or_else(PoisonError::into_inner).join(tally);
                });
            }
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, file: &Path, tally: &mut Tally) {
        let path = self.workspace.relative(file);
        let checked = self.workspace.read(file).and_then(|text| {
            let language = language_of(&path, &text);
            let is_test = match language {
                Some(Language::Rust) => self.modules.is_test_file(self.workspace, file),
                _ => test_paths::is_test_path(language, &path),
            };
            check::check(&self.plan, &Source { path: &path, text: &text, language, is_test }, self.cancelled)
        });
        match checked {
            Ok(findings) => {
                tally.files += 1;
                tally.add(findings);
            }
            // A folder has pictures and archives, too.
            Err(SkipReason::NotText) if self.scope == Scope::Project && Language::of_path(file).is_none() => {
            }
            Err(reason) => tally.skipped.push(Skipped { file: path, reason }),
        }
    }
}

/// The results so far.
#[derive(Default)]
struct Tally {
    errors: usize,
    warnings: usize,
    infos: usize,
    files: usize,
    findings: Vec<Finding>,
    skipped: Vec<Skipped>,
}

impl Tally {
    fn add(&mut self, findings: Vec<Finding>) {
        for finding in &findings {
            match finding.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
                Severity::Info => self.infos += 1,
            }
        }
        self.findings.extend(findings);
        if self.findings.len() > 4 * MAX_FINDINGS {
            self.cut(MAX_FINDINGS);
        }
    }

    /// Keeps the `count` most severe findings.
    fn cut(&mut self, count: usize) {
        if self.findings.len() > count {
            self.findings
                .sort_by(|one, other| one.severity.cmp(&other.severity).then_with(|| one.cmp(other)));
            self.findings.truncate(count);
        }
    }

    fn join(&mut self, mut other: Self) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.infos += other.infos;
        self.files += other.files;
        self.findings.append(&mut other.findings);
        self.skipped.append(&mut other.skipped);
    }
}
