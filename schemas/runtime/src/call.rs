//! What a handler is given and what it gives back.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::{Map, Value};

use crate::{
    approval::Approver,
    caller::{Caller, Progress, Waiting},
    failure::Failure,
    shape::Violation,
    store::{Change, Document, Past, Snapshot},
};

/// `_meta` key of a request: the content id that the document must still have (`null`: must not exist yet).
pub const IF_BASE: &str = "tabellion/ifBase";
/// `_meta` key of a request: a caller's own name for it; the same key again answers with the first call's commit.
pub const IDEMPOTENCY_KEY: &str = "tabellion/idempotencyKey";
/// `_meta` key of a response: the id of the content that the document has (after a change: that it has now).
pub const BASE: &str = "tabellion/base";
/// `_meta` key of a response: the commit that was made, where the response itself has no place for it.
pub const COMMIT: &str = "tabellion/commit";
/// `_meta` key of a response: the call with this idempotency key had been made before and was not made again.
pub const REPLAYED: &str = "tabellion/replayed";

const PREFIX: &str = "tabellion/";
const LONGEST_KEY: usize = 255;
/// No more characters than these are kept of what a client calls itself.
const LONGEST_CLIENT: usize = 200;

/// Somebody who is known, as commits name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
}

/// Who calls, and under which conditions.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// Whoever makes the call, where that is known for sure. Their changes are theirs; without one, they are those of whom
    /// the store takes for its owner.
    pub author: Option<Author>,
    /// Whose call it is where a contract limits how often there may be one; those of nobody in particular are counted
    /// together.
    pub counted_as: Option<Arc<str>>,
    /// The client's name and version as it gave them.
    pub client: Option<String>,
    /// The content id that the changed document must have; `Some(None)`: it must not exist.
    pub if_base: Option<Option<String>>,
    /// The caller's own name for this request.
    pub idempotency_key: Option<String>,
    /// Whoever waits for the answer.
    pub waiting: Waiting,
    /// Who decides where approval is needed; without one, nobody approves.
    pub approver: Option<Arc<dyn Approver>>,
}

impl CallContext {
    /// The same, with somebody who decides where approval is needed.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// The same, with somebody who may give up waiting and is told how far the call is.
    #[must_use]
    pub fn with_caller(mut self, caller: Arc<dyn Caller>) -> Self {
        self.waiting = Waiting(Some(caller));
        self
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.waiting
            .0
            .as_ref()
            .is_some_and(|caller| caller.has_cancelled())
    }

    /// Tells the caller how far the call is.
    pub fn progress(&self, progress: Progress) {
        if let Some(caller) = &self.waiting.0 {
            caller.hear(progress);
        }
    }

    /// Reads the conditions from a request's `_meta`. Keys of others are none of our business; one of ours that
    /// we don't know is refused, since ignoring a misspelt condition would drop it.
    ///
    /// # Errors
    /// Every key that is unknown or has a value that it can't have.
    pub fn from_meta(client: Option<String>, meta: &Map<String, Value>) -> Result<Self, Vec<Violation>> {
        let client = client.map(|client| client.chars().take(LONGEST_CLIENT).collect());
        let mut call = Self {
            client,
            ..Self::default()
        };
        let mut violations = vec![];
        for (key, value) in meta.iter().filter(|(key, _)| key.starts_with(PREFIX)) {
            let problem = match (key.as_str(), value) {
                (IF_BASE, Value::Null) => {
                    call.if_base = Some(None);
                    continue;
                }
                (IF_BASE, Value::String(id)) => {
                    call.if_base = Some(Some(id.clone()));
                    continue;
                }
                (IF_BASE, _) => "must be a content id (a string), or null where the document must not exist",
                (IDEMPOTENCY_KEY, Value::String(text))
                    if (1..=LONGEST_KEY).contains(&text.len())
                        && text.bytes().all(|byte| byte.is_ascii_graphic()) =>
                {
                    call.idempotency_key = Some(text.clone());
                    continue;
                }
                (IDEMPOTENCY_KEY, _) => "must be 1 to 255 printable ASCII characters without blanks",
                _ => "is not known; known are `tabellion/ifBase` and `tabellion/idempotencyKey`",
            };
            violations.push(Violation {
                rule: "meta".into(),
                pointer: format!("/_meta/{}", key.replace('~', "~0").replace('/', "~1")),
                message: format!("`{}` {problem}", key.escape_debug()),
            });
        }
        if violations.is_empty() {
            Ok(call)
        } else {
            Err(violations)
        }
    }
}

