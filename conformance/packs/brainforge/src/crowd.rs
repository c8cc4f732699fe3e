//! Several servers on one library.

use super::{
    shelf::{By, Shelf, change, made, word, write},
    tool::Tool,
    versions::listed,
};
use tabellion_conformance::{check::counted, checks::prelude::*, crowd::at_once};

pub(super) const CHECK: Check = Check {
    id: "versions/crowd",
    guarantees: &["locks-hold", "versions-are-kept"],
    states: "Of changes of one note by several servers at once, each that is acknowledged has a number of its own, and none is lost.",
    explains: "Lets several servers change one note at once, each reading the version from the refusal when it comes too late. All numbers that \
               were answered must differ and leave no gap, each must be one of the note's versions, and the last one must be what is there.",
    cases: |bench| {
        let crowds: &[usize] = bench.pick(&[3], &[2, 4, 8]);
        let case = |servers: &usize| Case::new(counted(*servers, "server"), servers);
        Ok(crowds.iter().map(case).collect())
    },
    ..Check::must(|bench, case| crowd(bench, case.read()?))
};

/// Number of changes by each server.
const CHANGES: usize = 4;
/// Attempts of a change, while other servers make theirs.
const ATTEMPTS: usize = 200;

/// A change that was acknowledged: its number, and its word.
type Made = (u64, String);

fn crowd(bench: &Bench<'_>, servers: usize) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let first = made(shelf.create(By::Person, &word(0))?)?;
    let clients: Vec<Client<'_>> =
        (0..servers).map(|_| shelf.another(By::Person)).collect::<Result<_, _>>()?;
    let all = at_once(clients.into_iter().enumerate().collect(), |(server, client)| {
        change_it(bench, client, &first.id, server)
    });
    let mut all: Vec<Made> = all?.into_iter().flatten().collect();
    all.sort();
    let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    let expected: Vec<u64> = (2..).take(servers * CHANGES).collect();
    ensure(numbers == expected, || format!("the numbers of the acknowledged versions are {numbers:?}"))?;
    let listed = listed(&mut shelf, &first.id)?;
    ensure(listed.len() == all.len() + 1, || {
        format!("{} versions were acknowledged, and {listed:?} are listed", all.len())
    })?;
    let (_, last) = &all[all.len() - 1];
    shelf.ensure_seen(By::Agent, last, true, "which is the last version that was acknowledged")
}

/// Changes the note several times.
fn change_it(bench: &Bench<'_>, mut client: Client<'_>, id: &str, server: usize) -> Result<Vec<Made>, Stop> {
    let (mut version, mut all) = (1, Vec::new());
    for number in 0..CHANGES {
        let word = word(1 + server * CHANGES + number);
        let mut attempts = 0..ATTEMPTS;
        loop {
            let arguments = change(id, version, &word);
            match write(bench, &mut client, Tool::Update, &arguments)? {
                Ok(written) => {
                    version = made(written)?.version;
                    all.push((version, word));
                    break;
                }
                Err(refused) => {
                    let actual = refused.details.get("actual").and_then(serde_json::Value::as_u64);
                    version = actual.unwrap_or(version);
                    if attempts.next().is_none() {
                        return Err(fail(format!(
                            "a change is refused again and again: {}",
                            refused.message
                        )));
                    }
                }
            }
        }
    }
    client.close()?;
    Ok(all)
}
