//! Mutants: correct servers with one defect each, as real servers have it, to prove that the checks detect it.
//!
//! A mutant is a variant of [`Mutant`] and a [`Specimen`]. It deviates where its server asks `is`, or, where that takes more than
//! a line, in `start`, `messages` or `behaviour`. A process is one mutant for all its life, or none.

mod behaviour;
mod bulletin;
mod code;
mod desk;
mod editor;
mod logbook;
mod memory;
mod messages;
mod over_http;
mod over_rest;
mod recall;
mod shelf;
mod start;
mod tracker;
mod zoo;

use std::sync::OnceLock;

pub use over_http::{ALSO_OVER_HTTP, HTTP_ZOO};
pub use over_rest::REST_ZOO;

use crate::correct_server::CorrectServer;
use {
    bulletin::BULLETIN, code::CODE, desk::DESK, editor::EDITOR, logbook::LOGBOOK, memory::MEMORY,
    recall::RECALL, shelf::SHELF, tracker::TRACKER, zoo::ZOO,
};

pub(super) use {behaviour::*, messages::*, start::*};

/// A defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each specimen describes the defect")]
pub enum Mutant {
    DropsLogEntry,
    LogNewestFirst,
    CommitsTwice,
    CommitsEverything,
    SweepsInStaged,
    ResetsIndex,
    StealsLocks,
    ForgetsIndex,
    Amends,
    ReturnsParentId,
    ReturnsShortId,
    PreviewsOtherLineEndings,
    PreviewWrites,
    PreviewsStale,
    WritesBeforeValidating,
    TruncatesThenWrites,
    LosesRacingEdit,
    TwoProcessRace,
    FollowsSymlinks,
    FollowsSymlinkedFolder,
    WritesDotGit,
    DecodesPaths,
    AcksBeforeWrite,
    AcksWithoutCommit,
    NoRecovery,
    LeavesTempFiles,
    NormalisesLineEndings,
    DropsByteOrderMark,
    AddsFinalNewline,
    FirstMatchWins,
    MissingHeadingAppends,
    FenceHeading,
    RunsHooks,
    LosesDirtyFile,
    LogsOnStdout,
    DiesOnLargeArgument,
    DiesOnBadLine,
    AcceptsUnknownArguments,
    IgnoresConfirm,
    RefusesValid,
    ReadWrites,
    ModeLost,
    ReplacesInvalidUtf8,
    DoesNothing,
    Liar,
    NeverExits,
    DuplicateAnswers,
    NondeterministicList,
    WrongOutputShape,
    ErrorsAsSuccess,
    AnyRevision,
    AnswersNotifications,
    ContentIsText,
    TextSaysDone,
    UnknownToolIsFine,
    OneErrorCode,
    TalksMuch,
    DiesOnDeepNesting,
    AsciiOnly,
    AnyName,
    HidesOddNames,
    PipesAreEmpty,
    TrustsEnvironment,
    TextInMessage,
    ForgetsPrefix,
    RefusesLinkedRoot,
    CommitsAtStart,
    LogsRefusals,
    IgnoresBase,
    PreviewsAnything,
    ReadsUnixEndings,
    RemembersDocuments,
    LogOfAProcess,
    AppliesTwice,
    ReadsInParts,
    TakesWhatIsThere,
    LeavesFolders,
    WritesThenCommits,
    Formats,
    StartsSlowly,
    Hoards,
    HttpAnyOrigin,
    HttpBadBodyIsFine,
    HttpNotificationsAreOk,
    HttpNoMediaType,
    HttpUnknownMethodIsFine,
    HttpAnyVersion,
    HttpIgnoresHeaders,
    HttpSessionStays,
    HttpUnknownSessionIsBad,
    HttpGetSaysHello,
    HttpServesPut,
    HttpMixesClients,
    JoinsLines,
    Overwrites,
    SortsMembers,
    AppendsTwice,
    UnixEndings,
    DropsLastLine,
    NoLock,
    CountsCharacters,
    NoLimit,
    CutsEntries,
    CutsFiles,
    AnyTime,
    AnyFile,
    TakesNearest,
    UnsupportedLeavesAFile,
    IgnoresUnused,
    NamesNoArgument,
    LogsNoRows,
    LogsRowsTwice,
    LogsOneRow,
    LogsBeforeRows,
    PatchResets,
    DeletesNothing,
    GetsAcrossOrgs,
    ListsAcrossOrgs,
    RefersAcrossOrgs,
    UniqueAcrossOrgs,
    IgnoresUnique,
    CaseMatters,
    IgnoresReferences,
    GoesInCircles,
    ForgetsCascade,
    ForgetsClear,
    DeletesWhatIsUsed,
    IgnoresRowBase,
    IgnoresKeys,
    KeysOfAProcess,
    SecretListed,
    SecretInLog,
    SecretReplayed,
    SecretOnStderr,
    AnswersBeforeRows,
    NeverSyncs,
    WritesInPlace,
    RowsWithoutLock,
    AnyNumber,
    ForgetsHook,
    HookStays,
    ForgetsAlso,
    AlsoAgain,
    AlsoRegardless,
    ReviewsOwnWork,
    WordsArePhrases,
    WordsOfTitle,
    WordsHaveCase,
    DeletesDefaultOrg,
    PinsStay,
    UsesIdsAgain,
    RoundsNumbers,
    TakesNul,
    NamesNoField,
    StoresUnasked,
    ForgetsCommit,
    CountsAcrossProjects,
    CountsNoPatterns,
    ForgetsLaterTags,
    MergesRuns,
    FiltersAfterCut,
    CutsInsideCharacters,
    HidesOtherSessions,
    DropsSameSecond,
    IgnoresWindow,
    TimelineOfAll,
    CutsLastEntry,
    OverBudget,
    IgnoresSharedTags,
    QueriesAreSyntax,
    WordsAreAscii,
    IndexFollowsLater,
    IndexOfAProcess,
    AnyTag,
    IgnoresFilters,
    ScoresAscend,
    ScoresBeyondOne,
    IgnoresLowest,
    SaysIndexed,
    IndexInMemory,
    TakesRunsForDone,
    KeepsRemoved,
    KeepsUnfitting,
    ClearKeepsHashes,
    NamesOutside,
    FollowsLinksOut,
    SkipsSameSize,
    CodeFiltersAfterCut,
    IgnoresExtensions,
    CodeScoresNegative,
    CodeScoresAscend,
    CodeQueriesAreSyntax,
    IgnoresNames,
    HitsEachWord,
    IndexesWorkTree,
    ChecksBranchesOut,
    HashesTextsAlone,
    IndexesBlobsOnce,
    KeepsOldTips,
    IgnoresBranch,
    CountsRepositories,
    CountsCommits,
    IgnoresDepth,
    FollowsLinksToRepositories,
    StopsAtRepositories,
    ListsAnyDepth,
    ListsAnyId,
    FindsNoRenames,
    ComparesTips,
    SearchesWorkTree,
    CaseAlwaysCounts,
    ImpactIsZero,
    HasNoDependents,
    FindingsAreErrors,
    RunsAllCategories,
    ListsAllRules,
    FilesAreOne,
    FollowsLinks,
    ReadsThroughLinks,
    AsksNobody,
    AsksInVain,
    AnyAnswer,
    ShowsTheFirstLine,
    ShowsNoFile,
    ApprovesForEver,
    ApprovesOfAnything,
    WritesWhatWas,
    DeniesSmallLetters,
    DeniesTheEnd,
    AllowsFirst,
    AllowsBeginnings,
    ReplacesBytes,
    MissingIsAnError,
    CommitsNothing,
    CommitsAgain,
    RefusalLeavesAFile,
    CountsFromOne,
    InsertsBehind,
    MovesBefore,
    ClampsPositions,
    ReadsTheHeading,
    AddsNewlines,
    EatsChildren,
    KeepsChildren,
    TrimsDocuments,
    IdsArePlaces,
    IdsComeAgain,
    IdsOfAProcess,
    GoneIsTheFirst,
    UndoForgetsIds,
    UndoEndsLines,
    RedoDoesNothing,
    KeepsRedo,
    UndoResets,
    UndoOverwrites,
    RedoesOnce,
    UndoOfNothing,
    ThreeLevels,
    UndoOfAProcess,
    UndoIsNotLogged,
    NeedsNoProvenance,
    NamesOneField,
    BlankWillDo,
    OneSpelling,
    LastSpellingCounts,
    KeepsWhatItNeeds,
    SeesItsWatch,
    OrdersOfNoOne,
    AnyModeWillDo,
    TakesUnknownModes,
    EnvironmentFirst,
    HidesTools,
    RefusesByResult,
    CodeOfItsOwn,
    TellsThePath,
    TellsTheStatement,
    TellsTheType,
    NamesNoRequest,
    UnknownIsOwner,
    IgnoresRoles,
    SkipsAClause,
    LooksOnlyBefore,
    AsksForNoReview,
    SaysTheFirst,
    ForgivesTheSecond,
    WritesAllTheSame,
    ShowsWhatWaits,
    LinksWhatWaits,
    ApprovesItsOwn,
    ApprovesNothing,
    DecidesTwice,
    ApprovesStale,
    ComparesNumbersAlone,
    RevisesAtOnce,
    CommitsPartByPart,
    SkipsNumbers,
    ForgetsVersions,
    HandEditsDoNotCount,
    IgnoresVersions,
    LocksTooLate,
    CommitsOthersWork,
    LinksAnything,
    LinksTwice,
    ReadsAtStart,
    CutsThenFilters,
    ScoresAboveOne,
    ExcerptsAreNotes,
    AlwaysExcerpts,
    QuestionsAreSyntax,
    ExportsNoLinks,
    SaysOtherSize,
    StripsFiles,
    LeavesOutUnknown,
    LastsAYear,
    RestLosesMembers,
    RestIgnoresKeys,
    RestIgnoresIfMatch,
    RestDescribesOneLess,
    RestSaysNumbers,
    RestRefusesWith200,
    RestRefusesAsProblem,
    RestMakesThenRefuses,
    ExecutionsNameNoCommit,
    ExecutionsSucceed,
    CommitsNameNoExecution,
    RefusalsAreCommits,
    ExecutionsOfAnyone,
    ExecutionsOfAProcess,
    ExecutionsRunForEver,
    LimitIsIgnored,
    LimitPermitsOneMore,
    LimitsOfCallers,
    LimitsOfAProcess,
    RestSaysNoTime,
    AnySessions,
    EndedSessionsLive,
    SessionsOfAnyone,
    IdleSessionsLive,
    CallsAreNoUse,
    OldSessionsLive,
}

