//! Random programs of calls, edits by hand and restarts, beside a model of what must come of them.
//!
//! | module | is for |
//! |---|---|
//! | [`program`] | programs, as data |
//! | [`generate`] | makes them at random |
//! | [`play`] | plays one against the server |
//! | [`reference`](mod@reference) | the model: judges what is there after each step |
//! | [`shrink`] | makes a program that fails smaller |

mod generate;
mod play;
mod program;
mod reference;
mod shrink;
#[cfg(test)]
mod tests;

use self::{generate::Emphasis, play::Judged, program::Program};
use crate::{
    check::{Bench, Case, Check, Severity},
    judgement::{Judgement, Stop},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "model/one-client",
        severity: Severity::Must,
        guarantees: &[
            "commit-per-mutation",
            "log-entry-per-mutation",
            "no-partial-application",
            "errors-write-nothing",
        ],
        states: "In any order of calls, each accepted mutation does what it says, in one commit with one log entry; others \
                 do nothing.",
        explains: "Random programs of valid calls, impossible ones (no such document, no such heading, several) and the \
                   contract's invalid examples are played on random documents. After each step the folder, git and the \
                   activity log are held against a model: an accepted mutation changes its document as its effect says and \
                   no other byte, with exactly one commit and one log entry; a refused call changes nothing; what can't be \
                   done is refused, and what can be is done; a reading has exactly the document's bytes, and every document \
                   is read at the start, at the end and by a server that is turned to. A call that would \
                   change nothing, and one on a document that is no text, may be refused. At the end git finds the \
                   repository sound, and no lock is left. A program that fails is made as small as it goes.",
        cases: |bench| {
            let emphasis = Emphasis {
                call: 10,
                read: 3,
                invalid: 3,
                ..Emphasis::default()
            };
            programs(bench, "one-client", &emphasis)
        },
        judge: everything,
        shrink,
    },
    Check {
        id: "model/beside-a-person",
        severity: Severity::Must,
        guarantees: &["no-implicit-edits", "commit-per-mutation"],
        states: "What a person saves, removes, stages and commits between calls stays theirs.",
        explains: "As model/one-client, and a person's editor and git work on the same library between the calls. What a \
                   person has not committed of other documents, or has staged, is after each call what it was before. Where \
                   it is the call's own document, the server may commit the person's bytes by themselves first, or refuse \
                   the call; both are allowed only there.",
        cases: |bench| {
            let emphasis = Emphasis {
                call: 8,
                read: 1,
                save: 4,
                remove: 1,
                stage: 2,
                commit: 2,
                ..Emphasis::default()
            };
            programs(bench, "beside-a-person", &emphasis)
        },
        judge: everything,
        shrink,
    },
    Check {
        id: "model/restarts",
        severity: Severity::Must,
        guarantees: &["log-entry-per-mutation", "commit-per-mutation"],
        states: "A server that is closed or killed between calls goes on where it was.",
        explains: "As model/one-client, and between the calls the server is closed, or killed without warning, and started \
                   again. Neither may change anything; whatever was answered before is there, and the activity log has it.",
        cases: |bench| {
            let emphasis = Emphasis {
                call: 8,
                read: 1,
                save: 1,
                restart: 2,
                kill: 2,
                ..Emphasis::default()
            };
            programs(bench, "restarts", &emphasis)
        },
        judge: everything,
        shrink,
    },
    Check {
        id: "model/two-servers",
        severity: Severity::Must,
        guarantees: &[
            "commit-per-mutation",
            "log-entry-per-mutation",
            "no-partial-application",
        ],
        states: "Two servers over one library that are called in turn each see what the other did.",
        explains: "As model/one-client, but the calls go now to one process and now to another over the same library, one \
                   after the other. What one did, the other reads, builds on and lists in its log.",
        cases: |bench| {
            let emphasis = Emphasis {
                call: 8,
                read: 2,
                save: 1,
                commit: 1,
                other_server: 5,
                ..Emphasis::default()
            };
            programs(bench, "two-servers", &emphasis)
        },
        judge: everything,
        shrink,
    },
    Check {
        id: "model/previews",
        severity: Severity::Must,
        guarantees: &["preview-equals-result"],
        states: "Whatever happened before, a preview changes nothing, and its call does what it showed.",
        explains: "In random programs calls are preceded by their previews. Git applies the diff that was shown to the bytes \
                   that the document has, and after the call the document must hold exactly what came of it. What can't be \
                   done has no preview, and what was shown is not refused, unless a person has uncommitted changes in the \
                   document. Nothing else is judged here.",
        cases: |bench| {
            if generate::previewed(bench.subject).is_empty() {
                return Err(Stop::NotApplicable("the server previews nothing".into()));
            }
            let emphasis = Emphasis {
                call: 1,
                preview: 8,
                save: 2,
                commit: 1,
                ..Emphasis::default()
            };
            programs(bench, "previews", &emphasis)
        },
        judge: |bench, case| play::play(bench, &case.read()?, Judged::Previews),
        shrink,
    },
];

/// Random programs; those of one seed are the same in every run.
fn programs(bench: &Bench<'_>, name: &str, emphasis: &Emphasis) -> Result<Vec<Case>, Stop> {
    if generate::kinds(bench.subject).is_empty() {
        return Err(Stop::NotApplicable("the server changes nothing".into()));
    }
    let (programs, most) = bench.pick((12, 12), (150, 30));
    let made = (1..=programs).map(|number| {
        let mut dice = bench.dice(&format!("{name} {number}"));
        let program = generate::program(bench.subject, emphasis, most, &mut dice);
        Case::new(format!("program {number}"), program)
    });
    Ok(made.collect())
}

fn everything(bench: &Bench<'_>, case: &Case) -> Judgement {
    play::play(bench, &case.read()?, Judged::Everything)
}

fn shrink(case: &Case) -> Vec<Case> {
    let Ok(program) = case.read::<Program>() else {
        return Vec::new();
    };
    let smaller = shrink::smaller(&program).into_iter();
    smaller
        .map(|program| Case::new(case.name.clone(), program))
        .collect()
}
