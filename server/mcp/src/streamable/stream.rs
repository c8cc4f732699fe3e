//! Messages of the server to one request or session: in order, for one reader at a time.
//!
//! Writers never wait for readers. Messages already read are kept for a while, so that a client can resume after its connection broke.

use std::{collections::VecDeque, sync::Arc};

use hyper::body::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Upper bound of the bytes kept of messages already read.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// Upper bound of unread messages in a stream without end; the oldest are dropped.
const MAX_UNREAD: usize = 256;

/// A message in a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Number of the message in the stream, from 1.
    pub(super) number: u64,
    /// JSON on one line.
    pub(super) message: Bytes,
    /// Error code, if the message is an error.
    pub(super) code: Option<i32>,
    /// True if this is the answer, which is the last message.
    pub(super) is_answer: bool,
}

/// Messages for one reader at a time.
#[derive(Debug, Default)]
pub(super) struct Stream {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    /// Number of the last message.
    last: u64,
    /// Number of the last message read.
    read: u64,
    /// True if the stream has ended.
    ended: bool,
    /// True if messages already read are kept for resumption.
    kept: bool,
    /// Number of the current reader; earlier readers receive no further messages.
    reader: u64,
}

/// A reader of a stream.
#[derive(Debug)]
pub(super) struct Reader {
    stream: Arc<Stream>,
    number: u64,
    /// Number of the last message that this reader read.
    at: u64,
    changed: watch::Receiver<()>,
}

impl Stream {
    /// Appends a message.
    pub(super) fn say(&self, message: Bytes) {
        self.push(message, None, false);
    }

    /// Appends the answer and ends the stream. `code` is the error's.
    pub(super) fn answer(&self, message: Bytes, code: Option<i32>) {
        self.push(message, code, true);
    }

    /// Ends the stream without an answer.
    pub(super) fn end(&self) {
        self.state.lock().ended = true;
        self.changed.send_replace(());
    }

    /// Keeps messages for resumption from here on.
    pub(super) fn keep(&self) {
        self.state.lock().kept = true;
    }

    /// Returns true if the stream has ended and can be resumed.
    pub(super) fn is_kept(&self) -> bool {
        self.state.lock().kept
    }

    /// Starts a reader after the message `after`, or at the first unread message. A number beyond the last message is another session's.
    /// Earlier readers receive no further messages.
    pub(super) fn read(self: &Arc<Self>, after: Option<u64>) -> Reader {
        let mut state = self.state.lock();
        state.reader += 1;
        let after = after.filter(|after| *after <= state.last);
        let (number, at) = (state.reader, after.unwrap_or(state.read));
        drop(state);
        self.changed.send_replace(());
        Reader { stream: self.clone(), number, at, changed: self.changed.subscribe() }
    }

    /// Returns true if a reader has not seen the end yet.
    pub(super) fn has_reader(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    fn push(&self, message: Bytes, code: Option<i32>, is_answer: bool) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        state.last += 1;
        let number = state.last;
        state.events.push_back(Event { number, message, code, is_answer });
        state.ended = is_answer;
        if state.events.len() > MAX_UNREAD && !is_answer {
            state.events.pop_front();
        }
        drop(state);
        self.changed.send_replace(());
    }
}

impl State {
    /// Drops messages that were read and are not kept.
    fn forget(&mut self) {
        let mut kept = 0;
        let read = self.events.iter().take_while(|event| event.number <= self.read);
        let old = read.count();
        let mut first = old;
        while self.kept && first > 0 && kept + self.events[first - 1].message.len() <= MAX_KEPT_BYTES {
            first -= 1;
            kept += self.events[first].message.len();
        }
        self.events.drain(..first);
    }
}

impl Reader {
    /// Returns the number of the last message that was read, here or before.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    /// Returns the next message, or `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            self.changed.borrow_and_update();
            {
                let mut state = self.stream.state.lock();
                if state.reader != self.number {
                    return None;
                }
                let next = state.events.iter().find(|event| event.number > self.at).cloned();
                if let Some(event) = next {
                    self.at = event.number;
                    state.read = state.read.max(event.number);
                    state.forget();
                    return Some(event);
                }
                if state.ended {
                    return None;
                }
            }
            // `self` holds the stream, and with it the sender.
            self.changed.changed().await.ok()?;
        }
    }

    /// Waits for the next message or the end.
    pub(super) async fn ready(&mut self) {
        loop {
            self.changed.borrow_and_update();
            {
                let state = self.stream.state.lock();
                let has_more = state.last > self.at;
                if has_more || state.ended || state.reader != self.number {
                    return;
                }
            }
            if self.changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns the answer if it is the next message.
    pub(super) fn answer(&mut self) -> Option<Event> {
        let state = self.stream.state.lock();
        let next = state.events.iter().find(|event| event.number > self.at)?;
        next.is_answer.then(|| next.clone())
    }
}
