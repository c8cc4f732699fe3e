//! The pages of agents' memory, read through the contract's own tools, with the identity of the person who views them.

use std::{path::PathBuf, sync::Arc};

use chrono::DateTime;
use tabellion_pack::{
    Packs,
    cards::{self, CardsOf, Rows},
};
use tabellion_page::data::{Card, May, Memory, Pages, Person, Problem, Source, StatusLine};
use tabellion_runtime::{CallContext, CallOrigin, Contract, ContractSpec};
use tabellion_upkeep::doctor::Target;
use tokio::runtime::Handle;

use super::Door;
use crate::provenance::ServerEnvironment;

/// The rows of a contract, as the page shows them.
pub(crate) struct RowsSource {
    folder: PathBuf,
    contract: Arc<dyn Contract>,
    cards: CardsOf,
    packs: Packs,
    origin: CallOrigin,
    door: Arc<Door>,
    runtime: Handle,
}

impl RowsSource {
    /// Shows the rows in `folder`, which `contract` serves and `cards` reads.
    pub(crate) fn new(
        folder: PathBuf,
        contract: Arc<dyn Contract>,
        cards: CardsOf,
        packs: Packs,
        door: Arc<Door>,
        runtime: Handle,
    ) -> Result<Self, crate::provenance::ConfigError> {
        let environment =
            ServerEnvironment::new(&Default::default(), &[contract.spec()], std::slice::from_ref(&folder))?;
        let origin = environment.into_origin();
        Ok(Self { folder, contract, cards, packs, origin, door, runtime })
    }

    fn spec(&self) -> &'static ContractSpec {
        self.contract.spec()
    }
}

impl Source for RowsSource {
    fn name(&self) -> Option<&str> {
        Some("rows")
    }

    fn title(&self) -> &str {
        "memory of agents"
    }

    fn pages(&self) -> Pages {
        Pages { memory: true, ..Pages::default() }
    }

    fn may(&self, who: &Person) -> May {
        self.door.may(who, "", &[self.spec()])
    }

    fn state(&self) -> String {
        String::new()
    }

    fn status(&self) -> Result<Vec<StatusLine>, Problem> {
        super::status(&Target::Data(Some(self.folder.clone())), self.packs)
    }

    fn memory(&self, who: &Person, page: Memory, query: Option<&str>) -> Result<Vec<Card>, Problem> {
        let call = self.door.call(who, "", self.spec());
        let call =
            call.ok_or_else(|| Problem::Forbidden("Your key does not permit this any more.".into()))?;
        let call = CallContext { origin: self.origin.clone(), ..call };
        let rows = match page {
            Memory::Observations => Rows::Observations,
            Memory::Sessions => Rows::Sessions,
            Memory::Board => Rows::Issues,
            Memory::Code => Rows::Collections,
        };
        let found = self.runtime.block_on((self.cards)(&*self.contract, &call, rows, query));
        let card = |card: cards::Card| Card {
            title: card.title,
            text: card.text,
            state: card.state,
            time: card.seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0)),
            facts: card.facts,
            best: card.best,
        };
        Ok(found.map_err(|error| Problem::Refused(error.to_string()))?.into_iter().map(card).collect())
    }
}
