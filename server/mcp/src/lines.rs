//! Lines of a stream, none longer than memory should hold.

use std::io;

use rmcp::model::RequestId;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::json;

/// Longest line that is kept, its end included.
pub(super) const LONGEST: usize = 64 << 20;
/// Memory that stays with the reader between lines.
const KEPT: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

/// One line.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Its bytes, without blanks around them. Never empty.
    Whole(&'a [u8]),
    /// It was longer than [`LONGEST`] and has been skipped; this is its id, if that could be read before.
    TooLong(Option<RequestId>),
}

/// A stream's lines. A last line without an end is one, too.
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
        Self {
            stream,
            line: vec![],
            skipping: false,
            skipped: None,
            given: false,
        }
    }

    /// The next line that is not blank, or `None` at the end.
    ///
    /// Safe to drop and call again: nothing is taken from the stream before it is kept.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            if std::mem::take(&mut self.given) {
                self.line.clear();
                self.line.shrink_to(KEPT);
            }
            let chunk = self.stream.fill_buf().await?;
            let at_end = chunk.is_empty();
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |at| at + 1);
            if !self.skipping && self.line.len() + taken > LONGEST {
                self.skipping = true;
                self.skipped = json::readable_id(&self.line);
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
