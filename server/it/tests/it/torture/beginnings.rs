//! Many servers that start in the same empty folder, some of them killed while they create its repository.

use std::{thread, time::Duration};

use serde_json::json;
use tabellion_conformance::Target;

use super::{
    Effort,
    calls::{Call, CallOutcome},
    client::Client,
    dice::Dice,
    history, judge,
};
use crate::support::Library;

const SERVERS: usize = 8;
/// Rounds in the short form.
const ROUNDS: u64 = 3;
/// Upper bound of the time after which a server is killed.
const MAX_SHORT_LIFE: Duration = Duration::from_millis(40);

#[test]
fn many_servers_start_in_an_empty_folder() {
    let effort = Effort::from_environment();
    let mut dice = Dice::new(effort, 0);
    let mut round = 0;
    while round < effort.pick(ROUNDS, u64::MAX) && !effort.is_over() {
        round += 1;
        let library = Library::empty();
        let early: Vec<_> = (0..round % 3)
            .map(|_| Target::start(&mut library.command()).expect("the server starts"))
            .collect();
        for target in early {
            thread::sleep(dice.time(Duration::ZERO, MAX_SHORT_LIFE));
            target.kill();
        }
        let write = |name: usize| {
            let mut client = Client::new(&library);
            let request = json!({ "path": format!("{name}.md"), "content": format!("t{name}\n") });
            client.call(Call::new(&format!("t{name}"), "write_markdown", request));
            client.close();
            client.calls
        };
        let write = &write;
        let calls: Vec<_> = thread::scope(|scope| {
            let clients: Vec<_> = (0..SERVERS).map(|name| scope.spawn(move || write(name))).collect();
            let calls = clients.into_iter().map(|client| client.join().expect("a client"));
            calls.flatten().collect()
        });
        let commits = history::commits(library.root(), &history::HERE);
        let mut faults = judge::faults_of_library(&library, &commits);
        faults.extend(calls.iter().filter_map(|call| match &call.end {
            CallOutcome::Commit(_) => None,
            end => Some(format!("{}: {end:?}", call.token)),
        }));
        assert_eq!(faults, [""; 0], "round {round} of seed {}", effort.seed);
        assert_eq!(commits.len(), 1 + SERVERS, "a root commit and the calls'");
        assert_eq!(library.ledger().status, "");
    }
    println!("beginnings: seed {}, {round} rounds of {SERVERS} servers", effort.seed);
}
