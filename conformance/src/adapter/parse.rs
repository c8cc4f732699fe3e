//! Parses an adapter's file. Everything unknown is an error with its line.

use std::ops::Range;

use regex::Regex;
use serde_json::{Map, Value};
use tabellion_runtime::{ContractSpec, ToolSpec, spec::EffectKind};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    hole::Hole,
    mapping::{Before, Call, MappedTool, Mapping, Server, doing},
    response::{self, From, Paging, Pointer, Source},
    schema,
    template::{Part, Template},
};
use crate::{
    Own, contracts,
    launch::MODE,
    ledger::{self, Queries},
    promises,
    setup::{self, Setup},
};

/// Placeholder that `template` writes for unknown values.
pub(super) const FILL_IN: &str = "FILL IN";

const SERVER_KEYS: &[&str] = &[
    "name",
    "version",
    "package",
    "contract",
    "promises",
    "command",
    "environment",
    "directory",
    "mode",
    "own",
    "folders",
    "files",
    "prepare",
];

/// An error in an adapter's file, or a part that the file still lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct AdapterError {
    /// Line, counted from 1.
    pub line: usize,
    /// Description.
    pub message: String,
}

/// An error at a byte range of the text.
struct Problem {
    at: Range<usize>,
    message: String,
}

type Item<'a> = Spanned<DeValue<'a>>;

pub(super) fn parse(text: &str) -> Result<Mapping, AdapterError> {
    let wrong = |wrong: Problem| AdapterError {
        line: text[..wrong.at.start].matches('\n').count() + 1,
        message: wrong.message,
    };
    let file = DeTable::parse(text).map_err(|error| {
        wrong(Problem { at: error.span().unwrap_or_default(), message: error.message().to_owned() })
    })?;
    mapping(&file).map_err(wrong)
}

fn mapping(file: &Spanned<DeTable<'_>>) -> Result<Mapping, Problem> {
    let file = Table::new(file.span(), file.get_ref());
    file.only(&["server", "tools", "ledger"])?;
    let (mut server, contract) = server(&file.table("server")?)?;
    let ledger = file.find("ledger").map(|item| rows_at(contract, item)).transpose()?;
    unfinished(&file, "")?;
    let tools = file.find("tools").map(table).transpose()?;
    let mut tools = tools.iter().flat_map(Table::members).peekable();
    // With a ledger alone, the server has the contract's own tools.
    if tools.peek().is_none() && ledger.is_none() {
        let tables: Vec<_> =
            contract.operations().map(|tool| format!("`[tools.{}]`", tool.label())).collect();
        let message = format!("no tool is mapped yet: fill in one of the tables {}", tables.join(", "));
        return Err(wrong_at(file.find("tools").map_or(file.at.clone(), Spanned::span), message));
    }
    let tools = tools.map(|(name, at, item)| {
        let known = contract.operation(name).ok_or_else(|| {
            let known: Vec<_> = contract.operations().map(ToolSpec::label).collect();
            let message = format!("{} has no tool `{name}`, but {}", contract.id, known.join(", "));
            wrong_at(at, message)
        })?;
        tool(contract, known, &table(item)?)
    });
    let tools = tools.collect::<Result<_, _>>()?;
    server.ledger = ledger.unwrap_or_default();
    Ok(Mapping { held_to: promised(&file.table("server")?, contract)?, server, contract, tools })
}

fn promised(table: &Table<'_>, contract: &'static ContractSpec) -> Result<&'static ContractSpec, Problem> {
    table.find("promises").map_or(Ok(contract), |item| {
        promises::held_to(contract, &texts(item)?).map_err(|message| wrong(item, message))
    })
}

/// Fails at the first text that is still a placeholder to fill in.
fn unfinished(table: &Table<'_>, within: &str) -> Result<(), Problem> {
    table.members().try_for_each(|(name, at, item)| {
        let field = format!("{within}{name}");
        if name.starts_with(FILL_IN) {
            return Err(to_fill_in(at, &field));
        }
        unfinished_item(item, &field)
    })
}

fn unfinished_item(item: &Item<'_>, field: &str) -> Result<(), Problem> {
    match item.get_ref() {
        DeValue::String(text) if text.contains(FILL_IN) => Err(to_fill_in(item.span(), field)),
        DeValue::Table(_) => unfinished(&table(item)?, &format!("{field}.")),
        DeValue::Array(items) => items.iter().try_for_each(|item| unfinished_item(item, field)),
        _ => Ok(()),
    }
}

fn to_fill_in(at: Range<usize>, field: &str) -> Problem {
    wrong_at(at, format!("the adapter is unfinished: fill in `{field}`"))
}

