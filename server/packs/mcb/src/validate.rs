//! Rules and metrics over files of a workspace. The rules are those of `tabellion-rules`, and those in the workspace's `.mcb/rules`.

use std::collections::BTreeMap;

use serde_json::Value;
use tabellion_contracts::mcb::{
    Finding, ListedRule, MeasuredFunction, RunScope, Severity, ValidateAnalyzeRequest,
    ValidateAnalyzeResponse, ValidateListRulesRequest, ValidateListRulesResponse, ValidateRunRequest,
    ValidateRunResponse, ValidateTool,
};
use tabellion_platform::blocking;
use tabellion_rules::{
    self as rules, Category, RuleFileError, RuleSet, RunError, Scope, Selection, SelectionError, SkipReason,
};
use tabellion_runtime::{Failure, FailureKind, ReadCx, Rows};
use tabellion_vcs::{WorkspacePath, WorkspacePathError};

use super::{
    repositories::note_cut,
    state::{Answer, Memory},
    values::{MAX_NAMED, first},
};

/// `_meta` key of an answer: rule files of the workspace that are left out, with reasons.
const RULE_ERRORS: &str = "tabellion/ruleErrors";
/// `_meta` key of a run: files that were not checked, with reasons.
const SKIPPED: &str = "tabellion/skipped";
/// `_meta` key of an analysis: the first line that could not be parsed.
const UNPARSED: &str = "tabellion/unparsed";
/// Maximum number of values in each of these lists in `_meta`.
const MAX_NOTES: usize = 100;

impl ValidateTool for Memory {
    async fn validate_run(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: ValidateRunRequest,
    ) -> Answer<ValidateRunResponse> {
        let path = self.workspaces.resolve(&req.path).map_err(path_refused)?;
        let selection = Selection {
            rules: req.rules.unwrap_or_default(),
            category: req.category,
            without: self.workspaces.own(path.root()),
        };
        let call = cx.call();
        let (report, set) = blocking(|| {
            let set = RuleSet::of_workspace(path.root());
            let is_file = path.path().is_file();
            let scope = if is_file { RunScope::File } else { RunScope::Project };
            if req.scope.is_some_and(|wanted| wanted != scope) {
                let message = format!(
                    "`{}` is of the scope `{scope}`; leave `scope` out, or give a path of the other",
                    req.path
                );
                return Err(invalid("scope", "/scope", message));
            }
            let report = rules::run(&set, path.root(), path.path(), &selection, &call.stop());
            let report = report.map_err(|error| failure(error, &selection))?;
            Ok((report, set))
        })?;
        let skipped = report.skipped.iter().map(|each| format!("{}: {}", each.file, each.reason));
        note_left_out(cx, set.errors(), skipped.collect());
        note_cut(cx, report.total() > report.findings.len(), report.total() as u64);
        Ok(ValidateRunResponse {
            workspace: slashes(&path),
            scope: match report.scope {
                Scope::File => RunScope::File,
                Scope::Project => RunScope::Project,
            },
            passed: report.passed(),
            total_violations: report.total() as u64,
            errors: report.errors as u64,
            warnings: report.warnings as u64,
            infos: report.infos as u64,
            duration_secs: report.duration.as_secs_f64(),
            violations: report.findings.into_iter().map(finding).collect(),
        })
    }

    async fn validate_list_rules(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: ValidateListRulesRequest,
    ) -> Answer<ValidateListRulesResponse> {
        let mut sets: Vec<RuleSet> =
            blocking(|| self.workspaces.roots().iter().map(|root| RuleSet::of_workspace(root)).collect());
        if sets.is_empty() {
            sets.push(RuleSet::built_in());
        }
        // Several workspaces share the server's rules. If two have a rule with the same id, the first is listed.
        let mut listed = BTreeMap::new();
        for set in &sets {
            let rules = set.list_rules(req.category.as_deref()).map_err(not_selected)?;
            for rule in rules {
                listed.entry(rule.id.clone()).or_insert(rule);
            }
        }
        let errors: Vec<RuleFileError> = sets.iter().flat_map(RuleSet::errors).cloned().collect();
        note_left_out(cx, &errors, vec![]);
        let rules: Vec<ListedRule> = listed
            .into_values()
            .map(|rule| ListedRule {
                id: rule.id.clone(),
                name: rule.name.clone(),
                category: rule.category.name().into(),
                severity: severity(rule.severity),
                description: rule.description.clone(),
                languages: rule.languages().into_iter().map(Into::into).collect(),
                engine: rule.engine().into(),
            })
            .collect();
        Ok(ValidateListRulesResponse {
            count: rules.len() as u64,
            filter: req.category,
            categories: Category::ALL.iter().map(|category| category.name().into()).collect(),
            rules,
        })
    }

