//! The rules on one file.

use std::{
    collections::{BTreeMap, HashSet},
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use regex::{Match, Regex};
use tabellion_syntax::{
    Language,
    tree_sitter::{QueryCursor, QueryCursorOptions, StreamingIterator, Tree},
};

use crate::{
    context::Surroundings,
    files::SkipReason,
    flat::{FlatTree, Index},
    grammar::{Grammar, Roles},
    metrics::{self, FileMetrics, FunctionMetrics, MODULE},
    plan::{Joined, Plan},
    rule::{Category, Context, Finder, Limit, Metric, Rule, Severity},
};

/// Maximum time of all rules together on a file, not counting its parsing.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of unfinished matches at a time, per selector.
const MATCH_LIMIT: u32 = 4096;
/// Regular expressions are matched on pieces of longer lines, to keep each step short.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// Maximum length of a text quoted in a message, in characters.
const MAX_QUOTED: usize = 60;

/// A finding of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the workspace, with `/`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The rule.
    pub id: String,
    /// The rule's category.
    pub category: Category,
    /// Its severity.
    pub severity: Severity,
    /// The rule's message with its placeholders filled in.
    pub message: String,
    /// The rule's suggestion.
    pub suggestion: Option<String>,
}

/// A file to check.
pub(crate) struct Source<'text> {
    /// Relative to the workspace, with `/`.
    pub(crate) path: &'text str,
    pub(crate) text: &'text str,
    pub(crate) language: Option<Language>,
    /// True if all of it is tests.
    pub(crate) is_test: bool,
}

/// The parsed form of a file, made once for all rules.
struct Parsed<'source> {
    tree: Tree,
    flat: FlatTree<'source>,
    grammar: &'static Grammar,
}

impl<'source> Parsed<'source> {
    fn from_source(source: &Source<'source>) -> Result<Option<Self>, SkipReason> {
        let Some((language, grammar)) =
            source.language.and_then(|language| Some((language, Grammar::for_language(language)?)))
        else {
            return Ok(None);
        };
        let tree = tabellion_syntax::parse(language, source.text).ok_or(SkipReason::TooSlow)?;
        let flat = FlatTree::new(&tree, grammar, source.text);
        Ok(Some(Self { tree, flat, grammar }))
    }
}

/// Measures a file; `None` if its language can't be measured.
pub(crate) fn measure(source: &Source<'_>) -> Result<Option<FileMetrics>, SkipReason> {
    let parsed = Parsed::from_source(source)?;
    Ok(parsed.map(|parsed| metrics::measure(&parsed.flat, parsed.grammar.kinds)))
}

/// Runs rules on a file. The findings are unsorted.
pub(crate) fn check(
    plan: &Plan<'_>,
    source: &Source<'_>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Finding>, SkipReason> {
    let applicable: Vec<&Arc<Rule>> =
        plan.rules.iter().filter(|rule| rule.looks_at(source.language)).collect();
    let needs_tree = applicable.iter().any(|rule| rule.needs_tree());
    let parsed = if needs_tree { Parsed::from_source(source)? } else { None };
    let measured =
        applicable.iter().any(|rule| matches!(rule.finder, Finder::Metrics(_)) && rule.needs_tree());
    let measured = parsed
        .as_ref()
        .filter(|_| measured)
        .map(|parsed| metrics::measure(&parsed.flat, parsed.grammar.kinds));
    let surroundings = parsed.as_ref().zip(source.language).map(|(parsed, language)| Surroundings {
        tree: &parsed.flat,
        language,
        is_test_file: source.is_test,
    });
    let begun = Instant::now();
    let mut run = Run {
        source,
        surroundings,
        late: &|| begun.elapsed() > TIME_LIMIT || cancelled(),
        line_starts: line_starts(source.text),
        found: Vec::new(),
    };
    for rule in applicable {
        match &rule.finder {
            Finder::Path { globs, except } => {
                if globs.is_match(source.path) && !except.is_match(source.path) {
                    run.add(rule, 0, &Values::default());
                }
            }
            Finder::Regex { patterns, except } => run.regex(rule, patterns, except)?,
            Finder::Selectors(_) => {}
            Finder::Metrics(limits) => {
                for (metric, limit) in limits {
                    run.metric(rule, *metric, *limit, measured.as_ref());
                }
            }
        }
    }
    if let (Some(parsed), Some(language)) = (&parsed, source.language) {
        for joined in plan.queries(language) {
            run.query(joined, parsed)?;
        }
    }
    Ok(run.found)
}