fn server(table: &Table<'_>) -> Result<(Server, &'static ContractSpec), Problem> {
    table.only(SERVER_KEYS)?;
    let id = table.get("contract")?;
    let contract = contracts::find(text(id)?).map_err(|message| wrong(id, message))?;
    let command = match table.find("command") {
        Some(item) => texts(item)?,
        None => Vec::new(),
    };
    let environment = pairs(table.find("environment"))?;
    let own = match table.find("own") {
        Some(item) => Own::parse(texts(item)?).map_err(|message| wrong(item, message))?,
        None => Own::default(),
    };
    let optional = |key| table.find(key).map(|item| text(item).map(str::to_owned)).transpose();
    let server = Server {
        name: text(table.get("name")?)?.to_owned(),
        version: optional("version")?,
        package: optional("package")?,
        command,
        environment,
        directory: optional("directory")?,
        mode: mode(table)?,
        own,
        setup: setup(table)?,
        ledger: ledger::Source::default(),
    };
    Ok((server, contract))
}

/// Parses the argument that sets the mode of operation.
fn mode(table: &Table<'_>) -> Result<Option<String>, Problem> {
    let Some(item) = table.find("mode") else {
        return Ok(None);
    };
    let argument = text(item)?;
    if !argument.contains(MODE) {
        let message = format!("an argument with `{MODE}` is expected, such as `--mode={MODE}`");
        return Err(wrong(item, message));
    }
    Ok(Some(argument.to_owned()))
}

/// Parses where a server keeps its rows.
fn rows_at(contract: &ContractSpec, item: &Item<'_>) -> Result<ledger::Source, Problem> {
    let at = table(item)?;
    at.only(&["file", "rows", "log", "command"])?;
    let Some(spec) = contract.rows else {
        let message = format!("`{}` has no rows, so that a `ledger` says nothing", contract.id);
        return Err(wrong(item, message));
    };
    let query = |item: &Item<'_>| {
        let of = table(item)?;
        of.only(&["query"])?;
        text(of.get("query")?).map(str::to_owned)
    };
    let mut queries = Queries::default();
    for (name, at, item) in at.find("rows").map(table).transpose()?.iter().flat_map(Table::members) {
        if spec.entity(name).is_none() {
            let known: Vec<_> = spec.entities.iter().map(|entity| entity.name).collect();
            let message = format!("there is no entity `{name}`, but {}", known.join(", "));
            return Err(wrong_at(at, message));
        }
        queries.rows.insert(name.to_owned(), query(item)?);
    }
    if !queries.rows.is_empty()
        && let Some(missing) = spec.entities.iter().find(|entity| !queries.rows.contains_key(entity.name))
    {
        let message = format!("there are queries, but none for `{0}`: add `[ledger.rows.{0}]`", missing.name);
        return Err(wrong(item, message));
    }
    queries.log = at.find("log").map(query).transpose()?;
    let file = at.find("file").map(|item| text(item).map(str::to_owned));
    let file = file.transpose()?;
    if file.is_none() && queries != Queries::default() {
        let message = "queries need a database: add `file = \"{data}/NAME.db\"`".to_owned();
        return Err(wrong(item, message));
    }
    let command = at.find("command").map_or(Ok(Vec::new()), texts)?;
    Ok(ledger::Source { database: None, file, queries, command })
}

/// Parses the setup of a library.
fn setup(table: &Table<'_>) -> Result<Setup, Problem> {
    let list_of = |name| table.find(name).map_or(Ok(Vec::new()), texts);
    let setup = Setup {
        folders: list_of("folders")?,
        files: pairs(table.find("files"))?,
        command: list_of("prepare")?,
    };
    let folders = setup.folders.iter().map(|path| ("folders", path));
    let mut paths = folders.chain(setup.files.iter().map(|(path, _)| ("files", path)));
    match paths.find(|(_, path)| !setup::is_inside(path)) {
        None => Ok(setup),
        Some((key, path)) => {
            let message =
                format!("`{path}` is not a path in the library; an example is `.obsidian/app.json`");
            Err(wrong(table.get(key)?, message))
        }
    }
}

/// Parses a table of texts.
fn pairs(item: Option<&Item<'_>>) -> Result<Vec<(String, String)>, Problem> {
    let Some(item) = item else {
        return Ok(Vec::new());
    };
    let members = table(item)?;
    let members = members.members();
    members.map(|(name, _, item)| Ok((name.to_owned(), text(item)?.to_owned()))).collect()
}

