//! The data that pages show, and the trait that gives them: one [`Source`] for each library, or for rows.
//!
//! Times are UTC. Functions of a source may block; they are called from threads where that is allowed.

use chrono::{DateTime, Utc};

/// Someone who has signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Identity that outlives a restart of the server: of a key, or of an account on this machine.
    pub id: String,
    /// Name that is shown, and that commits have.
    pub name: String,
}

/// Checks credentials, and keeps the sign-ins beyond a restart.
pub trait Doorkeeper: Send + Sync {
    /// Returns the person to whom a key belongs.
    ///
    /// # Errors
    /// A sentence for the person: the key is unknown, is an agent's, or too many wrong ones came from this address.
    fn by_key(&self, key: &str, address: std::net::IpAddr) -> Result<Person, String>;

    /// Returns the person with this id, as long as it may sign in.
    fn by_id(&self, id: &str) -> Option<Person>;

    /// Returns whether people sign in by keys; else by links only.
    fn has_keys(&self) -> bool;

    /// Returns the text of the sign-ins that was stored last.
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
    /// Name of the role, for people.
    pub role: &'static str,
}

impl May {
    /// Returns whether the person sees anything.
    pub fn see(self) -> bool {
        self.review || self.read
    }
}

/// The pages that a source has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages {
    /// Proposals that wait for people.
    pub review: bool,
    /// A log of changes, which can be undone.
    pub log: bool,
    /// Memory of agents: observations, sessions, issues, indexes of code.
    pub memory: bool,
}

/// Why a page can't be shown, or nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// There is nothing like that. A sentence.
    NotFound(String),
    /// The person may not. A sentence.
    Forbidden(String),
    /// The revision or the note is not what was shown. A sentence.
    Moved(String),
    /// It is not possible as things are. A sentence that says what to do.
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

/// Which proposals are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Which {
    /// Those that wait for a review.
    #[default]
    Waiting,
    /// Those that their agents revise.
    WithAgents,
    /// Those that became part of the library.
    Approved,
    /// Those that were refused.
    Rejected,
}

/// A filter of proposals, and the part of the list that is wanted.
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
    /// Number of proposals at most.
    pub limit: usize,
}

/// A list of proposals.
#[derive(Debug, Clone, Default)]
pub struct Proposals {
    /// Those of the wanted part.
    pub rows: Vec<ProposalRow>,
    /// Number of proposals that the filter leaves.
    pub total: usize,
    /// Number of proposals that wait, that are with their agents, that were approved, and that were rejected.
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
    /// Name of the agent that made it; `None` for a person.
    pub agent: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// State, as the contract names it.
    pub state: String,
    /// Last change of the proposal.
    pub changed_at: DateTime<Utc>,
    /// Number of added and removed lines, if they are counted.
    pub lines: Option<(usize, usize)>,
    /// Whether the note has changed since.
    pub stale: bool,
    /// Whether it would make a new note.
    pub new_note: bool,
    /// How it stands to the revision that the person looked at last.
    pub seen: Seen,
}

/// How a proposal stands to the revision that a person looked at last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Seen {
    /// The person has not looked at it.
    #[default]
    Never,
    /// It was revised since.
    Earlier,
    /// It is the same revision.
    Current,
}

/// A remark on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Whether the line is of the note as it is; else of the proposal.
    pub old: bool,
    /// Line number in the file, from 1.
    pub line: usize,
    /// Text of the line when the remark was made.
    pub quote: String,
    /// The remark.
    pub text: String,
}

/// A part of a proposal that can be taken or left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Lines of the file as it is, from 0.
    pub old: std::ops::Range<usize>,
    /// Lines of the file as it would be, from 0.
    pub new: std::ops::Range<usize>,
    /// Whether it is the front matter.
    pub front_matter: bool,
}

/// A proposal, as it is shown.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The row in lists.
    pub row: ProposalRow,
    /// Content id of the proposal, which a decision names.
    pub revision: String,
    /// Content id of the note that it was shown over; `None` for a new note.
    pub over: Option<String>,
    /// A text that changes with the proposal, its state, or its note.
    pub shown: String,
    /// Text of the file as the person saw it proposed last, if that was another revision.
    pub earlier: Option<String>,
    /// Id of the note.
    pub note_id: String,
    /// Number of the version that it would be.
    pub version: u64,
    /// Whether it waits for a decision of this person.
    pub open: bool,
    /// Text of the file as it is; `None` if there is none, or it is not text.
    pub before: Option<String>,
    /// Text of the file once all is approved; `None` if it can't be shown.
    pub after: Option<String>,
    /// The parts, in the order of their numbers.
    pub parts: Vec<Part>,
    /// What a reviewer wrote last.
    pub notes: Option<String>,
    /// Earlier remarks.
    pub remarks: Vec<Remark>,
    /// What happened to it: sentence and time.
    pub course: Vec<(String, Option<DateTime<Utc>>)>,
    /// Further facts: name and value.
    pub facts: Vec<(&'static str, String)>,
}