/// A mutant and its description.
#[derive(Debug)]
pub struct Specimen {
    /// The mutant.
    pub mutant: Mutant,
    /// Name on the command line.
    pub name: &'static str,
    /// Correct server that the mutant derives from.
    pub server: CorrectServer,
    /// Defect, in words.
    pub breaks: &'static str,
    /// Origin of the defect in real servers, if known.
    pub imitates: Option<&'static str>,
    /// Checks that must fail.
    pub detected_by: &'static [&'static str],
}

impl Specimen {
    /// Returns the specimen of this name.
    ///
    /// # Errors
    /// If the mutant does not exist: a message that lists the names.
    pub fn find(name: &str) -> Result<&'static Self, String> {
        all().find(|specimen| specimen.name == name).ok_or_else(|| {
            let names: Vec<_> = all().map(|specimen| specimen.name).collect();
            format!("the mutants are {}", names.join(", "))
        })
    }
}

/// Returns all specimens, of every server.
pub fn all() -> impl Iterator<Item = &'static Specimen> {
    zoo().chain(HTTP_ZOO).chain(REST_ZOO)
}

/// Returns the specimens whose defect does not depend on the transport.
pub fn zoo() -> impl Iterator<Item = &'static Specimen> {
    [
        ZOO, MEMORY, EDITOR, DESK, TRACKER, LOGBOOK, BULLETIN, RECALL, CODE, SHELF,
    ]
    .into_iter()
    .flatten()
}

