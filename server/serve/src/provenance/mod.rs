//! The server's facts about the origin of calls: the mode that it was started in, its configuration, and the facts that it discovers
//! about the folder, the person and the machine that it runs for. The runtime decides which of them take effect.

mod config;

use std::{
    env,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use tabellion_platform as platform;
use tabellion_runtime::{
    BoxFuture, CallOrigin, Connection, ContractSpec, Discovered, Environment, Transport, modes,
};
use tokio::sync::OnceCell;

use self::config::Config;
pub use self::config::ConfigError;

/// Environment variables for the person's name, in the shells of several systems.
const PERSON: [&str; 3] = ["USER", "LOGNAME", "USERNAME"];
/// Environment variables for the machine's name, likewise.
const MACHINE: [&str; 2] = ["HOSTNAME", "COMPUTERNAME"];

/// Name of a machine without one.
const LOCAL: &str = "localhost";

/// Whether provenance that no one says is discovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// Facts that a call does not carry, and that are not configured, are missing.
    Strict,
    /// The server discovers the facts that it can: repository, person, machine, client.
    Discover,
}

/// The operator's settings of modes and provenance.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The mode of operation.
    pub mode: Option<String>,
    /// The setting of discovery, regardless of the transport.
    pub discovery: Option<Discovery>,
}

/// The server's facts about the origin of calls.
#[derive(Debug)]
pub struct ServerEnvironment {
    options: Options,
    config: Config,
    workspace: PathBuf,
    discovered: OnceCell<Arc<Discovered>>,
}

impl ServerEnvironment {
    /// Returns the environment of a server that is started in the working directory, serves these contracts,
    /// and stores their changes in these folders.
    ///
    /// # Errors
    /// If a configuration is wrong.
    pub fn new(
        options: &Options,
        contracts: &[&'static ContractSpec],
        folders: &[PathBuf],
    ) -> Result<Self, ConfigError> {
        let workspace = env::current_dir().unwrap_or_default();
        let fields = contracts.iter().filter_map(|contract| contract.provenance);
        let fields: Vec<_> = fields.flat_map(|provenance| provenance.fields).collect();
        Ok(Self {
            options: options.clone(),
            config: Config::read(&workspace, folders, &fields)?,
            workspace,
            discovered: OnceCell::new(),
        })
    }

    /// Returns the origin of a call from this process, such as one that a person types.
    pub fn into_origin(self) -> CallOrigin {
        // A process id may be reused, but not at the same time.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("terminal-{:x}-{}", since.as_millis(), process::id());
        CallOrigin {
            connection: Some(Arc::new(Connection::new(id))),
            environment: Some(Arc::new(self)),
            ..CallOrigin::default()
        }
    }
}

/// The reason that a server can't be started with these options.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// An option has no effect.
    #[error("`--{option}` is for contracts with {what}, and none is served; omit it")]
    Unused {
        /// The option.
        option: &'static str,
        /// The contracts' property that the option concerns.
        what: &'static str,
    },
    /// No served contract has the mode.
    #[error("`--mode`: {0}")]
    UnknownMode(String),
}

/// Checks that options have an effect on the contracts that are served.
///
/// # Errors
/// The option to choose, or to omit.
pub fn check(options: &Options, contracts: &[&'static ContractSpec]) -> Result<(), OptionError> {
    let modes: Vec<_> = contracts.iter().filter_map(|contract| contract.modes).collect();
    if let Some(mode) = &options.mode {
        let Some(first) = modes.first() else {
            let (option, what) = ("mode", "modes of operation");
            return Err(OptionError::Unused { option, what });
        };
        if !modes.iter().any(|modes| modes.names.contains(&mode.as_str())) {
            // In the contract's words, like the refusal of a call.
            let sentence = modes::unknown(first, mode).unwrap_or_default();
            return Err(OptionError::UnknownMode(sentence));
        }
    }
    let has_provenance = contracts.iter().any(|contract| contract.provenance.is_some());
    if options.discovery.is_some() && !has_provenance {
        let (option, what) = ("provenance", "provenance");
        return Err(OptionError::Unused { option, what });
    }
    Ok(())
}

impl Environment for ServerEnvironment {
    fn mode(&self, contract: &ContractSpec) -> Option<String> {
        let of_environment = || variable(contract.modes?.env?);
        self.options.mode.clone().or_else(of_environment)
    }

    fn configured(&self, field: &str) -> Option<Value> {
        self.config.value(field).cloned()
    }

    fn discovers(&self, transport: Transport) -> bool {
        match self.options.discovery {
            Some(discovery) => discovery == Discovery::Discover,
            // Over HTTP the client is on another machine.
            None => transport == Transport::Lines,
        }
    }

    fn discover(&self) -> BoxFuture<'_, Arc<Discovered>> {
        Box::pin(async {
            let found = self.discovered.get_or_init(|| async {
                let workspace = self.workspace.clone();
                let found = tokio::task::spawn_blocking(move || discover(&workspace)).await;
                Arc::new(found.unwrap_or_default())
            });
            found.await.clone()
        })
    }
}

