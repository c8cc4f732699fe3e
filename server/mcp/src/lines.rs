//! Lines of a stream, with a size limit.

use std::io;

use rmcp::model::RequestId;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::message;

/// Size limit of a line including its end, in bytes.
pub(super) const MAX_LENGTH: usize = 64 << 20;
/// Capacity of the buffer that is kept between lines.
const RETAINED_CAPACITY: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

/// A line, or the remains of one that is too long.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// The line's bytes, trimmed. Never empty.
    Whole(&'a [u8]),
    /// A line longer than [`MAX_LENGTH`], which was skipped, and its id if it could be read.
    TooLong(Option<RequestId>),
}

/// The lines of a stream. The last line need not have an end.
#[derive(Debug)]
pub(super) struct Lines<R> {
    stream: BufReader<R>,
    line: Vec<u8>,
    skipping: bool,
    skipped: Option<RequestId>,
    given: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R) -> Self {
        let stream = BufReader::with_capacity(CHUNK, stream);
        Self { stream, line: vec![], skipping: false, skipped: None, given: false }
    }

    /// Returns the next line that is not blank, or `None` at the end.
    ///
    /// Cancel safe: no byte leaves the stream before it is in the buffer.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            if std::mem::take(&mut self.given) {
                self.line.clear();
                self.line.shrink_to(RETAINED_CAPACITY);
            }
            let chunk = self.stream.fill_buf().await?;
            let at_end = chunk.is_empty();
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |at| at + 1);
            if !self.skipping && self.line.len() + taken > MAX_LENGTH {
                self.skipping = true;
                self.skipped = message::readable_id(&self.line);
                self.line = vec![];
            }
            if !self.skipping {
                self.line.extend_from_slice(&chunk[..taken]);
            }
            self.stream.consume(taken);
            if end.is_none() && !at_end {
                continue;
            }
            self.given = true;
            if std::mem::take(&mut self.skipping) {
                return Ok(Some(Line::TooLong(self.skipped.take())));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(Line::Whole(self.line.trim_ascii())));
            }
            if at_end {
                return Ok(None);
            }
        }
    }
}
