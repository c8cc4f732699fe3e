//! A client's configuration file: lists its entries, and installs and removes one.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::{
    Client, Server,
    edit::{self, EditError},
    file::{Backup, File, FileError, Origin},
    tree::Kind,
};

/// The byte order mark.
const BOM: &str = "\u{feff}";

/// Error when reading or changing a configuration. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its text can't be edited.
    #[error("`{path}`: {source}")]
    Edit {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: EditError,
    },
    /// An entry of that name is for another server.
    #[error("`{path}` has an entry `{name}` that is not Tabellion's; {advice}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The entry's name.
        name: String,
        /// The remedy.
        advice: &'static str,
    },
}

/// Effect of a change on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Adds the entry.
    Add,
    /// Replaces an entry.
    Update,
    /// Removes the entry.
    Remove,
    /// No change: the file is as it should be.
    Nothing,
}

/// Treatment of an existing entry that is not Tabellion's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Replaces it.
    Yes,
    /// Refuses the change.
    No,
}

/// The content of a client's configuration file when it was read.
#[derive(Debug)]
pub struct Config {
    client: &'static Client,
    path: PathBuf,
    file: File,
}

impl Config {
    /// Reads the file at `path`, which need not exist.
    ///
    /// # Errors
    /// [`ConfigError::File`].
    pub fn read(client: &'static Client, path: &Path) -> Result<Self, ConfigError> {
        Ok(Self { client, path: path.to_owned(), file: File::read(path)? })
    }

    /// Returns the server of the entry called `name`, as the client reads it; `None` if there is no such entry, or it has
    /// neither a command nor a URL.
    ///
    /// # Errors
    /// [`ConfigError::Edit`] if the file is broken.
    pub fn server(&self, name: &str) -> Result<Option<Server>, ConfigError> {
        let entry = self.entry(name, self.text())?;
        Ok(entry.and_then(|entry| self.client.server(&entry)))
    }

    /// Returns the names of all of Tabellion's entries.
    ///
    /// # Errors
    /// [`ConfigError::Edit`] if the file is broken.
    pub fn ours(&self) -> Result<Vec<String>, ConfigError> {
        self.ours_in(self.text())
    }

    fn ours_in(&self, text: &str) -> Result<Vec<String>, ConfigError> {
        let place = self.client.place("");
        let root = edit::check(self.client.format(), text, place).map_err(|source| self.edit(source))?;
        let servers = root.as_ref().and_then(|root| root.get(place.servers));
        let entries: Vec<(String, Value)> = match servers.map(|servers| &servers.kind) {
            Some(Kind::Map(members)) => {
                members.iter().map(|member| (member.key.clone(), member.value.to_json())).collect()
            }
            Some(Kind::List(items)) => items
                .iter()
                .filter_map(|item| Some((item.get("name")?.as_str()?.to_owned(), item.to_json())))
                .collect(),
            _ => vec![],
        };
        let ours = entries.into_iter().filter(|(name, entry)| self.is_ours(name, entry));
        Ok(ours.map(|(name, _)| name).collect())
    }

    fn is_ours(&self, name: &str, entry: &Value) -> bool {
        self.client.server(entry).is_some_and(|server| server.is_ours(name))
    }

    /// Plans to add the entry `wanted` as `name`, or to update Tabellion's entry of that name. Keeps fields that a person added to it.
    ///
    /// # Errors
    /// [`ConfigError`]: the file is broken, or has an entry of that name that is not Tabellion's.
    pub fn install(
        self,
        name: &str,
        server: &Server,
        wanted: &Value,
        force: Force,
    ) -> Result<Change, ConfigError> {
        let wanted = self.client.named(name, wanted);
        let text = self.text();
        let Some(old) = self.entry(name, text)? else {
            let base = match &self.file.text {
                None => &self.client.new_file,
                Some(_) => text,
            };
            let new = self.insert(base, name, &wanted)?;
            let is_first = self.ours()?.is_empty();
            let backup = if is_first { Backup::Keep } else { Backup::Leave };
            return Ok(self.change(Action::Add, Some(new), backup));
        };
        let is_ours = self.is_ours(name, &old);
        if !is_ours && old != wanted && force == Force::No {
            let advice = "choose a different `--name`, or replace it with `--force`";
            return Err(ConfigError::Foreign { path: self.path, name: name.into(), advice });
        }
        let new = if is_ours { self.merged(&old, server, &wanted) } else { wanted };
        if new == old {
            return Ok(self.change(Action::Nothing, None, Backup::Leave));
        }
        let backup = if self.ours()?.is_empty() { Backup::Keep } else { Backup::Leave };
        let without = self.without(name, text, &old)?;
        let new = self.insert(&without, name, &new)?;
        Ok(self.change(Action::Update, Some(new), backup))
    }

