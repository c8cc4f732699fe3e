//! The open sessions of revisions until 2025-11-25.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tabellion_runtime::Identity;
use tokio::time::{Duration, Instant};

use super::conversation::Conversation;

/// Idle time after which a session ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The open sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    capacity: usize,
    open: Mutex<HashMap<String, Session>>,
}

#[derive(Debug)]
struct Session {
    /// The caller that opened the session; `None` if callers are not distinguished.
    owner: Option<Identity>,
    conversation: Arc<Conversation>,
    used: Instant,
}

impl Session {
    /// Returns the start of the session's idle time; `None` if a request or reader is waiting.
    fn idle_since(&self) -> Option<Instant> {
        (!self.conversation.routes().are_in_use()).then_some(self.used)
    }
}

impl Sessions {
    /// Creates an empty table with this capacity.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, open: Mutex::default() }
    }

    /// Adds a session and returns its unguessable id. At the total limit, or the owner's, ends another session.
    ///
    /// # Errors
    /// If a limit is reached and none of the sessions is idle.
    pub(super) fn add(&self, conversation: Arc<Conversation>, owner: Option<Identity>) -> Result<String, ()> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        let id = format!("{:032x}", u128::from_be_bytes(bytes));
        let now = Instant::now();
        let mut open = self.open.lock();
        open.retain(|_, session| {
            let is_old = |since| now.duration_since(since) >= IDLE_TIMEOUT;
            let over = session.conversation.is_over() || session.idle_since().is_some_and(is_old);
            if over {
                session.conversation.end();
            }
            !over
        });
        if let Some(oldest) = self.giving_way(&open, owner.as_ref())?
            && let Some(session) = open.remove(&oldest)
        {
            session.conversation.end();
        }
        let session = Session { owner, conversation, used: now };
        open.insert(id.clone(), session);
        Ok(id)
    }

    /// Returns the session that must end to make room for one of `owner`; `None` if there is room.
    fn giving_way(
        &self,
        open: &HashMap<String, Session>,
        owner: Option<&Identity>,
    ) -> Result<Option<String>, ()> {
        let share = self.capacity.div_ceil(2);
        let theirs = open.values().filter(|it| it.owner.as_ref() == owner).count();
        let has_share = owner.is_some() && theirs >= share;
        if !has_share && open.len() < self.capacity {
            return Ok(None);
        }
        let mut idle: HashMap<Option<&Identity>, Vec<(Instant, &String)>> = HashMap::new();
        for (id, session) in open {
            if let Some(since) = session.idle_since() {
                idle.entry(session.owner.as_ref()).or_default().push((since, id));
            }
        }
        let of_one = if has_share { idle.remove(&owner) } else { idle.into_values().max_by_key(Vec::len) };
        let (_, oldest) = of_one.into_iter().flatten().min().ok_or(())?;
        Ok(Some(oldest.clone()))
    }

    /// Returns the session with this id and owner, and marks it as active.
    pub(super) fn get(&self, id: &str, owner: Option<&Identity>) -> Option<Arc<Conversation>> {
        let mut open = self.open.lock();
        let session = open.get_mut(id).filter(|it| it.owner.as_ref() == owner)?;
        session.used = Instant::now();
        let conversation = session.conversation.clone();
        (!conversation.is_over()).then_some(conversation)
    }

    /// Ends the session with this id and owner. Returns false if there is none.
    pub(super) fn end(&self, id: &str, owner: Option<&Identity>) -> bool {
        let mut open = self.open.lock();
        let is_theirs = open.get(id).is_some_and(|it| it.owner.as_ref() == owner);
        let session = is_theirs.then(|| open.remove(id)).flatten();
        if let Some(session) = &session {
            session.conversation.end();
        }
        session.is_some()
    }

    /// Returns the number of open sessions.
    pub(super) fn count(&self) -> usize {
        self.open.lock().len()
    }
}
