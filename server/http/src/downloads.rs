//! Answers requests for downloads, whole or in part.

use std::{
    io::{self, Read as _, Seek as _, SeekFrom, Take},
    ops::Range,
    sync::Arc,
};

use axum::{
    body::Body,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::stream;
use hyper::{
    HeaderMap, Method, StatusCode,
    header::{
        ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
        HeaderName, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE, X_CONTENT_TYPE_OPTIONS,
    },
};
use sha2::{Digest as _, Sha256};
use tabellion_rest::Refusal;
use tabellion_runtime::downloads::{Opened, Source};

use super::{response::ErrorResponse, site::Site};

/// Number of bytes to read at a time.
const CHUNK: usize = 64 << 10;

/// Caching of files, whose URLs are secret.
const PRIVATE: &str = "private, no-store";

/// Digests of the file: by RFC 3230, and by its successor, RFC 9530.
const DIGEST: HeaderName = HeaderName::from_static("digest");
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// Answers a request for a download of the mount at `path`.
pub(super) async fn download(
    path: Arc<str>,
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    method: Method,
    asked: HeaderMap,
) -> Result<Response, ErrorResponse> {
    if ![Method::GET, Method::HEAD].contains(&method) {
        return Err(Refusal::method_not_allowed("GET, HEAD").into());
    }
    let mount = site.mounts.get(&*path);
    let downloads = mount.and_then(|mount| mount.downloads.clone());
    let Some(downloads) = downloads else {
        return Err(refused(&Opened::Missing));
    };
    let query = query.unwrap_or_default();
    let opened = tokio::task::spawn_blocking(move || {
        Ok::<_, io::Error>(match downloads.open(&id, &query)? {
            Opened::File(mut download) => Ok((digest(&mut *download.file)?, download)),
            nothing => Err(nothing),
        })
    });
    let opened = opened.await.map_err(io::Error::other);
    let ((digest, length), mut download) = match opened.flatten() {
        Ok(Ok(opened)) if site.is_valid(&opened.1) => opened,
        Ok(Ok(_)) => return Err(refused(&Opened::Unsigned)),
        Ok(Err(nothing)) => return Err(refused(&nothing)),
        Err(error) => return Err(unreadable(&error)),
    };
    let etag = format!("\"{digest}\"");
    if tabellion_rest::is_known(asked.get_all(IF_NONE_MATCH), etag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, &*etag), (CACHE_CONTROL, PRIVATE)]).into_response());
    }
    let is_same = asked.get(IF_RANGE).is_none_or(|it| it.as_bytes() == etag.as_bytes());
    // Ranges are those of GET (RFC 9110, section 14.2).
    let part = asked.get(RANGE).filter(|_| is_same && method == Method::GET);
    let part = part.and_then(|it| range(it.to_str().ok()?, length));
    let (status, part) = match part {
        None => (StatusCode::OK, 0..length),
        Some(part) if part.is_empty() => {
            let all = HeaderValue::from_str(&format!("bytes */{length}"));
            let why = format!("the file has {length} bytes: ask for some of these");
            let refusal = Refusal::new(StatusCode::RANGE_NOT_SATISFIABLE, why);
            return Err(refusal
                .header(CONTENT_RANGE, all.unwrap_or(HeaderValue::from_static("bytes")))
                .into());
        }
        Some(part) => (StatusCode::PARTIAL_CONTENT, part),
    };
    download.file.seek(SeekFrom::Start(part.start)).map_err(|error| unreadable(&error))?;
    let size = part.end - part.start;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (CONTENT_TYPE, download.media_type.to_owned()),
        (CONTENT_LENGTH, size.to_string()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", download.name)),
        (ACCEPT_RANGES, "bytes".to_owned()),
        (ETAG, etag),
        (DIGEST, format!("sha-256={digest}")),
        (REPR_DIGEST, format!("sha-256=:{digest}:")),
        (CACHE_CONTROL, PRIVATE.to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ] {
        headers.extend(HeaderValue::from_str(&value).ok().map(|value| (name, value)));
    }
    if status == StatusCode::PARTIAL_CONTENT {
        let said = format!("bytes {}-{}/{length}", part.start, part.end - 1);
        headers.extend(HeaderValue::from_str(&said).ok().map(|value| (CONTENT_RANGE, value)));
    }
    Ok((status, headers, content(download.file.take(size))).into_response())
}

/// Returns the SHA-256 of a file in base64, and its length.
fn digest(file: &mut dyn Source) -> io::Result<(String, u64)> {
    let mut sha256 = Sha256::new();
    let (mut chunk, mut length) = (vec![0; CHUNK], 0);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((BASE64_STANDARD.encode(sha256.finalize()), length)),
            read => {
                sha256.update(&chunk[..read]);
                length += read as u64;
            }
        }
    }
}

/// Returns the part of a file for a `Range` header, empty if the range is outside of the file; `None` if the
/// header is to be ignored, such as one with several ranges.
fn range(asked: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = asked.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    if first.trim().is_empty() {
        return Some(length.saturating_sub(number(last)?)..length);
    }
    let first = number(first)?;
    let end = match last.trim() {
        "" => length,
        last => number(last)?.checked_add(1)?.min(length),
    };
    if number(last).is_some_and(|last| last < first) {
        return None;
    }
    Some(first.min(end)..end)
}

fn refused(why: &Opened) -> ErrorResponse {
    let (status, reason, why) = match why {
        Opened::Expired => (StatusCode::GONE, "expired", "the URL has expired: export again"),
        Opened::Missing => {
            (StatusCode::NOT_FOUND, "not_found", "the file is not there any more: export again")
        }
        Opened::Unsigned | Opened::File(_) => (
            StatusCode::FORBIDDEN,
            "signature",
            "the URL is not one that the server has made, or the key that it was made with is gone: export again",
        ),
    };
    Refusal::new(status, why).because(reason).into()
}

fn unreadable(error: &io::Error) -> ErrorResponse {
    tracing::warn!(%error, "a download can't be read");
    Refusal::busy("the file can't be read now; try again later").into()
}

/// Returns the content of a file, which is read while it is sent.
fn content(part: Take<Box<dyn Source>>) -> Body {
    Body::from_stream(stream::try_unfold(part, async |mut file| {
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            (&mut file).take(CHUNK as u64).read_to_end(&mut chunk)?;
            Ok::<_, io::Error>((!chunk.is_empty()).then_some((chunk, file)))
        });
        read.await.map_err(io::Error::other)?
    }))
}
