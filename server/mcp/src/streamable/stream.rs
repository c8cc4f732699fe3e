//! What the server has to say to one request, or to a session by itself: messages in order, for one reader at a time.
//!
//! Whoever writes never waits for whoever reads. What was read is kept for a while, so that a client whose connection
//! broke can go on where it was.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hyper::body::Bytes;
use tokio::sync::watch;

/// So many bytes that were read are kept of a stream.
const KEPT: usize = 1 << 20;
/// So many messages wait for a reader, where nothing ends the stream; the oldest ones go first.
const MOST_WAITING: usize = 256;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its place in the stream, from 1 on.
    pub(super) place: u64,
    /// JSON, on one line.
    pub(super) message: Bytes,
    /// The code of the error, if it is one.
    pub(super) code: Option<i32>,
    /// Whether it is the answer: nothing comes after it.
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
    /// The place of the last one.
    last: u64,
    /// The place of the last one that was read.
    read: u64,
    /// Whether no more will come.
    ended: bool,
    /// Whether somebody may ask again for what was read.
    kept: bool,
    /// Which reader it is; those before have nothing more to read.
    reader: u64,
}

/// A reader of a stream.
#[derive(Debug)]
pub(super) struct Reader {
    stream: Arc<Stream>,
    number: u64,
    /// The place of what it read last.
    at: u64,
    changed: watch::Receiver<()>,
}

impl Stream {
    /// Says something.
    pub(super) fn say(&self, message: Bytes) {
        self.push(message, None, false);
    }

    /// Says the answer, which is the last thing; `code` is its error's.
    pub(super) fn answer(&self, message: Bytes, code: Option<i32>) {
        self.push(message, code, true);
    }

    /// Says nothing more.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.changed.send_replace(());
    }

    /// Keeps from here on what is read, so that it can be asked for again.
    pub(super) fn keep(&self) {
        self.state().kept = true;
    }

    /// Whether it ended, and somebody may ask for it again.
    pub(super) fn is_kept(&self) -> bool {
        self.state().kept
    }

    /// A new reader: of what comes after the place `after`, or of what nobody has read. Those before hear no more.
    pub(super) fn read(self: &Arc<Self>, after: Option<u64>) -> Reader {
        let mut state = self.state();
        state.reader += 1;
        let (number, at) = (state.reader, after.unwrap_or(state.read));
        drop(state);
        self.changed.send_replace(());
        Reader {
            stream: self.clone(),
            number,
            at,
            changed: self.changed.subscribe(),
        }
    }

    /// Whether somebody reads it, who has not been told of its end.
    pub(super) fn has_reader(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    fn push(&self, message: Bytes, code: Option<i32>, is_answer: bool) {
        let mut state = self.state();
        if state.ended {
            return;
        }
        state.last += 1;
        let place = state.last;
        state.events.push_back(Event {
            place,
            message,
            code,
            is_answer,
        });
        state.ended = is_answer;
        if state.events.len() > MOST_WAITING && !is_answer {
            state.events.pop_front();
        }
        drop(state);
        self.changed.send_replace(());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets what was read and is not kept.
    fn forget(&mut self) {
        let mut kept = 0;
        let read = self.events.iter().take_while(|event| event.place <= self.read);
        let old = read.count();
        let mut first = old;
        while self.kept && first > 0 && kept + self.events[first - 1].message.len() <= KEPT {
            first -= 1;
            kept += self.events[first].message.len();
        }
        self.events.drain(..first);
    }
}

impl Reader {
    /// The next message; `None` when there is none to come.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            self.changed.borrow_and_update();
            {
                let mut state = self.stream.state();
                if state.reader != self.number {
                    return None;
                }
                let next = state.events.iter().find(|event| event.place > self.at).cloned();
                if let Some(event) = next {
                    self.at = event.place;
                    state.read = state.read.max(event.place);
                    state.forget();
                    return Some(event);
                }
                if state.ended {
                    return None;
                }
            }
            // The sender is in the stream, which is held here.
            self.changed.changed().await.ok()?;
        }
    }

    /// Waits until there is something to read, or nothing to come.
    pub(super) async fn ready(&mut self) {
        loop {
            self.changed.borrow_and_update();
            {
                let state = self.stream.state();
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

    /// The answer, if that is what comes next.
    pub(super) fn answer(&mut self) -> Option<Event> {
        let state = self.stream.state();
        let next = state.events.iter().find(|event| event.place > self.at)?;
        next.is_answer.then(|| next.clone())
    }
}
