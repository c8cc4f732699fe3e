//! A remote that does not take a change.

use std::fs;

use super::machines::{BRANCH, Machines};
use crate::checks::prelude::*;

named! {
    /// Reason why the remote does not take a change.
    enum Refusal {
        Hook = "a hook rejects each push",
        /// A process that has crashed has left a lock of the branch.
        Lock = "the branch is locked",
        Gone = "the repository is gone",
    }
}

pub(super) fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(Refusal::ALL.map(|refusal| Case::new(refusal.name(), refusal)).into())
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let refusal: Refusal = case.read()?;
    let machines = Machines::new(bench, 1)?;
    let mut client = machines.start(0)?;
    let first = machines.must_append(&mut client, "first")?;
    let (before, tip) = (machines.scene.view()?, machines.tip()?);
    let lock = machines.remote().join(format!("refs/heads/{BRANCH}.lock"));
    let away = machines.beside("away.git");
    match refusal {
        Refusal::Hook => machines.hook("pre-receive", "echo closed >&2; exit 1")?,
        Refusal::Lock => fs::write(&lock, "")?,
        Refusal::Gone => fs::rename(machines.remote(), &away)?,
    }
    bench.trace.did(format!("{}, so that it takes no change", case.name));
    let mut second = machines.edit("second")?;
    second.make(&mut client)?;
    match refusal {
        Refusal::Hook => fs::remove_file(machines.remote().join("hooks/pre-receive"))?,
        Refusal::Lock => fs::remove_file(&lock)?,
        Refusal::Gone => fs::rename(&away, machines.remote())?,
    }
    if second.is_done() {
        return Err(fail(format!("{}, and a change was acknowledged", case.name)));
    }
    let what = "a call that the remote refused";
    before.same(&machines.scene.view()?, what)?;
    if machines.tip()? != tip {
        return Err(fail(format!("{what} moved the remote's branch")));
    }
    let third = machines.must_append(&mut client, "third")?;
    machines.ensure_shared(&[first, second, third])?;
    machines.ensure_in_step(0)
}