fn tool(contract: &ContractSpec, tool: &'static ToolSpec, table: &Table<'_>) -> Result<MappedTool, Problem> {
    let declared = doing(contract, tool).effects;
    let kinds: Vec<_> = declared.iter().map(|effect| effect.kind).collect();
    let names: Vec<_> = kinds.iter().map(|kind| kind.to_string()).collect();
    let mut keys = vec!["name", "arguments", "before", "when", "response", "refused", "next", "same"];
    keys.extend(names.iter().map(String::as_str));
    if tool.path.is_some() {
        keys.extend(["new", "existing"]);
    }
    table.only(&keys)?;
    let kind_of = |name: &str| kinds.iter().copied().find(|kind| kind.to_string() == name);
    let edits = !kinds.is_empty() && kinds != [EffectKind::Read] && kinds != [EffectKind::Delete];
    let plain = match table.find("name") {
        Some(_) => Some(call(tool, edits, table)?),
        None => {
            let stray = ["arguments", "when", "before"];
            let stray = stray.into_iter().find_map(|name| table.find(name));
            if let Some(stray) = stray {
                return Err(wrong(stray, "`name` is missing: the name of the server's tool".to_owned()));
            }
            None
        }
    };
    let when = table.find("when").map(|item| {
        let each = |name: &Item<'_>| {
            let name_text = text(name)?;
            kind_of(name_text).ok_or_else(|| wrong(name, no_effect(tool, name_text, &names)))
        };
        list(item)?.into_iter().map(each).collect::<Result<Vec<_>, _>>()
    });
    let own = |item| {
        let own = self::table(item)?;
        own.only(&["name", "arguments", "before"])?;
        call(tool, edits, &own)
    };
    let mut effects = Vec::new();
    for (name, _, item) in table.members() {
        if let Some(kind) = kind_of(name) {
            effects.push((kind, own(item)?));
        }
    }
    let by_state = |name| table.find(name).map(own).transpose();
    let (new, existing) = (by_state("new")?, by_state("existing")?);
    if plain.is_none() && effects.is_empty() && new.is_none() && existing.is_none() {
        return Err(wrong_at(
            table.at.clone(),
            format!("`{}` lacks `name`: the name of the server's tool", tool.label()),
        ));
    }
    let paging = paging(tool, table)?;
    let mut calls = plain.iter().chain(&new).chain(&existing);
    if paging.is_none() && calls.any(|call| call.arguments.holes().contains(&&Hole::Next)) {
        let message = "`{next}` has no value without `next`, which says where a response has the next page";
        return Err(wrong_at(table.at.clone(), message.to_owned()));
    }
    Ok(MappedTool {
        tool,
        plain,
        when: when.transpose()?,
        effects,
        new,
        existing,
        response: response(tool, table)?,
        paging,
    })
}

fn no_effect(tool: &ToolSpec, name: &str, known: &[String]) -> String {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("`{}` has no effect `{name}`; it has {known}", tool.label())
}

/// Parses the instructions to get the rest of an answer.
fn paging(tool: &'static ToolSpec, table: &Table<'_>) -> Result<Option<Paging>, Problem> {
    let source_of = |name| table.find(name).map(|item| source(tool, None, item)).transpose();
    let (next, same) = (source_of("next")?, source_of("same")?);
    let Some(next) = next else {
        return match table.find("same") {
            Some(item) => Err(wrong(item, "`same` is for pages; `next` is missing".to_owned())),
            None => Ok(None),
        };
    };
    let mut effects = tool.effects.iter();
    let read = effects.find(|effect| effect.kind == EffectKind::Read);
    Ok(Some(Paging { next, same, content: read.and_then(|effect| effect.content) }))
}

fn call(tool: &'static ToolSpec, edits: bool, table: &Table<'_>) -> Result<Call, Problem> {
    let name = text(table.get("name")?)?.to_owned();
    let before = table.find("before").map(|item| before(tool, edits, item)).transpose()?;
    let taken = before.iter().flat_map(|before| &before.take);
    let taken: Vec<_> = taken.map(|(name, _)| name.clone()).collect();
    let arguments = match table.find("arguments") {
        Some(item) => {
            self::table(item)?;
            template(tool, edits, &taken, item)?
        }
        None => Template::Object(Vec::new()),
    };
    Ok(Call { name, arguments, before: before.map(Box::new) })
}

