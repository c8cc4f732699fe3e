//! The content of an export.

use std::{
    collections::BTreeMap,
    io::{Cursor, Read},
};

use zip::ZipArchive;

use tabellion_conformance::checks::prelude::*;

/// Reads an archive: content by name.
pub(super) fn archive(bytes: &[u8]) -> Result<BTreeMap<String, String>, Stop> {
    let broken = |error: &dyn std::fmt::Display| fail(format!("the export is no zip archive: {error}"));
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    let mut files = BTreeMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|error| broken(&error))?;
        let name = file.name().map_err(|error| broken(&error))?.into_owned();
        let is_inside = file.enclosed_name().is_some();
        ensure(is_inside, || format!("a file of the archive leads out of it: `{name}`"))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| broken(&error))?;
        files.insert(name, text);
    }
    Ok(files)
}

/// Fails unless an answer's numbers match its file. Links that were not requested may be counted or not: `None`.
pub(super) fn ensure_said(answer: &Value, bytes: &[u8], notes: usize, links: Option<usize>) -> Judgement {
    let right = [("file_size_bytes", Some(bytes.len())), ("note_count", Some(notes)), ("link_count", links)];
    for (key, right) in right {
        let is_right = right.is_none_or(|right| answer[key].as_u64() == Some(right as u64));
        ensure(is_right, || {
            format!("`{key}` of the export should be {right:?}, but the answer says: {answer}")
        })?;
    }
    Ok(())
}