/// Discovers the server's project, repository, person and machine.
fn discover(workspace: &Path) -> Discovered {
    let facts = tabellion_vcs::facts(workspace);
    Discovered {
        project: Some(facts.project),
        repository: Some(facts.repository),
        repository_path: Some(facts.top.to_string_lossy().into_owned()),
        work_tree: Some(facts.work_tree),
        operator: PERSON.into_iter().find_map(variable).or_else(platform::account_name),
        machine: MACHINE
            .into_iter()
            .find_map(variable)
            .or_else(platform::host_name)
            .or_else(|| Some(LOCAL.into())),
    }
}

/// Returns the value of an environment variable that is not blank.
fn variable(name: &str) -> Option<String> {
    let value = env::var_os(name)?.to_string_lossy().into_owned();
    (!value.trim().is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use tabellion_runtime::spec::{
        MissingProvenance, ModesSpec, ProvenanceField, ProvenancePlace, ProvenanceSpec, ProvenanceType,
    };

    use super::*;

    static MODES: ModesSpec = ModesSpec {
        names: &["day", "night"],
        env: Some("TABELLION_TEST_NO_SUCH_SHIFT"),
        header: None,
        lines: "day",
        http: "night",
        error: "",
        refused: "",
        unknown: "there is no '{mode}'; choose {names}",
    };
    static FIELD: ProvenanceField = ProvenanceField {
        name: "writer",
        kind: ProvenanceType::String,
        keys: &[],
        headers: &[],
        from: &[ProvenancePlace::Config],
        discover: None,
        default: None,
    };
    static PROVENANCE: ProvenanceSpec = ProvenanceSpec {
        fields: std::slice::from_ref(&FIELD),
        session: None,
        required: &[],
        also_if: &[],
        missing: MissingProvenance { error: "", message: "" },
    };
    static WITH_BOTH: ContractSpec =
        ContractSpec { modes: Some(&MODES), provenance: Some(&PROVENANCE), ..ContractSpec::EMPTY };

    fn options(mode: Option<&str>, discovery: Option<Discovery>) -> Options {
        let mode = mode.map(str::to_owned);
        Options { mode, discovery }
    }

    #[test]
    fn options_without_effect_are_refused() {
        let neither: &[&ContractSpec] = &[&ContractSpec::EMPTY];
        let both: &[&ContractSpec] = &[&ContractSpec::EMPTY, &WITH_BOTH];
        let strict = Some(Discovery::Strict);
        for (mode, discovery, contracts, expected) in [
            (None, None, neither, ""),
            (Some("day"), strict, both, ""),
            (
                Some("day"),
                None,
                neither,
                "`--mode` is for contracts with modes of operation, and none is served; omit it",
            ),
            (
                None,
                strict,
                neither,
                "`--provenance` is for contracts with provenance, and none is served; omit it",
            ),
            (Some("dusk"), None, both, "`--mode`: there is no 'dusk'; choose day, night"),
        ] {
            let checked = check(&options(mode, discovery), contracts);
            let said = checked.err().map_or_else(String::new, |error| error.to_string());
            assert_eq!(said, expected, "{mode:?} {discovery:?}");
        }
    }

    #[test]
    fn lines_are_discovered_and_http_is_not_unless_the_operator_says_so() {
        for (discovery, lines, http) in [
            (None, true, false),
            (Some(Discovery::Strict), false, false),
            (Some(Discovery::Discover), true, true),
        ] {
            let options = options(Some("night"), discovery);
            let environment =
                ServerEnvironment::new(&options, from_ref(&&WITH_BOTH), &[]).expect("it is fine");
            assert_eq!(environment.discovers(Transport::Lines), lines, "{discovery:?}");
            assert_eq!(environment.discovers(Transport::Http), http, "{discovery:?}");
            assert_eq!(environment.mode(&WITH_BOTH).as_deref(), Some("night"));
        }
        let unset = ServerEnvironment::new(&Options::default(), &[&WITH_BOTH], &[]).expect("it is fine");
        assert_eq!(unset.mode(&WITH_BOTH), None);
    }

    #[test]
    fn all_is_found_out_wherever_the_server_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        for workspace in [folder.path(), Path::new("/"), Path::new("/no/such/folder")] {
            let found = discover(workspace);
            let path = platform::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
            assert_eq!(found.repository_path.as_deref(), path.to_str());
            assert_eq!(found.work_tree.as_deref(), Some("main"));
            for (name, fact) in [
                ("owner and name", &found.project),
                ("repository", &found.repository),
                ("operator", &found.operator),
                ("machine", &found.machine),
            ] {
                assert!(fact.as_ref().is_some_and(|fact| !fact.trim().is_empty()), "{name}: {found:?}");
            }
        }
        assert!(platform::account_name().is_some() || cfg!(windows));
    }
}
