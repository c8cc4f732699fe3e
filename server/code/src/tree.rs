//! Trees to index: the files of a folder, or any source that lists and reads texts.

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use tabellion_platform::{
    Dir, slashed,
    walk::{Walk, WalkError},
};

use crate::{
    CodeError, Stop,
    values::{Extensions, segments, with_slashes},
};

/// Folders of built or fetched files; skipped unless they are named.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", "__pycache__"];

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its branch; empty if there are none.
    pub branch: String,
    /// Its path from the tree's root, with `/`.
    pub path: String,
    /// SHA-1 of its blob, if it is known without reading the file.
    pub blob: Option<[u8; 20]>,
    /// The choice to index it or not.
    pub choice: Choice,
}

/// The choice to index a file or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It is taken whatever its content: the caller has named it.
    Always,
    /// It is taken unless it is minified.
    Written,
    /// It is left out, and counted: by its name, it has secrets or is made from other files; or it is a repository of its own.
    LeftOut,
    /// It can't be read: its name is not UTF-8.
    NotUtf8,
}

/// Files that are left out by their names in any case, as lines of `.gitignore`: files with secrets, which no search should show, and files
/// made from other files. A caller's line such as `!.env` takes them. Sources are not among them: `secret.rs` has code.
const LEFT_OUT: &[&str] = &[
    // Settings of environments.
    "{.env,.envrc,.dev.vars}",
    ".env[._-]*",
    ".dev.vars.*",
    "*.{env,env.local}",
    // Keys.
    "*.{pem,key,p8,p12,pk8,pfx,ppk,jks,keystore,kdbx,agekey,ovpn,publishsettings}",
    "*_{rsa,dsa,ecdsa,ed25519,ecdsa_sk,ed25519_sk}",
    "{key,keystore,signing,local}.properties",
    // Accounts of tools.
    ".{netrc,npmrc,yarnrc,yarnrc.yml,pypirc,pgpass,my.cnf,htpasswd,credentials,git-credentials,dockercfg,dockerconfigjson}",
    ".{vault-token,terraformrc,s3cfg,boto,passwd-s3fs,msmtprc,sentryclirc,clasprc.json,databrickscfg,ftpconfig,*_history}",
    "{_netrc,terraform.rc,credentials.tfrc.json,rclone.conf,ngrok.yml,kaggle.json,sftp-config.json,kubeconfig,wp-config.php}",
    "{.vault-,.vault_,vault-,vault_}{pass,password,pass.txt,password.txt}",
    "**/.aws/credentials",
    "**/.bundle/config",
    "**/.cargo/{credentials,credentials.toml}",
    "**/.composer/auth.json",
    "**/.docker/config.json",
    "**/.gem/credentials",
    "**/.gradle/gradle.properties",
    "**/.kube/config",
    "**/.m2/settings.xml",
    "**/.vscode/sftp.json",
    "**/gh/hosts.yml",
    // Composer's; elsewhere it may be a translation.
    "/auth.json",
    "*.kubeconfig",
    "kubeconfig.y*ml",
    "{google-services.json,GoogleService-Info.plist}",
    "{*service-account,*service_account,*serviceaccount,*firebase-adminsdk,client-secret,client_secret}*.json",
    "*[-_]credentials.json",
    // A name for secrets, and an extension of data.
    "{secret,secrets,credential,credentials,password,passwords,passwd}",
    "{secret,secrets,credential,credentials,password,passwords,passwd,apikey,apikeys,api-key,api-keys,api_key,api_keys}.{txt,json,toml,y*ml,ini,cfg,conf,csv,properties,xml,xcconfig,plist}",
    "{secret,secrets,credential,credentials}.*.{json,toml,y*ml,ini,properties}",
    "*.{tfstate,tfvars,tfvars.json}",
    "*.tfstate.*",
    // Templates have none.
    "!.env*.{example,sample,template,dist}",
    "!{example,sample,template}.env",
    "!*.{example,sample,template}.{json,toml,y*ml,ini,properties,env}",
    "*.min.{js,mjs,cjs,css}",
    "*.{js,css}.map",
];

/// Minimum bytes of a minified script or style sheet, and of its lines on average.
const MINIFIED_BYTES: usize = 1024;
const MINIFIED_LINE: usize = 300;

/// Returns true if a text is a bundler's output: a script or style sheet whose lines are longer than people write.
pub(crate) fn is_minified(path: &str, text: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "js" | "mjs" | "cjs" | "css")
        && text.len() >= MINIFIED_BYTES
        && text.len() / text.lines().count().max(1) >= MINIFIED_LINE
}

