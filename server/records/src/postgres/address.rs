//! The address of a database.

use std::{
    fmt, fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject as _};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Parameter of an address, and environment variable, with a file of certificates that are trusted instead of the system's.
const ROOT_CERTIFICATES: (&str, &str) = ("sslrootcert", "PGSSLROOTCERT");
/// Parameter of an address that this program reads itself.
const SSL_MODE: &str = "sslmode";

/// Maximum size of the file of passwords.
const MAX_BYTES: u64 = 1 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a peer that does not acknowledge sent data counts as gone.
const PEER_TIMEOUT: Duration = Duration::from_secs(15);

/// The address of a database: `postgres://USER@HOST:PORT/DATABASE`. `Display` and `Debug` never show the password.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Box<Config>,
    pub(crate) tls: MakeRustlsConnect,
    shown: String,
    has_password: bool,
    /// True if all its hosts are this machine.
    pub(crate) is_local: bool,
}

impl Address {
    /// Parses an address. Without a password in it, uses that of `PGPASSWORD`, or of the file of passwords (`PGPASSFILE`,
    /// `~/.pgpass`), as PostgreSQL's own programs do.
    ///
    /// # Errors
    /// If it is not an address of a database, or a file that it names can't be read. The message never contains the password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!("the address of the database {what}; write `postgres://USER@HOST:PORT/DATABASE`")
        };
        let (address, parameters) = text.split_once('?').unwrap_or((text, ""));
        let is_own = |parameter: &&str| {
            let name = parameter.split('=').next().unwrap_or_default();
            name == SSL_MODE || name == ROOT_CERTIFICATES.0
        };
        let (own, others): (Vec<_>, Vec<_>) =
            parameters.split('&').filter(|it| !it.is_empty()).partition(is_own);
        let own =
            |name: &str| own.iter().find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='));
        let joined = format!("{address}?{}", others.join("&"));
        let mut config: Config = joined.trim_end_matches('?').parse().map_err(|_| wrong("can't be read"))?;
        if config.get_hosts().is_empty() {
            return Err(wrong("names no host"));
        }
        let is_local = config.get_hosts().iter().all(is_local);
        match own(SSL_MODE) {
            None if is_local => config.ssl_mode(SslMode::Disable),
            Some("disable") if is_local => config.ssl_mode(SslMode::Disable),
            Some("disable") => return Err(wrong("asks for no TLS, which only a host of this machine can")),
            None | Some("require" | "verify-ca" | "verify-full") => config.ssl_mode(SslMode::Require),
            Some(_) => return Err(wrong("has a value of `sslmode` that is not known")),
        };
        if config.get_dbname().is_none() {
            return Err(wrong("names no database"));
        }
        let user = config.get_user().map(String::from);
        let user = user.or_else(|| std::env::var("PGUSER").ok()).unwrap_or_else(whoami);
        config.user(&user);
        let has_password = config.get_password().is_some();
        if !has_password && let Some(password) = password(&config)? {
            config.password(password);
        }
        config
            .application_name("tabellion")
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(PEER_TIMEOUT)
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let roots = own(ROOT_CERTIFICATES.0).map(PathBuf::from);
        let roots = roots.or_else(|| std::env::var_os(ROOT_CERTIFICATES.1).map(PathBuf::from));
        Ok(Self {
            shown: shown(&config),
            tls: tls(roots.as_deref(), is_local)?,
            config: Box::new(config),
            has_password,
            is_local,
        })
    }

    /// Returns true if the text of the address had a password.
    pub fn has_password(&self) -> bool {
        self.has_password
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

fn shown(config: &Config) -> String {
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let ports = config.get_ports();
        let port = ports.get(at).or(ports.first()).unwrap_or(&5432);
        match host {
            Host::Tcp(host) => format!("{host}:{port}"),
            #[cfg(unix)]
            Host::Unix(folder) => format!("{}:{port}", folder.display()),
        }
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    format!("postgres://{hosts}/{}", config.get_dbname().unwrap_or_default())
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(host) => {
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn whoami() -> String {
    std::env::var("USER").or_else(|_| std::env::var("USERNAME")).unwrap_or_else(|_| "postgres".into())
}

/// Returns the verifier of a server's certificate and its name.
fn tls(roots: Option<&Path>, is_local: bool) -> Result<MakeRustlsConnect, String> {
    let mut store = RootCertStore::empty();
    match roots {
        Some(path) => {
            let wrong = |error: &dyn fmt::Display| {
                format!("can't read the certificates in `{}`: {error}", path.display())
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
                let certificate = certificate.map_err(|error| wrong(&error))?;
                store.add(certificate).map_err(|error| wrong(&error))?;
            }
        }
        None if is_local => {}
        None => drop(store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be used: {error}"))?;
    Ok(MakeRustlsConnect::new(config.with_root_certificates(store).with_no_client_auth()))
}

/// Returns the password from the environment or the file of passwords.
fn password(config: &Config) -> Result<Option<String>, String> {
    if let Ok(password) = std::env::var("PGPASSWORD") {
        return Ok(Some(password));
    }
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".pgpass"));
    let Some(path) = named.or_else(home).filter(|path| path.is_file()) else {
        return Ok(None);
    };
    let wrong =
        |error: &dyn fmt::Display| format!("can't use the passwords in `{}`: {error}", path.display());
    let metadata = fs::metadata(&path).map_err(|error| wrong(&error))?;
    if tabellion_platform::is_for_others(&metadata) {
        return Err(wrong(&"others can read it; `chmod 0600` it"));
    }
    let bytes = tabellion_platform::read_regular(&path, MAX_BYTES).map_err(|error| wrong(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong(&"it is no text"))?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => "localhost".into(),
    };
    let port = config.get_ports().first().unwrap_or(&5432).to_string();
    let place =
        [&host, &port, config.get_dbname().unwrap_or_default(), config.get_user().unwrap_or_default()];
    Ok(text.lines().find_map(|line| line_of(line, place)))
}

/// Returns the password of a line `HOST:PORT:DATABASE:USER:PASSWORD` if it is for this place.
fn line_of(line: &str, place: [&str; 4]) -> Option<String> {
    let (mut parts, mut part, mut chars) = (vec![], String::new(), line.chars());
    while let Some(char) = chars.next() {
        match char {
            '\\' => part.extend(chars.next()),
            ':' if parts.len() < place.len() => parts.push(std::mem::take(&mut part)),
            char => part.push(char),
        }
    }
    let fits = |(part, wanted): (&String, &str)| part == "*" || part == wanted;
    (!line.starts_with('#') && parts.len() == place.len() && parts.iter().zip(place).all(fits))
        .then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_passwords() {
        for (text, expected) in [
            ("postgres://ann@db.example:6000/notes", Ok("postgres://db.example:6000/notes")),
            ("postgresql://ann:secret@db.example/notes", Ok("postgres://db.example:5432/notes")),
            ("postgres://a,b/notes?sslmode=verify-full", Ok("postgres://a:5432,b:5432/notes")),
            ("postgres://localhost/notes?sslmode=disable", Ok("postgres://localhost:5432/notes")),
            ("postgres:///notes", Err("names no host")),
            ("postgres://localhost", Err("names no database")),
            ("postgres://db.example/notes?sslmode=disable", Err("only a host of this machine")),
            ("postgres://db.example/notes?sslmode=maybe", Err("is not known")),
            ("postgres://db.example/notes?secret=%zz", Err("can't be read")),
            ("postgres://localhost/notes?sslrootcert=/nothing", Err("`/nothing`")),
        ] {
            let found = Address::parse(text).map(|address| format!("{address} {address:?}"));
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(*found, format!("{expected} {expected}")),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{text}: {error}"),
                _ => panic!("{text}: {found:?}"),
            }
        }
        assert!(Address::parse("postgres://a:b@localhost/x").is_ok_and(|address| address.has_password()));
    }

    #[test]
    fn lines_of_the_file_of_passwords_are_for_places() {
        let place = ["h", "5432", "d", "u"];
        for (line, expected) in [
            ("h:5432:d:u:secret", Some("secret")),
            (r"*:*:*:*:a\:b\\", Some(r"a:b\")),
            ("h:5433:d:u:secret", None),
            ("#h:5432:d:u:secret", None),
            ("h:5432", None),
            ("h:5432:d:u:with:colons", Some("with:colons")),
        ] {
            assert_eq!(line_of(line, place).as_deref(), expected, "{line}");
        }
    }
}
