//! Files that a contract lets clients download: every client that has the URL may, until it expires.

use std::{fs::File, io, io::Read as _, sync::Arc};

use axum::{
    body::Body,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use hyper::{
    StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
    },
};
use tabellion_mcp::streamable::Refusal;

use super::{response::ErrorResponse, site::Site};

/// Segment between a mount's path and the id of a download.
pub const DOWNLOADS: &str = "exports";
/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// A file that can be downloaded.
#[derive(Debug)]
pub struct Download {
    /// The file.
    pub file: File,
    /// Its name for clients: letters, digits, `-` and `.`.
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Id of the API key with which it was requested. It can be fetched as long as that key exists.
    pub key: Option<String>,
}

/// Files that can be downloaded with a URL that says so itself. There are no other credentials.
pub trait Downloads: Send + Sync {
    /// Returns what the URL leads to that ends with this id and this query; `None` if the query does not permit it, it has expired, or is
    /// not there. Callers can't tell these apart.
    ///
    /// # Errors
    /// If the file can't be read.
    fn open(&self, id: &str, query: &str) -> io::Result<Option<Download>>;
}

/// Answers a request for a download of the mount at `path`.
pub(super) async fn download(
    path: Arc<str>,
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ErrorResponse> {
    let mount = site.mounts.get(&*path);
    let downloads = mount.and_then(|mount| mount.downloads.clone());
    let Some(downloads) = downloads else {
        return Err(nothing());
    };
    let query = query.unwrap_or_default();
    let opened = tokio::task::spawn_blocking(move || {
        let download = downloads.open(&id, &query)?;
        let length = download.as_ref().map(|it| it.file.metadata()).transpose()?;
        Ok::<_, io::Error>(download.zip(length.map(|metadata| metadata.len())))
    });
    let opened = opened.await.map_err(io::Error::other);
    let (download, length) = match opened.flatten() {
        Ok(Some((download, length))) if site.is_valid(&download) => (download, length),
        Ok(_) => return Err(nothing()),
        Err(error) => {
            tracing::warn!(%error, "a download can't be read");
            let why = "the file can't be read now; try again later";
            return Err(Refusal::busy(why).into());
        }
    };
    let disposition = format!("attachment; filename=\"{}\"", download.name);
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(download.media_type)),
        (CONTENT_LENGTH, HeaderValue::from(length)),
        (
            CONTENT_DISPOSITION,
            HeaderValue::from_str(&disposition).unwrap_or(HeaderValue::from_static("attachment")),
        ),
        (CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((StatusCode::OK, headers, content(download.file)).into_response())
}

fn nothing() -> ErrorResponse {
    let why = "there is no such download, or its URL or the key that it was made with is not valid any more: export again";
    Refusal::new(StatusCode::NOT_FOUND, why).into()
}

/// Returns the content of a file, read as it is sent.
fn content(file: File) -> Body {
    Body::from_stream(stream::try_unfold(file, async |mut file| {
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            (&mut file).take(CHUNK as u64).read_to_end(&mut chunk)?;
            Ok::<_, io::Error>((!chunk.is_empty()).then_some((chunk, file)))
        });
        read.await.map_err(io::Error::other)?
    }))
}
