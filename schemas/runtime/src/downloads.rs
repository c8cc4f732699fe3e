//! Files for download, available to every client that has the URL, until it expires.

use std::{
    fmt,
    io::{self, Read, Seek},
};

/// The content of a download.
pub trait Source: Read + Seek + Send + fmt::Debug {}

impl<T: Read + Seek + Send + fmt::Debug> Source for T {}

/// A file that can be downloaded.
#[derive(Debug)]
pub struct Download {
    /// The file, open at its beginning.
    pub file: Box<dyn Source>,
    /// Its name for clients: letters, digits, `-` and `.`.
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Id of the API key with which it was requested. It can be fetched as long as that key exists.
    pub key: Option<String>,
}

/// The result of following a URL of downloads.
#[derive(Debug)]
pub enum Opened {
    /// A file.
    File(Download),
    /// The URL was not issued by the server. Does not reveal whether the file exists.
    Unsigned,
    /// The URL has expired.
    Expired,
    /// The file is gone.
    Missing,
}

/// Files that can be downloaded with URLs that carry their own credentials.
pub trait Downloads: Send + Sync {
    /// Returns the path of the URLs below that of the mount, with a variable for the id.
    fn path(&self) -> &'static str;

    /// Opens the file whose URL ends with this id and this query.
    ///
    /// # Errors
    /// If the file can't be read.
    fn open(&self, id: &str, query: &str) -> io::Result<Opened>;
}
