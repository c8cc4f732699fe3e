//! `replay`: runs a saved case again.

use std::path::PathBuf;

use super::{run::print, server::Server, trouble::Trouble};
use tabellion_conformance::{
    contracts::{DECLARED, PROMISED},
    exit,
    judgement::{Failure, Shows, Stop},
    probe,
    replay::SavedCase,
    report::{Witness, terminal},
};

/// SavedCase case and server.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A file written by `run --save`
    file: PathBuf,
    #[command(flatten)]
    server: Server,
}

pub(super) fn replay(arguments: &Arguments) -> Result<u8, Trouble> {
    let name = arguments.file.display();
    let saved = SavedCase::parse(&super::trouble::read(&arguments.file)?)
        .map_err(|error| format!("`{name}`: {error}"))?;
    saved.check().map_err(|error| format!("`{name}`: {error}"))?;
    if saved.contract_id() == PROMISED && arguments.server.adapter.is_none() {
        let message = format!("`{name}` was saved by a run with an adapter; name it with `--adapter`");
        return Err(Trouble::Usage(message));
    }
    let subject = arguments.server.subject(Some(saved.contract_id()))?;
    probe::probe(&subject).map_err(Trouble::Harness)?;
    let subject =
        if saved.contract_id() == DECLARED { arguments.server.by_declaration(subject)?.0 } else { subject };
    let (judgement, trace) = saved.play(&subject).map_err(Trouble::Usage)?;
    let now = format!("{} {}", subject.contract.id, subject.contract.version);
    let (failure, verdict, code) = match judgement {
        Ok(()) => (None, "it passes now".to_owned(), exit::PASSED),
        Err(Stop::Fail(failure)) => (Some(*failure), "it still fails".to_owned(), exit::BROKEN),
        Err(Stop::Harness(why)) => return Err(Trouble::Harness(format!("`{name}`: {why}"))),
        Err(stop @ (Stop::NotShown(_) | Stop::NotApplicable(_))) => {
            (None, format!("it shows nothing: {stop}"), exit::BROKEN)
        }
    };
    let witness = Witness {
        case: saved.case.clone(),
        failure: failure.clone().unwrap_or_else(nothing),
        trace: trace.events(),
    };
    let mut text = terminal::case(&saved.check, &saved.revision, &saved.states, &witness);
    let same = failure.as_ref().is_some_and(|failure| failure.what == saved.seen.what);
    if !same {
        text.push_str(&terminal::remark("then", &saved.seen.what));
    }
    if saved.contract != now {
        text.push_str(&terminal::remark("contract", &format!("it was {}, and is {now}", saved.contract)));
    }
    text.push_str(&terminal::verdict(code == exit::PASSED, &verdict));
    print(&text)?;
    Ok(code)
}

fn nothing() -> Failure {
    Failure { what: String::new(), differences: Vec::new(), shows: Shows::Nothing, cause: None }
}
