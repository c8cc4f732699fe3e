//! TLS, with a certificate created for the run.

use std::{
    fmt, fs,
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::Arc,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::ring, pki_types::ServerName,
};
use tempfile::TempDir;
use ureq::{
    Agent, Error,
    config::Config,
    unversioned::{
        resolver::DefaultResolver,
        transport::{
            Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, TcpConnector, Transport,
            TransportAdapter,
        },
    },
};

use xtask::Outcome;

/// Address of our servers.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A certificate for a server on this machine, and clients that trust only it.
pub(super) struct Certificate {
    folder: TempDir,
    trusting: Arc<ClientConfig>,
}

impl Certificate {
    pub(super) fn new() -> Outcome<Self> {
        let made = rcgen::generate_simple_self_signed([HERE.to_string()])?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("cert.pem"), made.cert.pem())?;
        fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem())?;
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone())?;
        let config = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { folder, trusting: config.into() })
    }

    /// Returns the server's options with certificate and key.
    pub(super) fn options(&self) -> Vec<PathBuf> {
        let file = |name: &str| self.folder.path().join(name);
        vec!["--tls-cert".into(), file("cert.pem"), "--tls-key".into(), file("key.pem")]
    }

    /// Returns a client that speaks TLS with the server.
    pub(super) fn agent(&self, config: Config) -> Agent {
        let connector = TcpConnector::default().chain(Secure(self.trusting.clone()));
        Agent::with_parts(config, connector, DefaultResolver::default())
    }
}

/// Wraps a connection in TLS.
#[derive(Debug)]
struct Secure(Arc<ClientConfig>);

impl<In: Transport> Connector<In> for Secure {
    type Out = Secret;

    fn connect(&self, details: &ConnectionDetails<'_>, plain: Option<In>) -> Result<Option<Secret>, Error> {
        let Some(plain) = plain else {
            return Ok(None);
        };
        let client =
            ClientConnection::new(self.0.clone(), ServerName::from(HERE)).map_err(io::Error::other)?;
        let socket = TransportAdapter::new(plain.boxed(), details.current_time.clone());
        let config = details.config;
        Ok(Some(Secret {
            stream: StreamOwned::new(client, socket),
            buffers: LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size()),
        }))
    }
}

/// A TLS connection.
struct Secret {
    stream: StreamOwned<ClientConnection, TransportAdapter>,
    buffers: LazyBuffers,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}

impl Transport for Secret {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.sock.set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        Ok(self.stream.write_all(output)?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.sock.set_timeout(timeout);
        let read = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
