//! Git's packs: many objects in one file, with an index of them next to it (`gitformat-pack(5)`).
//!
//! A transaction with many objects writes them as one pack; [`gather`] makes one of several such packs. Written here, because gix
//! only packs objects that are in a database already.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    io::{self, Write},
    path::Path,
};

use gix::{
    ObjectId,
    hash::Kind as HashKind,
    objs::Kind,
    odb::pack::{
        data::{self, entry::Header},
        index,
    },
    zlib::{
        Compression, Status,
        stream::deflate::{Compress, FlushCompress},
    },
};
use sha1::{Digest, Sha1};

/// Maximum number of differences between an object and one that is stored whole: each is applied to read the object.
const MAX_DEPTH: u8 = 16;
/// Largest number of bytes that one instruction of a difference copies, and that one inserts.
const MAX_COPY: usize = 0xffff;
const MAX_INSERT: usize = 0x7f;
/// A difference that copies fewer bytes is not worthwhile.
const MIN_COPIED: usize = 64;
/// From this offset on, the index stores it in a table of larger numbers.
const LARGE_OFFSET: u64 = 1 << 31;

/// An object to be packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackObject<'a> {
    pub(super) id: ObjectId,
    pub(super) kind: Kind,
    pub(super) data: &'a [u8],
    /// The object that this one follows: a tree before its change, or a document.
    pub(super) base: Option<ObjectId>,
}

/// The name and the index of a written pack.
#[derive(Debug)]
pub(super) struct Written {
    /// The common name of its files, without extension.
    pub(super) name: String,
    /// The content of its index.
    pub(super) index: Vec<u8>,
}

/// Returns the name of a pack of ours with this checksum, which is its end. Git names its packs by the checksum itself, so the name
/// reveals the origin of a pack.
pub(super) fn name(checksum: &[u8]) -> String {
    let digest = Sha1::new_with_prefix("tabellion pack ").chain_update(checksum);
    format!("pack-{}", ObjectId::from_bytes_or_panic(&digest.finalize()))
}

/// Writes a pack of `objects`, whose ids differ. One that follows an earlier one is stored as the difference, if that is short.
pub(super) fn write(objects: &[PackObject<'_>], out: impl Write) -> io::Result<Written> {
    let mut writer = Writer::begin(out, objects.len())?;
    let mut deflater = Deflater::default();
    let mut written: HashMap<ObjectId, Base<'_>> = HashMap::new();
    for object in objects {
        let base = object.base.and_then(|base| written.get(&base));
        let base = base.filter(|base| base.depth < MAX_DEPTH && base.kind == object.kind);
        let shorter = base.and_then(|base| Some((base, difference(base.data, object.data)?)));
        let (offset, depth) = match shorter {
            Some((base, difference)) => {
                let header = Header::OfsDelta { base_distance: writer.offset - base.offset };
                let deflated = deflater.deflate(&difference)?;
                let offset = writer.add(object.id, header, difference.len() as u64, deflated)?;
                (offset, base.depth + 1)
            }
            None => {
                let deflated = deflater.deflate(object.data)?;
                let offset = writer.add(object.id, whole(object.kind), object.data.len() as u64, deflated)?;
                (offset, 0)
            }
        };
        let PackObject { id, kind, data, .. } = *object;
        let object = Base { kind, data, offset, depth };
        written.insert(id, object);
    }
    writer.end()
}

/// An object in the pack that is being written, from which others can differ.
struct Base<'a> {
    kind: Kind,
    data: &'a [u8],
    offset: u64,
    /// Number of differences that are applied to read it.
    depth: u8,
}

fn whole(kind: Kind) -> Header {
    match kind {
        Kind::Tree => Header::Tree,
        Kind::Blob => Header::Blob,
        Kind::Commit => Header::Commit,
        Kind::Tag => Header::Tag,
    }
}

