//! Compiles the texts of a rule file: queries, regular expressions, globs. Each has a bound on its size, since a rule file may come from
//! anywhere.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};
use tabellion_syntax::{Language, tree_sitter::Query};

use crate::{
    problem::{Problem, Text},
    rule::Selector,
};

/// Regular expressions that need more memory than this are refused.
const MAX_REGEX_BYTES: usize = 256 * 1024;
const MAX_REGEX_NESTING: u32 = 64;
const MAX_PATTERN_LENGTH: usize = 4096;
/// Deeper queries are refused: tree-sitter reads them recursively.
const MAX_QUERY_NESTING: usize = 32;
/// Tree-sitter's cost of analysing a query grows with the square of its wildcards and repetitions.
const MAX_QUERY_STEPS: usize = 256;

pub(crate) fn regex(pattern: &Text) -> Result<Regex, Problem> {
    if pattern.text.len() > MAX_PATTERN_LENGTH {
        return Err(Problem::new(
            pattern.line,
            format!("a regular expression has at most {MAX_PATTERN_LENGTH} bytes"),
        ));
    }
    let built = RegexBuilder::new(&pattern.text)
        .multi_line(true)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .nest_limit(MAX_REGEX_NESTING)
        .build();
    let regex = built.map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => {
            let problem =
                format!("this regular expression needs more than {limit} bytes; write smaller repetitions");
            Problem::new(pattern.line, problem)
        }
        error => {
            Problem::new(pattern.line, format!("not a regular expression: {}", last_line(&error.to_string())))
        }
    })?;
    if regex.is_match("") {
        return Err(Problem::new(
            pattern.line,
            "this regular expression matches an empty text, and so everywhere",
        ));
    }
    Ok(regex)
}

/// The `regex` crate draws the place over several lines; the last one names the error.
fn last_line(message: &str) -> &str {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ")
}

pub(crate) fn globs(patterns: &[Text]) -> Result<GlobSet, Problem> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if pattern.text.len() > MAX_PATTERN_LENGTH {
            return Err(Problem::new(pattern.line, format!("a glob has at most {MAX_PATTERN_LENGTH} bytes")));
        }
        let glob = GlobBuilder::new(&pattern.text).literal_separator(true).build();
        set.add(glob.map_err(|error| Problem::new(pattern.line, format!("not a glob: {}", error.kind())))?);
    }
    let line = patterns.first().map_or(1, |pattern| pattern.line);
    set.build()
        .map_err(|error| Problem::new(line, format!("these globs can't be compiled: {}", error.kind())))
}

pub(crate) fn selector(
    language: Language,
    pattern: &Text,
    max_count: Option<u32>,
) -> Result<Selector, Problem> {
    let problem = |message: String| Problem::new(pattern.line, message);
    check_size(&pattern.text).map_err(problem)?;
    let query = Query::new(&language.grammar(), &pattern.text).map_err(|error| {
        let message = error.message.lines().next().unwrap_or_default();
        let (row, column) = (error.row + 1, error.column + 1);
        problem(format!(
            "not a query for {}: {:?} at {row}:{column} of it: {message}",
            language.name(),
            error.kind
        ))
    })?;
    if query.capture_index_for_name("match").is_none() {
        return Err(problem("a query captures what it finds as `@match`".into()));
    }
    if query.capture_index_for_name("count").is_some() != max_count.is_some() {
        return Err(problem("`@count` in a query and `max_count` beside it go together".into()));
    }
    for pattern in 0..query.pattern_count() {
        let known = query.general_predicates(pattern).first();
        if let Some(predicate) = known {
            let operator = &predicate.operator;
            let known = "`#eq?`, `#match?`, `#any-of?` and their `not-` and `any-` forms";
            return Err(problem(format!("unknown predicate `#{operator}`; there are {known}")));
        }
    }
    Ok(Selector {
        language,
        pattern: pattern.text.clone(),
        patterns: query.pattern_count(),
        max_count: max_count.map(|max| max as usize),
    })
}

/// Bounds the input of tree-sitter's query parser, which is written in C.
fn check_size(query: &str) -> Result<(), String> {
    let (mut depth, mut steps) = (0_usize, 0_usize);
    let (mut in_string, mut escaped, mut in_comment) = (false, false, false);
    for character in query.chars() {
        match character {
            _ if escaped => escaped = false,
            '\n' => in_comment = false,
            _ if in_comment => {}
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            ';' => in_comment = true,
            '(' | '[' => {
                (depth, steps) = (depth + 1, steps + 1);
                if depth > MAX_QUERY_NESTING {
                    return Err(format!("a query is nested at most {MAX_QUERY_NESTING} deep"));
                }
            }
            ')' | ']' => depth = depth.saturating_sub(1),
            '*' | '+' => steps += 1,
            '\0' => return Err("a query has no NUL".into()),
            _ => {}
        }
        if steps > MAX_QUERY_STEPS {
            return Err("this query is too large; make several selectors of it".into());
        }
    }
    Ok(())
}