/// Values for the placeholders of a message.
#[derive(Debug, Default)]
struct Values {
    value: String,
    limit: String,
    name: String,
    text: String,
}

struct Run<'run> {
    source: &'run Source<'run>,
    surroundings: Option<Surroundings<'run>>,
    late: &'run dyn Fn() -> bool,
    line_starts: Vec<usize>,
    found: Vec<Finding>,
}

impl Run<'_> {
    fn add(&mut self, rule: &Rule, byte: usize, values: &Values) {
        let line = self.line_starts.partition_point(|&start| start <= byte).max(1);
        let before = self.source.text.get(self.line_starts[line - 1]..byte).unwrap_or_default();
        let message = rule
            .message
            .replace("{value}", &values.value)
            .replace("{limit}", &values.limit)
            .replace("{name}", &values.name)
            .replace("{text}", &values.text);
        self.found.push(Finding {
            file: self.source.path.to_owned(),
            line,
            column: before.chars().count() + 1,
            id: rule.id.clone(),
            category: rule.category,
            severity: rule.severity,
            message,
            suggestion: rule.suggestion.clone(),
        });
    }

    /// Returns true if the rule holds at a node.
    fn holds_at(&self, rule: &Rule, index: impl FnOnce(&FlatTree<'_>) -> Index) -> bool {
        if rule.when.is_empty() && rule.unless.is_empty() {
            return true;
        }
        let Some(surroundings) = &self.surroundings else {
            return rule.when.is_empty();
        };
        let index = index(surroundings.tree);
        let is_in = |context: &Context| surroundings.is_in(*context, index);
        rule.when.iter().all(is_in) && !rule.unless.iter().any(is_in)
    }

    fn regex(&mut self, rule: &Rule, patterns: &[Regex], except: &[Regex]) -> Result<(), SkipReason> {
        let text = self.source.text;
        let mut from = 0;
        for piece in text.split_inclusive('\n').flat_map(pieces) {
            if (self.late)() {
                return Err(SkipReason::TooSlow);
            }
            let all: Vec<_> = patterns.iter().flat_map(|pattern| pattern.find_iter(piece)).collect();
            for found in &all {
                let byte = from + found.start();
                let mut passes = except.iter().flat_map(|except| except.find_iter(piece));
                let overlap = |a: &Match<'_>, b: &Match<'_>| a.start() < b.end() && b.start() < a.end();
                // An exception that overlaps matches excepts only these; one that overlaps none excepts the whole piece.
                let is_excepted = passes
                    .any(|pass| overlap(&pass, found) || !all.iter().any(|other| overlap(&pass, other)));
                if !is_excepted && self.holds_at(rule, |tree| tree.at_byte(byte)) {
                    let text = self.within_comment(byte, found.as_str());
                    let values = Values { text: quoted(text), ..Values::default() };
                    self.add(rule, byte, &values);
                }
            }
            from += piece.len();
        }
        Ok(())
    }

    /// Returns a text that begins at a byte, as far as the comment goes that the byte is in, without the mark at its end.
    fn within_comment<'text>(&self, byte: usize, text: &'text str) -> &'text str {
        let tree = self.surroundings.as_ref().map(|surroundings| surroundings.tree);
        let comment = tree.and_then(|tree| {
            let innermost = tree.at_byte(byte);
            let mut around = std::iter::once(innermost).chain(tree.ancestors(innermost));
            around.find(|&index| tree.nodes[index].roles.has(Roles::COMMENT)).map(|index| &tree.nodes[index])
        });
        match comment.and_then(|comment| text.get(..comment.bytes.end - byte)) {
            Some(ended) => ended.strip_suffix("*/").unwrap_or(ended),
            None => text,
        }
    }

    fn query(&mut self, joined: &Joined<'_>, parsed: &Parsed<'_>) -> Result<(), SkipReason> {
        let found = self.matches(joined, parsed)?;
        for ((part, index), counted) in found {
            let (rule, selector) = joined.parts[part];
            let is_fine = selector.max_count.is_some_and(|max| counted.len() <= max);
            if is_fine || !self.holds_at(rule, |_| index) {
                continue;
            }
            let flat = &parsed.flat;
            let name = flat.field(index, "name").or_else(|| flat.field(index, "type"));
            let number = |number: usize| number.to_string();
            let values = Values {
                value: selector.max_count.map(|_| number(counted.len())).unwrap_or_default(),
                limit: selector.max_count.map(number).unwrap_or_default(),
                name: quoted(flat.text(name.unwrap_or(index))),
                text: quoted(flat.text(index)),
            };
            self.add(rule, flat.nodes[index].bytes.start, &values);
        }
        Ok(())
    }

    /// Returns the matches of a query's parts by part and node, each with the ids of its counted nodes.
    fn matches(
        &self,
        joined: &Joined<'_>,
        parsed: &Parsed<'_>,
    ) -> Result<BTreeMap<(usize, Index), HashSet<usize>>, SkipReason> {
        let mut too_late = |_: &_| {
            if (self.late)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MATCH_LIMIT * u32::try_from(joined.parts.len()).unwrap_or(1));
        let options = QueryCursorOptions::new().progress_callback(&mut too_late);
        let bytes = self.source.text.as_bytes();
        let query = &joined.query;
        let (match_capture, count_capture) =
            (query.capture_index_for_name("match"), query.capture_index_for_name("count"));
        let mut matches = cursor.matches_with_options(query, parsed.tree.root_node(), bytes, options);
        let mut found: BTreeMap<(usize, Index), HashSet<usize>> = BTreeMap::new();
        while let Some(each) = matches.next() {
            let part = joined.owners[each.pattern_index];
            let of = |capture: Option<u32>| {
                let nodes = capture.map(|capture| each.nodes_for_capture_index(capture));
                nodes.into_iter().flatten()
            };
            for index in of(match_capture).filter_map(|node| parsed.flat.index_of(node)) {
                let counted = found.entry((part, index)).or_default();
                counted.extend(of(count_capture).map(|node| node.id()));
            }
        }
        drop(matches);
        if cursor.did_exceed_match_limit() || (self.late)() {
            return Err(SkipReason::TooSlow);
        }
        Ok(found)
    }

    fn metric(&mut self, rule: &Rule, metric: Metric, limit: Limit, measured: Option<&FileMetrics>) {
        if metric == Metric::FileLines {
            let lines = self.source.text.lines().count();
            if exceeds(lines as f64, limit) && self.holds_at(rule, |_| 0) {
                let values =
                    Values { value: lines.to_string(), limit: limit.to_string(), ..Values::default() };
                self.add(rule, 0, &values);
            }
            return;
        }
        for function in measured.iter().flat_map(|measured| &measured.functions) {
            let Some(value) = value_of(function, metric).filter(|&value| exceeds(value, limit)) else {
                continue;
            };
            if !self.holds_at(rule, |_| function.index) {
                continue;
            }
            let values = Values {
                value: format!("{}", (value * 10.0).round() / 10.0),
                limit: limit.to_string(),
                name: quoted(&function.name),
                text: String::new(),
            };
            let start =
                self.surroundings.as_ref().map_or(0, |around| around.tree.nodes[function.index].bytes.start);
            self.add(rule, start, &values);
        }
    }
}