/// Returns the difference that turns `base` into `data`: copies the common start and the common end. `None` if they are short.
fn difference(base: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let start = common(base.iter().zip(data));
    let (base_rest, rest) = (&base[start..], &data[start..]);
    let end = common(base_rest.iter().rev().zip(rest.iter().rev()));
    if start + end < MIN_COPIED.max(data.len() / 2) {
        return None;
    }
    let mut instructions = Vec::new();
    for length in [base.len(), data.len()] {
        push_length(&mut instructions, length);
    }
    push_copy(&mut instructions, 0, start);
    for inserted in rest[..rest.len() - end].chunks(MAX_INSERT) {
        instructions.push(inserted.len() as u8);
        instructions.extend_from_slice(inserted);
    }
    push_copy(&mut instructions, base.len() - end, end);
    Some(instructions)
}

fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

/// Seven bits a byte, the lowest first; the eighth bit is set if more follow.
fn push_length(instructions: &mut Vec<u8>, mut length: usize) {
    while length > 0x7f {
        instructions.push(length as u8 | 0x80);
        length >>= 7;
    }
    instructions.push(length as u8);
}

/// Copies `length` bytes from `offset` on. An instruction's bits specify the bytes of offset and length that follow it.
fn push_copy(instructions: &mut Vec<u8>, mut offset: usize, mut length: usize) {
    while length > 0 {
        let part = length.min(MAX_COPY);
        let at = instructions.len();
        let mut instruction = 0x80;
        instructions.push(instruction);
        let numbers = offset.to_le_bytes().into_iter().take(4).chain(part.to_le_bytes().into_iter().take(2));
        for (bit, byte) in numbers.enumerate().filter(|(_, byte)| *byte != 0) {
            instruction |= 1 << bit;
            instructions.push(byte);
        }
        instructions[at] = instruction;
        (offset, length) = (offset + part, length - part);
    }
}

/// Writes one pack with all objects of `packs`. An object that several have is in it once.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if one is damaged; and if the pack can't be written.
pub(super) fn gather(packs: &[OpenPack], out: impl Write) -> io::Result<Written> {
    let all = packs.iter().flat_map(|pack| pack.index.iter());
    let count = all.map(|entry| entry.oid).collect::<HashSet<_>>().len();
    let mut writer = Writer::begin(out, count)?;
    let mut offsets: HashMap<ObjectId, u64> = HashMap::new();
    for pack in packs {
        // New offsets of objects, by their old ones.
        let mut moved: HashMap<u64, u64> = HashMap::new();
        let mut entries: Vec<_> = pack.index.iter().collect();
        entries.sort_unstable_by_key(|entry| entry.pack_offset);
        let ends = entries.iter().skip(1).map(|next| next.pack_offset);
        let ends: Vec<_> = ends.chain([pack.data.pack_end() as u64]).collect();
        for (index::Entry { oid, pack_offset, crc32 }, end) in entries.into_iter().zip(ends) {
            if let Some(known) = offsets.get(&oid) {
                moved.insert(pack_offset, *known);
                continue;
            }
            let bytes = pack.data.entry_slice(pack_offset..end).ok_or_else(damaged)?;
            if Some(crc32fast::hash(bytes)) != crc32 {
                return Err(damaged());
            }
            let entry = data::Entry::from_bytes(bytes, pack_offset, HashKind::Sha1);
            let entry = entry.map_err(|_| damaged())?;
            let header = match entry.header {
                Header::OfsDelta { base_distance } => {
                    let base = pack_offset.checked_sub(base_distance);
                    let base = base.and_then(|base| moved.get(&base)).ok_or_else(damaged)?;
                    Header::OfsDelta { base_distance: writer.offset - base }
                }
                header => header,
            };
            let deflated = &bytes[entry.header_size()..];
            let offset = writer.add(oid, header, entry.decompressed_size, deflated)?;
            moved.insert(pack_offset, offset);
            offsets.insert(oid, offset);
        }
    }
    writer.end()
}

/// A pack and its index, open.
pub(super) struct OpenPack {
    data: data::File,
    index: index::File,
}

impl OpenPack {
    /// Opens the pack at `path`; its index is next to it.
    ///
    /// # Errors
    /// If they can't be read, or are damaged.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            data: data::File::at(path, HashKind::Sha1).map_err(io::Error::other)?,
            index: index::File::at(path.with_extension("idx"), HashKind::Sha1).map_err(io::Error::other)?,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.data.path()
    }

    pub(super) fn objects(&self) -> u32 {
        self.data.num_objects()
    }

    pub(super) fn bytes(&self) -> usize {
        self.data.data_len()
    }
}

