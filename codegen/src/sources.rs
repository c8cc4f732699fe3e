//! The files of contracts, from a folder or from memory (read from git, for example).

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::problem::{Problem, Problems};

/// The JSON files of contracts by path below the schemas' folder: `notes/contract.json`,
/// `notes/tools/read_note.json`.
#[derive(Debug, Clone)]
pub struct Sources {
    root: PathBuf,
    files: BTreeMap<String, String>,
}

impl Sources {
    /// Returns every contract below `schemas`: each folder in it that has a `contract.json`, and the `tools/*.json` beside.
    ///
    /// # Errors
    /// If a folder or file can't be read.
    pub fn from_dir(schemas: &Path) -> Result<Self, Problems> {
        let name = schemas.file_name().unwrap_or(schemas.as_os_str());
        let mut sources = Self {
            root: PathBuf::from(name),
            files: BTreeMap::new(),
        };
        for folder in list(schemas).map_err(|error| sources.unreadable("", &error))? {
            let path = schemas.join(&folder).join("contract.json");
            if !path.is_file() {
                continue;
            }
            sources.read(&path, format!("{folder}/contract.json"))?;
            let tools = schemas.join(&folder).join("tools");
            for file in
                list(&tools).map_err(|error| sources.unreadable(&format!("{folder}/tools"), &error))?
            {
                if file.ends_with(".json") {
                    sources.read(&tools.join(&file), format!("{folder}/tools/{file}"))?;
                }
            }
        }
        Ok(sources)
    }

    /// Returns the contracts in `files`, whose keys are as in [`Sources`]; other files are ignored. Problems name files
    /// below `root`.
    pub fn from_map(root: impl Into<PathBuf>, files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            root: root.into(),
            files: files.into_iter().collect(),
        }
    }

    /// Returns the folders that hold a contract, sorted.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.files
            .keys()
            .filter_map(|file| file.strip_suffix("/contract.json"))
            .filter(|folder| !folder.contains('/'))
    }

    /// Returns the names of the tool files in `folder`, without `.json`, sorted.
    pub(crate) fn tools<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.keys().filter_map(move |file| {
            file.strip_prefix(folder)?
                .strip_prefix("/tools/")?
                .strip_suffix(".json")
        })
    }

    /// Returns the text of `file`.
    pub(crate) fn text(&self, file: &str) -> Option<&str> {
        self.files.get(file).map(String::as_str)
    }

    /// Returns the path of `file` in problems.
    pub(crate) fn label(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    fn read(&mut self, path: &Path, file: String) -> Result<(), Problems> {
        let text = fs::read_to_string(path).map_err(|error| self.unreadable(&file, &error))?;
        self.files.insert(file, text);
        Ok(())
    }

    fn unreadable(&self, file: &str, error: &io::Error) -> Problems {
        Problem {
            file: self.label(file),
            place: None,
            pointer: String::new(),
            message: format!("can't be read: {error}"),
            help: "a contract is a folder with `contract.json` and `tools/*.json`, in UTF-8".into(),
        }
        .into()
    }
}

/// Returns the names in `folder`, sorted, since a file system lists them in any order.
fn list(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