/// Files to be indexed.
pub trait Tree: Sync {
    /// Lists the files. Asks `stop` often.
    ///
    /// # Errors
    /// If any of them can't be listed, so that none is taken for removed; [`CodeError::Ended`] if it was stopped.
    fn entries(&self, stop: &Stop) -> Result<Vec<Entry>, CodeError>;

    /// Reads a file.
    ///
    /// # Errors
    /// If it can't be read: it counts as failed, and is not indexed.
    fn read(&self, entry: &Entry) -> io::Result<Vec<u8>>;
}

/// The rules that select files of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Extensions, with or without the dot, or names of languages; without any, all files are taken.
    pub extensions: Vec<String>,
    /// Folders that are left out: names of folders anywhere, and paths (`src/generated`) from the root.
    pub exclude_dirs: Vec<String>,
    /// Lines as in `.gitignore`.
    pub ignore_patterns: Vec<String>,
    /// Bytes of a file, at most; larger ones fail.
    pub max_file_size: u64,
    /// True if links to folders and files are followed, as far as their targets are in the folder.
    pub follow_symlinks: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            extensions: vec![],
            exclude_dirs: vec![],
            ignore_patterns: vec![],
            max_file_size: 1 << 20,
            follow_symlinks: false,
        }
    }
}

/// Builds the rules of lines as in `.gitignore`.
fn rules<'l>(
    root: &Path,
    lines: impl Iterator<Item = Cow<'l, str>>,
    ignores_case: bool,
) -> Result<Gitignore, CodeError> {
    let mut builder = GitignoreBuilder::new(root);
    let set = builder.case_insensitive(ignores_case).map(|_| ());
    set.map_err(|error| CodeError::Filter(error.to_string()))?;
    for line in lines {
        let added = builder.add_line(None, &line);
        added.map_err(|error| CodeError::Filter(format!("`{line}` is no pattern: {error}")))?;
    }
    builder.build().map_err(|error| CodeError::Filter(error.to_string()))
}

/// Returns a line with `/` in place of a leading `./`, which no path begins with.
fn from_root(line: &str) -> Cow<'_, str> {
    let (not, pattern) = line.strip_prefix('!').map_or(("", line), |pattern| ("!", pattern));
    match pattern.strip_prefix("./") {
        Some(pattern) => Cow::Owned(format!("{not}/{pattern}")),
        None => Cow::Borrowed(line),
    }
}

/// A folder that is left out.
enum Excluded {
    /// Any with this name.
    Name(String),
    /// The one with this path from the root.
    Path(Vec<String>),
}

impl Excluded {
    fn parse(root: &Path, written: &str) -> Result<Self, CodeError> {
        let path = with_slashes(written);
        let inside = Path::new(&path).strip_prefix(root).ok().and_then(Path::to_str);
        let parts: Vec<String> = segments(inside.unwrap_or(&path)).map(String::from).collect();
        if parts.is_empty() || parts.iter().any(|part| part == ".." || part.contains(['*', '?'])) {
            return Err(CodeError::Filter(format!(
                "`{written}` is no folder within the one to index; `exclude_dirs` takes names and paths of folders, `ignore_patterns` patterns"
            )));
        }
        Ok(match <[String; 1]>::try_from(parts) {
            Ok([name]) if inside.is_none() => Self::Name(name),
            Ok(path) => Self::Path(path.into()),
            Err(path) => Self::Path(path),
        })
    }

    fn has(&self, folders: &[&str]) -> bool {
        match self {
            Self::Name(name) => folders.contains(&name.as_str()),
            Self::Path(path) => path.len() <= folders.len() && path.iter().zip(folders).all(|(a, b)| a == b),
        }
    }
}

impl Selection {
    /// Returns true if a folder's name is left out wherever the folder is.
    fn skips(&self, name: &str) -> bool {
        self.exclude_dirs.iter().any(|excluded| segments(excluded).eq([name]))
    }