/// Returns true if the pack at `path` is ours, not git's.
pub(super) fn is_ours(path: &Path) -> bool {
    let found = path.file_stem().and_then(OsStr::to_str);
    let pack = data::File::at(path, HashKind::Sha1).ok();
    pack.is_some_and(|pack| found == Some(&*name(pack.checksum().as_bytes())))
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// An object's entry in the index of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct IndexEntry {
    id: ObjectId,
    offset: u64,
    crc: u32,
}

/// Writes a pack.
struct Writer<W> {
    out: W,
    /// The digest of the bytes written so far.
    digest: Sha1,
    /// Offset of the next object.
    offset: u64,
    entries: Vec<IndexEntry>,
    /// An object.
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a pack of `count` objects.
    fn begin(out: W, count: usize) -> io::Result<Self> {
        let count = u32::try_from(count).map_err(io::Error::other)?;
        let mut writer = Self {
            out,
            digest: Sha1::new(),
            offset: 0,
            entries: Vec::new(),
            buffer: data::header::encode(data::Version::V2, count).to_vec(),
        };
        writer.flush()?;
        Ok(writer)
    }

    /// Adds an object, whose deflated content has `length` bytes; returns its offset.
    fn add(&mut self, id: ObjectId, header: Header, length: u64, deflated: &[u8]) -> io::Result<u64> {
        let offset = self.offset;
        header.write_to(length, &mut self.buffer)?;
        self.buffer.extend_from_slice(deflated);
        let crc = crc32fast::hash(&self.buffer);
        self.entries.push(IndexEntry { id, offset, crc });
        self.flush()?;
        Ok(offset)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.digest.update(&self.buffer);
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn end(mut self) -> io::Result<Written> {
        let checksum = self.digest.finalize();
        self.out.write_all(&checksum)?;
        self.out.flush()?;
        self.entries.sort_unstable();
        Ok(Written { name: name(&checksum), index: index_of(&self.entries, &checksum) })
    }
}

/// Returns the index, version 2, of a pack with these entries, sorted, and this checksum.
fn index_of(entries: &[IndexEntry], checksum: &[u8]) -> Vec<u8> {
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=u8::MAX {
        let until = entries.partition_point(|entry| entry.id.first_byte() <= first);
        index.extend((until as u32).to_be_bytes());
    }
    entries.iter().for_each(|entry| index.extend(entry.id.as_bytes()));
    entries.iter().for_each(|entry| index.extend(entry.crc.to_be_bytes()));
    let mut large = Vec::new();
    for IndexEntry { offset, .. } in entries {
        let small = if *offset < LARGE_OFFSET {
            *offset as u32
        } else {
            large.push(*offset);
            LARGE_OFFSET as u32 | (large.len() - 1) as u32
        };
        index.extend(small.to_be_bytes());
    }
    large.iter().for_each(|offset| index.extend(offset.to_be_bytes()));
    index.extend(checksum);
    let own = Sha1::digest(&index);
    index.extend(own);
    index
}

/// Deflates texts one after the other, with one allocation.
pub(super) struct Deflater {
    stream: Compress,
    out: Vec<u8>,
}

impl Default for Deflater {
    fn default() -> Self {
        Self { stream: Compress::new(Compression::BEST_SPEED), out: Vec::new() }
    }
}

impl Deflater {
    /// Returns the deflated `text`.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub(super) fn deflate(&mut self, text: &[u8]) -> io::Result<&[u8]> {
        self.stream.reset();
        self.out.resize(self.out.len().max(text.len() / 2 + 64), 0);
        loop {
            let (read, written) = (self.stream.total_in() as usize, self.stream.total_out() as usize);
            let status = self.stream.compress(&text[read..], &mut self.out[written..], FlushCompress::Finish);
            if matches!(status.map_err(io::Error::other)?, Status::StreamEnd) {
                return Ok(&self.out[..self.stream.total_out() as usize]);
            }
            self.out.resize(self.out.len() * 2, 0);
        }
    }
}

#[cfg(test)]
#[path = "tests/pack.rs"]
mod tests;
