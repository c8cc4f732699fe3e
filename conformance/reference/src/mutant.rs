//! Mutants: correct servers with one defect each, as real servers have it, to prove that the checks detect it.
//!
//! A mutant is a variant of [`Mutant`] and a [`Specimen`]. It deviates where its server asks `is`, or, where that takes more than
//! a line, in `start`, `speech` or `deeds`. A process is one mutant for all its life, or none.

mod deeds;
mod editor;
mod memory;
mod over_http;
mod speech;
mod start;
mod zoo;

use std::sync::OnceLock;

pub use over_http::{ALSO_OVER_HTTP, HTTP_ZOO};

use crate::correct_server::CorrectServer;
use {editor::EDITOR, memory::MEMORY, zoo::ZOO};

pub(super) use {deeds::*, speech::*, start::*};

/// One defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "its specimen says what each breaks")]
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
}

/// A mutant, and what is known of it.
#[derive(Debug)]
pub struct Specimen {
    /// Which.
    pub mutant: Mutant,
    /// Its name on the command line.
    pub name: &'static str,
    /// The correct server that has this one defect.
    pub server: CorrectServer,
    /// The promise that it breaks.
    pub breaks: &'static str,
    /// How real servers come to break it.
    pub imitates: Option<&'static str>,
    /// The checks that must fail.
    pub detected_by: &'static [&'static str],
}

impl Specimen {
    /// Returns the specimen of this name.
    ///
    /// # Errors
    /// When there is none: a message that lists the names.
    pub fn find(name: &str) -> Result<&'static Self, String> {
        all().find(|specimen| specimen.name == name).ok_or_else(|| {
            let names: Vec<_> = all().map(|specimen| specimen.name).collect();
            format!("there is {}", names.join(", "))
        })
    }
}

/// Returns all specimens, of every server.
pub fn all() -> impl Iterator<Item = &'static Specimen> {
    zoo().chain(HTTP_ZOO)
}

/// Returns the specimens whose defect does not depend on the transport.
pub fn zoo() -> impl Iterator<Item = &'static Specimen> {
    [ZOO, MEMORY, EDITOR].into_iter().flatten()
}

static SELF: OnceLock<Mutant> = OnceLock::new();

/// Makes this process a mutant, for all its life.
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
    fn each_check_fails_on_a_specimen_that_names_it() {
        let own = all().flat_map(|specimen| specimen.detected_by);
        let over_http = ALSO_OVER_HTTP.iter().flat_map(|(_, detected_by)| *detected_by);
        // What the reference itself fails: its answers have no pages.
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
