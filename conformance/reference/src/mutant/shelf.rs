//! Mutants of the small server of notes with review.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const SHELF: &[Specimen] = &[
    specimen(
        Mutant::ShowsWhatWaits,
        "shows-what-waits",
        "searches and exports have what no person has approved",
        &["review/pending-unseen"],
    ),
    specimen(
        Mutant::LinksWhatWaits,
        "links-what-waits",
        "a note can be linked with one that waits",
        &["review/pending-unseen"],
    ),
    specimen(
        Mutant::ApprovesItsOwn,
        "approves-its-own",
        "an author decides on their own proposal",
        &["review/own"],
    ),
    specimen(
        Mutant::ApprovesNothing,
        "approves-nothing",
        "an approval ends the review, and the note stays as it was",
        &["review/decided", "review/program", "review/killed"],
    ),
    specimen(
        Mutant::DecidesTwice,
        "decides-twice",
        "what was decided on can be decided on again",
        &["review/decided"],
    ),
    specimen(
        Mutant::ApprovesStale,
        "approves-stale",
        "a proposal is approved although its note has changed since",
        &["review/stale"],
    ),
    specimen(
        Mutant::ComparesNumbersAlone,
        "compares-numbers-alone",
        "a proposal is approved although its note was edited by hand since, if that left the number as it was",
        &["review/stale"],
    ),
    specimen(
        Mutant::RevisesAtOnce,
        "revises-at-once",
        "an agent's second version of a change does not wait",
        &["review/program"],
    ),
    specimen(
        Mutant::CommitsPartByPart,
        "commits-part-by-part",
        "a decision is two commits, of the note and of what waited",
        &["review/decided", "review/killed"],
    ),
    specimen(
        Mutant::SkipsNumbers,
        "skips-numbers",
        "each second number is no version",
        &["versions/all"],
    ),
    specimen(
        Mutant::ForgetsVersions,
        "forgets-versions",
        "only the last version can be read",
        &["versions/all"],
    ),
    specimen(
        Mutant::HandEditsDoNotCount,
        "hand-edits-do-not-count",
        "a note that was edited by hand keeps its number",
        &["versions/by-hand"],
    ),
    specimen(
        Mutant::IgnoresVersions,
        "ignores-versions",
        "any version can be changed",
        &["versions/conflict"],
    ),
    specimen(
        Mutant::LocksTooLate,
        "locks-too-late",
        "the version is read before the lock is taken",
        &["versions/crowd"],
    ),
    specimen(
        Mutant::CommitsOthersWork,
        "commits-others-work",
        "a commit has all that is not committed yet",
        &["versions/commits"],
    ),
    specimen(
        Mutant::LinksAnything,
        "links-anything",
        "a link can lead to a note that does not exist",
        &["links/ends"],
    ),
    specimen(
        Mutant::LinksTwice,
        "links-twice",
        "a link that is there is made again",
        &["links/once"],
    ),
    specimen(
        Mutant::ReadsAtStart,
        "reads-at-start",
        "the index is made once, when the server is first asked",
        &["notes/fresh"],
    ),
    specimen(
        Mutant::CutsThenFilters,
        "cuts-then-filters",
        "the best are taken, and then those that pass the filters",
        &["notes/filters"],
    ),
    specimen(
        Mutant::ScoresAboveOne,
        "scores-above-one",
        "scores are from 0 to 2",
        &["notes/scores"],
    ),
    specimen(
        Mutant::ExcerptsAreNotes,
        "excerpts-are-notes",
        "the excerpt is the whole note",
        &["notes/excerpts"],
    ),
    specimen(
        Mutant::AlwaysExcerpts,
        "always-excerpts",
        "excerpts are there, whether they are asked for or not",
        &["notes/excerpts"],
    ),
    specimen(
        Mutant::QuestionsAreSyntax,
        "questions-are-syntax",
        "a query with an open quotation is an error",
        &["notes/any-text"],
    ),
    specimen(
        Mutant::ExportsNoLinks,
        "exports-no-links",
        "an export has no links",
        &["export/whole"],
    ),
    specimen(
        Mutant::SaysOtherSize,
        "says-other-size",
        "the size of an export is not that of the file",
        &["export/whole"],
    ),
    specimen(
        Mutant::StripsFiles,
        "strips-files",
        "files of an archive lack what is known of them",
        &["export/archives"],
    ),
    specimen(
        Mutant::LeavesOutUnknown,
        "leaves-out-unknown",
        "an export leaves out notes that do not exist, and says nothing",
        &["export/filters"],
    ),
    specimen(
        Mutant::LastsAYear,
        "lasts-a-year",
        "an export can be fetched for a year",
        &["export/expires"],
    ),
];

const fn specimen(
    mutant: Mutant,
    name: &'static str,
    breaks: &'static str,
    detected_by: &'static [&'static str],
) -> Specimen {
    Specimen {
        mutant,
        name,
        server: CorrectServer::Shelf,
        breaks,
        imitates: None,
        detected_by,
    }
}
