//! `smoke`: calls each tool once, to distinguish a wrong adapter from a wrong server.

use super::{server::Server, trouble::Trouble};
use tabellion_conformance::{
    adapter::smoke::{self, Outcome},
    exit,
    judgement::Stop,
};

/// Selection of a server.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    server: Server,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Trouble> {
    let (subject, _) = arguments.server.probed()?;
    println!("{}: {}", subject.name, subject.launch.words().join(" "));
    let tried = match smoke::smoke(&subject) {
        Ok(tried) => tried,
        Err(Stop::Harness(why)) => return Err(Trouble::Harness(why)),
        Err(why) => {
            println!("the server does not work: {why}");
            return Ok(exit::BROKEN);
        }
    };
    tried.iter().for_each(|tried| println!("{tried}"));
    let any = |is: fn(&Outcome) -> bool| tried.iter().any(|tried| is(&tried.outcome));
    Ok(if any(|outcome| matches!(outcome, Outcome::AdapterWrong(_))) {
        exit::USAGE
    } else if any(|outcome| matches!(outcome, Outcome::NotDone(_))) {
        exit::BROKEN
    } else {
        exit::PASSED
    })
}
