//! The pages of a library: proposals, the log, documents, its state.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use chrono::{DateTime, Days, Utc};
use sha2::{Digest as _, Sha256};
use tabellion_library::{
    DocumentChange, Library, LogEntry,
    path::{LibraryDir, LibraryPath},
    search,
};
use tabellion_notes::Note as Parsed;
use tabellion_pack::{
    Packs,
    review::{self, Decide, DeskError, Over, Review, ReviewDesk, Shown, Side, Waiting},
};
use tabellion_page::data::{
    Change, Decision, Entry, EntryChange, Hit, Kind, ListFilter, Log, LogFilter, May, Note, Pages, Part,
    Person, Preview, Problem, Proposal, ProposalRow, Proposals, Remark, Seen, Source, StatusLine, Which,
};
use tabellion_runtime::{CallContext, ContractSpec, FailureKind, IdempotencyKey, Identity, calls::CallStore};
use tabellion_upkeep::doctor::Target;
use tokio::runtime::Handle;

use super::{Door, failed};
use crate::undo::{self, CONFLICTS, MOVED, Recorder, Undo};

/// Days shown in the picture of activity: 13 weeks.
const DAYS: u64 = 91;
/// Maximum number of lines in a search result.
const HITS: usize = 200;
/// Maximum number of entries shown for a document.
const VERSIONS: usize = 50;

/// States of proposals, by the contract's names.
const WAITING: &str = "human_review";
const WITH_AGENTS: &str = "needs_revision";
const APPROVED: &str = "approved";
const REJECTED: &str = "rejected";

/// A library, and the contracts that are served over it.
pub struct ServedLibrary {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its folder.
    pub folder: PathBuf,
    /// The library.
    pub library: Arc<Library>,
    /// The contracts.
    pub contracts: Vec<&'static ContractSpec>,
    /// Records decisions and undoing, if present.
    pub calls: Option<Arc<dyn CallStore>>,
}

/// A library, as the page shows it.
pub struct LibrarySource {
    name: Option<String>,
    title: String,
    folder: PathBuf,
    library: Arc<Library>,
    contracts: Vec<&'static ContractSpec>,
    packs: Packs,
    /// The review of the contract that has one, and its desk.
    review: Option<(&'static Review, Arc<dyn ReviewDesk>)>,
    /// Records each undo, if the library has executions.
    recorder: Option<Recorder>,
    door: Arc<Door>,
    /// True if changes are refused (`--read-only`).
    reads_only: bool,
    /// The runtime for people's decisions.
    runtime: Handle,
}

impl LibrarySource {
    /// Shows a library, with the review that one of its contracts has in `packs`.
    pub fn new(served: ServedLibrary, packs: Packs, door: Arc<Door>, runtime: Handle) -> Self {
        let ServedLibrary { name, folder, library, contracts, calls } = served;
        let absolute = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
        let last = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
        let review = packs.review_of(&contracts);
        Self {
            title: name.clone().or(last).unwrap_or_else(|| "library".into()),
            recorder: Recorder::new(&contracts, calls.clone()),
            review: review.map(|review| (review, (review.desk)(Arc::clone(&library), calls))),
            reads_only: false,
            name,
            folder,
            library,
            contracts,
            packs,
            door,
            runtime,
        }
    }

    /// Refuses all changes if `reads_only`, whatever a person may do elsewhere.
    pub(crate) fn reading_only(self, reads_only: bool) -> Self {
        Self { reads_only, ..self }
    }

    fn desk(&self, who: &Person) -> Result<(&dyn ReviewDesk, CallContext), Problem> {
        let none = || Problem::NotFound("Nothing is reviewed in this library.".into());
        let (review, desk) = self.review.as_ref().ok_or_else(none)?;
        Ok((&**desk, self.call(who, review.contract)?))
    }

    fn call(&self, who: &Person, contract: &'static ContractSpec) -> Result<CallContext, Problem> {
        let name = self.name.as_deref().unwrap_or_default();
        let call = self.door.call(who, name, contract);
        call.ok_or_else(|| Problem::Forbidden("Your key does not permit this any more.".into()))
    }

    fn entries(&self) -> Result<Vec<LogEntry>, Problem> {
        let mut entries = self.library.activity(usize::MAX).map_err(failed)?;
        entries.reverse();
        Ok(entries)
    }

