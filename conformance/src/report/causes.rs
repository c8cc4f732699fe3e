//! Groups the checks that did not pass for the same reason.

use super::{CheckReport, Rating, Report};
use crate::judgement::Cause;

/// Checks that did not pass for one reason.
#[derive(Debug)]
pub struct CauseGroup<'a> {
    /// The reason.
    pub cause: &'a Cause,
    /// The checks, each once for all revisions, in the order of the findings.
    pub checks: Vec<&'a CheckReport>,
}

impl Cause {
    /// Returns a sentence without a full stop: the server's behaviour, and the remedy.
    pub fn sentence(&self) -> String {
        match self {
            Self::Refusal(message) => format!("the server refuses valid calls: {message}"),
            Self::NoAnswer(how) | Self::Ended(how) => how.clone(),
            Self::OwnState(path) => {
                let glob = if path.ends_with('/') { "**" } else { "" };
                format!(
                    "the server keeps `{path}` in the library; if that is state of its own, name it in the adapter (`own = \
                     [\"{path}{glob}\"]`) or with `--own`, to judge the rest"
                )
            }
            Self::PartialRead => {
                "the server returns long documents in parts; name the next part in the adapter (`next`), to judge the rest"
                    .to_owned()
            }
            Self::Accepted => "the server accepts what the contract refuses".to_owned(),
            Self::Schema(how) => format!("the server's messages break MCP's schema: {how}"),
        }
    }
}

impl Report {
    /// Returns the reasons for which several checks did not pass, those with the most checks first.
    pub fn causes(&self) -> Vec<CauseGroup<'_>> {
        let mut groups: Vec<CauseGroup<'_>> = Vec::new();
        for finding in self.findings(false) {
            let check = finding.check;
            let Some(cause) = check.cause.as_ref().filter(|_| check.rating() != Rating::Known) else {
                continue;
            };
            match groups.iter_mut().find(|group| group.cause == cause) {
                Some(group) if group.checks.iter().any(|it| it.id == check.id) => {}
                Some(group) => group.checks.push(check),
                None => groups.push(CauseGroup { cause, checks: vec![check] }),
            }
        }
        groups.retain(|group| group.checks.len() > 1);
        groups.sort_by_key(|group| std::cmp::Reverse(group.checks.len()));
        groups
    }
}
