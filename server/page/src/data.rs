//! The data that pages show, and the traits that provide it: one [`Source`] for each library, or for rows.
//!
//! Times are UTC. A source's functions may block; they are called on threads that permit it.

use chrono::{DateTime, Utc};

/// A person who has signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Identity that survives a restart of the server: that of a key, or of an account on this machine.
    pub id: String,
    /// Name for display and in commits.
    pub name: String,
}

/// Checks credentials, and stores the sign-ins across restarts.
pub trait Doorkeeper: Send + Sync {
    /// Returns the owner of a key.
    ///
    /// # Errors
    /// A sentence for the person: the key is unknown, is an agent's, or too many wrong ones came from this address.
    fn by_key(&self, key: &str, address: std::net::IpAddr) -> Result<Person, String>;

    /// Returns the person with this id, as long as that person may sign in.
    fn by_id(&self, id: &str) -> Option<Person>;

    /// Returns true if people sign in by keys; otherwise by links only.
    fn has_keys(&self) -> bool;

    /// Returns the text of the sign-ins as it was stored last.
    fn load(&self) -> Option<String>;

    /// Stores the text of the sign-ins.
    fn store(&self, text: &str);
}

/// Permissions of a person in a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct May {
    /// Reads proposals.
    pub review: bool,
    /// Reads all documents and their history, or all rows.
    pub read: bool,
    /// Sees the state of the library, with paths and programs of the server's machine.
    pub inspect: bool,
    /// Decides on proposals.
    pub decide: bool,
    /// Takes changes back.
    pub undo: bool,
    /// Name of the role, for people; empty if the person has no access to the source.
    pub role: &'static str,
}

impl May {
    /// Returns true if the person may see any page of the source.
    pub fn see(self) -> bool {
        self.review || self.read
    }

    /// Returns true if the person may see at least their own account.
    pub fn enter(self) -> bool {
        !self.role.is_empty()
    }
}

/// The pages of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages {
    /// Proposals that need a person's decision.
    pub review: bool,
    /// A log of changes, which can be undone.
    pub log: bool,
    /// Memory of agents: observations, sessions, issues, indexes of code.
    pub memory: bool,
}

/// The reason that a page can't be shown, or an action was not performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The object does not exist. A sentence.
    NotFound(String),
    /// The person lacks permission. A sentence.
    Forbidden(String),
    /// The revision or the note differs from the shown one. A sentence.
    Moved(String),
    /// The action is not possible in the present state. A sentence with a remedy.
    Refused(String),
    /// The library can't be read. A sentence.
    Failed(String),
}

impl Problem {
    /// Returns the sentence.
    pub fn sentence(&self) -> &str {
        match self {
            Self::NotFound(text)
            | Self::Forbidden(text)
            | Self::Moved(text)
            | Self::Refused(text)
            | Self::Failed(text) => text,
        }
    }
}

/// State of the proposals to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Which {
    /// Pending proposals.
    #[default]
    Waiting,
    /// Those sent back to their agents for revision.
    WithAgents,
    /// Those merged into the library.
    Approved,
    /// Those rejected.
    Rejected,
}

/// A filter of proposals, and the requested part of the list.
#[derive(Debug, Clone, Default)]
pub struct ListFilter {
    /// The state.
    pub which: Which,
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those of the note with this id.
    pub note: Option<String>,
    /// Number of proposals before the first.
    pub offset: usize,
    /// Maximum number of proposals.
    pub limit: usize,
}

/// A list of proposals.
#[derive(Debug, Clone, Default)]
pub struct Proposals {
    /// The proposals of the requested part.
    pub rows: Vec<ProposalRow>,
    /// Number of proposals that match the filter.
    pub total: usize,
    /// Number of proposals that are pending, sent back to their agents, approved, and rejected.
    pub counts: [usize; 4],
}

/// A proposal in a list.
#[derive(Debug, Clone)]
pub struct ProposalRow {
    /// Id.
    pub id: String,
    /// Title of the note.
    pub title: String,
    /// Path of the note, if it has one.
    pub path: Option<String>,
    /// Author of the proposal.
    pub author: String,
    /// Name of the agent that made the proposal; `None` for a person.
    pub agent: Option<String>,
    /// The author's reason.
    pub reason: Option<String>,
    /// State, by the contract's name.
    pub state: String,
    /// Last change of the proposal.
    pub changed_at: DateTime<Utc>,
    /// Number of added and removed lines, if known.
    pub lines: Option<(usize, usize)>,
    /// True if the note has changed since.
    pub stale: bool,
    /// True if it would create a note.
    pub new_note: bool,
    /// Relation to the revision that the person viewed last.
    pub seen: Seen,
}

/// Relation of a proposal to the revision that a person viewed last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Seen {
    /// The person has not viewed it.
    #[default]
    Never,
    /// It has been revised since.
    Earlier,
    /// It is the same revision.
    Current,
}

