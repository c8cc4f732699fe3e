//! Creates commits in memory.

use std::time::SystemTime;

use chrono::{DateTime, SubsecRound, Utc};
use gix::{ObjectId, actor::Signature, date::Time, objs::Commit};
use tabellion_runtime::{Author, CommitId, ContentId, Failure, Version, VersionEntry};

use super::objects::NewObjects;

/// Name and address of the committer of every commit that the library makes.
pub(super) const COMMITTER: (&str, &str) = ("Tabellion", "tabellion@localhost");

/// Author and time of a commit. The committer is always Tabellion.
#[derive(Debug, Clone)]
pub(super) struct Authorship {
    /// The author's name and address.
    pub(super) author: (String, String),
    /// Time, to the millisecond.
    pub(super) time: DateTime<Utc>,
    /// Time of the newest parent, in seconds since 1970.
    parents: Option<i64>,
}

/// Maximum time, in seconds, by which a commit's time is set ahead to be that of its parent.
const MAX_AHEAD: i64 = 24 * 60 * 60;

impl Authorship {
    /// Returns an authorship by `author` at the current time, for commits whose newest parent has the time `parents`, in seconds.
    pub(super) fn now(author: (String, String), parents: Option<i64>) -> Self {
        Self { author, time: DateTime::<Utc>::from(SystemTime::now()).trunc_subsecs(3), parents }
    }

    /// Returns an authorship by `author` at the same time.
    pub(super) fn by(&self, author: &Author) -> Self {
        Self { author: (author.name.clone(), author.email.clone()), ..self.clone() }
    }

    /// Adds a commit; returns its id.
    pub(super) fn commit(
        &self,
        objects: &mut NewObjects,
        tree: ObjectId,
        parents: impl IntoIterator<Item = ObjectId>,
        message: &str,
    ) -> Result<ObjectId, Failure> {
        objects.add(&Commit {
            tree,
            parents: parents.into_iter().collect(),
            author: self.signature((&self.author.0, &self.author.1)),
            committer: self.signature(COMMITTER),
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        })
    }

    /// Returns the document version that the commit creates.
    pub(super) fn version(
        &self,
        commit: ObjectId,
        content: Option<ObjectId>,
        entry: Option<VersionEntry>,
    ) -> Version {
        Version {
            commit: CommitId::new(commit.to_string()),
            author: self.author.0.clone(),
            time: self.time.fixed_offset(),
            content: content.map(|id| ContentId::new(id.to_string())),
            entry,
        }
    }

    /// Returns the line of a move in git's reflogs: committer, time, the command that moved the branch, and the message's subject.
    pub(super) fn log_line(&self, command: &str, message: &str) -> String {
        let time = self.seconds();
        let subject = message.lines().next().unwrap_or_default();
        format!(
            "{} <{}> {} {}\t{command}: {subject}",
            COMMITTER.0,
            COMMITTER.1,
            time.seconds,
            offset(time.offset)
        )
    }

    fn signature(&self, (name, email): (&str, &str)) -> Signature {
        Signature { name: name.into(), email: email.into(), time: self.seconds() }
    }

    /// Returns the time as git stores it: seconds and the local offset. It is not before the parents', although the clock of their
    /// machine may be ahead: histories are walked by time.
    fn seconds(&self) -> Time {
        let now = self.time.timestamp();
        let parents = self.parents.filter(|parents| parents - now <= MAX_AHEAD);
        Time {
            seconds: parents.map_or(now, |parents| parents.max(now)),
            offset: Time::now_local_or_utc().offset,
        }
    }
}

/// Formats an offset in seconds; `+0200` for two hours.
fn offset(seconds: i32) -> String {
    let minutes = seconds.unsigned_abs() / 60;
    format!("{}{:02}{:02}", if seconds < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
}
