//! Reads a rule file: MCB's form `rule/v2`, as far as it is specific to no language.
//!
//! Each problem is reported with its line and its correction. `compile` makes the queries, regular expressions and globs.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use tabellion_syntax::Language;

use crate::{
    compile,
    grammar::Grammar,
    problem::{Problem, Text},
    rule::{Category, Context, Finder, Limit, Metric, Rule, Selector, Severity},
    tree::{self, Member, Node, Value},
};

/// Larger files are refused.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// The extensions of rule files.
pub(crate) const EXTENSIONS: [&str; 4] = ["toml", "yml", "yaml", "json"];
const SCHEMA: &str = "rule/v2";
const MAX_SELECTORS: usize = 64;

static ID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[A-Z]{2,8}[0-9]{3,4}$").expect("the pattern of ids is a regular expression")
});

/// A rule from a file. `overrides` lets it replace the server's rule of the same id.
#[derive(Debug)]
pub(crate) struct RuleFile {
    pub(crate) rule: Rule,
    pub(crate) id_line: usize,
    pub(crate) overrides: bool,
}

/// Reads a rule in the format of the file name's extension.
pub(crate) fn read(extension: &str, text: &str) -> Result<RuleFile, Problem> {
    if text.len() > MAX_BYTES {
        return Err(Problem::new(
            1,
            format!("a rule file has at most {MAX_BYTES} bytes; this one has {}", text.len()),
        ));
    }
    let root = match extension {
        "toml" => tree::read_toml(text)?,
        _ => tree::read_yaml(text)?,
    };
    let mut table = Table::from_node(root, "a rule")?;
    if let Some(schema) = table.text("schema", 1..=64)?
        && schema.text != SCHEMA
    {
        return Err(Problem::new(schema.line, format!("`schema` is `{SCHEMA}`, not `{}`", schema.text)));
    }
    table.require(&["id", "name", "category", "severity", "description", "rationale", "message"])?;
    let id = table.required("id", 1..=64)?;
    if !ID.is_match(&id.text) {
        let problem = format!("id `{}` is not 2 to 8 capitals and 3 or 4 digits, such as `QUAL001`", id.text);
        return Err(Problem::new(id.line, problem));
    }
    let name = table.required("name", 3..=100)?.text;
    let category = one_of(&table.required("category", 1..=64)?, "category", Category::ALL, Category::name)?;
    let severity = one_of(&table.required("severity", 1..=64)?, "severity", Severity::ALL, Severity::name)?;
    let enabled = table.boolean("enabled")?.unwrap_or(true);
    let overrides = table.boolean("overrides")?.unwrap_or(false);
    let description = table.required("description", 10..=500)?.text;
    let rationale = table.required("rationale", 10..=2000)?.text;
    let message = table.required("message", 3..=500)?.text;
    let suggestion = table.text("suggestion", 3..=500)?.map(|text| text.text);
    let mut languages = languages(table.texts("languages")?)?;
    let when = contexts(&mut table, "when")?;
    let unless = contexts(&mut table, "unless")?;
    let finder = finder(&mut table, &languages)?;
    table.end()?;
    match &finder {
        Finder::Selectors(selectors) => {
            languages = selectors.iter().map(|selector| selector.language).collect()
        }
        Finder::Path { .. } if !(when.is_empty() && unless.is_empty()) => {
            return Err(Problem::new(
                id.line,
                "`when` and `unless` need a place in a file, and `path` has none",
            ));
        }
        _ => {}
    }
    languages.sort_by_key(|language| language.name());
    languages.dedup();
    let rule = Rule {
        id: id.text,
        name,
        category,
        severity,
        enabled,
        description,
        rationale,
        message,
        suggestion,
        languages,
        when,
        unless,
        finder,
    };
    Ok(RuleFile { rule, id_line: id.line, overrides })
}