    async fn validate_analyze(
        &self,
        cx: &ReadCx<'_, Rows>,
        req: ValidateAnalyzeRequest,
    ) -> Answer<ValidateAnalyzeResponse> {
        let path = self.workspaces.file(&req.path).map_err(path_refused)?;
        let analysis = blocking(|| rules::analyze(path.root(), path.path()));
        let analysis = analysis.map_err(|error| failure(error, &Selection::default()))?;
        let metrics = analysis.metrics;
        if let Some(line) = metrics.unparsed {
            cx.note(UNPARSED, line);
            let warning = format!(
                "line {line} could not be parsed, and perhaps others; functions with such lines are left out, and the numbers of the \
                 file are without them"
            );
            cx.warn([Some(warning)]);
        }
        let function = |function: rules::FunctionMetrics| MeasuredFunction {
            name: function.name,
            line: function.line as u64,
            end_line: function.end_line as u64,
            cyclomatic: function.cyclomatic.into(),
            cognitive: function.cognitive.into(),
            sloc: function.sloc as u64,
            parameters: function.parameters as u64,
            nesting: function.nesting.into(),
        };
        Ok(ValidateAnalyzeResponse {
            path: analysis.path,
            language: analysis.language.name().into(),
            cyclomatic: metrics.cyclomatic.into(),
            cognitive: metrics.cognitive.into(),
            maintainability_index: metrics.maintainability_index,
            sloc: metrics.sloc as u64,
            functions: metrics.functions.into_iter().map(function).collect(),
            analysis_time_ms: analysis.duration.as_secs_f64() * 1000.0,
        })
    }
}

fn finding(finding: rules::Finding) -> Finding {
    Finding {
        id: finding.id,
        category: finding.category.name().into(),
        severity: severity(finding.severity),
        file: finding.file,
        line: finding.line as u64,
        column: finding.column as u64,
        message: finding.message,
        suggestion: finding.suggestion,
    }
}

fn severity(severity: rules::Severity) -> Severity {
    match severity {
        rules::Severity::Error => Severity::Error,
        rules::Severity::Warning => Severity::Warning,
        rules::Severity::Info => Severity::Info,
    }
}

fn slashes(path: &WorkspacePath) -> String {
    path.root().to_string_lossy().replace('\\', "/")
}

/// Notes the rule files and the files that were left out, also as warnings: without them, a run has passed in part only.
fn note_left_out(cx: &ReadCx<'_, Rows>, errors: &[RuleFileError], skipped: Vec<String>) {
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    for (key, left_out, items) in [
        (RULE_ERRORS, "rule files that can't be used are left out", errors),
        (SKIPPED, "some files were not checked", skipped),
    ] {
        if !items.is_empty() {
            cx.warn([Some(format!("{left_out}: {}", first(&items, MAX_NAMED).join("; ")))]);
            cx.note(key, Value::from(first(&items, MAX_NOTES)));
        }
    }
}

fn invalid(rule: &str, pointer: &str, message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Invalid, message).with("rule", rule).with("pointer", pointer)
}

fn path_refused(error: WorkspacePathError) -> Failure {
    let kind = match &error {
        WorkspacePathError::Io { .. } => {
            return Failure::new(FailureKind::Io, "the path can't be looked at").with_source(error);
        }
        WorkspacePathError::Missing(_) => FailureKind::NotFound,
        WorkspacePathError::NotAFile(_) | WorkspacePathError::Empty | WorkspacePathError::Nul => {
            FailureKind::Invalid
        }
        _ => FailureKind::PathNotAllowed,
    };
    Failure::new(kind, error.to_string()).with("rule", "path").with("pointer", "/path")
}

fn not_selected(error: SelectionError) -> Failure {
    let pointer = match &error {
        SelectionError::Rule { .. } => "/rules".to_owned(),
        SelectionError::Neither { .. } => return invalid("category", "/category", error.to_string()),
        SelectionError::Category { .. } => "/category".to_owned(),
    };
    Failure::new(FailureKind::NotFound, error.to_string()).with("rule", "no_such").with("pointer", pointer)
}

fn failure(error: RunError, selection: &Selection) -> Failure {
    let message = error.to_string();
    match error {
        RunError::Selection(SelectionError::Rule { ref id, .. }) => {
            let at = selection.rules.iter().position(|each| each == id).unwrap_or_default();
            Failure::new(FailureKind::NotFound, message)
                .with("rule", "no_such")
                .with("pointer", format!("/rules/{at}"))
        }
        RunError::Selection(error) => not_selected(error),
        RunError::NoSuchPath { .. } => {
            Failure::new(FailureKind::NotFound, message).with("rule", "path").with("pointer", "/path")
        }
        RunError::Unusable { reason: SkipReason::TooLarge, .. } => {
            Failure::new(FailureKind::TooLarge, message).with("rule", "path").with("pointer", "/path")
        }
        RunError::Unusable { .. } => invalid("path", "/path", message),
        RunError::UnknownLanguage { .. } => invalid("language", "/path", message),
        RunError::TooMany(_) => Failure::new(FailureKind::TooLarge, message),
        RunError::Cancelled => Failure::stopped(),
    }
}
