//! The collections that a search considers.

use std::{ops::Range, sync::Arc};

use crate::columns::{Columns, DEAD, FileColumns};

/// A collection that is searched.
pub(crate) struct Part<'q> {
    pub(crate) key: &'q str,
    pub(crate) columns: Arc<Columns>,
}

/// A file that is searched.
pub(crate) struct Searched<'s> {
    pub(crate) key: &'s str,
    pub(crate) columns: &'s FileColumns,
    /// Number of its first chunk among those of all parts.
    pub(crate) first: usize,
    /// Length of each of its chunks, and of all.
    pub(crate) lengths: &'s [u32],
    pub(crate) length: u32,
}

impl Searched<'_> {
    /// Returns the numbers of its chunks.
    pub(crate) fn chunks(&self) -> Range<usize> {
        self.first..self.first + self.lengths.len()
    }
}

/// A chunk with a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Valued {
    pub(crate) chunk: u32,
    pub(crate) file: u32,
    /// The symbol of the chunk that a filter finds.
    pub(crate) symbol: Option<usize>,
    pub(crate) value: f32,
}

/// All collections of a search. Their chunks and files are numbered through.
pub(crate) struct Parts<'s> {
    pub(crate) all: &'s [Part<'s>],
    pub(crate) files: Vec<Searched<'s>>,
    /// Number of chunks, including dead ones.
    pub(crate) chunks: usize,
}

impl<'s> Parts<'s> {
    pub(crate) fn new(all: &'s [Part<'s>]) -> Self {
        let (mut files, mut chunks) = (vec![], 0);
        for part in all {
            files.extend(part.columns.files.iter().map(|columns| Searched {
                key: part.key,
                columns,
                first: chunks + columns.first as usize,
                lengths: &part.columns.lengths[columns.chunks()],
                length: columns.length,
            }));
            chunks += part.columns.file_of.len();
        }
        Self { all, files, chunks }
    }

    /// Returns the number of the file that has a chunk.
    pub(crate) fn file_of(&self, chunk: u32) -> Option<u32> {
        let (mut own, mut first_file) = (chunk as usize, 0);
        for part in self.all {
            let columns = &part.columns;
            if let Some(file) = columns.file_of.get(own) {
                return (*file != DEAD).then_some(first_file + file);
            }
            own -= columns.file_of.len();
            first_file += columns.files.len() as u32;
        }
        None
    }
}