    /// Plans to remove the entry called `name`. If nothing else was changed since it was added, the original bytes are restored;
    /// a file that was created for it is removed.
    ///
    /// # Errors
    /// [`ConfigError`]: the file is broken, or the entry is not Tabellion's.
    pub fn uninstall(self, name: &str, force: Force) -> Result<Change, ConfigError> {
        let text = self.text();
        let Some(old) = self.entry(name, text)? else {
            return Ok(self.change(Action::Nothing, None, Backup::Leave));
        };
        if !self.is_ours(name, &old) && force == Force::No {
            let advice = "`--force` removes it";
            return Err(ConfigError::Foreign { path: self.path, name: name.into(), advice });
        }
        let new = self.without(name, text, &old)?;
        let new = self.with_replaced(name, new)?;
        let mut change = Change {
            forget: self.ours_in(&new)?.is_empty(),
            ..self.change(Action::Remove, Some(new), Backup::Leave)
        };
        let origin = change.config.file.origin();
        if let Some(Origin::Nothing(_)) = origin {
            let new = change.new.as_deref().map(strip_bom).unwrap_or_default();
            if change.forget && change.config.is_as_new(new) {
                change.new = None;
            }
        }
        Ok(change)
    }

    /// Returns true if a text has only the content of a new file.
    fn is_as_new(&self, text: &str) -> bool {
        let place = self.client.place("");
        let members =
            |text: &str| edit::parse(self.client.format(), text).map(|root| place.without(root.as_ref()));
        matches!((members(text), members(&self.client.new_file)), (Ok(text), Ok(new)) if text == new)
    }

    fn text(&self) -> &str {
        strip_bom(self.file.text.as_deref().unwrap_or_default())
    }

    fn entry(&self, name: &str, text: &str) -> Result<Option<Value>, ConfigError> {
        let place = self.client.place(name);
        let root = edit::check(self.client.format(), text, place).map_err(|source| self.edit(source))?;
        let entry = root.as_ref().and_then(|root| place.entry(root));
        Ok(entry.map(crate::tree::Node::to_json))
    }

    /// Returns our old entry with the fields of the new one, and those that a person added.
    fn merged(&self, old: &Value, server: &Server, new: &Value) -> Value {
        let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
            return new.clone();
        };
        let obsolete = self.client.fields_of_others(server);
        let mut merged: Map<String, Value> = old
            .iter()
            .filter(|(key, _)| !obsolete.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        // A switch that a person turned off stays off.
        let is_switch = |key: &str| key == "enabled" && merged.contains_key(key);
        let new: Vec<_> = new.iter().filter(|(key, _)| !is_switch(key)).collect();
        for (key, value) in new {
            merged.insert(key.clone(), value.clone());
        }
        Value::Object(merged)
    }

    fn insert(&self, text: &str, name: &str, entry: &Value) -> Result<String, ConfigError> {
        let place = self.client.place(name);
        edit::insert(self.client.format(), text, place, entry).map_err(|source| self.edit(source))
    }

    /// Returns the text without the entry, whose value is `entry`.
    fn without(&self, name: &str, text: &str, entry: &Value) -> Result<String, ConfigError> {
        let (format, place) = (self.client.format(), self.client.place(name));
        let origin = self.origin().map(|origin| {
            // The original has an entry of this name if that was replaced by force.
            edit::remove(format, &origin, place).unwrap_or(origin)
        });
        if let Some(origin) = &origin
            && let Some(new) = self.replayed(origin, name, text, entry)
        {
            return Ok(new);
        }
        let new = edit::remove(format, text, place).map_err(|source| self.edit(source))?;
        let had_servers = origin.is_none_or(|origin| {
            let root = edit::parse(format, &origin);
            root.is_ok_and(|root| root.is_some_and(|root| root.get(place.servers).is_some()))
        });
        if had_servers {
            return Ok(new);
        }
        Ok(edit::remove_servers(format, &new, place))
    }

    /// Returns the text from before our first entry, if it is known.
    fn origin(&self) -> Option<String> {
        match self.file.origin()? {
            Origin::File(text) => Some(strip_bom(&text).to_owned()),
            Origin::Nothing(_) => Some(self.client.new_file.clone()),
        }
    }

