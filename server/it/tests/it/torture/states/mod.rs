//! Repositories in unusual states, made by the real git: each is served as any other is, or says why not.
//!
//! A [`State`] is data: a shell script that brings it about, and what is expected. [`hold`] makes it, lets a person leave
//! work in it, serves it, and compares everything on the disk before and after; then the person goes on with git.

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

/// A repository in some state, and what is to come of it.
#[derive(Debug, Clone, Copy)]
struct State {
    name: &'static str,
    /// Brings the state about, from a repository of a few files, in its folder `$T/lib`.
    make: &'static str,
    /// Goes on after a person has left work in the library.
    then: &'static str,
    /// The library's folder.
    library: &'static str,
    /// The environment that the server is started in, as a script.
    environment: &'static str,
    /// The documents that are created, edited and deleted.
    documents: [&'static str; 3],
    /// Documents that are not changed, and why.
    refused: &'static [(&'static str, &'static str)],
    expected: Expected,
    /// Whether git itself finds faults, before and after.
    damaged: bool,
}

#[derive(Debug, Clone, Copy)]
enum Expected {
    /// Every tool works, and each change is exactly one commit.
    Served,
    /// Only the documents of `refused` are tried: they can be read, but not changed.
    Refused,
    /// The server does not start, and says why.
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

    /// `refused` are documents that are there, or could be, and a part of what is said when one of them is to be changed.
    const fn refused(
        name: &'static str,
        make: &'static str,
        refused: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            refused,
            expected: Expected::Refused,
            ..Self::served(name, make)
        }
    }

    /// `said` is a part of the message on standard error.
    const fn not_started(name: &'static str, make: &'static str, said: &'static str) -> Self {
        Self {
            expected: Expected::NotStarted(said),
            ..Self::served(name, make)
        }
    }

    const fn at(self, library: &'static str) -> Self {
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
        Self {
            damaged: true,
            ..self
        }
    }
}

/// Holds each state to what is expected of it; says of all of them that failed.
fn hold(states: &[State]) {
    let failed: Vec<_> = states
        .iter()
        .filter(|state| panic::catch_unwind(AssertUnwindSafe(|| hold_one(state))).is_err())
        .map(|state| state.name)
        .collect();
    assert!(failed.is_empty(), "see above: {failed:?}");
}

fn hold_one(state: &State) {
    let scene = Scene::of(*state);
    match state.expected {
        Expected::NotStarted(said) => served::does_not_start(&scene, said),
        Expected::Refused => served::only_reads(&scene),
        Expected::Served => served::as_any_other(&scene),
    }
}
