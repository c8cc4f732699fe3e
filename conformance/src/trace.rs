//! Records actions on a library and messages of its server, in order: the steps of a witness.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Length of the longest text of an event, in bytes; the middle of longer texts is omitted.
const MAX_EVENT_BYTES: usize = 4_000;
/// Number of events to keep: half of them from the beginning, half from the end.
const MAX_EVENTS: usize = 200;

/// An action or a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "text")]
pub enum Event {
    /// An action on the library or the server, in words for people.
    Did(String),
    /// A line sent to the server.
    Sent(String),
    /// A line received from the server.
    Received(String),
}

/// A recording of events. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Trace(Arc<Mutex<Vec<Event>>>);

impl Trace {
    /// Records an action.
    pub fn did(&self, what: impl Into<String>) {
        self.add(Event::Did(cut(what.into())));
    }

    pub(crate) fn sent(&self, line: &[u8]) {
        self.add(Event::Sent(cut(String::from_utf8_lossy(line).into_owned())));
    }

    pub(crate) fn received(&self, line: &str) {
        self.add(Event::Received(cut(line.to_owned())));
    }

    /// Returns the events so far.
    pub fn events(&self) -> Vec<Event> {
        let events = self.lock();
        let middle = MAX_EVENTS / 2;
        let Some(omitted) = events.len().checked_sub(MAX_EVENTS).filter(|more| *more > 0) else {
            return events.clone();
        };
        let mut some = events[..middle].to_vec();
        some.push(Event::Did(format!("… {omitted} more …")));
        some.extend_from_slice(&events[middle + omitted..]);
        some
    }

    fn add(&self, event: Event) {
        self.lock().push(event);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `text`, without its middle if it is long.
fn cut(text: String) -> String {
    if text.len() <= MAX_EVENT_BYTES {
        return text;
    }
    let (start, end) = (
        text.floor_char_boundary(MAX_EVENT_BYTES / 2),
        text.ceil_char_boundary(text.len() - MAX_EVENT_BYTES / 2),
    );
    format!("{}… {} bytes …{}", &text[..start], end - start, &text[end..])
}