/// Parses the call that precedes a call, and the values to take from its response.
fn before(tool: &'static ToolSpec, edits: bool, item: &Item<'_>) -> Result<Before, Problem> {
    let table = table(item)?;
    table.only(&["name", "arguments", "take"])?;
    let mut take = Vec::new();
    for (name, at, item) in self::table(table.get("take")?)?.members() {
        if name.contains(['{', '}']) || Template::of_text(&format!("{{{name}}}"), &[]).is_ok() {
            let message = format!("`{{{name}}}` already means something else; choose another name");
            return Err(wrong_at(at, message));
        }
        take.push((name.to_owned(), source(tool, None, item)?));
    }
    Ok(Before { call: call(tool, edits, &table)?, take })
}

fn template(tool: &ToolSpec, edits: bool, taken: &[String], item: &Item<'_>) -> Result<Template, Problem> {
    Ok(match item.get_ref() {
        DeValue::String(text) => {
            let template = Template::of_text(text, taken).map_err(|message| wrong(item, message))?;
            for hole in template.holes() {
                let complaint = match hole {
                    Hole::Request(pointer) => schema::below(&tool.input.wire(), pointer)
                        .err()
                        .map(|complaint| format!("in the request of `{}`, {complaint}", tool.label())),
                    hole if hole.is_of_edit() && !edits => {
                        Some(format!("`{}` does not edit a document, so {text} has no value", tool.label()))
                    }
                    hole if hole.is_of_document() && tool.path.is_none() => {
                        Some(format!("`{}` has no path", tool.label()))
                    }
                    _ => None,
                };
                if let Some(complaint) = complaint {
                    return Err(wrong(item, complaint));
                }
            }
            template
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| template(tool, edits, taken, item));
            Template::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(_) => {
            let members = table(item)?;
            let members = members.members();
            let members =
                members.map(|(name, _, item)| Ok((name.to_owned(), template(tool, edits, taken, item)?)));
            Template::Object(members.collect::<Result<_, Problem>>()?)
        }
        _ => Template::Value(value(item)?),
    })
}

fn response(tool: &ToolSpec, of: &Table<'_>) -> Result<response::Mapping, Problem> {
    let mut mapping = response::Mapping::default();
    if let Some(item) = of.find("response") {
        let schema = tool.output.wire();
        for (pointer, at, item) in table(item)?.members() {
            let below = schema::below(&schema, pointer).map_err(|complaint| {
                let message = format!("in the response of `{}`, {complaint}", tool.label());
                wrong_at(at, message)
            })?;
            mapping.members.push((pointer.to_owned(), source(tool, below.get("items"), item)?));
        }
    }
    mapping.refused = of.find("refused").map(pattern).transpose()?;
    Ok(mapping)
}

/// Parses the source of a value of the response; `below` is the schema of its items if it is a list.
fn source(tool: &ToolSpec, below: Option<&Value>, item: &Item<'_>) -> Result<Source, Problem> {
    let table = table(item)?;
    table.only(&["at", "json", "text", "lines", "is", "each", "reversed"])?;
    let mut ways = Vec::new();
    for (key, _, item) in table.members() {
        ways.push(match key {
            "at" => From::Result(pointer_with_holes(tool, item)?),
            "json" => From::Json(pointer_with_holes(tool, item)?),
            "lines" => From::Lines(group(item)?),
            "is" => From::Is(value(item)?),
            "text" => match item.get_ref() {
                DeValue::Boolean(true) => From::Text(None),
                _ => From::Text(Some(group(item)?)),
            },
            _ => continue,
        });
    }
    let mut ways = ways.into_iter();
    let (Some(from), None) = (ways.next(), ways.next()) else {
        let message = "give exactly one source: `at`, `json`, `text`, `lines` or `is`";
        return Err(wrong(item, message.to_owned()));
    };
    let mut each = Vec::new();
    if let Some(item) = table.find("each") {
        for (name, at, from) in self::table(item)?.members() {
            let items = below.ok_or("only a list has `each`".to_owned());
            let known = items.and_then(|items| schema::below(items, name));
            known.map_err(|complaint| wrong_at(at, complaint))?;
            each.push((name.to_owned(), pointer(from)?));
        }
    }
    let reversed = match table.find("reversed").map(|item| (item, item.get_ref())) {
        None => false,
        Some((_, DeValue::Boolean(reversed))) => *reversed,
        Some((item, _)) => return Err(wrong(item, "`reversed` is true or false".to_owned())),
    };
    Ok(Source { from, each, reversed })
}

fn pointer(item: &Item<'_>) -> Result<String, Problem> {
    let pointer = text(item)?;
    if schema::is_pointer(pointer) {
        return Ok(pointer.to_owned());
    }
    let message = format!("`{pointer}` is not a JSON pointer; an example is `/a/b`");
    Err(wrong(item, message))
}

