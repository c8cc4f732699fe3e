//! `tabellion call`: its subcommands and options, made from the contracts when the program starts.

use std::io::{self, Read as _};

use clap::{
    Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches, Subcommand,
    builder::{PossibleValuesParser, ValueParser},
    error::ErrorKind,
    value_parser,
};
use serde_json::{Map, Value};
use tabellion_gateway::json;
use tabellion_runtime::{ContractSpec, ToolSpec, context};
use tabellion_terminal::call::{
    self, RESERVED,
    fields::{self, Field, Kind},
};
use tabellion_upkeep::TerminalError;

use super::arguments::{Data, Library, Show, Workspaces};
use crate::PACKS;

/// Value that means standard input.
const STDIN: &str = "-";

/// A call as it was typed.
#[derive(Debug)]
pub(super) struct Call {
    contract: &'static ContractSpec,
    tool: &'static ToolSpec,
    options: ArgMatches,
}

impl Subcommand for Call {
    fn augment_subcommands(command: Command) -> Command {
        let contracts = PACKS.specs().into_iter();
        command
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand_value_name("CONTRACT")
            .subcommand_help_heading("Contracts")
            .subcommands(contracts.map(of_contract))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        PACKS.spec(name).is_some()
    }
}

impl FromArgMatches for Call {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (contract, matches) = matches.subcommand().ok_or_else(missing)?;
        let contract = PACKS.spec(contract).ok_or_else(missing)?;
        let (tool, matches) = matches.subcommand().ok_or_else(missing)?;
        Ok(Self { contract, tool: contract.tool(tool).ok_or_else(missing)?, options: matches.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn of_contract(contract: &'static ContractSpec) -> Command {
    Command::new(contract.id)
        .about(contract.title)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("TOOL")
        .subcommand_help_heading("Tools")
        .subcommands(contract.tools.iter().map(|tool| of_tool(contract, tool)))
}

fn of_tool(contract: &'static ContractSpec, tool: &'static ToolSpec) -> Command {
    let fields = fields::from_schema(&tool.input.wire());
    let command = Command::new(tool.name)
        .next_help_heading("Fields")
        .args(fields.iter().map(of_field))
        .arg(
            Arg::new("json-arguments")
                .long("json-arguments")
                .value_name("JSON")
                .help("All fields as one JSON object, or `-`; other options replace its members"),
        )
        .next_help_heading("Options");
    let command = if contract.document {
        let document = Arg::new("document").long("document").value_name("PATH").required(true);
        command.arg(document.help("The document to work on, relative to the library"))
    } else {
        command
    };
    let command = if tool.mutating { with_conditions(command) } else { command };
    let command = if tool.approval.is_some() {
        let yes = Arg::new("yes").long("yes").action(ArgAction::SetTrue);
        command.arg(yes.help("Approve the change without being asked"))
    } else {
        command
    };
    let command = match contract.auth {
        Some(auth) => {
            let roles: Vec<_> = auth.roles.iter().map(|role| role.name).collect();
            let role = Arg::new("as").long("as").value_name("ROLE");
            let role = role.value_parser(PossibleValuesParser::new(roles));
            command.arg(role.help("Role of the caller; an agent's if omitted"))
        }
        None => command,
    };
    let command = if contract.rows.is_some() {
        Workspaces::augment_args(Data::augment_args(command))
    } else {
        Library::augment_args(command)
    };
    // The description is last: the options bring one of their own.
    let command = Show::augment_args(command).about(tool.description);
    match usage(contract, tool, &fields) {
        Some(usage) => command.override_usage(usage),
        None => command,
    }
}

/// Returns the usage of a tool with required fields, which clap takes for optional, as `--json-arguments` can have them.
fn usage(contract: &ContractSpec, tool: &ToolSpec, fields: &[Field]) -> Option<String> {
    let with_value = |arg: Arg| Some(format!(" --{} <{}>", arg.get_long()?, arg.get_value_names()?.first()?));
    let required = fields.iter().filter(|field| field.is_required);
    let required: String = required.filter_map(|field| with_value(of_field(field))).collect();
    let document = if contract.document { " --document <PATH>" } else { "" };
    let command = format!("tabellion call {} {} [OPTIONS]{document}", contract.id, tool.name);
    (!required.is_empty()).then(|| format!("{command}{required}\n       {command} --json-arguments <JSON>"))
}

fn with_conditions(command: Command) -> Command {
    let base = Arg::new("if-base").long("if-base").value_name("ID|null");
    let key = Arg::new("idempotency-key").long("idempotency-key").value_name("KEY");
    command
        .arg(base.help("Refuse unless the document or row still has this content (`null`: does not exist)"))
        .arg(key.help("A name for this call: the same call again is answered, and not made again"))
}

/// Returns the option of a field. clap keeps names and texts for the whole run, which this also does.
fn of_field(field: &Field) -> Arg {
    let name: &'static str = field.option(RESERVED).leak();
    let (parser, value): (ValueParser, &'static str) = match &field.kind {
        Kind::Text => (value_parser!(String), "TEXT"),
        Kind::Choice(values) => {
            let values = values.iter().map(|value| &*value.clone().leak());
            (PossibleValuesParser::new(values.collect::<Vec<&'static str>>()).into(), "CHOICE")
        }
        Kind::Integer | Kind::Number => (value_parser!(String), "NUMBER"),
        Kind::Boolean => (PossibleValuesParser::new(["true", "false"]).into(), "BOOL"),
        Kind::Json => (value_parser!(String), "JSON"),
    };
    let arg = Arg::new(name).long(name).value_name(value).help(help(field));
    let arg = arg.value_parser(parser).action(if field.is_list { ArgAction::Append } else { ArgAction::Set });
    let arg = if field.kind == Kind::Boolean {
        arg.num_args(0..=1).require_equals(true).default_missing_value("true")
    } else {
        // Text may begin with a dash, as a list of Markdown does.
        arg.allow_hyphen_values(true)
    };
    if field.is_required { arg.required_unless_present("json-arguments") } else { arg }
}

fn help(field: &Field) -> String {
    match (field.help.is_empty(), field.is_required) {
        (_, false) => field.help.clone(),
        (true, true) => "(required)".into(),
        (false, true) => format!("{} (required)", field.help),
    }
}

/// Makes the call.
pub(super) fn run(call: &Call) -> Result<(), TerminalError> {
    let options = &call.options;
    let place = if call.contract.rows.is_some() {
        let data = Data::from_arg_matches(options).map_err(TerminalError::new)?;
        let workspaces = Workspaces::from_arg_matches(options).map_err(TerminalError::new)?;
        call::DataSource::Data(data.folder, workspaces.folders)
    } else {
        let library = Library::from_arg_matches(options).map_err(TerminalError::new)?;
        call::DataSource::Library(library.folder)
    };
    let show = Show::from_arg_matches(options).map_err(TerminalError::new)?;
    let text = |name: &str| options.try_get_one::<String>(name).ok().flatten();
    let mut conditions = Map::new();
    if let Some(base) = text("if-base") {
        let base = if base == "null" { Value::Null } else { base.as_str().into() };
        conditions.insert(context::IF_BASE.into(), base);
    }
    if let Some(key) = text("idempotency-key") {
        conditions.insert(context::IDEMPOTENCY_KEY.into(), key.as_str().into());
    }
    let call = call::Call {
        place,
        contract: call.contract,
        tool: call.tool,
        document: text("document").cloned(),
        role: text("as").cloned(),
        arguments: arguments(call)?,
        conditions,
        yes: options.try_get_one::<bool>("yes").ok().flatten() == Some(&true),
        output: (&show).into(),
    };
    call.run(PACKS)
}

/// Returns the tool's arguments.
fn arguments(call: &Call) -> Result<Value, TerminalError> {
    let fields = fields::from_schema(&call.tool.input.wire());
    let values =
        |field: &Field| call.options.get_many::<String>(&field.option(RESERVED)).into_iter().flatten();
    let whole = call.options.get_one::<String>("json-arguments");
    let all = fields.iter().filter(|field| is_read(field)).flat_map(values).chain(whole);
    if all.filter(|value| *value == STDIN).count() > 1 {
        return Err(TerminalError::new("`-` stands for standard input, which can be only one value"));
    }
    let mut arguments = match whole {
        None => Value::Object(Map::new()),
        Some(text) => json::parse(read(text)?.as_bytes())
            .map_err(|error| TerminalError::new(format_args!("`--json-arguments` is not JSON: {error}")))?,
    };
    for field in &fields {
        for value in values(field) {
            let value = if is_read(field) { read(value)? } else { value.clone() };
            field.set(&mut arguments, &value)?;
        }
    }
    Ok(arguments)
}

/// Returns true if `-` as the value of a field is standard input.
fn is_read(field: &Field) -> bool {
    matches!(field.kind, Kind::Text | Kind::Json)
}

/// Returns the text, or standard input for `-`.
fn read(text: &str) -> Result<String, TerminalError> {
    if text != STDIN {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    io::stdin()
        .read_to_string(&mut read)
        .map_err(|error| TerminalError::new(format_args!("can't read standard input: {error}")))?;
    Ok(read)
}
