//! The remote that a library is shared through.

use tabellion_library::RemoteStatus;

use super::super::{Subject, finding::Finding};

/// Says where the library stands in relation to its remote, as the last program that asked it has left word.
pub(super) fn state(subject: &Subject) -> Vec<Finding> {
    const ID: &str = "remote";
    let Some(library) = subject.library() else {
        return vec![];
    };
    let Some((settings, state)) = library.remote_settings().zip(library.remote_state()) else {
        return vec![Finding::green(ID, "the library is not shared through a remote")];
    };
    let (address, ahead) = (&settings.address, state.ahead);
    let (why, since) = match &state.trouble {
        Some((why, since)) => (why.as_str(), since.format("%Y-%m-%d %H:%M UTC").to_string()),
        None => ("", String::new()),
    };
    vec![match state.status {
        RemoteStatus::Published => {
            Finding::green(ID, format!("{address} has every commit, as far as is known"))
        }
        RemoteStatus::Pending => Finding::yellow(
            ID,
            format!("{address} lacks {ahead} commits"),
            "a running server pushes them; or `tabellion sync`",
        ),
        RemoteStatus::Unreachable => Finding::yellow(
            ID,
            format!("{address} lacks {ahead} commits and has not answered since {since}: {why}"),
            "`tabellion sync` tries again and says what is wrong",
        ),
        RemoteStatus::Refused | RemoteStatus::Blocked => Finding::red(
            ID,
            format!("{address} lacks {ahead} commits, and nothing goes on since {since}: {why}"),
            "do what the message says; `tabellion sync` then tries again",
        ),
    }]
}

/// Looks for versions of documents that could not be merged.
pub(super) fn conflicts(subject: &Subject) -> Vec<Finding> {
    const ID: &str = "conflicts";
    let Some(Ok(found)) = subject.library().map(tabellion_library::Library::conflicts) else {
        return vec![];
    };
    vec![match &found[..] {
        [] => Finding::green(ID, "no document waits for a decision between two machines"),
        [(path, _), rest @ ..] => Finding::yellow(
            ID,
            match rest.len() {
                0 => format!("`{path}` holds another machine's version of a document"),
                more => format!("`{path}` and {more} more hold another machine's version of a document"),
            },
            "`tabellion conflicts list` lists them; take what is missing into the document, and delete the file",
        ),
    }]
}
