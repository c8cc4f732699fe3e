//! The options for the server under test, shared by all subcommands that start one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tabellion_runtime::ContractSpec;

use super::trouble::Trouble;
use tabellion_conformance::{
    Own,
    adapter::{self, Adapter, Mapping, offer},
    contracts::{self, CONTRACTS, DECLARED},
    declared::{self, Called},
    era::Era,
    http::Url,
    judgement::Stop,
    launch::{DATABASE, DECISION, ExternalServer, INSTANCE, Launch, MODE, ROLE, Reach, SHARED, StoreCall},
    ledger::Source,
    probe::{self, Identity, ServerInfo},
    promises,
    setup::Setup,
    subject::{Commits, Subject},
    target::ANSWER_TIMEOUT,
};

/// Place of the library's folder in a command.
const LIBRARY: &str = "{library}";

/// The server under test, and how to start it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct Server {
    /// The contract to test: one of the suite's own, the folder of any other, or `declared` for what the server's list of tools declares. By
    /// default `braindrive-markdown` if the server has its tools, otherwise what it declares
    #[arg(long, value_name = "NAME|FOLDER")]
    contract: Option<String>,
    /// A TOML file that maps the server's tools to the contract's; `template` prints a draft
    #[arg(long, value_name = "FILE")]
    pub(super) adapter: Option<PathBuf>,
    /// Tools to call although no `readOnlyHint` says that they only read, where a server is judged by what it declares; `all` for all of them.
    /// Calls are made up, and may do whatever the tool does, on this machine and beyond it
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    call: Vec<String>,
    /// The server's name in reports; by default the name it reports itself
    #[arg(long)]
    name: Option<String>,
    /// An environment variable for the server; `{library}` is replaced
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// The server's working directory; may be `{library}`
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The argument that sets the server's mode of operation, for a contract that has modes: `--mode={mode}`; besides the contract's
    /// environment variable and header
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    #[arg(value_parser = with_places("an argument", &[MODE], "--mode={mode}"))]
    mode_argument: Option<String>,
    /// The argument that gives the client on standard input and output a role, for a contract that has roles: `--as={role}`
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    #[arg(value_parser = with_places("an argument", &[ROLE], "--as={role}"))]
    role_argument: Option<String>,
    /// A header by which a client over HTTP is a caller of a role, such as `owner=Authorization: Bearer KEY`; once for each role
    #[arg(long = "role-header", value_name = "ROLE=NAME: VALUE", value_parser = role_header)]
    role_headers: Vec<(String, String, String)>,
    /// The shell command by which a person is shown what waits, before each decision, for a contract with reviews: `{id}` is replaced by
    /// the id of what waits, `{library}` by the folder of the library
    #[arg(long, value_name = "COMMAND", requires = "decide")]
    #[arg(value_parser = with_places("a command", &[INSTANCE], "`review show {id}`"))]
    show: Option<String>,
    /// The shell command by which a person decides on what waits, for a contract with reviews: `{decision}` is replaced by approve, reject
    /// or revise, `{id}` by the id of what waits, `{library}` by the folder of the library, `{parts}` by the numbers of the parts that are
    /// approved, separated by blanks, and by nothing where all are meant
    #[arg(long, value_name = "COMMAND")]
    #[arg(value_parser = with_places("a command", &[DECISION, INSTANCE], "`review {decision} {id}`"))]
    decide: Option<String>,
    /// The shell command by which a library is shared through a git remote that acknowledges its changes: `{remote}` is replaced by a bare
    /// repository, `{library}` by the folder of the library
    #[arg(long, value_name = "COMMAND")]
    #[arg(value_parser = with_places("a command", &[SHARED, LIBRARY], "`git -C {library} remote add shared {remote}`"))]
    share: Option<String>,
    /// A call that stores a text somewhere in {library} or {data}: the tool and its arguments, with `{token}` for the text; repeat it for several
    #[arg(long, value_name = "TOOL=ARGUMENTS", value_parser = StoreCall::parse)]
    store: Vec<StoreCall>,
    /// The environment variable by which a build for tests has its clock ahead by that many seconds, such as `TABELLION_CLOCK_OFFSET` for
    /// a debug build of Tabellion; without one, what ends with time is not tested
    #[arg(long, value_name = "NAME")]
    clock_offset: Option<String>,
    /// The PostgreSQL server on which each case gets a database of its own, as in `postgres://postgres@localhost:5432`; rows and log
    /// are read there. In the command and `--env`, `{database}` is replaced by its address
    #[arg(long, value_name = "ADDRESS")]
    database: Option<String>,
    /// A glob of the server's own state in the library, such as `.index/**`, which the suite disregards; besides those of the
    /// adapter
    #[arg(long, value_name = "GLOB")]
    own: Vec<String>,
    /// A shell command that runs in each library before the server starts, such as `mkdir .obsidian`; by default the adapter's
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<String>,
    /// Test over Streamable HTTP at this URL. In the URL, the command and `--env`, `{port}` is replaced by a free port; without
    /// a command, the server must already run
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The folder that a server already running at `--url` serves; must be empty, each case puts its library there
    #[arg(long, value_name = "FOLDER", requires_all = ["url", "reset"], conflicts_with = "command")]
    library: Option<PathBuf>,
    /// A shell command that restarts that server on the folder (`$TABELLION_LIBRARY`); runs before each case
    #[arg(long, value_name = "COMMAND", requires = "library")]
    reset: Option<String>,
    /// How long to wait for an answer; by default 60, and once the server has started, 10 in the smoke profile and without a contract, and
    /// 20 with promises
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) patience: Option<u64>,
    /// Show the server's standard error
    #[arg(long, short)]
    verbose: bool,
    /// The command that starts the server. `{library}` is replaced by the folder of the library, `{document}` by a document's
    /// path in it, `{data}` by the folder for rows, `{workspace}` by the folder with source code that it may read. By default the
    /// adapter's command
    #[arg(last = true, required_unless_present_any = ["adapter", "library"])]
    command: Vec<String>,
}