/// A decision on a proposal, as it was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Id of the proposal.
    pub id: String,
    /// The event: `approve`, `approve_part`, `needs_revision`, `reject`, `withdraw`.
    pub on: String,
    /// A word to the author.
    pub notes: Option<String>,
    /// Content id of the proposal that was shown.
    pub revision: String,
    /// Content id of the note that was shown; `None` for a new note.
    pub over: Option<String>,
    /// Numbers of the taken parts, from 1, if the decision is about parts.
    pub parts: Vec<usize>,
    /// Remarks.
    pub remarks: Vec<Remark>,
    /// Key that makes a decision that is sent twice happen once.
    pub key: String,
}

/// The result of a decision before it is made.
#[derive(Debug, Clone)]
pub struct Preview {
    /// Text of the file as it is.
    pub before: Option<String>,
    /// Text of the file after the decision; `None` if no file changes.
    pub after: Option<String>,
    /// Message of the commit.
    pub message: String,
    /// The message to the author, in Markdown.
    pub answer: String,
}

/// A decision that was made, or a change that was taken back.
#[derive(Debug, Clone)]
pub struct Done {
    /// Commit id.
    pub commit: String,
}

/// Which entries of the log are listed.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// At or below this path.
    pub path: Option<String>,
    /// This kind.
    pub kind: Option<Kind>,
    /// Number of entries before the first.
    pub offset: usize,
    /// Number of entries at most.
    pub limit: usize,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A change by an agent.
    Agent,
    /// A decision of a person.
    Decision,
    /// A change taken back.
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
    /// The caller's name, or identity if it has none.
    pub caller: Option<String>,
    /// Documents.
    pub paths: Vec<String>,
    /// Summary in one line.
    pub summary: String,
}

/// Entries of the log, newest first.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// Those of the wanted part.
    pub entries: Vec<Entry>,
    /// Number of entries that the filter leaves.
    pub total: usize,
    /// Changes of each day of the last 13 weeks: by agents, decisions, taken back. The last is today.
    pub days: Vec<(chrono::NaiveDate, [usize; 3])>,
}

/// A document before and after a change.
#[derive(Debug, Clone)]
pub struct Change {
    /// Path.
    pub path: String,
    /// Bytes before it; `None` if there was no document.
    pub before: Option<Vec<u8>>,
    /// Bytes after it; `None` if there is none.
    pub after: Option<Vec<u8>>,
}

/// An entry with its change, and with that of undoing it.
#[derive(Debug, Clone)]
pub struct EntryChange {
    /// The entry.
    pub entry: Entry,
    /// Its documents.
    pub changes: Vec<Change>,
    /// Documents that undoing would change, as they are and as they would be; or why it is not possible, with the conflict.
    pub undo: Result<Vec<Change>, String>,
    /// Commit that the preview was made of. Undoing names it.
    pub over: String,
}

/// A document of the library.
#[derive(Debug, Clone)]
pub struct Note {
    /// Path.
    pub path: String,
    /// Title.
    pub title: String,
    /// Text; `None` if it is not text.
    pub text: Option<String>,
    /// Entries that changed it, newest first.
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
    /// Whether it is as it should be.
    pub good: bool,
    /// Name.
    pub name: String,
    /// Sentence.
    pub text: String,
    /// What to do.
    pub advice: Option<String>,
}

/// A card of memory pages: an observation, a session, an issue, an index.
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
    /// Whether it is the best match of the search.
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

/// Gives pages their data, and does what they are asked for. What belongs to pages that a source does not have, it need not implement.
pub trait Source: Send + Sync {
    /// Returns the name that its URLs have; `None` for the library without a name, and for rows.
    fn name(&self) -> Option<&str>;

    /// Returns the name for people.
    fn title(&self) -> &str;

    /// Returns the pages that it has.
    fn pages(&self) -> Pages;

    /// Returns what a person may do.
    fn may(&self, who: &Person) -> May;

    /// Returns a text that changes when something was changed.
    fn state(&self) -> String;

    /// Returns the number of proposals that wait.
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

    /// Returns a proposal, and remembers that the person has looked at it.
    ///
    /// # Errors
    /// [`Problem::NotFound`], [`Problem::Failed`].
    fn proposal(&self, _: &Person, _: &str) -> Result<Proposal, Problem> {
        no_page()
    }

    /// Returns a text that changes with the proposal, its state, or its note: what [`Proposal::shown`] was when it was shown.
    ///
    /// # Errors
    /// [`Problem::NotFound`], [`Problem::Failed`].
    fn revision(&self, _: &Person, _: &str) -> Result<String, Problem> {
        no_page()
    }

    /// Returns what a decision would do. Nothing is changed.
    ///
    /// # Errors
    /// Those of the decision.
    fn preview(&self, _: &Person, _: &Decision) -> Result<Preview, Problem> {
        no_page()
    }

    /// Makes a decision.
    ///
    /// # Errors
    /// [`Problem::Moved`], [`Problem::Refused`], [`Problem::Forbidden`].
    fn decide(&self, _: &Person, _: &Decision) -> Result<Done, Problem> {
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

    /// Takes the change of an entry back, as the preview over the commit `over` showed it.
    ///
    /// # Errors
    /// [`Problem::Moved`], [`Problem::Refused`], [`Problem::Forbidden`].
    fn undo(&self, _: &Person, _: &str, _: &str) -> Result<Done, Problem> {
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