/// A remark on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// True if the line belongs to the note as it is; otherwise to the proposal.
    pub old: bool,
    /// Line number in the file, from 1.
    pub line: usize,
    /// Text of the line when the remark was made.
    pub quote: String,
    /// The remark.
    pub text: String,
}

/// A part of a proposal that can be approved or rejected separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Lines of the file as it is, from 0.
    pub old: std::ops::Range<usize>,
    /// Lines of the file as it would be, from 0.
    pub new: std::ops::Range<usize>,
    /// True if the part is the front matter.
    pub front_matter: bool,
}

/// A proposal, for display.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The row in lists.
    pub row: ProposalRow,
    /// Content id of the proposal, which a decision names.
    pub revision: String,
    /// Content id of the note that it was compared with for display; `None` for a new note.
    pub over: Option<String>,
    /// A text that changes with the proposal, its state, or its note.
    pub shown: String,
    /// Text of the file in the revision that the person viewed last, if that differs.
    pub earlier: Option<String>,
    /// Id of the note.
    pub note_id: String,
    /// Version number that the note would get.
    pub version: u64,
    /// True if it needs a decision of this person.
    pub open: bool,
    /// True if it has texts that are not shown, because it is sensitive and this person is no owner.
    pub withheld: bool,
    /// Text of the file as it is; `None` if it does not exist, or is not text.
    pub before: Option<String>,
    /// Text of the file after an approval of all parts; `None` if it can't be shown.
    pub after: Option<String>,
    /// The parts, in the order of their numbers.
    pub parts: Vec<Part>,
    /// The last reviewer's notes.
    pub notes: Option<String>,
    /// Earlier remarks.
    pub remarks: Vec<Remark>,
    /// Its history: sentence and time.
    pub course: Vec<(String, DateTime<Utc>)>,
}

/// A decision on a proposal, as shown to the person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Id of the proposal.
    pub id: String,
    /// The event: `approve`, `approve_part`, `needs_revision`, `reject`, `withdraw`.
    pub on: String,
    /// Notes to the author.
    pub notes: Option<String>,
    /// Content id of the proposal that was shown.
    pub revision: String,
    /// Content id of the note that was shown; `None` for a new note.
    pub over: Option<String>,
    /// Numbers of the approved parts, from 1, if the decision is about parts.
    pub parts: Vec<usize>,
    /// Remarks.
    pub remarks: Vec<Remark>,
    /// Idempotency key of the decision.
    pub key: String,
}

/// Preview of a decision.
#[derive(Debug, Clone)]
pub struct Preview {
    /// Text of the file as it is.
    pub before: Option<String>,
    /// Text of the file after the decision; `None` if the file stays as it is.
    pub after: Option<String>,
    /// Message of the commit.
    pub message: String,
    /// The answer to the author, in Markdown.
    pub answer: String,
}

/// Filter and requested part of the log.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// At or below this path.
    pub path: Option<String>,
    /// This kind.
    pub kind: Option<Kind>,
    /// Number of entries before the first.
    pub offset: usize,
    /// Maximum number of entries.
    pub limit: usize,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A change of documents, by an agent or a person.
    Change,
    /// A decision of a person.
    Decision,
    /// An undo.
    Undo,
}

/// An entry of the log.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Commit id.
    pub commit: String,
    /// Time.
    pub time: DateTime<Utc>,
    /// Kind.
    pub kind: Kind,
    /// Name of the tool.
    pub tool: String,
    /// The client's name and version.
    pub client: Option<String>,
    /// The caller's name, or identity if the name is unknown.
    pub caller: Option<String>,
    /// Documents.
    pub paths: Vec<String>,
    /// Id of the proposal, if the first document is one.
    pub proposal: Option<String>,
    /// Summary in one line.
    pub summary: String,
}

/// Entries of the log, newest first.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The entries of the requested part.
    pub entries: Vec<Entry>,
    /// Number of entries that match the filter.
    pub total: usize,
    /// Number of changes on each day of the last 13 weeks: changes, decisions, undos. The last day is today.
    pub days: Vec<(chrono::NaiveDate, [usize; 3])>,
}

/// A document before and after a change.
#[derive(Debug, Clone)]
pub struct Change {
    /// Path.
    pub path: String,
    /// Bytes before the change; `None` if the document did not exist.
    pub before: Option<Vec<u8>>,
    /// Bytes after the change; `None` if the document does not exist.
    pub after: Option<Vec<u8>>,
}

/// An entry with its change, and the changes that undoing it would make.
#[derive(Debug, Clone)]
pub struct EntryChange {
    /// The entry.
    pub entry: Entry,
    /// Its documents.
    pub changes: Vec<Change>,
    /// Documents that undoing would change, before and after; or the reason that it is not possible, with the conflict.
    pub undo: Result<Vec<Change>, String>,
    /// Commit that the preview is based on. Undoing names it.
    pub over: String,
}

/// A document of the library.
#[derive(Debug, Clone)]
pub struct Note {
    /// Path.
    pub path: String,
    /// Title.
    pub title: String,
    /// Text; `None` if the document is not text.
    pub text: Option<String>,
    /// Entries that changed the document, newest first.
    pub entries: Vec<Entry>,
}

