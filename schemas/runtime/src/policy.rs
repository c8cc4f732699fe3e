//! Path policies: the paths that a tool can name, as its contract declares them.
//!
//! Globs match segments, never the whole string, and ignore case and Unicode composition. A denied path is denied in every spelling that
//! some system treats as the same. A path with an empty segment, `.` or `..` never matches and is therefore not permitted. The existence of
//! a path, and the targets of symbolic links, are the [`Store`](crate::Store)'s subject.

use serde::Deserialize;

use crate::{
    failure::{Failure, FailureKind},
    spec::read::list,
    text::{composed, folded},
};

/// The permitted paths, as globs over segments: `*` matches any characters of one segment, a segment `**` any number of
/// segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct PathPolicy {
    /// Permitted paths.
    #[serde(borrow, deserialize_with = "list")]
    pub allow: &'static [&'static str],
    /// Denied paths, including everything below them; they override `allow`.
    #[serde(default, deserialize_with = "list")]
    pub deny: &'static [&'static str],
}

impl PathPolicy {
    /// Checks `path`, which is relative to the library's root.
    ///
    /// # Errors
    /// [`FailureKind::AccessDenied`] if it is denied, [`FailureKind::PathNotAllowed`] if it is not permitted.
    pub fn judge(&self, path: &str) -> Result<(), Failure> {
        let any_spelling = folded(path);
        let segments: Vec<&str> = any_spelling.split('/').collect();
        let denies = |glob: &&&str| matches_beginning(&folded(glob), &segments);
        if let Some(glob) = self.deny.iter().find(denies) {
            let message = format!("`{path}` is denied: the contract denies `{glob}`");
            return Err(Failure::new(FailureKind::AccessDenied, message)
                .with("path", path)
                .with("denied_by", *glob));
        }
        let same_letters = |text| composed(text).to_lowercase();
        let path_letters = same_letters(path);
        let segments: Vec<&str> = path_letters.split('/').collect();
        let plain = segments.iter().all(|segment| !["", ".", ".."].contains(segment));
        if plain && self.allow.iter().any(|glob| matches(&same_letters(glob), &segments)) {
            return Ok(());
        }
        let allowed: Vec<_> = self.allow.iter().map(|glob| format!("`{glob}`")).collect();
        let message = format!("`{path}` is not allowed; allowed are {}", allowed.join(", "));
        Err(Failure::new(FailureKind::PathNotAllowed, message)
            .with("path", path)
            .with("allowed", self.allow.to_vec()))
    }
}

/// Returns true if `glob` matches all of `segments`; the case of both counts.
fn matches(glob: &str, segments: &[&str]) -> bool {
    let globs: Vec<&str> = glob.split('/').collect();
    sequence(&globs, segments, "**", &of_segment).all
}

/// Returns true if `glob` matches `segments`, or a prefix of them: a folder that contains the path. The case of both counts.
fn matches_beginning(glob: &str, segments: &[&str]) -> bool {
    let globs: Vec<&str> = glob.split('/').collect();
    sequence(&globs, segments, "**", &of_segment).beginning
}

fn of_segment(glob: &str, segment: &str) -> bool {
    let (glob, segment): (Vec<char>, Vec<char>) = (glob.chars().collect(), segment.chars().collect());
    sequence(&glob, &segment, '*', &|one, other| one == other).all
}

/// The extent of a match in a sequence.
#[derive(Debug, Clone, Copy)]
struct Matched {
    /// True if all items match.
    all: bool,
    /// True if all items match, or a prefix of at least one.
    beginning: bool,
}

