//! The files of contracts, from a folder or from memory (read from git, for example).

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::problem::{Problem, Problems};

/// The JSON files of contracts by path below the schemas' folder: `notes/contract.json`,
/// `notes/tools/read_note.json`, `desk/operations/ticket/open.json`.
#[derive(Debug, Clone)]
pub struct Sources {
    root: PathBuf,
    files: BTreeMap<String, String>,
}

impl Sources {
    /// Returns every contract below `schemas`: each folder in it that has a `contract.json`, and the `tools/*.json`, `operations/*/*.json`
    /// and `entities/*.json` next to it.
    ///
    /// # Errors
    /// If a folder or file can't be read.
    pub fn from_dir(schemas: &Path) -> Result<Self, Problems> {
        let name = schemas.file_name().unwrap_or(schemas.as_os_str());
        let mut sources = Self { root: PathBuf::from(name), files: BTreeMap::new() };
        for folder in list(schemas).map_err(|error| sources.unreadable("", &error))? {
            if schemas.join(&folder).join("contract.json").is_file() {
                sources.read_contract(schemas, &folder)?;
            }
        }
        Ok(sources)
    }

    /// Returns the one contract in `folder`. Problems name the folder as given.
    ///
    /// # Errors
    /// If it has no `contract.json`, or a file can't be read.
    pub fn from_contract(folder: &Path) -> Result<Self, Problems> {
        let mut sources =
            Self { root: folder.parent().unwrap_or(Path::new("")).to_path_buf(), files: BTreeMap::new() };
        let name = match folder.file_name() {
            Some(name) => name.to_owned(),
            // Such as `.` and `..`.
            None => {
                let whole = folder.canonicalize();
                let whole = whole.map_err(|error| sources.unreadable(&folder.to_string_lossy(), &error))?;
                sources.root = whole.parent().unwrap_or(&whole).to_path_buf();
                whole.file_name().unwrap_or_default().to_owned()
            }
        };
        let root = sources.root.clone();
        sources.read_contract(&root, &name.to_string_lossy())?;
        Ok(sources)
    }

    fn read_contract(&mut self, schemas: &Path, folder: &str) -> Result<(), Problems> {
        let path = schemas.join(folder);
        self.read(&path.join("contract.json"), format!("{folder}/contract.json"))?;
        self.read_folder(&path.join("tools"), &format!("{folder}/tools"))?;
        if path.join("entities").is_dir() {
            self.read_folder(&path.join("entities"), &format!("{folder}/entities"))?;
        }
        let operations = path.join("operations");
        if !operations.is_dir() {
            return Ok(());
        }
        let below = format!("{folder}/operations");
        for tool in list(&operations).map_err(|error| self.unreadable(&below, &error))? {
            if operations.join(&tool).is_dir() {
                self.read_folder(&operations.join(&tool), &format!("{below}/{tool}"))?;
            }
        }
        Ok(())
    }

    /// Reads the JSON files of a folder, called `name` in the keys.
    fn read_folder(&mut self, folder: &Path, name: &str) -> Result<(), Problems> {
        for file in list(folder).map_err(|error| self.unreadable(name, &error))? {
            if file.ends_with(".json") {
                self.read(&folder.join(&file), format!("{name}/{file}"))?;
            }
        }
        Ok(())
    }

    /// Returns the contracts in `files`, whose keys are as in [`Sources`]; other files are ignored. Problems name files
    /// below `root`.
    pub fn from_map(root: impl Into<PathBuf>, files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { root: root.into(), files: files.into_iter().collect() }
    }

    /// Returns the folders that contain a contract, sorted.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.files
            .keys()
            .filter_map(|file| file.strip_suffix("/contract.json"))
            .filter(|folder| !folder.contains('/'))
    }

    /// Returns the names of the tool files in `folder`, without `.json`, sorted.
    pub(crate) fn tools<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.below(folder, "/tools/")
    }

    /// Returns the tool and the name of each operation file in `folder`, sorted.
    pub(crate) fn operations<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.below(folder, "/operations/").filter_map(|file| file.split_once('/'))
    }

    /// Returns the names of the entity files in `folder`, without `.json`, sorted.
    pub(crate) fn entities<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.below(folder, "/entities/")
    }

    fn below<'a>(&'a self, folder: &'a str, part: &'a str) -> impl Iterator<Item = &'a str> {
        self.files
            .keys()
            .filter_map(move |file| file.strip_prefix(folder)?.strip_prefix(part)?.strip_suffix(".json"))
    }

    pub(crate) fn text(&self, file: &str) -> Option<&str> {
        self.files.get(file).map(String::as_str)
    }

    /// Returns the path of `file` in problems.
    pub(crate) fn label(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Returns the path of a contract's folder in the head of its module, with `/` on every system.
    pub(crate) fn shown(&self, folder: &str) -> String {
        self.label(folder).display().to_string().replace('\\', "/")
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
