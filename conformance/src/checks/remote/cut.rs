//! Pushes that are cut: the remote's process or the server is killed, before the branch moves or after that.

use std::{fs, path::Path, time::Duration};

use super::{
    super::{
        atomic::{
            kill,
            points::{spread, without_ids},
        },
        concurrent::edits::Edit,
    },
    machines::{LIST, Machines, within},
};
use crate::{
    checks::prelude::*,
    history::lines_with,
    settled,
    stepper::{Effect, Fault},
};

/// Maximum time that an orphaned push has to end.
const ORPHAN_TIME: Duration = Duration::from_secs(30);

/// When a push is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Moment {
    BeforeTheUpdate,
    AfterTheUpdate,
}

impl Moment {
    /// Returns the hook of the remote that runs then.
    const fn hook(self) -> &'static str {
        match self {
            Self::BeforeTheUpdate => "pre-receive",
            Self::AfterTheUpdate => "post-receive",
        }
    }
}

fn cases(what: &str) -> Vec<Case> {
    vec![
        Case::new(format!("{what} before the branch moves"), Moment::BeforeTheUpdate),
        Case::new(format!("{what} after the branch has moved"), Moment::AfterTheUpdate),
    ]
}

pub(super) fn answers(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(cases("the remote's process is killed"))
}

pub(super) fn kills(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(cases("the server is killed"))
}

pub(super) fn judge_answer(bench: &Bench<'_>, case: &Case) -> Judgement {
    let moment: Moment = case.read()?;
    let machines = Machines::new(bench, 1)?;
    let mut client = machines.start(0)?;
    let first = machines.must_append(&mut client, "first")?;
    // Only one push is cut.
    machines.hook(moment.hook(), "rm -f \"$0\"; kill -9 $PPID")?;
    let mut second = machines.edit("second")?;
    second.make(&mut client)?;
    let third = machines.must_append(&mut client, "third")?;
    let mut edits = vec![first, third];
    ensure_at_most_once(&machines, &second)?;
    if second.is_done() {
        edits.push(second);
    }
    machines.ensure_shared(&edits)?;
    machines.ensure_in_step(0)
}

pub(super) fn judge_kill(bench: &Bench<'_>, case: &Case) -> Judgement {
    let moment: Moment = case.read()?;
    let machines = Machines::new(bench, 1)?;
    let mut client = machines.start(0)?;
    let first = machines.must_append(&mut client, "first")?;
    let [reached, go] = ["reached", "go"].map(|name| machines.beside(name));
    // The process of the remote is the hook's parent.
    let script = format!(
        "rm -f \"$0\"; echo $PPID > '{0}.new'; mv '{0}.new' '{0}'; while [ ! -e '{1}' ]; do sleep 0.02; done",
        reached.display(),
        go.display()
    );
    machines.hook(moment.hook(), &script)?;
    let second = machines.edit("second")?;
    client.post(second.call.tool, &second.call.arguments)?;
    if !within(bench.subject.launch.patience, || reached.exists()) {
        return Err(not_shown("the call was not pushed to the remote"));
    }
    kill(bench, &client)?;
    drop(client);
    fs::write(&go, "")?;
    let process = fs::read_to_string(&reached)?;
    let process = Path::new("/proc").join(process.trim());
    within(ORPHAN_TIME, || !process.exists());
    ensure_goes_on(&machines, first, &second)
}

/// A kill at a system call.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    /// Number of the call, counted from 1.
    at: usize,
}

pub(super) fn steps(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let machines = Machines::new(bench, 1)?;
    let (mut client, stepper) = machines.start_stepped()?;
    machines.must_append(&mut client, "first")?;
    stepper.arm(None);
    machines.must_append(&mut client, "second")?;
    let calls = stepper.disarm();
    let mut dice = bench.dice("remote/steps");
    let points = spread(calls.len(), bench.pick(10, 400), &mut dice);
    let case = |at: usize| {
        let paths: Vec<_> = calls[at].paths.iter().map(|path| without_ids(path)).collect();
        let (name, paths) = (calls[at].name, paths.join(" -> "));
        Case::new(format!("killed at {}: {name} {paths}", at + 1), Step { at: at + 1 })
    };
    Ok(points.into_iter().map(case).collect())
}

pub(super) fn judge_step(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Step { at } = case.read()?;
    let machines = Machines::new(bench, 1)?;
    let (mut client, stepper) = machines.start_stepped()?;
    let first = machines.must_append(&mut client, "first")?;
    let effect = Effect::Kill;
    stepper.arm(Some(Fault { at, effect }));
    let mut second = machines.edit("second")?;
    match second.make(&mut client) {
        Ok(()) => {}
        Err(stop) if stop.is_of_server() => {}
        Err(stop) => return Err(stop),
    }
    if stepper.disarm().iter().any(|call| call.effect.is_some()) {
        bench.trace.did("the server is killed");
        stepper.wait(bench.subject.launch.patience);
        machines.repair()?;
    }
    drop(client);
    ensure_goes_on(&machines, first, &second)
}

/// Has a person push a line and a new server make a change, and judges all of it.
fn ensure_goes_on(machines: &Machines<'_, '_>, first: Edit, second: &Edit) -> Judgement {
    machines.push_line("person")?;
    let mut client = machines.start(0)?;
    let third = machines.must_append(&mut client, "third")?;
    ensure_at_most_once(machines, second)?;
    machines.ensure_shared(&[first, third])?;
    machines.ensure_line("person", "a person")?;
    machines.ensure_in_step(0)?;
    settled::ensure_sound(&machines.scene)
}

/// Fails if the branch's list has the line of a change more than once, or if an acknowledged one is missing.
fn ensure_at_most_once(machines: &Machines<'_, '_>, edit: &Edit) -> Judgement {
    let list = machines.list()?;
    let times = lines_with(&edit.token, list.lines());
    ensure(times <= 1 && (times == 1 || !edit.is_done()), || {
        let was = if edit.is_done() { "was" } else { "was not" };
        format!("one call, which {was} acknowledged, is in the branch's `{LIST}` {times} times")
    })
    .map_err(|stop| stop.showing(LIST, None, Some(list.as_bytes())))
}
