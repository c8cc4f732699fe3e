//! Writes reports to files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::trouble::Trouble;
use tabellion_conformance::report::{Report, badge, compare::Comparison, html, junit, markdown, sarif};

/// Files to write, by format.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reports")]
pub(super) struct Outputs {
    /// Write JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write SARIF, for a code host
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write Markdown, for a pull request comment
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write an SVG badge
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
}

impl Outputs {
    /// Writes the requested formats of reports of one contract. SARIF shows results at `file`.
    pub(super) fn write(&self, reports: &[Report], file: &str) -> Result<(), Trouble> {
        let comparison = Comparison::new(reports)?;
        write(self.markdown.as_deref(), || Ok(markdown::markdown(&comparison)))?;
        write(self.html.as_deref(), || Ok(html::page(&comparison)))?;
        let only = || match reports {
            [only] => Ok(only),
            _ => Err(Trouble::Usage("`--junit`, `--sarif` and `--badge` take one report".to_owned())),
        };
        write(self.junit.as_deref(), || Ok(junit::junit(only()?)))?;
        write(self.sarif.as_deref(), || Ok(sarif::sarif(only()?, file)))?;
        write(self.badge.as_deref(), || Ok(badge::badge(only()?)))
    }

    /// Returns the requested files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let Self { junit, sarif, markdown, html, badge } = self;
        [junit, sarif, markdown, html, badge].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Returns true if no format is requested.
    pub(super) fn is_empty(&self) -> bool {
        self.files().next().is_none()
    }
}

/// Fails if a file can't be written because its folder is missing: before a run, which takes minutes.
pub(super) fn ensure_folder(file: &Path) -> Result<(), Trouble> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(Trouble::Usage(format!(
            "can't write `{}`: there is no folder `{}`",
            file.display(),
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// Writes a file, if requested.
pub(super) fn write(
    file: Option<&Path>,
    text: impl FnOnce() -> Result<String, Trouble>,
) -> Result<(), Trouble> {
    let Some(file) = file else { return Ok(()) };
    let text = text()?;
    fs::write(file, text)
        .map_err(|error| Trouble::Harness(format!("can't write `{}`: {error}", file.display())))
}
