//! Git objects: created in memory, which yields ids before anything is written, then written durably. A few are a file each, many
//! are one pack.
//!
//! They are written here, because gix syncs nothing and takes an empty file for an existing object. While a transaction is under
//! way, a file next to its pack keeps git from removing it: its objects are unreferenced before the branch moves.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::{
    ObjectId,
    hash::Kind as HashKind,
    objs::{Kind, WriteTo, encode::loose_header},
};
use tabellion_platform as platform;
use tabellion_runtime::Failure;

use super::{
    durable::{SyncTarget, remove_if_there},
    failures::{InRepository, IoContext},
    pack::{self, Deflater, PackObject},
};

/// Maximum number of objects that are written as a file each. A change of one document several folders deep has no more.
const MAX_LOOSE: usize = 8;
/// Text of the file that keeps git from removing a pack of ours, as long as its transaction is under way.
const KEPT: &[u8] = b"tabellion\n";
/// Attempts to create an object's folder while other programs remove it.
const MAX_FOLDER_ATTEMPTS: usize = 100;

/// Returns the content id of a document with these bytes.
///
/// # Errors
/// For bytes that were made to collide with others.
pub fn content_id(bytes: &[u8]) -> Result<String, Failure> {
    blob_id(bytes).map(|id| id.to_string())
}

/// Returns the id of a blob with these bytes.
pub(super) fn blob_id(bytes: &[u8]) -> Result<ObjectId, Failure> {
    hash(Kind::Blob, bytes)
}

fn hash(kind: Kind, data: &[u8]) -> Result<ObjectId, Failure> {
    // Fails only for bytes that were made to collide.
    gix::objs::compute_hash(HashKind::Sha1, kind, data).reading("an object's id")
}

/// Objects that are not in the database yet.
#[derive(Debug, Default, Clone)]
pub(super) struct NewObjects(Vec<Arc<NewObject>>);

#[derive(Debug)]
struct NewObject {
    id: ObjectId,
    kind: Kind,
    data: Vec<u8>,
    /// The object that it follows; see [`PackObject::base`].
    base: Option<ObjectId>,
}

impl NewObjects {
    pub(super) fn add(&mut self, object: &impl WriteTo) -> Result<ObjectId, Failure> {
        self.add_after(None, object)
    }

    /// Adds an object that follows `base`; returns its id.
    pub(super) fn add_after(
        &mut self,
        base: Option<ObjectId>,
        object: &impl WriteTo,
    ) -> Result<ObjectId, Failure> {
        let mut data = Vec::new();
        object.write_to(&mut data).reading("an object of ours")?;
        self.add_data(object.kind(), data, base)
    }

    /// Adds a blob that follows `base`; returns its id.
    pub(super) fn add_blob(&mut self, base: Option<ObjectId>, bytes: &[u8]) -> Result<ObjectId, Failure> {
        self.add_data(Kind::Blob, bytes.to_vec(), base)
    }

    /// Returns the data of the object `id`, if it is one of these.
    pub(super) fn data(&self, id: ObjectId) -> Option<&[u8]> {
        self.0.iter().find(|object| object.id == id).map(|object| &*object.data)
    }

    /// Adds all of `others`.
    pub(super) fn extend(&mut self, others: &Self) {
        for object in &others.0 {
            if self.data(object.id).is_none() {
                self.0.push(Arc::clone(object));
            }
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.0.iter().map(|object| object.id)
    }

    fn add_data(&mut self, kind: Kind, data: Vec<u8>, base: Option<ObjectId>) -> Result<ObjectId, Failure> {
        let id = hash(kind, &data)?;
        if self.data(id).is_none() {
            self.0.push(Arc::new(NewObject { id, kind, data, base }));
        }
        Ok(id)
    }

    /// Writes the objects to files in `staging`: neither visible nor durable yet.
    pub(super) fn stage(&self, database: &Path, staging: &Path) -> Result<StagedObjects, Failure> {
        let temporary = |number| staging.join(format!("object-{number}"));
        if self.0.len() > MAX_LOOSE {
            return self.stage_pack(database, temporary);
        }
        let mut deflater = Deflater::default();
        let mut files = Vec::new();
        for (number, object) in self.0.iter().enumerate() {
            let home = home(database, object.id);
            let loose = object.loose(&mut deflater).context("compress", &home)?;
            files.push(StagedFile::write(loose, home, temporary(number))?);
        }
        Ok(StagedObjects { files, keep: None })
    }

    fn stage_pack(
        &self,
        database: &Path,
        temporary: impl Fn(usize) -> PathBuf,
    ) -> Result<StagedObjects, Failure> {
        let objects = self.0.iter().map(|object| PackObject {
            id: object.id,
            kind: object.kind,
            data: &object.data,
            base: object.base,
        });
        let folder = pack_folder(database);
        let mut pack = Vec::new();
        let written = pack::write(&objects.collect::<Vec<_>>(), &mut pack).context("compress", &folder)?;
        let home = |extension| folder.join(&written.name).with_extension(extension);
        // The index is placed last, because git finds packs by their indexes.
        let files = [(&pack, "pack"), (&written.index, "idx")].into_iter().enumerate();
        let files = files
            .map(|(number, (bytes, extension))| StagedFile::write(bytes, home(extension), temporary(number)));
        Ok(StagedObjects {
            files: files.collect::<Result<_, _>>()?,
            keep: Some(StagedFile::write(KEPT, home("keep"), temporary(2))?),
        })
    }
}

impl NewObject {
    fn loose<'d>(&self, deflater: &'d mut Deflater) -> io::Result<&'d [u8]> {
        deflater.deflate(&[&*loose_header(self.kind, self.data.len() as u64), &self.data].concat())
    }
}