impl Server {
    /// Returns the server as a subject of its contract; `other` is the default contract.
    pub(super) fn subject(&self, other: Option<&str>) -> Result<Subject, Trouble> {
        // First, so that an adapter can name a contract that is loaded from its folder.
        let named = self.contract.as_deref().filter(|name| *name != DECLARED);
        let requested = named.map(contracts::find).transpose()?;
        let other = other.filter(|name| *name != DECLARED);
        let mapping = self.mapping()?;
        let theirs = mapping.as_ref().map(|mapping| &mapping.server);
        let command = match theirs {
            Some(server) if self.command.is_empty() => server.command.clone(),
            _ => self.command.clone(),
        };
        let variables = theirs.map(|server| server.environment.clone());
        let launch = Launch {
            environment: [variables.unwrap_or_default(), self.env.clone()].concat(),
            database: self.database.clone(),
            directory: self.directory(theirs),
            mode: self.mode_argument.clone().or_else(|| theirs.and_then(|server| server.mode.clone())),
            role: self.role_argument.clone(),
            role_headers: self.role_headers.clone(),
            show: self.show.clone(),
            decide: self.decide.clone(),
            share: self.share.clone(),
            store: self.store.clone(),
            clock_offset: self.clock_offset.clone(),
            verbose: self.verbose,
            patience: self.patience.map_or(ANSWER_TIMEOUT, Duration::from_secs),
            reach: self.reach()?,
            ..Launch::new(command)
        };
        let program = match (&launch.reach, launch.command.first()) {
            (Reach::External(_), _) => self.url.clone().unwrap_or_default(),
            (_, Some(program)) => program.clone(),
            (_, None) => {
                return Err(Trouble::Usage("the adapter has no command; add one after `--`".to_owned()));
            }
        };
        let contract = match &mapping {
            Some(mapping) => adapted(mapping, requested.map(|it| it.id).or(other))?,
            None => match (requested, other) {
                (Some(contract), _) => contract,
                (None, Some(id)) => contracts::find(id)?,
                (None, None) => CONTRACTS[0],
            },
        };
        if !self.may_be_declared() || launch.names_library() {
            check_placeholders(&launch, contract)?;
        }
        let globs = theirs.map_or(&[][..], |server| server.own.globs());
        let temporary = if promises::are_of(contract) { promises::TEMPORARY } else { &[] };
        let temporary = temporary.iter().map(|glob| (*glob).to_owned());
        let globs: Vec<_> = globs.iter().chain(&self.own).cloned().chain(temporary).collect();
        let own = Own::parse(globs).map_err(|why| format!("--own: {why}"))?;
        let mut setup = theirs.map_or_else(Setup::default, |server| server.setup.clone());
        if let Some(prepare) = &self.prepare {
            setup.command = ["sh", "-c", prepare].map(str::to_owned).to_vec();
        }
        let mut ledger = theirs.map_or_else(Source::default, |server| server.ledger.clone());
        ledger.database.clone_from(&self.database);
        let named = theirs.map_or(program, |server| server.name.clone());
        Ok(Subject {
            name: self.name.clone().unwrap_or(named),
            contract,
            launch,
            adapter: mapping.filter(|mapping| mapping.maps_tools()).map_or(Adapter::Native, Adapter::Mapped),
            era: Era::Session,
            own,
            made_at_start: Own::default(),
            setup,
            ledger,
            sdk: None,
            commits: Commits::BeforeAnswer,
        })
    }

