//! `tabellion init`: makes a folder a library.

use std::path::{self, Path, PathBuf};

use tabellion_library::{self as library, CreateFolders, Created, Library, OpenError};
use tabellion_upkeep::{
    TerminalError, folder,
    page::{self, Output, Page},
};

/// The result for the folder.
enum Done {
    /// A repository or the folder was created; the top of the repository is this folder.
    New(Created, PathBuf),
    /// It was a library already.
    Already { branch: Option<String> },
}

/// Creates the folder and its repository if they are missing. A repository that exists is left as it is.
///
/// # Errors
/// If the folder can only be a mistake, the library can't be created, or standard output can't be written.
pub fn init(folder: &Path, output: Output) -> Result<(), TerminalError> {
    folder::check(folder).map_err(TerminalError::new)?;
    let done = match Library::inspect(folder) {
        Ok(library) => Done::Already { branch: library.place()?.branch },
        Err(OpenError::Missing { .. } | OpenError::NoRepository(_)) => {
            let options = library::Options { create: CreateFolders::All, ..library::Options::default() };
            let library = Library::open(folder, options)?;
            match library.created() {
                Some(created) => Done::New(created.clone(), library.repository_facts().top),
                None => Done::Already { branch: library.place()?.branch },
            }
        }
        Err(error) => return Err(error.into()),
    };
    let folder = path::absolute(folder)?.canonicalize()?;
    if output.json {
        let (created, repository) = match &done {
            Done::New(Created::Folder { .. }, top) => (true, *top == folder),
            Done::New(Created::Repository, _) => (false, true),
            Done::Already { .. } => (false, false),
        };
        return Ok(page::json(&serde_json::json!({
            "library": folder, "createdFolder": created, "createdRepository": repository,
        }))?);
    }
    let shown = folder.display();
    let mut page = Page::new(output);
    match done {
        Done::New(Created::Folder { similar }, top) => {
            page.line(&if top == folder {
                format!("created the folder `{shown}` with a git repository")
            } else {
                format!("created the folder `{shown}` in the git repository `{}`", top.display())
            });
            if let Some(similar) = similar {
                page.line(&format!("if you meant `{}`, delete the new folder", similar.display()));
            }
        }
        Done::New(Created::Repository, _) => {
            page.line(&format!(
                "created a git repository in `{shown}`: branch `main`, with an empty first commit"
            ));
            page.line("your files stay as they are, and untracked until an agent first changes one");
        }
        Done::Already { branch } => {
            let branch =
                branch.map_or("no branch is checked out".into(), |branch| format!("branch `{branch}`"));
            page.line(&format!("`{shown}` is a library already ({branch}); nothing was changed"));
        }
    }
    Ok(page.show()?)
}