    fn shown(&self, entry: &LogEntry) -> Entry {
        Entry {
            commit: entry.commit.clone(),
            time: entry.time,
            kind: self.kind(entry),
            tool: entry.tool.clone(),
            client: entry.client.clone(),
            caller: entry.caller.as_deref().map(|caller| self.door.name_of(caller)),
            paths: entry.paths.clone(),
            proposal: self.proposal_of(entry),
            summary: entry.summary.clone(),
        }
    }

    fn kind(&self, entry: &LogEntry) -> Kind {
        let mut reviews = self.packs.reviews();
        if reviews.any(|review| review.is_decision(&entry.tool, &entry.operation)) {
            Kind::Decision
        } else if entry.operation == "revert" {
            Kind::Undo
        } else {
            Kind::Change
        }
    }

    /// Returns the id of the proposal that is the first document of an entry.
    fn proposal_of(&self, entry: &LogEntry) -> Option<String> {
        let (review, _) = self.review.as_ref()?;
        let is_proposal = review.proposing_tools.contains(&&*entry.tool)
            || review.is_decision(&entry.tool, &entry.operation);
        let name =
            entry.paths.first()?.strip_prefix(review.folder)?.strip_prefix('/')?.strip_suffix(".md")?;
        is_proposal.then(|| name.to_owned())
    }

    fn seen(&self, call: &CallContext, id: &str, revision: &str) -> Seen {
        let looked_at = self.library.kept_aside(&looked_at(call, id)).unwrap_or_default();
        match looked_at.split(' ').next_back() {
            None | Some("") => Seen::Never,
            Some(last) if last == revision => Seen::Current,
            Some(_) => Seen::Earlier,
        }
    }

    /// Records that a person views a revision; returns the revision that the person viewed before it.
    fn look_at(&self, call: &CallContext, id: &str, revision: &str) -> Option<String> {
        let name = looked_at(call, id);
        let kept = self.library.kept_aside(&name).unwrap_or_default();
        let mut revisions = kept.split(' ').filter(|revision| !revision.is_empty());
        let (before, last) = (revisions.next(), revisions.next_back());
        let last = last.or(before);
        if last == Some(revision) {
            return before.filter(|before| *before != revision).map(str::to_owned);
        }
        let before = last.map(str::to_owned);
        let kept = before.iter().map(String::as_str).chain([revision]).collect::<Vec<_>>();
        // If the write fails, the proposal stays new.
        let _ = self.library.keep_aside(&name, &kept.join(" "));
        before
    }

