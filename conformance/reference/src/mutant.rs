//! The zoo: servers that are right but for one thing, as real ones are wrong, to prove that the checks see it.
//!
//! A mutant is an entry of [`ZOO`] or [`HTTP_ZOO`]. It deviates where the reference asks `is`, or, where it takes more than a
//! line, in `start`, `speech` or `deeds`. A process is one mutant for all its life, or none.

mod deeds;
mod over_http;
mod speech;
mod start;
mod zoo;

use std::sync::OnceLock;

pub use over_http::{ALSO_OVER_HTTP, HTTP_ZOO};
pub use zoo::ZOO;

pub(super) use {deeds::*, speech::*, start::*};

/// A way to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the zoo says what each breaks")]
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
}

/// A mutant, and what is known of it.
#[derive(Debug)]
pub struct Specimen {
    /// Which.
    pub mutant: Mutant,
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it breaks.
    pub breaks: &'static str,
    /// Which failure of real servers it imitates.
    pub imitates: &'static str,
    /// Checks that fail.
    pub killed_by: &'static [&'static str],
}

impl Specimen {
    /// The specimen of this name.
    ///
    /// # Errors
    /// When there is none; then it says which there are.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let mut all = ZOO.iter().chain(HTTP_ZOO);
        all.clone().find(|specimen| specimen.name == name).ok_or_else(|| {
            let names: Vec<_> = all.by_ref().map(|specimen| specimen.name).collect();
            format!("there is {}", names.join(", "))
        })
    }
}

static SELF: OnceLock<Mutant> = OnceLock::new();

/// Makes this process a mutant.
pub(super) fn become_one(mutant: Mutant) {
    SELF.get_or_init(|| mutant);
}

/// Whether this process is that mutant.
pub(super) fn is(mutant: Mutant) -> bool {
    SELF.get() == Some(&mutant)
}

const fn specimen(
    mutant: Mutant,
    name: &'static str,
    breaks: &'static str,
    imitates: &'static str,
    killed_by: &'static [&'static str],
) -> Specimen {
    Specimen {
        mutant,
        name,
        breaks,
        imitates,
        killed_by,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::small, *};
    use tabellion_conformance::checks;

    #[test]
    fn each_check_fails_somebody_who_is_named_for_it() {
        let own = ZOO.iter().chain(HTTP_ZOO).flat_map(|specimen| specimen.killed_by);
        let over_http = ALSO_OVER_HTTP.iter().flat_map(|(_, killed_by)| *killed_by);
        let small = small::breaks().map(|broken| &broken.seen_by);
        // What the reference itself fails: its answers have no pages.
        let reference = ["budget/largest-answer"];
        let seen: BTreeSet<_> = own
            .chain(over_http)
            .chain(small)
            .chain(&reference)
            .copied()
            .collect();
        let all: BTreeSet<_> = checks::all().map(|check| check.id).collect();
        let differ: Vec<_> = all.symmetric_difference(&seen).collect();
        assert!(differ.is_empty(), "seen by nobody, or no checks: {differ:?}");
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = ZOO.iter().chain(HTTP_ZOO).map(|specimen| specimen.name).collect();
        assert_eq!(names.len(), ZOO.len() + HTTP_ZOO.len());
    }
}
