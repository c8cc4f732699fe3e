//! Server-sent events: the `text/event-stream` of the HTML standard, section 9.2.

use std::{
    io::{self, BufRead},
    time::Duration,
};

/// The events of a stream.
#[derive(Debug)]
pub struct Events<R> {
    stream: R,
    /// Id of the last event with an id, for resuming the stream.
    pub last_id: Option<String>,
    /// Delay that the server requests before a reconnection.
    pub retry: Option<Duration>,
}

impl<R: BufRead> Events<R> {
    /// Creates a reader of the events in `stream`.
    pub fn new(stream: R) -> Self {
        Self { stream, last_id: None, retry: None }
    }

    /// Returns the data of the next message that has any, or `None` at the end of the stream. Skips events of other
    /// types.
    ///
    /// # Errors
    /// If the stream breaks. An event without a final empty line is dropped.
    pub fn next_data(&mut self) -> io::Result<Option<String>> {
        let (mut data, mut is_message) = (String::new(), true);
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.stream.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches('\n').trim_end_matches('\r');
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            if text.is_empty() {
                if !data.trim().is_empty() && is_message {
                    data.pop();
                    return Ok(Some(data));
                }
                (data, is_message) = (String::new(), true);
                continue;
            }
            let (field, value) = text.split_once(':').unwrap_or((text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => {
                    data.push_str(value);
                    data.push('\n');
                }
                "event" => is_message = matches!(value, "" | "message"),
                "id" if !value.contains('\0') => self.last_id = Some(value.to_owned()),
                "retry" => self.retry = value.parse().ok().map(Duration::from_millis),
                // A comment, which only keeps the connection open.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_are_returned() {
        let stream = "id: 1\nretry: 50\ndata:\n\n: a comment\n\nevent: message\r\nid: 2\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n\
                      event: ping\ndata: {}\n\ndata: []\n\ndata: cut off";
        let mut events = Events::new(stream.as_bytes());
        assert_eq!(events.next_data().unwrap().as_deref(), Some("{\"a\":\n1}"));
        assert_eq!(events.last_id.as_deref(), Some("2"));
        assert_eq!(events.retry, Some(Duration::from_millis(50)));
        assert_eq!(events.next_data().unwrap().as_deref(), Some("[]"));
        assert_eq!(events.next_data().unwrap(), None);
    }
}
