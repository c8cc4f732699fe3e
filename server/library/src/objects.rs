//! Git objects: created in memory, so that ids are known before anything is written, then written durably.
//!
//! Loose objects are written here, because gix does not sync them and takes an empty file for an existing object.

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
    zlib::{Compression, stream::deflate},
};
use tabellion_platform as platform;
use tabellion_runtime::Failure;

use super::{
    durable::SyncTarget,
    failures::{At, InRepository},
};

/// Attempts to create an object's folder while other programs remove it.
const MAX_FOLDER_ATTEMPTS: usize = 100;

/// Returns the id that a document has with these bytes.
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
}

impl NewObjects {
    /// Adds an object; returns its id.
    pub(super) fn add(&mut self, object: &impl WriteTo) -> Result<ObjectId, Failure> {
        let mut data = Vec::new();
        object.write_to(&mut data).reading("an object of ours")?;
        self.add_data(object.kind(), data)
    }

    /// Adds a blob; returns its id.
    pub(super) fn add_blob(&mut self, bytes: &[u8]) -> Result<ObjectId, Failure> {
        self.add_data(Kind::Blob, bytes.to_vec())
    }

    /// Returns the data of the object `id`, if it is one of these.
    pub(super) fn data(&self, id: ObjectId) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|object| object.id == id)
            .map(|object| &*object.data)
    }

    /// Adds all of `others`.
    pub(super) fn extend(&mut self, others: &Self) {
        for object in &others.0 {
            if self.data(object.id).is_none() {
                self.0.push(Arc::clone(object));
            }
        }
    }

    /// Returns the objects' ids.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.0.iter().map(|object| object.id)
    }

    fn add_data(&mut self, kind: Kind, data: Vec<u8>) -> Result<ObjectId, Failure> {
        let id = hash(kind, &data)?;
        if self.data(id).is_none() {
            self.0.push(Arc::new(NewObject { id, kind, data }));
        }
        Ok(id)
    }

    /// Writes the objects to files in `staging`: neither visible nor durable yet.
    pub(super) fn stage(&self, database: &Path, staging: &Path) -> Result<StagedObjects, Failure> {
        let mut staged = StagedObjects(Vec::new());
        for (number, object) in self.0.iter().enumerate() {
            let home = home(database, object.id);
            let loose = object.loose().at("compress", &home)?;
            staged.0.push(StagedObject::write(
                &loose,
                home,
                staging.join(format!("object-{number}")),
            )?);
        }
        Ok(staged)
    }
}

impl NewObject {
    fn loose(&self) -> io::Result<Vec<u8>> {
        let mut deflate = deflate::Write::new(
            Vec::with_capacity(self.data.len() / 2 + 64),
            Compression::BEST_SPEED,
        );
        deflate.write_all(&loose_header(self.kind, self.data.len() as u64))?;
        deflate.write_all(&self.data)?;
        deflate.flush()?;
        Ok(deflate.into_inner())
    }
}

/// Returns the path of a loose object.
fn home(database: &Path, id: ObjectId) -> PathBuf {
    let hex = id.to_hex().to_string();
    database.join(&hex[..2]).join(&hex[2..])
}

/// Returns the folders of these objects in the database.
pub(super) fn folders(database: &Path, ids: &[ObjectId]) -> BTreeSet<PathBuf> {
    let homes = ids.iter().map(|id| home(database, *id));
    let folders = homes.filter_map(|home| Some(home.parent()?.to_owned()));
    folders.chain([database.to_owned()]).collect()
}

/// Objects that are written but have no name in the database yet.
pub(super) struct StagedObjects(Vec<StagedObject>);

struct StagedObject {
    file: File,
    /// Current path: the final one if the object existed before.
    at: PathBuf,
    home: PathBuf,
}

impl StagedObject {
    fn write(loose: &[u8], home: PathBuf, staging: PathBuf) -> Result<Self, Failure> {
        // An existing object may be empty or torn after a crash: it counts only if its bytes are equal.
        if platform::read_regular(&home, loose.len() as u64).is_ok_and(|there| there == loose) {
            let file = platform::open_to_sync(&home).at("open", &home)?;
            return Ok(Self {
                file,
                at: home.clone(),
                home,
            });
        }
        let mut file = platform::create(&staging).at("create", &staging)?;
        file.write_all(loose).at("write", &staging)?;
        let mut permissions = file.metadata().at("look at", &staging)?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions).at("protect", &staging)?;
        Ok(Self {
            file,
            at: staging,
            home,
        })
    }
}

impl StagedObjects {
    /// Returns what must be durable before [`Self::place`].
    pub(super) fn contents(&self) -> impl Iterator<Item = SyncTarget<'_>> {
        self.0
            .iter()
            .map(|object| SyncTarget::File(&object.file, &object.at))
    }

    /// Renames the objects into the database.
    pub(super) fn place(&self) -> Result<(), Failure> {
        let mut new = self.0.iter().filter(|object| object.at != object.home);
        new.try_for_each(StagedObject::place)
    }

    /// Returns the paths of the objects and their folders.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0
            .iter()
            .flat_map(|object| [object.home.as_path(), object.folder()])
    }
}

impl StagedObject {
    /// Renames the object. Git removes empty folders of the database, as this one is at first.
    fn place(&self) -> Result<(), Failure> {
        let folder = self.folder();
        for left in (0..MAX_FOLDER_ATTEMPTS).rev() {
            match fs::create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error).at("create", folder);
                }
                _ => {}
            }
            match platform::rename(&self.at, &self.home) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && left > 0 => {}
                placed => return placed.at("create", &self.home),
            }
        }
        Ok(())
    }

    fn folder(&self) -> &Path {
        self.home
            .parent()
            .expect("an object's file is in a folder of the database")
    }
}