    /// Returns true if the server may be judged by what it declares: no other contract is named.
    fn may_be_declared(&self) -> bool {
        let is_named = self.contract.as_deref().is_some_and(|name| name != DECLARED);
        !is_named && self.adapter.is_none()
    }

    /// Returns the server with the contract that it declares, unless a different one is named, or the server has tools of the default one; and
    /// what is not judged then.
    pub(super) fn by_declaration(&self, subject: Subject) -> Result<(Subject, Vec<String>), Trouble> {
        if !self.may_be_declared() {
            return Ok((subject, vec![]));
        }
        if self.contract.is_none() && subject.launch.has_library() {
            match offer::lacking(&subject) {
                Ok(lacking) if lacking.names.len() == lacking.all => {}
                Err(Stop::Harness(why)) => return Err(Trouble::Harness(why)),
                // Without a list there is nothing to hold it to, and the checks report that.
                Ok(_) | Err(_) => return Ok((subject, vec![])),
            }
        }
        let declared = declared::contract(&subject, &Called::parse(&self.call)).map_err(Trouble::Harness)?;
        let subject = Subject { contract: declared.contract, commits: Commits::Never, ..subject };
        let mut left_out = declared.left_out;
        if !subject.launch.has_library() {
            left_out.push(format!(
                "what calls do to files: the command does not name a folder for them; put `{{library}}` into it, as in `-- {} {{library}}`, or \
                 into `--env` or `--dir`",
                subject.launch.command.join(" ")
            ));
        }
        Ok((subject, left_out))
    }

    /// Returns the file in the repository to show results at: the adapter, the contract, or else the `README.md`.
    pub(super) fn file(&self) -> String {
        let contract = self.contract.as_ref().map(|folder| Path::new(folder).join("contract.json"));
        let files = self.adapter.iter().cloned().chain(contract);
        let mut files = files.filter(|file| file.is_relative() && file.is_file());
        files.next().map_or_else(|| "README.md".to_owned(), |file| file.display().to_string())
    }

    /// Returns the working directory.
    fn directory(&self, adapted: Option<&adapter::Server>) -> Option<PathBuf> {
        let theirs = adapted.and_then(|server| server.directory.as_ref());
        self.dir.clone().or_else(|| theirs.map(PathBuf::from))
    }

    /// Returns the transport.
    fn reach(&self) -> Result<Reach, Trouble> {
        Ok(match (&self.url, &self.library, &self.reset) {
            (None, ..) => Reach::Lines,
            (Some(url), Some(library), Some(reset)) => {
                Reach::External(ExternalServer::new(Url::parse(url)?, library, reset.clone())?)
            }
            (Some(url), ..) => {
                Url::parse(&url.replace("{port}", "1"))?;
                Reach::Http(url.clone())
            }
        })
    }