/// Parses a pointer whose holes the request fills.
fn pointer_with_holes(tool: &ToolSpec, item: &Item<'_>) -> Result<Pointer, Problem> {
    let Template::Text(parts) = template(tool, false, &[], item)? else {
        return pointer(item).map(Pointer::Plain);
    };
    match &parts[0] {
        Part::Text(start) if schema::is_pointer(start) => {
            Ok(Pointer::WithHoles { text: text(item)?.to_owned(), parts })
        }
        _ => pointer(item).map(Pointer::Plain),
    }
}

fn pattern(item: &Item<'_>) -> Result<Regex, Problem> {
    Regex::new(text(item)?).map_err(|error| wrong(item, format!("invalid pattern: {error}")))
}

/// Parses a pattern with a group.
fn group(item: &Item<'_>) -> Result<Regex, Problem> {
    let pattern = pattern(item)?;
    if pattern.captures_len() > 1 {
        return Ok(pattern);
    }
    Err(wrong(item, "the pattern needs a group `(…)` around the value".to_owned()))
}

/// Converts a TOML value to JSON.
fn value(item: &Item<'_>) -> Result<Value, Problem> {
    Ok(match item.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            number.map_err(|error| wrong(item, error.to_string()))?.into()
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse::<f64>();
            number.map_err(|error| wrong(item, error.to_string()))?.into()
        }
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(items) => items.iter().map(value).collect::<Result<_, _>>()?,
        DeValue::Table(_) => {
            let members = table(item)?;
            let members = members.members().map(|(name, _, item)| Ok((name.to_owned(), value(item)?)));
            Value::Object(members.collect::<Result<Map<_, _>, Problem>>()?)
        }
    })
}

fn text<'a>(item: &'a Item<'_>) -> Result<&'a str, Problem> {
    match item.get_ref() {
        DeValue::String(text) => Ok(text),
        other => Err(wrong(item, format!("expected a string, not {}", other.type_str()))),
    }
}

/// Returns the items of a list; any other value is a list of one.
fn list<'a, 'i>(item: &'a Item<'i>) -> Result<Vec<&'a Item<'i>>, Problem> {
    Ok(match item.get_ref() {
        DeValue::Array(items) => items.iter().collect(),
        DeValue::String(_) => vec![item],
        other => {
            let message = format!("expected a list of strings, not {}", other.type_str());
            return Err(wrong(item, message));
        }
    })
}

fn texts(item: &Item<'_>) -> Result<Vec<String>, Problem> {
    let items = list(item)?.into_iter();
    items.map(|item| text(item).map(str::to_owned)).collect()
}

fn table<'a>(item: &'a Item<'_>) -> Result<Table<'a>, Problem> {
    match item.get_ref() {
        DeValue::Table(members) => Ok(Table::new(item.span(), members)),
        other => Err(wrong(item, format!("expected a table, not {}", other.type_str()))),
    }
}

fn wrong(item: &Item<'_>, message: String) -> Problem {
    wrong_at(item.span(), message)
}

fn wrong_at(at: Range<usize>, message: String) -> Problem {
    Problem { at, message }
}

/// A table and its byte range.
struct Table<'a> {
    at: Range<usize>,
    members: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    fn new(at: Range<usize>, members: &'a DeTable<'a>) -> Self {
        Self { at, members }
    }

    /// Returns name, byte range and value of each member, in the file's order.
    fn members(&self) -> impl Iterator<Item = (&'a str, Range<usize>, &'a Item<'a>)> + use<'a> {
        let mut members: Vec<_> = self.members.iter().collect();
        members.sort_by_key(|(name, _)| name.span().start);
        members.into_iter().map(|(name, item)| (&**name.get_ref(), name.span(), item))
    }

    fn find(&self, name: &str) -> Option<&'a Item<'a>> {
        self.members().find(|(known, ..)| *known == name).map(|(.., item)| item)
    }

    fn get(&self, name: &str) -> Result<&'a Item<'a>, Problem> {
        self.find(name).ok_or_else(|| wrong_at(self.at.clone(), format!("`{name}` is missing")))
    }

    fn table(&self, name: &str) -> Result<Table<'a>, Problem> {
        table(self.get(name)?)
    }

    /// Fails if the table has other members.
    fn only(&self, names: &[&str]) -> Result<(), Problem> {
        match self.members().find(|(name, ..)| !names.contains(name)) {
            None => Ok(()),
            Some((name, at, _)) => {
                let message = format!("unknown key `{name}`; expected one of {}", names.join(", "));
                Err(wrong_at(at, message))
            }
        }
    }
}
