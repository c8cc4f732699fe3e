//! Servers on several machines that change one document at once, and a person who pushes.

use std::{sync::Barrier, thread};

use super::{
    super::concurrent::edits::{self, Edit},
    machines::Machines,
};
use crate::{
    check::counted,
    checks::prelude::*,
    crowd::join,
    judgement::{self},
};

/// Number of machines, the concurrent edits of each, and the person's commits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Crowd {
    machines: usize,
    edits: usize,
    pushes: usize,
}

impl Crowd {
    fn case(self) -> Case {
        let Self { machines, edits, pushes } = self;
        let name = format!(
            "{}, {} each, and {} of a person",
            counted(machines, "machine"),
            counted(edits, "edit"),
            counted(pushes, "commit")
        );
        Case::new(name, self)
    }
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let all = [(2, 5, 0), (3, 3, 2), (2, 20, 5), (4, 6, 4), (8, 4, 4)];
    let crowd = |&(machines, edits, pushes): &(usize, usize, usize)| Crowd { machines, edits, pushes }.case();
    Ok(all[..bench.pick(2, all.len())].iter().map(crowd).collect())
}

pub(super) fn shrink(case: &Case) -> Vec<Case> {
    let Ok(crowd) = case.read::<Crowd>() else {
        return Vec::new();
    };
    let smaller = [(1, 1, 0), (2, 1, 0), (2, 2, 0), (2, 2, 1)];
    let smaller =
        smaller.into_iter().filter(|(machines, edits, _)| machines * edits < crowd.machines * crowd.edits);
    smaller.flat_map(|(machines, edits, pushes)| vec![Crowd { machines, edits, pushes }.case(); 3]).collect()
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let crowd: Crowd = case.read()?;
    let machines = Machines::new(bench, crowd.machines)?;
    let edits_of = |machine| {
        let edit = |number| machines.edit(&format!("m{machine}-e{number}"));
        (0..crowd.edits).map(edit).collect::<Result<Vec<_>, _>>()
    };
    let all: Vec<_> = (0..crowd.machines).map(edits_of).collect::<Result<_, _>>()?;
    let clients: Vec<_> =
        (0..crowd.machines).map(|machine| machines.start(machine)).collect::<Result<_, _>>()?;
    let barrier = Barrier::new(crowd.machines + 1);
    let work = |(mut client, mut edits): (_, Vec<Edit>)| {
        barrier.wait();
        edits::make_concurrently(bench, &mut client, &mut edits).map(|()| (client, edits))
    };
    let work = &work;
    let push = || {
        barrier.wait();
        let push = |number| machines.push_line(&format!("person-{number}"));
        (0..crowd.pushes).map(push).collect::<Result<Vec<_>, _>>()
    };
    let (done, pushed) = thread::scope(|scope| {
        let both = clients.into_iter().zip(all);
        let threads: Vec<_> = both.map(|both| scope.spawn(move || work(both))).collect();
        let pushed = push();
        let done: Result<Vec<_>, Stop> = threads.into_iter().map(join).collect();
        (done, pushed)
    });
    let (mut clients, edits): (Vec<_>, Vec<_>) = done?.into_iter().unzip();
    let mut edits: Vec<_> = edits.into_iter().flatten().collect();
    let refused = edits.iter().filter(|edit| edit.is_refused()).count();
    bench.trace.did(format!("the servers have answered all edits and refused {refused} of {}", edits.len()));
    if refused == edits.len()
        && let Some(Reply::Refused(refusal)) = edits.iter().find_map(|edit| edit.reply.as_ref())
    {
        return Err(judgement::refused(format!("each of {refused} edits"), refusal));
    }
    machines.ensure_shared(&edits)?;
    for (number, commit) in pushed?.iter().enumerate() {
        ensure(machines.has(commit), || {
            format!("the commit {commit} that a person has pushed is no longer in the branch")
        })?;
        machines.ensure_line(&format!("person-{number}"), "a person")?;
    }
    for (machine, client) in clients.iter_mut().enumerate() {
        edits.push(machines.must_append(client, &format!("m{machine}-last"))?);
        machines.ensure_in_step(machine)?;
    }
    machines.ensure_shared(&edits)
}