/// What a reading tool's method is given. It can't change anything.
pub struct ReadCx<'a> {
    pub(crate) call: &'a CallContext,
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) notes: &'a Notes,
}

/// What a mutating tool's method is given: as [`ReadCx`], and the means to say what should change.
pub struct WriteCx<'a> {
    pub(crate) call: &'a CallContext,
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) notes: &'a Notes,
}

macro_rules! context {
    ($name:ident) => {
        impl $name<'_> {
            /// Who calls, and under which conditions.
            pub fn call(&self) -> &CallContext {
                self.call
            }

            /// The document at `path`, or `None` where there is none.
            ///
            /// # Errors
            /// When `path` is not one of the store's, or the document can't be read.
            pub fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
                self.snapshot.read(path)
            }

            /// The document at `path` and how it became what it is; see [`Snapshot::past`].
            ///
            /// # Errors
            /// When the store keeps no history, or it can't be read.
            pub fn past(&self, path: &str, known: &dyn Fn(&str) -> bool) -> Result<Past, Failure> {
                self.snapshot.past(path, known)
            }

            /// The bytes of one of the contents that the document at `path` has had.
            ///
            /// # Errors
            /// When there is no such content, or it can't be read.
            pub fn past_content(&self, path: &str, id: &str) -> Result<Vec<u8>, Failure> {
                self.snapshot.past_content(path, id)
            }

            /// Whether the caller has given up waiting: whatever takes long should end, its answer is not sent.
            pub fn is_cancelled(&self) -> bool {
                self.call.is_cancelled()
            }

            /// Tells the caller that `done` of `total`, where that is known, is done. May be called often: what a
            /// caller hears of it, if it wants to hear anything, is limited elsewhere.
            pub fn progress(&self, done: u64, total: Option<u64>, message: impl Into<Cow<'static, str>>) {
                self.call.progress(Progress {
                    done,
                    total,
                    message: message.into(),
                });
            }

            /// Puts `value` under `key` into the answer's `_meta`.
            pub fn note(&self, key: &'static str, value: impl Into<Value>) {
                self.notes.put(key, value.into());
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("call", self.call)
                    .finish_non_exhaustive()
            }
        }
    };
}
context!(ReadCx);
context!(WriteCx);

impl WriteCx<'_> {
    /// Says what should change, and how to answer once its commit is known.
    pub fn stage<T>(
        &self,
        change: Change,
        respond: impl FnOnce(&Receipt) -> T + Send + 'static,
    ) -> Staged<T> {
        Staged {
            change,
            details: Map::new(),
            respond: Box::new(respond),
        }
    }
}

/// A change that a handler wants, and the response that will be true when it has been made.
#[must_use = "a change that is not returned is not made"]
pub struct Staged<T> {
    pub(crate) change: Change,
    pub(crate) details: Map<String, Value>,
    pub(crate) respond: Box<dyn FnOnce(&Receipt) -> T + Send>,
}

impl<T> Staged<T> {
    /// The same, with what the log is to keep of it for programs: it is found again in the document's
    /// [past](ReadCx::past).
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.details = details;
        self
    }
}

impl<T> fmt::Debug for Staged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged")
            .field("change", &self.change)
            .finish_non_exhaustive()
    }
}

/// The commit of a staged change. Only the runtime makes one.
#[derive(Debug)]
pub struct Receipt {
    commit: String,
}

impl Receipt {
    pub(crate) fn new(commit: String) -> Self {
        Self { commit }
    }

    /// Id of the commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }
}

/// What a handler wants said in the answer's `_meta`.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<BTreeMap<&'static str, Value>>);

impl Notes {
    pub(crate) fn put(&self, key: &'static str, value: Value) {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .insert(key, value);
    }

    pub(crate) fn take(self) -> Map<String, Value> {
        let notes = self
            .0
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        notes
            .into_iter()
            .map(|(key, value)| (key.to_string(), value))
            .collect()
    }
}
