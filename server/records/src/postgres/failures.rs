//! Classifies PostgreSQL's errors by their remedy.

use tabellion_runtime::{Failure, FailureKind, StoreError};
use tokio_postgres::Error;

/// Cause of a failed statement.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Another change came first: the plan must be made again.
    Conflict,
    /// The connection is lost, or no longer usable.
    Lost(Error),
    /// An error that an immediate retry would not solve.
    Failure(Failure),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let Some(database) = error.as_db_error() else {
            return if error.is_closed()
                || std::error::Error::source(&error).is_some_and(|it| it.is::<std::io::Error>())
            {
                Self::Lost(error)
            } else {
                Self::Failure(internal(&error))
            };
        };
        let code = database.code().code();
        let advice = |kind, message: &str| Self::Failure(Failure::new(kind, message));
        match code {
            // Serialization, deadlock, unique value, reference.
            "40001" | "40P01" | "23505" | "23503" => Self::Conflict,
            "55P03" | "57014" | "53300" | "25P03" => {
                Self::Failure(Failure::busy("the database is busy; nothing has changed, try again"))
            }
            "53100" => advice(
                FailureKind::Io,
                "the database's disk is full; free some space there; nothing has changed",
            ),
            "54000" | "22001" => advice(FailureKind::TooLarge, "a value is too large to be kept"),
            "22021" | "22P05" => {
                advice(FailureKind::Invalid, "a text has the character U+0000, which no text can have")
            }
            "42501" => advice(
                FailureKind::Io,
                "the database refuses the server's user; run `tabellion data migrate` as the tables' owner, or grant it the tables (`tabellion data sql`)",
            ),
            "42P01" | "42703" | "3F000" => advice(
                FailureKind::Io,
                "the database's tables are not those of this program; `tabellion doctor` says more",
            ),
            // A prepared statement that another session made, or that this one should have.
            "42P05" | "26000" => advice(
                FailureKind::Io,
                "a pooler between the server and the database does not keep prepared statements: use pgbouncer 1.21 or newer with \
                 `max_prepared_statements` above 0, or connect to the database itself",
            ),
            // A standby, or a server that ends or begins.
            "25006" => Self::Lost(error),
            code if code.starts_with("57P") || code.starts_with("08") => Self::Lost(error),
            _ => Self::Failure(internal(&error)),
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Fault {
    /// Returns the failure of an operation that changed nothing.
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Conflict => Failure::busy("others change the same data; nothing has changed, try again"),
            Self::Lost(error) => away().with_source(error),
            Self::Failure(failure) => failure,
        }
    }
}

/// Returns the failure of a database that can't be reached.
pub(crate) fn away() -> Failure {
    Failure::busy("the database can't be reached; nothing has changed, try again")
}

/// Returns the failure of a change that may have been made.
pub(crate) fn unknown(id: &str) -> Failure {
    let message = "the database went away while the change was made, and did not come back in time: it may have been made; repeat the \
                   call with the same idempotency key, or read first";
    Failure::new(FailureKind::Io, message).with("rule", "unknown_outcome").with("change", id)
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        fault.failure()
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Conflict => Self::Conflict,
            fault => Self::Failure(fault.failure()),
        }
    }
}

/// PostgreSQL's message goes to the log only.
fn internal(error: &Error) -> Failure {
    let detail = error
        .as_db_error()
        .map_or_else(|| error.to_string(), |error| format!("{} ({})", error.message(), error.code().code()));
    Failure::internal(format!("the database failed: {detail}"))
}