static SELF: OnceLock<Mutant> = OnceLock::new();

/// Makes this process a mutant until it exits.
pub fn become_one(mutant: Mutant) {
    SELF.get_or_init(|| mutant);
}

/// Returns true if this process is that mutant.
pub(super) fn is(mutant: Mutant) -> bool {
    SELF.get() == Some(&mutant)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tabellion_conformance::checks;

    use super::*;

    #[test]
    fn each_check_has_a_mutant_that_fails_it() {
        let own = all().flat_map(|specimen| specimen.detected_by);
        let over_http = ALSO_OVER_HTTP.iter().flat_map(|(_, detected_by)| *detected_by);
        // Checks that the reference itself fails, because its answers have no pages.
        let reference = ["budget/largest-answer"];
        let named: BTreeSet<_> = own.chain(over_http).chain(&reference).copied().collect();
        let all: BTreeSet<_> = checks::all().map(|check| check.id).collect();
        let differ: Vec<_> = all.symmetric_difference(&named).collect();
        assert!(
            differ.is_empty(),
            "named by no specimen, or no checks: {differ:?}"
        );
    }

    #[test]
    fn names_and_mutants_are_unique() {
        let names: BTreeSet<_> = all().map(|specimen| specimen.name).collect();
        assert_eq!(names.len(), all().count());
        let mutants: BTreeSet<_> = all().map(|specimen| format!("{:?}", specimen.mutant)).collect();
        assert_eq!(mutants.len(), all().count());
    }
}
