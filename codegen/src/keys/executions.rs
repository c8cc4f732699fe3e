//! `executions` and `sessions`: records of calls in addition to their changes.

use quote::quote;
use tabellion_runtime::{FailureKind, spec};

use super::{Emitted, Key};
use crate::{changes::Changes, contract::Contract, leak::constant, problem::Problem};

/// Failures of recording an execution.
const OF_EXECUTIONS: [FailureKind; 2] = [FailureKind::Busy, FailureKind::Io];
/// Failures of opening a session.
const OF_SESSIONS: [FailureKind; 1] = [FailureKind::RateLimited];

pub(super) struct Calls;

impl Key for Calls {
    fn lint(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        let spec = &contract.spec;
        let mut problem = |at: &str, what: String, help: &str| {
            problems.push(contract.document.problem(at, what, help));
        };
        if let Some(executions) = &spec.executions {
            if executions.result_seconds > executions.keep_seconds {
                problem(
                    "/executions/resultSeconds",
                    "results are kept longer than the executions that have them".into(),
                    "make it no more than `keepSeconds`",
                );
            }
            if spec.rows.is_some() {
                problem(
                    "/executions",
                    "executions are kept of contracts over documents, and this one keeps rows".into(),
                    "remove it; the log of changes has each call that changed something",
                );
            }
        }
        for (at, is_there, failures) in [
            ("/executions", spec.executions.is_some(), &OF_EXECUTIONS[..]),
            ("/sessions", spec.sessions.is_some(), &OF_SESSIONS),
        ] {
            let lacking = failures.iter().filter(|kind| is_there && contract.error_for(**kind).is_none());
            for kind in lacking {
                problem(
                    at,
                    format!("a call can end with the failure `{kind}`, which no error stands for"),
                    "add it to the `failures` of an error",
                );
            }
        }
        if let Some(sessions) = &spec.sessions {
            if spec.executions.is_none() {
                problem(
                    "/sessions",
                    "sessions are kept beside executions, and there are none".into(),
                    "add `executions`, or remove `sessions`",
                );
            }
            if spec.auth.is_none() {
                problem(
                    "/sessions",
                    "sessions are those of a known caller, and callers need not be known".into(),
                    "add `auth`, or remove `sessions`",
                );
            }
            if sessions.idle_seconds > sessions.seconds {
                problem(
                    "/sessions/idleSeconds",
                    "a session is over before it can be idle for so long".into(),
                    "make it no more than `seconds`",
                );
            }
            if !spec.errors.contains_key(sessions.expired) {
                problem(
                    "/sessions/expired",
                    format!("there is no error `{}`", sessions.expired),
                    "add it to `errors`, or correct its spelling",
                );
            }
            for tool in contract.operations() {
                if !tool.spec.errors.contains(&sessions.expired) {
                    problems.push(tool.document.problem(
                        "/errors",
                        format!("calls without a session fail with `{}`", sessions.expired),
                        "add it",
                    ));
                }
            }
        }
    }

    fn compare(&self, changes: &mut Changes<'_>, old: &Contract, new: &Contract) {
        match (&old.spec.executions, &new.spec.executions) {
            (Some(_), None) => changes.breaking("executions are no longer kept"),
            (None, Some(_)) => changes.compatible("executions are kept"),
            (Some(before), Some(after)) => {
                for (what, before, after) in [
                    ("executions", before.keep_seconds, after.keep_seconds),
                    ("results of executions", before.result_seconds, after.result_seconds),
                ] {
                    if after < before {
                        changes.breaking(format!("{what} are kept for {after} s, and no longer {before} s"));
                    } else if after > before {
                        changes.compatible(format!("{what} are kept longer, for {after} s"));
                    }
                }
            }
            (None, None) => {}
        }
        match (&old.spec.sessions, &new.spec.sessions) {
            (Some(_), None) => changes.breaking("callers no longer have sessions"),
            (None, Some(_)) => {
                changes.breaking("calls are counted in sessions, of which a caller has only so many")
            }
            (Some(before), Some(after)) => {
                if before.expired != after.expired {
                    changes.breaking(format!(
                        "calls in a session that has ended fail with `{}`, and no longer `{}`",
                        after.expired, before.expired
                    ));
                }
                for (what, before, after) in [
                    ("a caller's sessions", before.most, after.most),
                    ("the age of sessions in seconds", before.seconds, after.seconds),
                    ("the idle time of sessions in seconds", before.idle_seconds, after.idle_seconds),
                ] {
                    if after < before {
                        changes.breaking(format!("the limit of {what} is {after}, and no longer {before}"));
                    } else if after > before {
                        changes.compatible(format!("the limit of {what} is raised to {after}"));
                    }
                }
            }
            (None, None) => {}
        }
    }

    fn emit(&self, contract: &Contract) -> Emitted {
        let methods = contract.spec.executions.iter().map(|_| {
            quote! {
                fn error_for(&self, failure: Failure) -> ErrorAnswer {
                    ToolError::from(failure).answer()
                }
            }
        });
        Emitted { fields: self.fields(contract), methods: methods.collect(), ..Emitted::default() }
    }

    fn fill(&self, contract: &Contract, table: &mut spec::ContractSpec) {
        table.executions = contract.spec.executions.map(constant);
        table.sessions = contract.spec.sessions.map(constant);
    }
}