/// Reads a rule's only finder.
fn finder(table: &mut Table, languages: &[Language]) -> Result<Finder, Problem> {
    const WAYS: &str = "`selectors`, `regex`, `path`, `metrics`";
    let ways: Vec<Member> =
        ["selectors", "regex", "path", "metrics"].into_iter().filter_map(|key| table.take(key)).collect();
    let [way] = <[Member; 1]>::try_from(ways).map_err(|ways| match ways.as_slice() {
        [] => Problem::new(1, format!("a rule has one of {WAYS}; this one has none")),
        [_, second, ..] => Problem::new(second.line, format!("a rule has only one of {WAYS}")),
        [_] => unreachable!("one way is what is asked for"),
    })?;
    match way.key.as_str() {
        "selectors" if !languages.is_empty() => {
            Err(Problem::new(way.line, "each of `selectors` says its language; leave out `languages`"))
        }
        "selectors" => {
            let items = list(way.value, "selectors", 1..=MAX_SELECTORS)?;
            let selectors: Result<_, _> = items.into_iter().map(selector).collect();
            Ok(Finder::Selectors(selectors?))
        }
        "regex" => {
            let patterns = match way.value.value {
                Value::Text(text) => vec![Text { line: way.value.line, text }],
                _ => texts(way.value, "regex")?,
            };
            let compiled = |texts: &[Text]| texts.iter().map(compile::regex).collect::<Result<_, _>>();
            Ok(Finder::Regex { patterns: compiled(&patterns)?, except: compiled(&table.texts("except")?)? })
        }
        "path" => {
            let mut table = Table::from_node(way.value, "`path`")?;
            let globs = table.texts("glob")?;
            if globs.is_empty() {
                return Err(Problem::new(way.line, "`path` needs `glob`, a list of patterns of paths"));
            }
            let except = table.texts("except")?;
            table.end()?;
            Ok(Finder::Path { globs: compile::globs(&globs)?, except: compile::globs(&except)? })
        }
        _ => match languages.iter().find(|language| Grammar::for_language(**language).is_none()) {
            Some(unmeasured) => Err(Problem::new(
                way.line,
                format!("`metrics` can't measure {}; leave it out of `languages`", unmeasured.name()),
            )),
            None => metrics(way.value),
        },
    }
}

fn selector(node: Node) -> Result<Selector, Problem> {
    let line = node.line;
    let mut table = Table::from_node(node, "a selector")?;
    let language = language(&table.required("language", 1..=64)?)?;
    let pattern = table.text("pattern", 1..=8192)?;
    let node_type = table.text("node_type", 1..=128)?;
    let max_count = table.count("max_count")?;
    table.end()?;
    let pattern = match (pattern, node_type) {
        (Some(pattern), None) => pattern,
        (None, Some(kind)) => Text { line: kind.line, text: format!("({}) @match", kind.text) },
        _ => {
            return Err(Problem::new(
                line,
                "a selector has `pattern`, a query with `@match`, or `node_type`",
            ));
        }
    };
    compile::selector(language, &pattern, max_count)
}

fn metrics(node: Node) -> Result<Finder, Problem> {
    let line = node.line;
    let table = Table::from_node(node, "`metrics`")?;
    let mut limits = BTreeMap::new();
    for member in table.members {
        let key = Text { line: member.line, text: member.key };
        let metric = one_of(&key, "metric", Metric::ALL, Metric::name)?;
        let mut table = Table::from_node(member.value, &format!("`{}`", key.text))?;
        let limit = match (table.count("max")?, table.count("min")?) {
            (Some(max), None) => Limit::Max(max),
            (None, Some(min)) => Limit::Min(min),
            _ => {
                return Err(Problem::new(key.line, format!("`{}` has either `max` or `min`", key.text)));
            }
        };
        table.end()?;
        limits.insert(metric, limit);
    }
    if limits.is_empty() {
        return Err(Problem::new(line, "`metrics` names none"));
    }
    Ok(Finder::Metrics(limits))
}

/// A table whose members are taken one by one; the remaining ones are unknown keys.
struct Table {
    line: usize,
    name: String,
    members: Vec<Member>,
    known: Vec<&'static str>,
}