    /// Probes the server; returns it in its newest era, with its identity.
    pub(super) fn probed(&self) -> Result<(Subject, Option<Identity>), Trouble> {
        let mut subject = self.subject(None)?;
        let ServerInfo { eras, identity } = probe::probe(&subject).map_err(Trouble::Harness)?;
        subject.era = eras.last().copied().unwrap_or(subject.era);
        Ok((subject, identity))
    }

    /// Returns true if the options name the server.
    pub(super) fn is_named(&self) -> bool {
        self.name.is_some() || self.adapter.is_some()
    }

    /// Parses the adapter's file, if given.
    fn mapping(&self) -> Result<Option<Arc<Mapping>>, Trouble> {
        let Some(file) = &self.adapter else {
            return Ok(None);
        };
        let parsed = Adapter::parse(&super::trouble::read(file)?);
        Ok(Some(parsed.map_err(|error| format!("`{}`: {error}", file.display()))?))
    }

    /// Prints which required tools the server lacks, before the run.
    ///
    /// # Errors
    /// If the server has none of them.
    pub(super) fn report_missing_tools(&self, subject: &Subject) -> Result<(), Trouble> {
        let lacking = match offer::lacking(subject) {
            Ok(lacking) => lacking,
            Err(Stop::Harness(why)) => return Err(Trouble::Harness(why)),
            // The checks report this in more detail.
            Err(_) => return Ok(()),
        };
        if lacking.names.is_empty() {
            return Ok(());
        }
        let found = lacking.all - lacking.names.len();
        let (all, names) = (lacking.all, lacking.names.join(", "));
        let message = if self.adapter.is_some() {
            format!(
                "of the {all} tools that the adapter names, the server has {found}; it lacks {names}. For details:\n\n    {}\n",
                self.line("smoke")
            )
        } else {
            format!(
                "of the {all} tools of {}, the server has {found}; it lacks {names}. If it implements another contract, name it with \
                 `--contract`. If its tools have other names, map them with an adapter. To draft \
                 one:\n\n    {} > adapter.toml\n\nReview it, then run again with `--adapter adapter.toml`.",
                subject.contract.id,
                self.line("template")
            )
        };
        if found == 0 {
            return Err(Trouble::Usage(message));
        }
        eprintln!("note: {message}");
        Ok(())
    }

    /// Returns the command line of another subcommand for the same server.
    fn line(&self, subcommand: &str) -> String {
        let (options, command) = self.again();
        let mut words = vec![format!("tabellion-conformance {subcommand}")];
        words.extend(options);
        if !command.is_empty() {
            words.push(format!("-- {command}"));
        }
        words.join(" ")
    }

    /// Returns the options and the command that start the same server again. Omits the values of variables, which may
    /// be secret.
    pub(super) fn again(&self) -> (Vec<String>, String) {
        let text = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        let given = [
            ("contract", self.contract.clone()),
            ("adapter", text(&self.adapter)),
            ("url", self.url.clone()),
            ("library", text(&self.library)),
            ("reset", self.reset.clone()),
            ("dir", text(&self.dir)),
            ("prepare", self.prepare.clone()),
            ("mode-argument", self.mode_argument.clone()),
            ("role-argument", self.role_argument.clone()),
            ("show", self.show.clone()),
            ("decide", self.decide.clone()),
            ("share", self.share.clone()),
            ("call", (!self.call.is_empty()).then(|| self.call.join(","))),
            ("clock-offset", self.clock_offset.clone()),
        ];
        let own = self.own.iter().map(|glob| ("own", Some(glob.clone())));
        let store = self.store.iter();
        let store = store.map(|call| ("store", Some(format!("{}={}", call.tool, call.arguments))));
        let given = given.into_iter().chain(own).chain(store);
        let mut options: Vec<_> = given
            .filter_map(|(name, value)| {
                let value = quoted(&value?);
                let between = if value.starts_with(['-', '\'']) { '=' } else { ' ' };
                Some(format!("--{name}{between}{value}"))
            })
            .collect();
        for (name, value) in &self.env {
            let value = if value.contains("{library}") || value.contains("{port}") {
                quoted(value)
            } else {
                format!("\"${name}\"")
            };
            options.push(format!("--env {name}={value}"));
        }
        for (role, name, _) in &self.role_headers {
            options.push(format!("--role-header \"{role}={name}: ${}\"", role.to_uppercase()));
        }
        let command: Vec<_> = self.command.iter().map(|argument| quoted(argument)).collect();
        (options, command.join(" "))
    }
}

