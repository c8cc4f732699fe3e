//! Repositories in unusual states, made by git itself: the server serves each as usual, or refuses it with a reason.
//!
//! A [`State`] is data: a shell script that creates it, and the expected behaviour. [`hold`] creates it, adds a person's
//! uncommitted work, serves it, and compares the disk before and after; then the person continues with git.

mod attributes;
mod damage;
mod formats;
mod marks;
mod picture;
mod places;
mod programs;
mod refusals;
mod scene;
mod served;
mod sharing;

use std::panic::{self, AssertUnwindSafe};

use self::scene::Scene;

/// A repository in some state, and the server's expected behaviour.
#[derive(Debug, Clone, Copy)]
struct State {
    name: &'static str,
    /// A script that creates the state from a repository of a few files in `$T/lib`.
    make: &'static str,
    /// A script that runs after a person has left work in the library.
    then: &'static str,
    /// The library's folder.
    library: &'static str,
    /// The environment that the server is started in, as a script.
    environment: &'static str,
    /// The documents that are created, edited and deleted.
    documents: [&'static str; 3],
    /// Documents that can't be changed, each with the reason.
    refused: &'static [(&'static str, &'static str)],
    expected: Expected,
    /// True if git itself finds faults, before and after.
    damaged: bool,
}

#[derive(Debug, Clone, Copy)]
enum Expected {
    /// Every tool works, and each change is exactly one commit.
    Served,
    /// Only the documents of `refused` are tried: they can be read, but not changed.
    Refused,
    /// The server does not start, with a message.
    NotStarted(&'static str),
}

impl State {
    const fn served(name: &'static str, make: &'static str) -> Self {
        Self {
            name,
            make,
            then: "",
            library: "lib",
            environment: "",
            documents: ["notes/new.md", "notes/a.md", "notes/gone.md"],
            refused: &[],
            expected: Expected::Served,
            damaged: false,
        }
    }

    /// `refused` are existing or possible documents, each with a part of the message of the refusal.
    const fn refused(
        name: &'static str,
        make: &'static str,
        refused: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { refused, expected: Expected::Refused, ..Self::served(name, make) }
    }

    /// `said` is a part of the message on standard error.
    const fn not_started(name: &'static str, make: &'static str, said: &'static str) -> Self {
        Self { expected: Expected::NotStarted(said), ..Self::served(name, make) }
    }

    const fn with_library(self, library: &'static str) -> Self {
        Self { library, ..self }
    }

    const fn then(self, then: &'static str) -> Self {
        Self { then, ..self }
    }

    const fn within(self, environment: &'static str) -> Self {
        Self { environment, ..self }
    }

    const fn changing(self, documents: [&'static str; 3]) -> Self {
        Self { documents, ..self }
    }

    const fn but(self, refused: &'static [(&'static str, &'static str)]) -> Self {
        Self { refused, ..self }
    }

    const fn damaged(self) -> Self {
        Self { damaged: true, ..self }
    }
}

/// Checks each state; reports all that failed.
fn hold(states: &[State]) {
    let failed: Vec<_> = states
        .iter()
        .filter(|state| panic::catch_unwind(AssertUnwindSafe(|| hold_one(state))).is_err())
        .map(|state| state.name)
        .collect();
    assert!(failed.is_empty(), "see above: {failed:?}");
}

fn hold_one(state: &State) {
    let scene = Scene::new(*state);
    match state.expected {
        Expected::NotStarted(said) => served::does_not_start(&scene, said),
        Expected::Refused => served::only_reads(&scene),
        Expected::Served => served::as_any_other(&scene),
    }
}
