//! Merges the many packs of transactions into a few, in the background. Neither changes nor git wait for it.
//!
//! Touches only the library's own packs, which are recognized by their names. Each remaining pack has at least twice the bytes of
//! all smaller ones together, so there are few, and an object is rarely written again. The objects are durable in the new pack
//! before the old ones are removed; a reader that misses one looks for its objects again, as git does.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, BufWriter, Write as _},
    path::PathBuf,
};

use super::{
    objects::pack_folder,
    pack::{self, OpenPack},
    repository::Repository,
    sharing::Sharing,
};
use tabellion_platform::{self as platform, Dir, create, names, rename, try_lock_file};

/// Number of packs from which on they are gathered.
pub(super) const MAX_PACKS: usize = 8;
/// A pack with more objects or bytes is left to git.
const MAX_OBJECTS: u32 = 200_000;
const MAX_BYTES: usize = 256 << 20;
/// Files in our own folder: the inter-process lock, and the new pack.
const LOCK: &str = "gathering.lock";
const GATHERED: &str = "gathered";
/// Git's indexes of several packs, in the folder of packs.
const OF_MANY: [&str; 2] = ["multi-pack-index", "multi-pack-index.d"];
/// Locks of git's housekeeping, in the repository.
const UNDER_WAY: [&str; 2] = ["gc.pid", "objects/maintenance.lock"];
/// Extensions of the files next to a pack that git treats differently.
const MARKS: [&str; 4] = ["keep", "promisor", "mtimes", "bitmap"];

/// The files that gathering needs.
#[derive(Debug)]
pub(super) struct Gathering {
    packs: PathBuf,
    own: PathBuf,
    under_way: [PathBuf; 2],
    sharing: Sharing,
}

impl Gathering {
    /// Returns the gathering of the packs in `repository`.
    pub(super) fn new(repository: &Repository) -> Self {
        Self {
            packs: pack_folder(repository.objects()),
            own: repository.own(""),
            under_way: UNDER_WAY.map(|file| repository.common_dir().join(file)),
            sharing: repository.sharing(),
        }
    }

    /// Merges many packs into one. Does nothing if there are few, or while git or another process is doing so.
    ///
    /// # Errors
    /// If the new pack can't be written; the old ones are all there then.
    pub(super) fn run(&self) -> io::Result<()> {
        let Some(_lock) = try_lock_file(&self.own.join(LOCK))? else {
            return Ok(());
        };
        if self.is_gits_turn() {
            return Ok(());
        }
        let old = many(self.ours()?);
        if old.is_empty() {
            return Ok(());
        }
        let new = self.write(&old).inspect_err(|_| self.discard())?;
        if self.is_gits_turn() {
            return Ok(());
        }
        // Closed before they are removed.
        let old: Vec<_> = old.into_iter().map(|pack| pack.path().to_owned()).collect();
        for pack in old.iter().filter(|pack| **pack != new) {
            // Its index first, since git finds packs by their indexes, and never an index without its pack. What remains is removed by the
            // next run.
            let files = ["idx", "rev", "pack"].map(|extension| pack.with_extension(extension));
            let _ = files.iter().try_for_each(|file| match platform::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            });
        }
        Ok(())
    }

    fn is_gits_turn(&self) -> bool {
        let of_many = OF_MANY.iter().map(|name| self.packs.join(name));
        self.under_way.iter().cloned().chain(of_many).any(|path| path.exists())
    }

    /// Returns the packs that transactions made, if they are neither in use nor large, the smallest first.
    fn ours(&self) -> io::Result<Vec<OpenPack>> {
        let paths = names(&self.packs)?.into_iter().map(|name| self.packs.join(name));
        let packs = paths.filter(|path| path.extension() == Some(OsStr::new("pack")));
        let mut ours = Vec::new();
        for path in packs {
            if MARKS.iter().any(|mark| path.with_extension(mark).exists()) {
                continue;
            }
            if !pack::is_ours(&path) {
                continue;
            }
            if !path.with_extension("idx").exists() {
                // A process died before it placed the index.
                platform::remove_file(&path)?;
                continue;
            }
            // Git may have removed it, or its index is damaged.
            let pack = OpenPack::open(&path).ok();
            ours.extend(pack.filter(|pack| pack.objects() <= MAX_OBJECTS && pack.bytes() <= MAX_BYTES));
        }
        ours.sort_by_key(OpenPack::bytes);
        Ok(ours)
    }

    /// Writes one pack of `old`, durably; returns its path.
    fn write(&self, old: &[OpenPack]) -> io::Result<PathBuf> {
        let (pack, written) = self.write_file("pack", |file| pack::gather(old, BufWriter::new(file)))?;
        let (index, ()) = self.write_file("idx", |mut file| file.write_all(&written.index))?;
        let new = self.packs.join(written.name).with_extension("pack");
        // The index is placed last, because git finds packs by their indexes.
        for (file, home) in [(pack, &new), (index, &new.with_extension("idx"))] {
            rename(&file, home)?;
            self.sharing.apply(home);
        }
        Dir::open(&self.packs)?.sync()?;
        Ok(new)
    }

    /// Writes a file in our own folder, durably; returns its path.
    fn write_file<T>(
        &self,
        extension: &str,
        write: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<(PathBuf, T)> {
        let path = self.unfinished(extension);
        // A process that died leaves one, which is read-only.
        let _ = platform::remove_file(&path);
        let file = create(&path)?;
        let written = write(&file)?;
        let mut permissions = file.metadata()?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions)?;
        file.sync_all()?;
        Ok((path, written))
    }

    /// Removes the partial files of a new pack: on a full disk, their space is needed.
    fn discard(&self) {
        for extension in ["pack", "idx"] {
            // Best effort; the next run removes them first.
            let _ = platform::remove_file(&self.unfinished(extension));
        }
    }

    /// Returns the path of a file of the new pack before it has its name.
    fn unfinished(&self, extension: &str) -> PathBuf {
        self.own.join(GATHERED).with_extension(extension)
    }
}

/// Returns true if a file of this name in our own folder belongs to an unfinished pack.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.starts_with(GATHERED)
}

/// Removes the unfinished pack of a dead process. One that is still being written stays.
pub(super) fn remove_unfinished(repository: &Repository) -> io::Result<()> {
    if let Some(_lock) = try_lock_file(&repository.own(LOCK))? {
        Gathering::new(repository).discard();
    }
    Ok(())
}

/// Returns those of `packs`, sorted by size, that are to be gathered; none if there are few.
fn many(mut packs: Vec<OpenPack>) -> Vec<OpenPack> {
    if packs.len() < MAX_PACKS {
        return Vec::new();
    }
    let (mut bytes, mut count) = (0, 0);
    for pack in &packs {
        if count > 1 && pack.bytes() >= 2 * bytes {
            break;
        }
        bytes += pack.bytes();
        count += 1;
    }
    packs.truncate(count);
    packs
}