    /// Returns a function from a path to its choice; `None` if the file is not selected. Ignore files are applied while walking.
    ///
    /// # Errors
    /// If a line of `ignore_patterns` is not a valid pattern, or an item of `exclude_dirs` can't be a folder within `root`.
    pub fn choose(&self, root: &Path) -> Result<impl Fn(&str) -> Option<Choice> + use<'_>, CodeError> {
        let left_out = rules(root, LEFT_OUT.iter().map(|line| Cow::Borrowed(*line)), true)?;
        let given = rules(root, self.ignore_patterns.iter().map(|line| from_root(line)), false)?;
        let mut extensions = Extensions::default();
        extensions.add(&self.extensions);
        let excluded = self.exclude_dirs.iter().map(|written| Excluded::parse(root, written));
        let excluded: Vec<Excluded> = excluded.collect::<Result<_, _>>()?;
        let root = root.to_owned();
        Ok(move |path: &str| {
            let mut folders: Vec<&str> = path.split('/').collect();
            folders.pop();
            if excluded.iter().any(|excluded| excluded.has(&folders)) || !extensions.has(path) {
                return None;
            }
            let path = root.join(path);
            match given.matched_path_or_any_parents(&path, false) {
                Match::Whitelist(_) => Some(Choice::Always),
                Match::Ignore(_) => None,
                // Only the file's own path is compared: a folder `secrets` may have sources.
                Match::None if left_out.matched(&path, false).is_ignore() => Some(Choice::LeftOut),
                Match::None => Some(Choice::Written),
            }
        })
    }
}

/// The files of a folder that its ignore rules let through, opened below the workspace that it is in.
pub struct Folder {
    workspace: PathBuf,
    /// The folder's path in the workspace.
    start: PathBuf,
    selection: Selection,
    /// Paths from the workspace that are left out.
    without: Vec<String>,
    /// The workspace, once a run has begun: a folder that takes its place meanwhile is not read.
    held: OnceLock<Dir>,
}

impl Folder {
    /// Makes a tree of the folder at `start`, a path below `workspace`.
    pub fn new(workspace: impl Into<PathBuf>, start: impl Into<PathBuf>, selection: Selection) -> Self {
        Self {
            workspace: workspace.into(),
            start: start.into(),
            selection,
            without: vec![],
            held: OnceLock::new(),
        }
    }

    /// Leaves out files and folders with these paths from the workspace.
    #[must_use]
    pub fn without(self, without: Vec<String>) -> Self {
        Self { without, ..self }
    }

    /// Returns the workspace, held open, and the folder's path in it.
    fn open(&self) -> io::Result<(&Dir, String)> {
        let start = slashed(&self.start).ok_or(io::ErrorKind::InvalidFilename)?;
        if let Some(held) = self.held.get() {
            return Ok((held, start));
        }
        let opened = Dir::open(&self.workspace)?;
        Ok((self.held.get_or_init(|| opened), start))
    }
}

impl Tree for Folder {
    fn entries(&self, stop: &Stop) -> Result<Vec<Entry>, CodeError> {
        let folder = self.workspace.join(&self.start);
        let (root, start) = self.open().map_err(CodeError::io(&folder))?;
        let choose = self.selection.choose(&folder)?;
        let walk = Walk {
            root,
            start: &start,
            without: &self.without,
            takes: &|name, is_folder| {
                let skipped = || SKIPPED.contains(&name) || self.selection.skips(name);
                name != ".git" && !(is_folder && skipped())
            },
            follows_links: self.selection.follow_symlinks,
            cancelled: &|| stop.is_asked(),
        };
        let files = walk.files().map_err(|error| match error {
            WalkError::Cancelled => CodeError::Ended,
            error => CodeError::Listing(format!("{}: {error}", folder.display())),
        })?;
        for (path, error) in &files.unread {
            tracing::warn!(path, %error, "an ignore file or folder is left out");
        }
        let entry =
            |path: String| Some(Entry { choice: choose(&path)?, branch: String::new(), path, blob: None });
        let unnamed = files.not_utf8.into_iter().filter_map(entry).map(|entry| {
            let choice = if entry.choice == Choice::LeftOut { Choice::LeftOut } else { Choice::NotUtf8 };
            Entry { choice, ..entry }
        });
        let repository =
            |path: String| Entry { choice: Choice::LeftOut, branch: String::new(), path, blob: None };
        let repositories = files.repositories.into_iter().map(repository);
        Ok(files.paths.into_iter().filter_map(entry).chain(unnamed).chain(repositories).collect())
    }

    fn read(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let (root, start) = self.open()?;
        let mut path = format!("{start}/{}", entry.path);
        if self.selection.follow_symlinks {
            path = root.resolve_links(&start, &path).map_err(io::Error::other)?;
        }
        let path = path.strip_prefix("./").unwrap_or(&path);
        root.read(path, self.selection.max_file_size).map_err(io::Error::other)
    }
}
