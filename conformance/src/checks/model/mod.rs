//! Random programs of calls, manual edits and restarts, compared with a model of the library.
//!
//! | module | is for |
//! |---|---|
//! | [`program`] | programs as data |
//! | [`generate`] | random programs |
//! | [`play`] | runs a program against the server |
//! | `library_model` | the model, which judges the library after each step |
//! | [`shrink`] | reduces a failing program |

mod generate;
mod library_model;
mod play;
mod program;
mod shrink;
#[cfg(test)]
mod tests;

use self::{generate::StepWeights, play::Coverage, program::Program};
use crate::checks::prelude::*;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "model/one-client",
        guarantees: &[
            "commit-per-mutation",
            "log-entry-per-mutation",
            "no-partial-application",
            "errors-write-nothing",
        ],
        states: "In any order of calls, each accepted mutation has its declared effect, in one commit with \
            one log entry; other calls change nothing.",
        explains: "Runs random programs of valid calls, impossible calls (missing document, missing or ambiguous \
                   heading) and the contract's invalid examples on random documents. After each step the folder, git \
                   and the activity log are compared with a model: an accepted mutation has its declared effect on its \
                   document and changes no other byte, with exactly one commit and one log entry; a refused call \
                   changes nothing; impossible calls are refused and possible ones accepted; a read returns exactly \
                   the document's bytes. Every document is read at the start, at the end, and after a switch to the \
                   other server. A call that would change nothing, and a call on a document that is not UTF-8, may be \
                   refused. At the end `git fsck` finds no error, and no lock file is left. A failing program is \
                   shrunk.",
        cases: |bench| {
            let weights = StepWeights { call: 10, read: 3, invalid: 3, ..StepWeights::default() };
            programs(bench, "one-client", &weights)
        },
        shrink,
        ..Check::must(judge_everything)
    },
    Check {
        id: "model/beside-a-person",
        guarantees: &["no-implicit-edits", "commit-per-mutation"],
        states: "A person's saves, deletions, staged changes and commits between calls are kept.",
        explains: "As model/one-client, and a person edits and commits in the same library between calls. A call \
                   preserves the person's uncommitted and staged changes of other documents. If its own document has \
                   uncommitted changes, the server may commit the person's bytes separately first, or refuse the call.",
        cases: |bench| {
            let weights = StepWeights {
                call: 8,
                read: 1,
                save: 4,
                remove: 1,
                stage: 2,
                commit: 2,
                ..StepWeights::default()
            };
            programs(bench, "beside-a-person", &weights)
        },
        shrink,
        ..Check::must(judge_everything)
    },
    Check {
        id: "model/restarts",
        guarantees: &["log-entry-per-mutation", "commit-per-mutation"],
        states: "A server that is closed or killed between calls continues from the same state.",
        explains: "As model/one-client, and the server is closed or killed between calls and restarted. Neither \
                   changes the library; every acknowledged mutation is still in the library and in the activity log.",
        cases: |bench| {
            let weights =
                StepWeights { call: 8, read: 1, save: 1, restart: 2, kill: 2, ..StepWeights::default() };
            programs(bench, "restarts", &weights)
        },
        shrink,
        ..Check::must(judge_everything)
    },
    Check {
        id: "model/two-servers",
        guarantees: &["commit-per-mutation", "log-entry-per-mutation", "no-partial-application"],
        states: "Two servers called in turn over one library each see the other's changes.",
        explains: "As model/one-client, but sequential calls alternate between two processes over the same library. Each \
                   process reads the other's changes, changes the result, and lists the other's mutations in the log.",
        cases: |bench| {
            let weights = StepWeights {
                call: 8,
                read: 2,
                save: 1,
                commit: 1,
                other_server: 5,
                ..StepWeights::default()
            };
            programs(bench, "two-servers", &weights)
        },
        shrink,
        ..Check::must(judge_everything)
    },
    Check {
        id: "model/previews",
        guarantees: &["preview-equals-result"],
        states: "Whatever happened before, a preview changes nothing, and its call does what the preview \
            showed.",
        explains: "In random programs, calls are preceded by their previews. `git apply` applies the preview's diff to \
                   the document's bytes; after the call the document must have exactly the resulting bytes. The \
                   preview of an impossible call is refused. A previewed call is accepted, unless the document has a \
                   person's uncommitted changes. Other calls are not judged here.",
        cases: |bench| {
            nonempty(generate::previewed(bench.subject), "the server has no previews")?;
            let weights = StepWeights { call: 1, preview: 8, save: 2, commit: 1, ..StepWeights::default() };
            programs(bench, "previews", &weights)
        },
        shrink,
        ..Check::must(|bench, case| play::play(bench, &case.read()?, Coverage::Previews))
    },
];

/// Returns random programs, which depend on the seed alone.
fn programs(bench: &Bench<'_>, name: &str, weights: &StepWeights) -> Result<Vec<Case>, Stop> {
    nonempty(
        generate::kinds(bench.subject),
        "no tool of the server declares a change of a document that the model knows",
    )?;
    let (programs, max_steps) = bench.pick((12, 12), (150, 30));
    let cases = (1..=programs).map(|number| {
        let mut dice = bench.dice(&format!("{name} {number}"));
        let program = generate::program(bench.subject, weights, max_steps, &mut dice);
        Case::new(format!("program {number}"), program)
    });
    Ok(cases.collect())
}

fn judge_everything(bench: &Bench<'_>, case: &Case) -> Judgement {
    play::play(bench, &case.read()?, Coverage::Everything)
}

fn shrink(case: &Case) -> Vec<Case> {
    let Ok(program) = case.read::<Program>() else {
        return Vec::new();
    };
    let smaller = shrink::smaller(&program).into_iter();
    smaller.map(|program| Case::new(case.name.clone(), program)).collect()
}