/// Returns the adapter's contract, which must be the requested one.
fn adapted(mapping: &Mapping, requested: Option<&str>) -> Result<&'static ContractSpec, Trouble> {
    let contract = mapping.contract;
    match requested {
        Some(requested) if ![contract.id, mapping.held_to.id].contains(&requested) => Err(Trouble::Usage(
            format!("the adapter is for the contract `{}`, not for `{requested}`", contract.id),
        )),
        _ => Ok(mapping.held_to),
    }
}

/// Checks that the command contains the required placeholders.
fn check_placeholders(launch: &Launch, contract: &ContractSpec) -> Result<(), Trouble> {
    if launch.running().is_some() {
        return match contract.rows {
            None => Ok(()),
            Some(_) => Err(Trouble::Usage(format!(
                "`{}` is about rows, which a server that runs already keeps where the suite can't look; give the server's \
                 command instead of `--library`",
                contract.id
            ))),
        };
    }
    let command = launch.command.join(" ");
    if launch.database.is_some() && !launch.names(DATABASE) {
        return Err(Trouble::Usage(format!(
            "`--database` is given, and the command does not name the database of a case; put `{DATABASE}` into the command, as in \
             `-- {command} --data {DATABASE}`, or into `--env`"
        )));
    }
    if contract.rows.is_some() && launch.database.is_none() && !launch.names("{data}") {
        return Err(Trouble::Usage(format!(
            "`{}` is about rows, and the command does not name the folder for them; put `{{data}}` into the command, as in \
             `-- {command} {{data}}`, or into `--env` or `--dir`",
            contract.id
        )));
    }
    if contract.rows.is_none() && !launch.names_library() {
        return Err(Trouble::Usage(format!(
            "the command does not name the library; put `{{library}}` into the command, as in \
             `-- {command} {{library}}`, or into `--env` or `--dir`"
        )));
    }
    if contract.document && !launch.names("{document}") {
        return Err(Trouble::Usage(format!(
            "`{}` is about one document, which the command does not name; put `{{document}}`, its path in the library, into \
             the command, as in `-- {command} --document {{document}}`, or into `--env`",
            contract.id
        )));
    }
    match &launch.reach {
        Reach::Http(url) if !url.contains("{port}") || !launch.names("{port}") => {
            Err(Trouble::Usage(format!(
                "several servers run at the same time: put `{{port}}` into the URL and into the command, as in \
                 `--url http://127.0.0.1:{{port}}/mcp -- {command} --port {{port}}`; for a server that runs already, give \
                 `--library` and `--reset` instead of a command"
            )))
        }
        _ => Ok(()),
    }
}

/// Quotes an argument for a shell.
pub(super) fn quoted(argument: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=@%+,{}".contains(it);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// Returns the parser of a text that has all of these places; `kind` and `example` are for the message if it lacks one.
fn with_places(
    kind: &'static str,
    places: &'static [&'static str],
    example: &'static str,
) -> impl Fn(&str) -> Result<String, String> + Clone {
    move |text| {
        if places.iter().all(|place| text.contains(place)) {
            return Ok(text.to_owned());
        }
        let places: Vec<_> = places.iter().map(|place| format!("`{place}`")).collect();
        Err(format!("expected {kind} with {}, such as {example}", places.join(" and ")))
    }
}

fn role_header(text: &str) -> Result<(String, String, String), String> {
    let parts = text.split_once('=').and_then(|(role, header)| {
        let (name, value) = header.split_once(':')?;
        Some((role.to_owned(), name.trim().to_owned(), value.trim().to_owned()))
    });
    parts.ok_or_else(|| "expected ROLE=NAME: VALUE".to_owned())
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