/// Matches `items` against `pattern`, in which `any` stands for any number of items. Takes time proportional to the product of
/// the two lengths, for every pattern.
fn sequence<P: PartialEq + Copy, T: Copy>(
    pattern: &[P],
    items: &[T],
    any: P,
    same: &dyn Fn(P, T) -> bool,
) -> Matched {
    // After each item: the prefixes of the pattern that match all items so far.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    let skip_any = |reached: &mut [bool]| {
        for (i, part) in pattern.iter().enumerate() {
            if *part == any && reached[i] {
                reached[i + 1] = true;
            }
        }
    };
    skip_any(&mut reached);
    let mut beginning = false;
    for item in items {
        let mut next = vec![false; reached.len()];
        for (i, part) in pattern.iter().enumerate() {
            if *part == any {
                next[i + 1] = reached[i + 1];
            } else if reached[i] && same(*part, *item) {
                next[i + 1] = true;
            }
        }
        skip_any(&mut next);
        reached = next;
        beginning |= reached[pattern.len()];
    }
    Matched { all: reached[pattern.len()], beginning }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: PathPolicy = PathPolicy {
        allow: &["docs/**", ".claude/memory/**", "*.txt", "README.md", "a/*/c", "études/**"],
        deny: &["**/.env*", "**/secret*", "**/*.key", "private/**", "**/.git", "**/résumé*"],
    };

    #[test]
    fn a_path_is_judged_segment_by_segment_in_any_case_and_deny_beats_allow() {
        use FailureKind::{AccessDenied, PathNotAllowed};
        for (path, expected) in [
            ("docs/a.md", None),
            ("docs/a/b/c.md", None),
            ("DOCS/a.md", None),
            ("readme.MD", None),
            ("x.txt", None),
            (".txt", None),
            ("a/b/c", None),
            (".claude/memory/log.jsonl", None),
            ("docs/environment.md", None),
            ("docs/keys/a.md", None),
            ("docs/.github/a.md", None),
            ("docsx/a.md", Some(PathNotAllowed)),
            ("xdocs/a.md", Some(PathNotAllowed)),
            ("docs", None),
            ("x/README.md", Some(PathNotAllowed)),
            ("README.md/x", Some(PathNotAllowed)),
            ("README.mdx", Some(PathNotAllowed)),
            ("READMEXmd", Some(PathNotAllowed)),
            ("a/b/b/c", Some(PathNotAllowed)),
            ("a/c", Some(PathNotAllowed)),
            (".claude/settings.json", Some(PathNotAllowed)),
            ("", Some(PathNotAllowed)),
            ("/docs/a.md", Some(PathNotAllowed)),
            ("docs//a.md", Some(PathNotAllowed)),
            ("docs/a.md/", Some(PathNotAllowed)),
            ("docs/./a.md", Some(PathNotAllowed)),
            ("docs/../docs/a.md", Some(PathNotAllowed)),
            ("../docs/a.md", Some(PathNotAllowed)),
            ("docs/../.env", Some(AccessDenied)),
            ("docs/.env", Some(AccessDenied)),
            ("docs/.ENV.local", Some(AccessDenied)),
            (".env", Some(AccessDenied)),
            ("docs/Secrets.md", Some(AccessDenied)),
            ("docs/secrets/a.md", Some(AccessDenied)),
            ("docs/tls.key", Some(AccessDenied)),
            ("docs/tls.key/a.md", Some(AccessDenied)),
            ("docs/.git/config", Some(AccessDenied)),
            (".git/config", Some(AccessDenied)),
            ("private/a.md", Some(AccessDenied)),
            ("elsewhere/a.md", Some(PathNotAllowed)),
            // In any spelling.
            ("docs/Re\u{301}sume\u{301}.md", Some(AccessDenied)),
            ("docs/RÉSUMÉS/a.md", Some(AccessDenied)),
            ("docs/.e\u{200c}nv", Some(AccessDenied)),
            ("docs/ſecret.md", Some(AccessDenied)),
            ("do\u{200b}cs/a.md", Some(PathNotAllowed)),
            ("docs/cafe\u{301}.md", None),
            ("e\u{301}tudes/a.md", None),
            ("études/a.md", None),
        ] {
            let judged = POLICY.judge(path).err();
            assert_eq!(judged.map(|failure| failure.kind), expected, "{path}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let (path, glob) = ("a".repeat(10_000), "*a".repeat(500) + "b");
        assert!(!matches(&glob, &[&path]));
        let (path, glob) = (vec!["a"; 10_000], "**/a/".repeat(50) + "b");
        assert!(!matches(&glob, &path));
        let policy = PathPolicy {
            allow: &["docs/**"],
            deny: &["**/.env*", "**/secrets*", "**/*.key", "**/*.pem", "**/.git"],
        };
        // Were each beginning of the path judged by itself, this would take hours.
        let path = "d/".repeat(50_000) + "a.md";
        let judged = policy.judge(&path).err().map(|failure| failure.kind);
        assert_eq!(judged, Some(FailureKind::PathNotAllowed));
    }
}
