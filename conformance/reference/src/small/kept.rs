//! The board's records of calls, in addition to the notices: executions, sessions, and the rest of each session's limit. They are a JSON
//! document in the server's folder in `.git`, which all servers of a library share.

use std::{
    collections::BTreeMap,
    env, fs,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::{
    ErrorAnswer,
    spec::{RateLimit, SessionsSpec},
};

use super::{Library, Refusal, bulletin::CONTRACT, failed};
use crate::mutant::{Mutant, is};

/// The environment variable that sets the clock ahead.
pub(crate) const CLOCK_OFFSET: &str = "REFERENCE_CLOCK_OFFSET";
/// The roles that see executions of others.
const SEES_OTHERS: [&str; 1] = ["owner"];

/// Executions and sessions, by their ids.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    executions: BTreeMap<String, Execution>,
    sessions: BTreeMap<String, Session>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Execution {
    holder: String,
    /// The execution in REST's form.
    shown: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Session {
    holder: String,
    has_ended: bool,
    /// The number of calls that the limit has left, and the time of that count.
    left: f64,
    at: f64,
    /// The times of its opening and its last use.
    opened_at: f64,
    used_at: f64,
}

impl Session {
    fn new(holder: &str) -> Self {
        Self {
            holder: holder.to_owned(),
            has_ended: false,
            left: limit().calls.get().into(),
            at: seconds(),
            opened_at: seconds(),
            used_at: seconds(),
        }
    }

    /// Returns true if its caller has ended it, or its time is over.
    fn is_over(&self) -> bool {
        let is_past = |since: f64, most: u32| seconds() - since >= f64::from(most);
        let is_idle = |spec: &SessionsSpec| is_past(self.used_at, spec.idle_seconds);
        let is_old = |spec: &SessionsSpec| is_past(self.opened_at, spec.seconds);
        self.has_ended
            || CONTRACT.sessions.is_some_and(|spec| {
                (is_idle(spec) && !is(Mutant::IdleSessionsLive))
                    || (is_old(spec) && !is(Mutant::OldSessionsLive))
            })
    }
}

/// A call that may begin.
pub(super) struct Begun {
    pub(super) execution: String,
    pub(super) session: String,
}

/// A refusal: the name of the error, the sentence, and the seconds to wait.
#[derive(Debug)]
pub(super) struct NotNow {
    pub(super) name: &'static str,
    pub(super) message: &'static str,
    pub(super) wait: Option<u64>,
}

const EXPIRED: NotNow = NotNow { name: "EXPIRED", message: "the session is none of yours", wait: None };

impl Kept {
    /// Reads the records; `here` are a mutant's own.
    pub(super) fn read(library: &Library, here: &Self) -> Result<Self, Refusal> {
        if is(Mutant::LimitsOfAProcess) {
            let mut kept = here.clone();
            // Sessions are shared all the same, except for their limits.
            for (id, mut session) in Self::from(library)?.sessions {
                session.left = limit().calls.get().into();
                kept.sessions.entry(id).or_insert(session);
            }
            return Ok(kept);
        }
        let mut kept = Self::from(library)?;
        if is(Mutant::ExecutionsOfAProcess) || is(Mutant::ExecutionsRunForEver) {
            kept.executions.extend(here.executions.clone());
        }
        Ok(kept)
    }

    fn from(library: &Library) -> Result<Self, Refusal> {
        let document = fs::read(library.own("kept.json")?).unwrap_or_default();
        Ok(serde_json::from_slice(&document).unwrap_or_default())
    }

    pub(super) fn write(&self, library: &Library) -> Result<(), Refusal> {
        let mut written = self.clone();
        if is(Mutant::ExecutionsOfAProcess) {
            written.executions.clear();
        }
        if is(Mutant::ExecutionsRunForEver) {
            for execution in written.executions.values_mut() {
                execution.shown["status"] = "running".into();
            }
        }
        let document = serde_json::to_vec(&written).unwrap_or_default();
        fs::write(library.own("kept.json")?, document).map_err(failed)
    }

    /// Opens a session; returns its id.
    pub(super) fn open(&mut self, holder: &str) -> Result<String, NotNow> {
        let sessions = CONTRACT.sessions.map_or(0, |sessions| sessions.most);
        let own = self.sessions.values();
        let own = own.filter(|session| session.holder == holder && !session.is_over());
        if own.count() >= sessions as usize && !is(Mutant::AnySessions) {
            return Err(NotNow {
                name: "TOO_OFTEN",
                message: "you have as many sessions as there may be",
                wait: Some(3600),
            });
        }
        let id = new_id();
        self.sessions.insert(id.clone(), Session::new(holder));
        Ok(id)
    }

    /// Marks a caller's session as used, after a check that it is the caller's and not over; ends it if `ends`.
    pub(super) fn touch(&mut self, holder: &str, id: &str, ends: bool) -> Result<(), NotNow> {
        let session = self.sessions.get_mut(id).ok_or(EXPIRED)?;
        let is_own = session.holder == holder || is(Mutant::SessionsOfAnyone);
        if !is_own || (session.is_over() && !is(Mutant::EndedSessionsLive)) {
            return Err(EXPIRED);
        }
        session.has_ended |= ends;
        if !is(Mutant::CallsAreNoUse) {
            session.used_at = seconds();
        }
        Ok(())
    }

    /// Begins a call in a session, or in the implicit one of its caller.
    pub(super) fn begin(&mut self, holder: &str, tool: &str, session: Option<&str>) -> Result<Begun, NotNow> {
        let session = match session {
            Some(id) => {
                self.touch(holder, id, false)?;
                id.to_owned()
            }
            None => self.implicit(holder)?,
        };
        let is_limited = CONTRACT.tool(tool).is_some_and(|tool| tool.rate_limit.is_some());
        if is_limited && !is(Mutant::LimitIsIgnored) {
            self.count(holder, &session)?;
        }
        Ok(Begun { execution: new_id(), session })
    }

    /// Returns the session of a caller who names none.
    fn implicit(&mut self, holder: &str) -> Result<String, NotNow> {
        let id = format!("of-{holder}");
        let session = self.sessions.entry(id.clone());
        let session = session.or_insert_with(|| Session::new(holder));
        if session.is_over() {
            *session = Session::new(holder);
        }
        session.used_at = seconds();
        Ok(id)
    }

    /// Counts a call of a session.
    fn count(&mut self, holder: &str, id: &str) -> Result<(), NotNow> {
        let limit = limit();
        let (calls, now) = (f64::from(limit.calls.get()), seconds());
        let each = f64::from(limit.seconds) / calls;
        let counted = |at: &str, session: &Session| {
            at == id || (is(Mutant::LimitsOfCallers) && session.holder == holder)
        };
        let mut result = Err(EXPIRED);
        for (at, session) in &mut self.sessions {
            if !counted(at, session) {
                continue;
            }
            session.left = calls.min(session.left + (now - session.at) / each);
            session.at = now;
            let is_free = session.left >= 1.0 - f64::from(u8::from(is(Mutant::LimitPermitsOneMore)));
            if is_free {
                session.left -= 1.0;
            }
            if at == id {
                result = if is_free {
                    Ok(())
                } else {
                    Err(NotNow {
                        name: "TOO_OFTEN",
                        message: "the session has made as many calls as it may",
                        wait: Some(((1.0 - session.left) * each).ceil() as u64),
                    })
                };
            }
        }
        result
    }

    /// Records the end of a call.
    pub(super) fn end(&mut self, holder: &str, begun: &Begun, mut shown: Value) {
        shown["execution_id"] = begun.execution.as_str().into();
        shown["session_id"] = begun.session.as_str().into();
        if is(Mutant::ExecutionsNameNoCommit)
            && let Some(members) = shown.as_object_mut()
        {
            members.remove("commit");
        }
        if is(Mutant::ExecutionsSucceed) {
            shown["status"] = "success".into();
        }
        let execution = Execution { holder: holder.to_owned(), shown };
        self.executions.insert(begun.execution.clone(), execution);
    }

    /// Returns an execution that the caller may see.
    pub(super) fn execution(&self, role: &str, id: &str) -> Option<&Value> {
        let found = self.executions.get(id)?;
        let sees = found.holder == role || SEES_OTHERS.contains(&role) || is(Mutant::ExecutionsOfAnyone);
        sees.then_some(&found.shown)
    }
}

/// Returns the contract's limit for each session.
fn limit() -> &'static RateLimit {
    &CONTRACT.rate_limits[0]
}

impl NotNow {
    /// Returns the error, with its code and details.
    pub(super) fn answer(&self) -> ErrorAnswer {
        let code = CONTRACT.errors.iter().find(|error| error.name == self.name);
        let details = match self.wait {
            Some(wait) => json!({ "retryAfterSeconds": wait }),
            None => json!({}),
        };
        ErrorAnswer {
            name: self.name,
            code: code.map_or(0, |error| error.code),
            message: self.message.to_owned(),
            data: details.as_object().cloned().unwrap_or_default(),
        }
    }
}

/// Returns the time, in seconds since 1970, plus [`CLOCK_OFFSET`].
fn seconds() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let ahead = env::var(CLOCK_OFFSET).ok().and_then(|text| text.parse::<f64>().ok());
    since.unwrap_or(Duration::ZERO).as_secs_f64() + ahead.unwrap_or(0.0)
}

/// Returns a new id, in the form of a UUID.
fn new_id() -> String {
    let bits = format!("{:032x}", fastrand::u128(..));
    [&bits[..8], &bits[8..12], &bits[12..16], &bits[16..20], &bits[20..]].join("-")
}
