//! Known failures, each with a reason: a list that must stay true.
//!
//! ```toml
//! [[known]]
//! check = "mutation/one-commit"    # or a family: "mutation/*"
//! revision = "2025-11-25"          # optional; all revisions if absent
//! reason = "commits come in batches until the next release"
//! ```

use std::ops::RangeInclusive;

use serde::Deserialize;
use toml::Spanned;

use crate::{
    checks,
    era::Era,
    pattern::covers,
    report::{CheckReport, Rating, Report},
};

/// The entries of a file.
#[derive(Debug, Clone, Default)]
pub struct KnownFailures {
    file: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    fields: EntryFields,
    lines: RangeInclusive<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    known: Vec<Spanned<EntryFields>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryFields {
    check: String,
    revision: Option<String>,
    reason: String,
}

impl KnownFailures {
    /// Parses `text`, the content of `file`.
    ///
    /// # Errors
    /// If it has another form, or an entry has no reason or names a check that does not exist.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let parsed: File = toml::from_str(text).map_err(|error| format!("`{file}`: {error}"))?;
        let line = |offset: usize| text[..offset].matches('\n').count() + 1;
        let starts: Vec<_> = parsed.known.iter().map(|entry| entry.span().start).collect();
        let mut entries = Vec::new();
        for (number, entry) in parsed.known.into_iter().enumerate() {
            let start = starts[number];
            let end = starts.get(number + 1).copied().unwrap_or(text.len());
            let written = text[start..end].lines().collect::<Vec<_>>();
            let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
            let many = written.iter().rposition(is_said).unwrap_or(0);
            let lines = line(start)..=line(start) + many;
            let fields = entry.into_inner();
            fields.ensure_sense().map_err(|error| format!("`{file}`, line {}: {error}", lines.start()))?;
            entries.push(Entry { fields, lines });
        }
        let file = file.to_owned();
        Ok(Self { file, entries })
    }

    /// Returns the reason for the failure of this check, if it is listed.
    pub fn reason(&self, check: &str, revision: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.fields.covers(check, revision))?;
        Some(entry.fields.reason.trim())
    }

    /// Returns a sentence for each outdated entry: one whose checks pass.
    pub fn outdated(&self, report: &Report) -> Vec<String> {
        let mut sentences = Vec::new();
        for Entry { fields, lines } in &self.entries {
            let covered = report.checks.iter();
            let covered: Vec<_> = covered.filter(|check| fields.covers(&check.id, &check.revision)).collect();
            let is_passed = |check: &&&CheckReport| check.rating() == Rating::Unexpected;
            let passed: Vec<_> = covered.iter().filter(is_passed).collect();
            let is_needed = covered.iter().any(|check| check.rating() == Rating::Known);
            let names: Vec<_> =
                passed.iter().map(|check| format!("{} ({})", check.id, check.revision)).collect();
            if !passed.is_empty() {
                let at = match (lines.start(), lines.end()) {
                    (start, end) if start == end => format!("line {start}"),
                    (start, end) => format!("lines {start} to {end}"),
                };
                let what = if is_needed { "narrow" } else { "remove" };
                let verb = if names.len() == 1 { "passes" } else { "pass" };
                let names = names.join(", ");
                sentences.push(format!("`{}`: {what} {at} (`{}`): {names} {verb}", self.file, fields.check));
            }
        }
        sentences
    }
}

impl EntryFields {
    fn covers(&self, check: &str, revision: &str) -> bool {
        covers(&self.check, check) && self.revision.as_ref().is_none_or(|only| only == revision)
    }

    fn ensure_sense(&self) -> Result<(), String> {
        let Self { check, revision, reason } = self;
        if !checks::all().any(|it| covers(check, it.id)) {
            return Err(format!("there is no check `{check}`{}", checks::did_you_mean(check)));
        }
        if reason.trim().is_empty() {
            return Err(format!("`{check}` has no reason"));
        }
        match revision {
            Some(revision) if Era::from_revision(revision).is_none() => Err(format!(
                "`{check}`: there are no checks for revision `{revision}`, but for {}",
                Era::ALL.map(Era::revision).join(", ")
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# ours\n\n[[known]]\ncheck = \"mutation/one-commit\"\nrevision = \"2025-11-25\"\n\
                        reason = \"batches\"\n\n[[known]]\ncheck = \"mutation/*\"\nreason = \"later\"\n";

    #[test]
    fn the_first_entry_that_covers_a_check_gives_the_reason() {
        let known = KnownFailures::parse("known.toml", FILE).unwrap();
        assert_eq!(known.reason("mutation/one-commit", "2025-11-25"), Some("batches"));
        assert_eq!(known.reason("mutation/one-commit", "2026-07-28"), Some("later"));
        assert_eq!(known.reason("mutations/one-commit", "2025-11-25"), None);
        assert_eq!(known.entries[0].lines, 3..=6);
        assert_eq!(known.entries[1].lines, 8..=10);
    }

    #[test]
    fn invalid_entries_are_errors() {
        for (entry, error) in [
            (
                "check = \"mutation/one-comit\"\nreason = \"x\"",
                "there is no check `mutation/one-comit`; did you mean `mutation/one-commit`",
            ),
            ("check = \"mutation/*\"\nreason = \" \"", "`mutation/*` has no reason"),
            ("check = \"mutation/*\"", "missing field `reason`"),
            ("check = \"mutation/*\"\nreason = \"x\"\nwhy = \"\"", "unknown field `why`"),
            ("check = \"mutation/*\"\nreason = \"x\"\nrevision = \"2020\"", "no checks for revision `2020`"),
        ] {
            let found = KnownFailures::parse("known.toml", &format!("[[known]]\n{entry}\n")).unwrap_err();
            assert!(found.contains(error) && found.contains("known.toml"), "{found}");
        }
    }
}
