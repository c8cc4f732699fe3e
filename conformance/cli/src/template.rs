//! `template`: prints the first draft of an adapter for a server.

use super::{server::Server, trouble::Trouble};
use tabellion_conformance::{adapter::guess, exit};

/// Selection of a server.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    server: Server,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Trouble> {
    let (subject, identity) = arguments.server.probed()?;
    let draft =
        guess::draft(&subject, identity.as_ref()).map_err(|stop| Trouble::Harness(stop.to_string()))?;
    print!("{draft}");
    Ok(exit::PASSED)
}