/// Returns true if objects with these ids are written as a pack.
pub(super) fn are_packed(ids: &[ObjectId]) -> bool {
    ids.len() > MAX_LOOSE
}

pub(super) fn pack_folder(database: &Path) -> PathBuf {
    database.join("pack")
}

/// Returns the path of a loose object.
fn home(database: &Path, id: ObjectId) -> PathBuf {
    let hex = id.to_hex().to_string();
    database.join(&hex[..2]).join(&hex[2..])
}

/// Returns the folders in which these objects can have been placed.
pub(super) fn folders(database: &Path, ids: &[ObjectId]) -> BTreeSet<PathBuf> {
    let homes = ids.iter().map(|id| home(database, *id));
    let loose = homes.filter_map(|home| Some(home.parent()?.to_owned()));
    let folders = loose.chain([pack_folder(database)]);
    folders.filter(|folder| folder.is_dir()).chain([database.to_owned()]).collect()
}

/// Releases the packs of unfinished transactions. Requires the lock.
pub(super) fn release_packs(database: &Path) -> Result<(), Failure> {
    let folder = pack_folder(database);
    let names = match platform::names(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names.context("look into", &folder)?,
    };
    for name in names {
        let keep = folder.join(name);
        let is_ours = || platform::read_regular(&keep, KEPT.len() as u64).is_ok_and(|text| text == KEPT);
        if keep.extension().is_some_and(|extension| extension == "keep") && is_ours() {
            if !keep.with_extension("idx").exists() {
                // No program has seen the pack.
                remove_if_there(&keep.with_extension("pack"))?;
            }
            remove_if_there(&keep)?;
        }
    }
    Ok(())
}

/// Objects that are written but have no name in the database yet.
pub(super) struct StagedObjects {
    files: Vec<StagedFile>,
    /// The file that keeps git from removing the pack, if they are one.
    keep: Option<StagedFile>,
}

/// A file of the database that has no name there yet.
struct StagedFile {
    file: File,
    /// Current path: the final one if the file existed before.
    at: PathBuf,
    home: PathBuf,
}

impl StagedFile {
    fn write(bytes: &[u8], home: PathBuf, staging: PathBuf) -> Result<Self, Failure> {
        // An existing object may be empty or torn after a crash: it counts only if its bytes are equal.
        if platform::read_regular(&home, bytes.len() as u64).is_ok_and(|there| there == bytes) {
            let file = platform::open_to_sync(&home).context("open", &home)?;
            return Ok(Self { file, at: home.clone(), home });
        }
        let mut file = platform::create(&staging).context("create", &staging)?;
        file.write_all(bytes).context("write", &staging)?;
        let mut permissions = file.metadata().context("look at", &staging)?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions).context("protect", &staging)?;
        Ok(Self { file, at: staging, home })
    }
}

impl StagedObjects {
    /// Returns the content that must be durable before [`Self::place`].
    pub(super) fn contents(&self) -> impl Iterator<Item = SyncTarget<'_>> {
        self.files.iter().map(|file| SyncTarget::File(&file.file, &file.at))
    }

    /// Renames the files into the database.
    pub(super) fn place(&self) -> Result<(), Failure> {
        let new = self.keep.iter().chain(&self.files);
        let mut new = new.filter(|file| file.at != file.home);
        new.try_for_each(StagedFile::place)
    }

    /// Permits git to remove the pack: the branch now refers to its objects.
    pub(super) fn release(&self) -> Result<(), Failure> {
        self.keep.as_ref().map_or(Ok(()), |keep| remove_if_there(&keep.home))
    }

    /// Returns the paths of the files and their folders.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().flat_map(|file| [file.home.as_path(), file.folder()])
    }

    /// Returns the folders with new names, in the database and that one itself.
    pub(super) fn folders<'a>(&'a self, database: &'a Path) -> BTreeSet<&'a Path> {
        self.files.iter().map(StagedFile::folder).chain([database]).collect()
    }
}

impl StagedFile {
    /// Renames the file. Git removes empty folders of the database, and this one is empty at first.
    fn place(&self) -> Result<(), Failure> {
        let folder = self.folder();
        for left in (0..MAX_FOLDER_ATTEMPTS).rev() {
            match fs::create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error).context("create", folder);
                }
                _ => {}
            }
            match platform::rename(&self.at, &self.home) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && left > 0 => {}
                placed => return placed.context("create", &self.home),
            }
        }
        Ok(())
    }

    fn folder(&self) -> &Path {
        self.home.parent().expect("an object's file is in a folder of the database")
    }
}
