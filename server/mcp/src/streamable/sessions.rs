//! The sessions that are open, as revisions until 2025-11-25 have them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::{Duration, Instant};

use super::conversation::Conversation;

/// How long a session stays in which nothing happens.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// The sessions that are open.
#[derive(Debug)]
pub(super) struct Sessions {
    most: usize,
    open: Mutex<HashMap<String, Session>>,
}

#[derive(Debug)]
struct Session {
    /// The id of the key that it was opened with, where there are keys.
    owner: Option<String>,
    conversation: Arc<Conversation>,
    used: Instant,
}

impl Session {
    /// Since when nothing has happened in it; `None` while somebody waits for something.
    fn idle_since(&self) -> Option<Instant> {
        (!self.conversation.routes().are_used()).then_some(self.used)
    }
}

impl Sessions {
    /// None yet. There will be `most`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            open: Mutex::default(),
        }
    }

    /// Takes one in; its id, which nobody can guess. Where there are too many, the one in which nothing has happened for
    /// the longest time ends.
    ///
    /// # Errors
    /// When there are too many, and all of them are in use.
    pub(super) fn add(&self, conversation: Arc<Conversation>, owner: Option<String>) -> Result<String, ()> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        let id = format!("{:032x}", u128::from_be_bytes(bytes));
        let now = Instant::now();
        let mut open = self.open();
        open.retain(|_, session| {
            let is_old = |since| now.duration_since(since) >= IDLE;
            let over = session.conversation.is_over() || session.idle_since().is_some_and(is_old);
            if over {
                session.conversation.end();
            }
            !over
        });
        if open.len() >= self.most {
            let idle = open
                .iter()
                .filter_map(|(id, session)| Some((session.idle_since()?, id)));
            let (_, oldest) = idle.min().ok_or(())?;
            let oldest = oldest.clone();
            if let Some(session) = open.remove(&oldest) {
                session.conversation.end();
            }
        }
        let session = Session {
            owner,
            conversation,
            used: now,
        };
        open.insert(id.clone(), session);
        Ok(id)
    }

    /// The session of that id and owner, in which something happens now.
    pub(super) fn get(&self, id: &str, owner: Option<&str>) -> Option<Arc<Conversation>> {
        let mut open = self.open();
        let session = open.get_mut(id).filter(|it| it.owner.as_deref() == owner)?;
        session.used = Instant::now();
        let conversation = session.conversation.clone();
        (!conversation.is_over()).then_some(conversation)
    }

    /// Ends the session of that id and owner. False where there is none.
    pub(super) fn end(&self, id: &str, owner: Option<&str>) -> bool {
        let mut open = self.open();
        let is_theirs = open.get(id).is_some_and(|it| it.owner.as_deref() == owner);
        let session = is_theirs.then(|| open.remove(id)).flatten();
        if let Some(session) = &session {
            session.conversation.end();
        }
        session.is_some()
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
