//! `tabellion openapi`: a contract's endpoints over REST, as OpenAPI.

use clap::{Args, builder::PossibleValuesParser};
use tabellion_runtime::openapi;
use tabellion_upkeep::{TerminalError, console};

use crate::PACKS;

/// Arguments of `openapi`.
#[derive(Debug, Args)]
pub(super) struct OpenApi {
    /// The contract
    #[arg(long, value_parser = PossibleValuesParser::new(PACKS.names_over_rest()))]
    contract: String,
    /// The URL at which it is served over MCP
    #[arg(long, default_value = openapi::USUAL_URL)]
    url: String,
}

/// Prints the document, as it is at `openapi.json` below that URL.
pub(super) fn run(asked: &OpenApi) -> Result<(), TerminalError> {
    let contract = PACKS
        .spec(&asked.contract)
        .ok_or_else(|| TerminalError::new(format_args!("there is no contract `{}`", asked.contract)))?;
    let document = openapi::document(contract, &asked.url, &|_| true);
    Ok(console::answer(format!("{document:#}\n").as_bytes())?)
}