/// Returns the value of a metric for a function. Code outside of functions has no length of its own.
fn value_of(function: &FunctionMetrics, metric: Metric) -> Option<f64> {
    let is_module = function.name == MODULE;
    #[expect(clippy::cast_precision_loss, reason = "no function has 2^52 lines or parameters")]
    let value = match metric {
        Metric::Cyclomatic => f64::from(function.cyclomatic),
        Metric::Cognitive => f64::from(function.cognitive),
        Metric::Nesting => f64::from(function.nesting),
        _ if is_module => return None,
        Metric::Lines => (function.end_line + 1 - function.line) as f64,
        Metric::Sloc => function.sloc as f64,
        Metric::Parameters => function.parameters as f64,
        Metric::MaintainabilityIndex => function.maintainability_index,
        Metric::FileLines => return None,
    };
    Some(value)
}

fn exceeds(value: f64, limit: Limit) -> bool {
    match limit {
        Limit::Max(max) => value > f64::from(max),
        Limit::Min(min) => value < f64::from(min),
    }
}

/// Returns the byte at which each line begins.
fn line_starts(text: &str) -> Vec<usize> {
    let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(after).collect()
}

/// Cuts a line into the pieces that regular expressions are matched on.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let mut length = rest.len().min(MAX_LINE_BYTES);
        while !rest.is_char_boundary(length) {
            length -= 1;
        }
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

/// Returns the first line of a text, cut to `MAX_QUOTED` characters.
fn quoted(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(MAX_QUOTED) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
