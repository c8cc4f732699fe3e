//! Options that several commands have.

use std::path::{Path, PathBuf};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tabellion_upkeep::page::{Output, When};

/// Returns the parser of an option that takes one of these words, each with its help and its value.
pub(super) fn words<T: Copy + Send + Sync>(
    words: &'static [(&str, &str, T)],
) -> impl TypedValueParser<Value = T> {
    let known = words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(known).map(|given| {
        let found = words.iter().find(|(word, ..)| *word == given);
        found.expect("clap permits no other word").2
    })
}

// Each command has these options once; groups of them would clash with the commands' names.
/// The option for a library.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Library {
    /// Folder of the library; if omitted, the current folder
    #[arg(long = "library", value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(super) folder: PathBuf,
}

/// Which rows to look at.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Data {
    /// Data folder; if omitted, the environment variable TABELLION_DATA, else the system's place for the data of programs
    #[arg(long = "data", value_name = "DIR")]
    pub(super) folder: Option<PathBuf>,
}

/// Folders in which callers can name paths.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Workspaces {
    /// Folder of the host in which the call can name paths; may be repeated. If omitted: the work tree around the working directory,
    /// or that directory if there is none; never the root, the home folder or a folder of the system
    #[arg(long = "workspace", value_name = "DIR")]
    pub(super) folders: Vec<PathBuf>,
}

/// The form of the result.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Show {
    /// Print JSON for programs
    #[arg(long)]
    json: bool,

    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = words(&[
        ("auto", "On a terminal, unless the environment variable `NO_COLOR` is set", When::Auto),
        ("always", "Always", When::Always),
        ("never", "Never", When::Never),
    ]))]
    color: When,

    /// Don't use a pager; otherwise a terminal shows long output in `$PAGER`, or `less`
    #[arg(long)]
    no_pager: bool,
}

/// The options for a library, and for the form of the result.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct InLibrary {
    #[command(flatten)]
    library: Library,
    #[command(flatten)]
    show: Show,
}

impl InLibrary {
    /// Returns the library's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.library.folder
    }

    /// Returns the form of the result.
    pub(super) fn output(&self) -> Output {
        (&self.show).into()
    }
}

impl From<&Show> for Output {
    fn from(show: &Show) -> Self {
        Self { json: show.json, colour: show.color, pager: !show.no_pager }
    }
}
