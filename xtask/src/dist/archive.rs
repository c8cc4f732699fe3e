//! Archives: the same entries produce the same bytes.

use std::io::{Cursor, Read, Write as _};

use data_encoding::HEXLOWER;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use sha2::{Digest as _, Sha256};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::targets::Format;
use xtask::Outcome;

/// The time of every entry, in seconds: 1985-10-26, as in npm's packages.
const TIME: u64 = 499_162_500;
const EVERYONE_READS: u32 = 0o644;
const EVERYONE_RUNS: u32 = 0o755;

/// A file in an archive.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

impl Entry {
    pub(super) fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (path, bytes) = (path.into(), bytes.into());
        Self { path, bytes, is_program: false }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_program: true, ..Self::file(path, bytes) }
    }

    fn mode(&self) -> u32 {
        if self.is_program { EVERYONE_RUNS } else { EVERYONE_READS }
    }
}

/// Returns the archive's bytes.
pub(super) fn pack(format: Format, entries: &[Entry]) -> Outcome<Vec<u8>> {
    match format {
        Format::TarGz => tar_gz(entries),
        Format::Zip => zip(entries),
    }
}

fn tar_gz(entries: &[Entry]) -> Outcome<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(entry.mode());
        header.set_mtime(TIME);
        archive.append_data(&mut header, &entry.path, &*entry.bytes)?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn zip(entries: &[Entry]) -> Outcome<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        let options = SimpleFileOptions::DEFAULT.compression_level(Some(9)).unix_permissions(entry.mode());
        archive.start_file(&entry.path, options)?;
        archive.write_all(&entry.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Returns the bytes of the file at `path` in an archive.
///
/// # Errors
/// If it is not such an archive, or has no such file.
pub(super) fn unpack(format: Format, archive: &[u8], path: &str) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    match format {
        Format::Zip => {
            ZipArchive::new(Cursor::new(archive))?.by_name(path)?.read_to_end(&mut bytes)?;
        }
        Format::TarGz => {
            let mut archive = tar::Archive::new(GzDecoder::new(archive));
            for entry in archive.entries()? {
                let mut entry = entry?;
                if &*entry.path_bytes() == path.as_bytes() {
                    entry.read_to_end(&mut bytes)?;
                    return Ok(bytes);
                }
            }
            return Err(format!("the archive has no `{path}`").into());
        }
    }
    Ok(bytes)
}

/// Returns the SHA-256 digest in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_keeps_its_entries_and_has_no_time_of_its_own() {
        let long = format!("{}/page.1", "folder".repeat(20));
        let entries = [Entry::program("tool-1/tool", [0, 159, 146, 150]), Entry::file(&*long, "text")];
        for format in [Format::TarGz, Format::Zip] {
            let archive = pack(format, &entries).unwrap();
            assert_eq!(archive, pack(format, &entries).unwrap());
            for entry in &entries {
                assert_eq!(unpack(format, &archive, &entry.path).unwrap(), entry.bytes);
            }
            assert!(unpack(format, &archive, "tool-1").is_err());
        }
    }

    #[test]
    fn a_program_can_be_run() {
        let entries = [Entry::program("a", "x"), Entry::file("b", "y")];
        let archive = pack(Format::TarGz, &entries).unwrap();
        let modes: Vec<_> = tar::Archive::new(GzDecoder::new(&*archive))
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().header().mode().unwrap())
            .collect();
        assert_eq!(modes, [0o755, 0o644]);
        let archive = pack(Format::Zip, &entries).unwrap();
        let mut archive = ZipArchive::new(Cursor::new(archive)).unwrap();
        let modes = ["a", "b"].map(|name| archive.by_name(name).unwrap().unix_mode().unwrap() & 0o777);
        assert_eq!(modes, [0o755, 0o644]);
    }

    #[test]
    fn a_digest_is_that_of_sha256sum() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), expected);
    }
}