    fn listed(
        &self,
        (desk, call): (&dyn ReviewDesk, &CallContext),
        filter: &review::Filter,
        offset: usize,
        limit: usize,
    ) -> Result<review::Listed, Problem> {
        let page = review::Page { offset, limit };
        self.runtime.block_on(desk.list(call, filter, page)).map_err(problem)
    }
}

/// Returns a text that changes with a proposal, its state or its note.
fn state_of(waiting: &Waiting) -> String {
    format!("{} {} {:?} {}", waiting.revision, waiting.state, waiting.over, waiting.stale)
}

fn decide(decision: &Decision) -> Decide {
    let remark = |remark: &Remark| review::Remark {
        side: if remark.old { Side::Old } else { Side::New },
        line: remark.line,
        quote: remark.quote.clone(),
        text: remark.text.clone(),
    };
    Decide {
        id: decision.id.clone(),
        on: decision.on.clone(),
        notes: decision.notes.clone(),
        shown: Shown {
            revision: Some(decision.revision.clone()),
            over: decision.over.clone().map_or(Over::Nothing, Over::Note),
            parts: decision.parts.clone(),
            remarks: decision.remarks.iter().map(remark).collect(),
        },
    }
}

fn problem(error: DeskError) -> Problem {
    match error.reason() {
        Some("moved" | "revision" | "not_ready") => Problem::Moved(error.to_string()),
        Some("not_found") => Problem::NotFound(error.to_string()),
        _ => Problem::Refused(error.to_string()),
    }
}

/// Returns the name of the text that stores the revision that the caller was shown last, at the terminal.
pub fn shown(call: &CallContext, id: &str) -> String {
    format!("shown-{id}-{}", whose(call))
}

/// Returns the name of the text that stores the last two revisions that the caller viewed, on the page.
fn looked_at(call: &CallContext, id: &str) -> String {
    format!("looked-at-{id}-{}", whose(call))
}

fn whose(call: &CallContext) -> String {
    let identity = call.identity.as_ref().map(Identity::to_string);
    identity.unwrap_or_default().replace([':', '/', '|'], "-")
}

fn time(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_default()
}

fn changes(documents: Vec<DocumentChange>) -> Vec<Change> {
    let change = |document: DocumentChange| Change {
        path: document.path,
        before: document.before,
        after: document.after,
    };
    documents.into_iter().map(change).collect()
}

fn is_about(entry: &LogEntry, wanted: &str) -> bool {
    let is_at = |path: &String| {
        let rest = path.strip_prefix(wanted.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    entry.paths.iter().any(is_at)
}

impl Source for LibrarySource {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn pages(&self) -> Pages {
        Pages { review: self.review.is_some(), log: true, memory: false }
    }

    fn may(&self, who: &Person) -> May {
        let may = self.door.may(who, self.name.as_deref().unwrap_or_default(), &self.contracts);
        May { decide: may.decide && !self.reads_only, undo: may.undo && !self.reads_only, ..may }
    }

    fn state(&self) -> String {
        self.library.head().ok().flatten().unwrap_or_default()
    }

    fn waiting(&self, who: &Person) -> Result<usize, Problem> {
        let (desk, call) = self.desk(who)?;
        let listed = self.listed((desk, &call), &review::Filter::default(), 0, 0)?;
        Ok(listed.states.get(WAITING).copied().unwrap_or_default())
    }

    fn proposals(&self, who: &Person, filter: &ListFilter) -> Result<Proposals, Problem> {
        let (desk, call) = self.desk(who)?;
        let state = match filter.which {
            Which::Waiting => WAITING,
            Which::WithAgents => WITH_AGENTS,
            Which::Approved => APPROVED,
            Which::Rejected => REJECTED,
        };
        let wanted = review::Filter {
            note: filter.note.clone(),
            agent: filter.agent.clone(),
            state: Some(state.into()),
        };
        let listed = self.listed((desk, &call), &wanted, filter.offset, filter.limit)?;
        let may_read = self.may(who).read;
        let row = |row: review::Row| ProposalRow {
            seen: self.seen(&call, &row.id, &row.revision),
            id: row.id,
            title: row.title,
            path: None,
            author: row.author,
            agent: row.agent,
            reason: row.reason.filter(|_| may_read || !row.sensitive),
            state: row.state,
            changed_at: time(&row.changed_at),
            lines: (row.added + row.removed > 0).then_some((row.added, row.removed)),
            stale: row.stale,
            new_note: row.proposed_version == 1,
        };
        let count = |state| listed.states.get(state).copied().unwrap_or_default();
        let counts = [WAITING, WITH_AGENTS, APPROVED, REJECTED].map(count);
        Ok(Proposals { rows: listed.rows.into_iter().map(row).collect(), total: listed.total, counts })
    }

    fn proposal(&self, who: &Person, id: &str) -> Result<Proposal, Problem> {
        let (desk, call) = self.desk(who)?;
        let found = self.runtime.block_on(desk.show(&call, id)).map_err(problem)?;
        let may_read = self.may(who).read;
        let withheld = found.sensitive && !may_read;
        let row = ProposalRow {
            seen: self.seen(&call, &found.id, &found.revision),
            id: found.id.clone(),
            title: found.title.clone(),
            path: found.document.as_ref().map(|document| document.path.clone()),
            author: found.author.clone(),
            agent: None,
            reason: found.reason.clone().filter(|_| !withheld),
            state: found.state.clone(),
            changed_at: time(found.history.last().map_or(&found.started_at, |last| &last.at)),
            lines: None,
            stale: found.stale,
            new_note: found.proposed_version == 1,
        };
        let before = self.look_at(&call, &found.id, &found.revision);
        let earlier = before
            .map(|before| self.runtime.block_on(desk.earlier(&call, &found.id, &before)).map_err(problem));
        let earlier = earlier.transpose()?.flatten();
        // An earlier revision may have been sensitive.
        let is_shown = |text: &String| may_read || !Parsed::parse("", text.as_bytes()).metadata.sensitive;
        let document = found.document.as_ref().filter(|_| !withheld);
        let part = |part: &review::Part| Part {
            old: part.old.clone(),
            new: part.new.clone(),
            front_matter: part.front_matter,
        };
        let parts: Vec<_> = document.into_iter().flat_map(|document| &document.parts).map(part).collect();
        let sum = |side: fn(&Part) -> usize| parts.iter().map(side).sum();
        let row = ProposalRow {
            lines: document.map(|_| (sum(|part| part.new.len()), sum(|part| part.old.len()))),
            ..row
        };
        let before = document.map(|document| document.base.clone());
        let after = document.map(|document| document.after.clone());
        let remark = |remark: &review::Remark| Remark {
            old: remark.side == Side::Old,
            line: remark.line,
            quote: remark.quote.clone(),
            text: remark.text.clone(),
        };
        let course = found.history.iter().map(|passage| {
            let on = if passage.from.is_none() { "proposed".into() } else { passage.on.replace('_', " ") };
            let sentence = format!("{on} by {}", passage.by);
            (sentence, time(&passage.at))
        });
        Ok(Proposal {
            shown: state_of(&found),
            withheld: withheld && found.document.is_some(),
            earlier: earlier.filter(|text| !withheld && is_shown(text)),
            revision: found.revision.clone(),
            over: found.over.clone(),
            note_id: found.note_id.clone(),
            version: found.proposed_version,
            open: row.state == WAITING,
            before,
            after,
            parts,
            notes: found.notes.filter(|_| !withheld),
            remarks: found.remarks.iter().filter(|_| !withheld).map(remark).collect(),
            course: course.collect(),
            row,
        })
    }

    fn revision(&self, who: &Person, id: &str) -> Result<String, Problem> {
        let (desk, call) = self.desk(who)?;
        let found = self.runtime.block_on(desk.show(&call, id));
        Ok(state_of(&found.map_err(problem)?))
    }

    fn preview(&self, who: &Person, decision: &Decision) -> Result<Preview, Problem> {
        let (desk, call) = self.desk(who)?;
        let outcome = self.runtime.block_on(desk.preview(&call, &decide(decision))).map_err(problem)?;
        let path =
            outcome.note.as_ref().map(|(path, _)| LibraryPath::parse(path)).transpose().map_err(failed)?;
        let before = path.map(|path| self.library.read(&path)).transpose().map_err(failed)?.flatten();
        let details = serde_json::to_string_pretty(&outcome.details).map_err(failed)?;
        Ok(Preview {
            before: before.and_then(|before| String::from_utf8(before.bytes).ok()),
            after: outcome.note.map(|(_, text)| text),
            message: format!("{}\n\n{details}", outcome.summary),
            answer: outcome.message.unwrap_or_default(),
        })
    }

    fn decide(&self, who: &Person, decision: &Decision) -> Result<String, Problem> {
        if !self.may(who).decide {
            return Err(Problem::Forbidden("You may not decide here; nothing was done.".into()));
        }
        let (desk, call) = self.desk(who)?;
        // A form that a browser went back to makes another decision with the same key, which is another request.
        let key = Sha256::digest(format!("{decision:?}"));
        let key = IdempotencyKey::parse(&data_encoding::HEXLOWER.encode(&key)).ok();
        let call = CallContext { idempotency_key: key, ..call };
        let made = self.runtime.block_on(desk.decide(&call, &decide(decision)));
        made.map_err(problem)
    }

    fn log(&self, filter: &LogFilter) -> Result<Log, Problem> {
        let all = self.entries()?;
        let today = Utc::now().date_naive();
        let first = today.checked_sub_days(Days::new(DAYS - 1)).unwrap_or(today);
        let mut counts: BTreeMap<_, [usize; 3]> =
            first.iter_days().take(DAYS as usize).map(|day| (day, [0; 3])).collect();
        for entry in &all {
            if let Some(counts) = counts.get_mut(&entry.time.date_naive()) {
                counts[self.kind(entry) as usize] += 1;
            }
        }
        let wanted = all.iter().filter(|entry| {
            filter.path.as_deref().is_none_or(|path| is_about(entry, path))
                && filter.kind.is_none_or(|wanted| self.kind(entry) == wanted)
        });
        let wanted: Vec<_> = wanted.collect();
        Ok(Log {
            total: wanted.len(),
            entries: wanted
                .into_iter()
                .skip(filter.offset)
                .take(filter.limit)
                .map(|found| self.shown(found))
                .collect(),
            days: counts.into_iter().collect(),
        })
    }

    fn entry(&self, commit: &str) -> Result<EntryChange, Problem> {
        let found = self.library.find_entry(commit).map_err(|error| Problem::NotFound(error.to_string()))?;
        let change = self.library.change_of(&found).map_err(failed)?;
        let documents = changes(change.documents.clone());
        let undo = Undo::from_entry(&found, change).and_then(|undo| undo.changes(&self.library));
        let (undo, over) = match undo {
            Ok(documents) => {
                let over = undo::digest(&documents);
                (Ok(changes(documents)), over)
            }
            Err(failure) => {
                let conflicts =
                    failure.data.get(CONFLICTS).and_then(|all| all.as_array()).cloned().unwrap_or_default();
                let conflicts: Vec<_> = conflicts.iter().filter_map(|text| text.as_str()).collect();
                (
                    Err(format!("{}\n\n{}", failure.message, conflicts.join("\n")).trim_end().to_owned()),
                    String::new(),
                )
            }
        };
        Ok(EntryChange { entry: self.shown(&found), changes: documents, undo, over })
    }

    fn undo(&self, who: &Person, commit: &str, over: &str) -> Result<String, Problem> {
        if !self.may(who).undo {
            return Err(Problem::Forbidden("Your key may not change documents; nothing was undone.".into()));
        }
        let Some(contract) = self.contracts.first() else {
            return Err(Problem::NotFound("Nothing is served over this library.".into()));
        };
        let call = self.call(who, contract)?;
        let found = self.library.find_entry(commit).map_err(|error| Problem::NotFound(error.to_string()))?;
        let change = self.library.change_of(&found).map_err(failed)?;
        let undo = Undo::from_entry(&found, change).map_err(|failure| Problem::Refused(failure.message))?;
        let made =
            self.runtime.block_on(undo.only_as_shown(over).run(&self.library, self.recorder.as_ref(), &call));
        made.map_err(|failure| {
            if failure.data.contains_key(MOVED) {
                Problem::Moved(failure.message)
            } else {
                Problem::Refused(failure.message)
            }
        })
    }

    fn note(&self, path: &str) -> Result<Note, Problem> {
        let none = |error: &dyn std::fmt::Display| {
            Problem::NotFound(format!("There is no document `{path}`: {error}"))
        };
        let parsed = LibraryPath::parse(path).map_err(|error| none(&error))?;
        let found = self.library.read(&parsed).map_err(|failure| match failure.kind {
            FailureKind::NotFound | FailureKind::Invalid => none(&failure),
            _ => failed(failure),
        })?;
        let found = found.ok_or_else(|| none(&"it may have been renamed or deleted"))?;
        let title = Parsed::parse(path, &found.bytes).title;
        let entries = self.entries()?;
        let about = entries.iter().filter(|entry| is_about(entry, path));
        Ok(Note {
            title,
            text: String::from_utf8(found.bytes).ok(),
            entries: about.take(VERSIONS).map(|found| self.shown(found)).collect(),
            path: path.to_owned(),
        })
    }

    fn search(&self, query: &str) -> Result<Vec<Hit>, Problem> {
        let limits = search::Limits { lines: HITS, ..search::Limits::default() };
        let goes_on = |_| std::ops::ControlFlow::Continue(());
        let found = self.library.search(&LibraryDir::ROOT, query, limits, &goes_on);
        let found = found.map_err(|error| Problem::Refused(error.to_string()))?;
        let hit = |found: search::LineMatch| Hit {
            path: found.path.as_str().to_owned(),
            line: found.line as usize,
            text: found.snippet,
        };
        Ok(found.matches.into_iter().map(hit).collect())
    }

    fn status(&self) -> Result<Vec<StatusLine>, Problem> {
        super::status(&Target::Library(self.folder.clone()), self.packs)
    }
}