/// A hit of a search.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Path of the document.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
}

/// One line about the state of a library.
#[derive(Debug, Clone)]
pub struct StatusLine {
    /// True if there is no problem.
    pub good: bool,
    /// Name.
    pub name: String,
    /// Sentence.
    pub text: String,
    /// The remedy.
    pub advice: Option<String>,
}

/// A card on a page of agents' memory: an observation, a session, an issue, an index.
#[derive(Debug, Clone)]
pub struct Card {
    /// Title.
    pub title: String,
    /// Text.
    pub text: String,
    /// State or kind.
    pub state: String,
    /// Time, if it has one.
    pub time: Option<DateTime<Utc>>,
    /// Further facts, short.
    pub facts: Vec<String>,
    /// True if it is the best match of the search.
    pub best: bool,
}

/// The pages of agents' memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Observations, by time.
    Observations,
    /// Sessions and their summaries.
    Sessions,
    /// Issues, by state.
    Board,
    /// Indexes of code.
    Code,
}

fn no_page<T>() -> Result<T, Problem> {
    Err(Problem::NotFound("There is no such page.".into()))
}

/// Provides the data of pages, and performs their actions. Functions for pages that a source does not have need not be implemented.
pub trait Source: Send + Sync {
    /// Returns the name of the source in URLs; `None` for the library without a name, and for rows.
    fn name(&self) -> Option<&str>;

    /// Returns the display name.
    fn title(&self) -> &str;

    /// Returns the pages of the source.
    fn pages(&self) -> Pages;

    /// Returns a person's permissions.
    fn may(&self, who: &Person) -> May;

    /// Returns a text that changes with each change of the data.
    fn state(&self) -> String;

    /// Returns the number of pending proposals.
    ///
    /// # Errors
    /// [`Problem::Failed`].
    fn waiting(&self, _: &Person) -> Result<usize, Problem> {
        no_page()
    }

    /// Lists proposals.
    ///
    /// # Errors
    /// [`Problem::Failed`].
    fn proposals(&self, _: &Person, _: &ListFilter) -> Result<Proposals, Problem> {
        no_page()
    }

    /// Returns a proposal, and records that the person has viewed it.
    ///
    /// # Errors
    /// [`Problem::NotFound`], [`Problem::Failed`].
    fn proposal(&self, _: &Person, _: &str) -> Result<Proposal, Problem> {
        no_page()
    }

    /// Returns a text that changes with the proposal, its state, or its note. [`Proposal::shown`] is its value at the time of display.
    ///
    /// # Errors
    /// [`Problem::NotFound`], [`Problem::Failed`].
    fn revision(&self, _: &Person, _: &str) -> Result<String, Problem> {
        no_page()
    }

    /// Returns the result that a decision would have, without making it.
    ///
    /// # Errors
    /// Those of the decision.
    fn preview(&self, _: &Person, _: &Decision) -> Result<Preview, Problem> {
        no_page()
    }

    /// Makes a decision, and returns its commit.
    ///
    /// # Errors
    /// [`Problem::Moved`], [`Problem::Refused`], [`Problem::Forbidden`].
    fn decide(&self, _: &Person, _: &Decision) -> Result<String, Problem> {
        no_page()
    }

    /// Lists entries of the log.
    ///
    /// # Errors
    /// [`Problem::Failed`].
    fn log(&self, _: &LogFilter) -> Result<Log, Problem> {
        no_page()
    }

    /// Returns an entry with its change.
    ///
    /// # Errors
    /// [`Problem::NotFound`], [`Problem::Failed`].
    fn entry(&self, _: &str) -> Result<EntryChange, Problem> {
        no_page()
    }

    /// Undoes an entry, exactly as in the preview over the commit `over`, and returns the commit of that.
    ///
    /// # Errors
    /// [`Problem::Moved`], [`Problem::Refused`], [`Problem::Forbidden`].
    fn undo(&self, _: &Person, _: &str, _: &str) -> Result<String, Problem> {
        no_page()
    }

    /// Returns a document.
    ///
    /// # Errors
    /// [`Problem::NotFound`], [`Problem::Failed`].
    fn note(&self, _: &str) -> Result<Note, Problem> {
        no_page()
    }

    /// Searches the documents for a text.
    ///
    /// # Errors
    /// [`Problem::Failed`], [`Problem::Refused`].
    fn search(&self, _: &str) -> Result<Vec<Hit>, Problem> {
        no_page()
    }

    /// Returns the state of the library, line by line.
    ///
    /// # Errors
    /// [`Problem::Failed`].
    fn status(&self) -> Result<Vec<StatusLine>, Problem>;

    /// Returns a page of agents' memory: the cards for a search, or the newest.
    ///
    /// # Errors
    /// [`Problem::Failed`].
    fn memory(&self, _: &Person, _: Memory, _: Option<&str>) -> Result<Vec<Card>, Problem> {
        no_page()
    }
}