impl Table {
    fn from_node(node: Node, name: &str) -> Result<Self, Problem> {
        match node.value {
            Value::Table(members) => {
                Ok(Self { line: node.line, name: name.to_owned(), members, known: Vec::new() })
            }
            other => Err(Problem::new(
                node.line,
                format!("{name} is a table of keys and values, not {}", other.form()),
            )),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Member> {
        self.known.push(key);
        let at = self.members.iter().position(|member| member.key == key)?;
        Some(self.members.remove(at))
    }

    fn text(
        &mut self,
        key: &'static str,
        length: std::ops::RangeInclusive<usize>,
    ) -> Result<Option<Text>, Problem> {
        let Some(member) = self.take(key) else {
            return Ok(None);
        };
        let Value::Text(text) = member.value.value else {
            let form = member.value.value.form();
            return Err(Problem::new(member.line, format!("`{key}` is a text, not {form}; quote it")));
        };
        let characters = text.trim().chars().count();
        if !length.contains(&characters) {
            let (least, most) = length.into_inner();
            let problem = format!("`{key}` has {least} to {most} characters, this one {characters}");
            return Err(Problem::new(member.line, problem));
        }
        Ok(Some(Text { line: member.line, text: text.trim().to_owned() }))
    }

    fn required(
        &mut self,
        key: &'static str,
        length: std::ops::RangeInclusive<usize>,
    ) -> Result<Text, Problem> {
        let line = self.line;
        let found = self.text(key, length)?;
        found.ok_or_else(|| Problem::new(line, format!("{} needs `{key}`", self.name)))
    }

    /// Names all keys at once that are missing.
    fn require(&self, keys: &[&str]) -> Result<(), Problem> {
        let is_missing = |key: &&&str| !self.members.iter().any(|member| member.key == **key);
        let missing: Vec<_> = keys.iter().filter(is_missing).map(|key| format!("`{key}`")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Problem::new(self.line, format!("{} needs {}", self.name, missing.join(", "))))
    }

    fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, Problem> {
        match self.take(key).map(|member| (member.line, member.value.value)) {
            None => Ok(None),
            Some((_, Value::Boolean(value))) => Ok(Some(value)),
            Some((line, other)) => {
                Err(Problem::new(line, format!("`{key}` is true or false, not {}", other.form())))
            }
        }
    }

    fn count(&mut self, key: &'static str) -> Result<Option<u32>, Problem> {
        let Some(member) = self.take(key) else {
            return Ok(None);
        };
        let number = match member.value.value {
            Value::Integer(number) => u32::try_from(number).ok().filter(|&number| number <= 1_000_000),
            _ => None,
        };
        let problem = || Problem::new(member.line, format!("`{key}` is an integer from 0 to 1000000"));
        number.map(Some).ok_or_else(problem)
    }

    fn texts(&mut self, key: &'static str) -> Result<Vec<Text>, Problem> {
        self.take(key).map_or(Ok(Vec::new()), |member| texts(member.value, key))
    }

    /// Refuses members that were not taken.
    fn end(self) -> Result<(), Problem> {
        let Some(member) = self.members.first() else {
            return Ok(());
        };
        let known: Vec<String> = self.known.iter().map(|key| format!("`{key}`")).collect();
        let problem = format!("{} has no key `{}`; it takes {}", self.name, member.key, known.join(", "));
        Err(Problem::new(member.line, problem))
    }
}

fn list(node: Node, key: &str, length: std::ops::RangeInclusive<usize>) -> Result<Vec<Node>, Problem> {
    match node.value {
        Value::List(items) if length.contains(&items.len()) => Ok(items),
        Value::List(items) => {
            let (least, most) = length.into_inner();
            Err(Problem::new(
                node.line,
                format!("`{key}` has {least} to {most} items, this one {}", items.len()),
            ))
        }
        other => Err(Problem::new(node.line, format!("`{key}` is a list, not {}", other.form()))),
    }
}

fn texts(node: Node, key: &str) -> Result<Vec<Text>, Problem> {
    let text = |item: Node| match item.value {
        Value::Text(text) => Ok(Text { line: item.line, text }),
        other => {
            Err(Problem::new(item.line, format!("`{key}` is a list of texts, and this is {}", other.form())))
        }
    };
    list(node, key, 1..=64)?.into_iter().map(text).collect()
}

fn languages(names: Vec<Text>) -> Result<Vec<Language>, Problem> {
    names.iter().map(language).collect()
}

fn language(name: &Text) -> Result<Language, Problem> {
    one_of(name, "language", Language::ALL, Language::name)
}

fn contexts(table: &mut Table, key: &'static str) -> Result<Vec<Context>, Problem> {
    let names = table.texts(key)?;
    names.iter().map(|name| one_of(name, "context", Context::ALL, Context::name)).collect()
}

/// Returns the member of a closed set that a text names.
fn one_of<T: Copy>(text: &Text, what: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, Problem> {
    let found = all.iter().copied().find(|each| name(*each) == text.text);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|each| name(*each)).collect();
        Problem::new(text.line, format!("no {what} `{}`; there are {}", text.text, names.join(", ")))
    })
}