    /// Restores the entry that the removed one had replaced by force, if any, and returns the text.
    fn with_replaced(&self, name: &str, text: String) -> Result<String, ConfigError> {
        let Some(origin) = self.origin() else {
            return Ok(text);
        };
        let Ok(Some(replaced)) = self.entry(name, &origin) else {
            return Ok(text);
        };
        let bare = edit::remove(self.client.format(), &origin, self.client.place(name));
        if bare.as_ref() == Ok(&text) {
            return Ok(origin);
        }
        self.insert(&text, name, &replaced)
    }

    /// Returns `origin` with all of our entries but this one, if `text` is `origin` with all of them: then there were no other
    /// changes since.
    fn replayed(&self, origin: &str, name: &str, text: &str, entry: &Value) -> Option<String> {
        let mut entries = vec![];
        for other in self.ours_in(text).ok()? {
            let entry = self.entry(&other, text).ok()??;
            entries.push((other, entry));
        }
        if entries.iter().all(|(other, _)| other != name) {
            entries.push((name.to_owned(), entry.clone()));
        }
        let with = |entries: &[&(String, Value)]| {
            entries.iter().try_fold(origin.to_owned(), |text, (name, entry)| {
                edit::insert(self.client.format(), &text, self.client.place(name), entry).ok()
            })
        };
        // A new entry is the first in some formats, the last in others.
        let forth: Vec<_> = entries.iter().collect();
        let back: Vec<_> = entries.iter().rev().collect();
        let order = [forth, back].into_iter().find(|order| with(order).as_deref() == Some(text))?;
        let others: Vec<_> = order.into_iter().filter(|(other, _)| other != name).collect();
        with(&others)
    }

    fn change(self, action: Action, new: Option<String>, backup: Backup) -> Change {
        let bom = self.file.text.as_deref().is_some_and(|text| text.starts_with(BOM));
        let new = new.map(|new| if bom { [BOM, &new].concat() } else { new });
        Change { config: self, action, new, backup, forget: false }
    }

    fn edit(&self, source: EditError) -> ConfigError {
        ConfigError::Edit { path: self.path.clone(), source }
    }
}

fn strip_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// A planned change of a configuration file, not yet written.
#[derive(Debug)]
#[must_use]
pub struct Change {
    config: Config,
    action: Action,
    /// The new text; `None` removes the file.
    new: Option<String>,
    backup: Backup,
    /// Set if the record of the original is no longer needed.
    forget: bool,
}

impl Change {
    /// Returns the effect of the change.
    pub fn action(&self) -> Action {
        self.action
    }

    /// Returns the file's path, as the client knows it.
    pub fn path(&self) -> &Path {
        &self.config.path
    }

    /// Returns the file's old text; `None` if it does not exist.
    pub fn before(&self) -> Option<&str> {
        self.config.file.text.as_deref()
    }

    /// Returns the file's new text; `None` if it is removed.
    pub fn after(&self) -> Option<&str> {
        match self.action {
            Action::Nothing => self.before(),
            _ => self.new.as_deref(),
        }
    }

    /// Writes the change: a backup first, then the file, atomically.
    ///
    /// # Errors
    /// [`FileError`]; the file is then as before.
    pub fn write(self) -> Result<Written, FileError> {
        let Self { config, new, .. } = self;
        let old = config.file;
        if self.action == Action::Nothing {
            let file = old.clone();
            return Ok(Written { old, file, backup: Backup::Leave });
        }
        let created = match old.origin() {
            Some(Origin::Nothing(created)) => Some(created),
            _ => None,
        };
        let written = old.write(new.as_deref(), self.backup);
        let file = File { path: old.path.clone(), text: new };
        if let Err(error) = written {
            if self.backup == Backup::Keep {
                undo_origin(&old);
            }
            return Err(error);
        }
        if self.forget {
            file.forget_origin()?;
            if let (None, Some(created)) = (&file.text, created) {
                file.remove_folders(&created);
            }
        }
        Ok(Written { old, file, backup: self.backup })
    }
}

/// Removes the record of the original, and folders created with it.
fn undo_origin(file: &File) {
    let origin = file.origin();
    let _ = file.forget_origin();
    if let Some(Origin::Nothing(created)) = origin {
        file.remove_folders(&created);
    }
}

/// A written change, which can be undone.
#[derive(Debug)]
#[must_use]
pub struct Written {
    old: File,
    file: File,
    backup: Backup,
}

impl Written {
    /// Restores the file from before an installation.
    ///
    /// # Errors
    /// [`FileError`], for example if another program has changed the file since.
    pub fn undo(self) -> Result<(), FileError> {
        if self.old.text == self.file.text {
            return Ok(());
        }
        self.file.write(self.old.text.as_deref(), Backup::Leave)?;
        if self.backup == Backup::Keep {
            undo_origin(&self.file);
        }
        Ok(())
    }
}
