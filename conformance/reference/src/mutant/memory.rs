//! Mutants of the server of `learning-os`.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const MEMORY: &[Specimen] = &[
    specimen(
        Mutant::JoinsLines,
        "joins-lines",
        "an entry is appended to an unterminated last line",
        &["append/content"],
    ),
    specimen(
        Mutant::Overwrites,
        "overwrites",
        "the entry replaces the file",
        &["append/content"],
    ),
    specimen(
        Mutant::SortsMembers,
        "sorts-members",
        "members are sorted by name",
        &["append/content"],
    ),
    specimen(
        Mutant::AppendsTwice,
        "appends-twice",
        "the entry is appended twice",
        &["append/content"],
    ),
    specimen(
        Mutant::UnixEndings,
        "unix-endings",
        "all line endings become newlines",
        &["append/content"],
    ),
    specimen(
        Mutant::DropsLastLine,
        "drops-last-line",
        "the entry replaces an unterminated last line",
        &["append/program"],
    ),
    specimen(
        Mutant::NoLock,
        "no-lock",
        "the file is read and written without a lock",
        &["append/all-arrive"],
    ),
    specimen(
        Mutant::CountsCharacters,
        "counts-characters",
        "the size limit counts characters",
        &["append/entry-size"],
    ),
    specimen(
        Mutant::NoLimit,
        "no-limit",
        "there is no size limit",
        &["append/entry-size"],
    ),
    specimen(
        Mutant::CutsEntries,
        "cuts-entries",
        "an entry that is too large is cut",
        &["append/entry-size"],
    ),
    specimen(
        Mutant::CutsFiles,
        "cuts-files",
        "a file that is too large is cut",
        &["append/read-size"],
    ),
    specimen(
        Mutant::AnyTime,
        "any-time",
        "any text is accepted as a time",
        &["append/timestamp"],
    ),
    specimen(
        Mutant::AnyFile,
        "any-file",
        "any file name is accepted",
        &["append/other-files"],
    ),
    specimen(
        Mutant::FollowsLinks,
        "follows-links",
        "links are followed for reading and writing",
        &["append/linked-file"],
    ),
    specimen(
        Mutant::ReadsThroughLinks,
        "reads-through-links",
        "links are followed for reading",
        &["policy/links"],
    ),
    specimen(
        Mutant::AsksNobody,
        "asks-nobody",
        "no person is asked",
        &["approval/declined"],
    ),
    specimen(
        Mutant::AsksInVain,
        "asks-in-vain",
        "a declined call is executed",
        &["approval/declined"],
    ),
    specimen(
        Mutant::AnyAnswer,
        "any-answer",
        "any answer counts as approval",
        &["approval/odd-answer"],
    ),
    specimen(
        Mutant::ShowsTheFirstLine,
        "shows-the-first-line",
        "the question shows only the first line",
        &["approval/shown"],
    ),
    specimen(
        Mutant::ShowsNoFile,
        "shows-no-file",
        "the question omits the file name",
        &["approval/shown"],
    ),
    specimen(
        Mutant::ApprovesForEver,
        "approves-for-ever",
        "an approval can be reused",
        &["approval/once"],
    ),
    specimen(
        Mutant::ApprovesOfAnything,
        "approves-of-anything",
        "an approval is valid for other arguments",
        &["approval/once"],
    ),
    specimen(
        Mutant::WritesWhatWas,
        "writes-what-was",
        "the entry is appended to the file's content at the time of the question",
        &["approval/meanwhile"],
    ),
    specimen(
        Mutant::DeniesSmallLetters,
        "denies-small-letters",
        "denied names are compared case-sensitively",
        &["policy/paths"],
    ),
    specimen(
        Mutant::DeniesTheEnd,
        "denies-the-end",
        "only the last segment of a path is checked against denied names",
        &["policy/paths"],
    ),
    specimen(
        Mutant::AllowsFirst,
        "allows-first",
        "an allowed path is never denied",
        &["policy/paths"],
    ),
    specimen(
        Mutant::AllowsBeginnings,
        "allows-beginnings",
        "a path with an allowed prefix is allowed",
        &["policy/paths"],
    ),
    specimen(
        Mutant::ReplacesBytes,
        "replaces-bytes",
        "invalid UTF-8 is returned with replacement characters",
        &["policy/no-file"],
    ),
    specimen(
        Mutant::MissingIsAnError,
        "missing-is-an-error",
        "a missing file is an error",
        &["policy/no-file"],
    ),
    specimen(
        Mutant::CommitsNothing,
        "commits-nothing",
        "nothing is committed",
        &["mutation/recorded"],
    ),
    specimen(
        Mutant::CommitsAgain,
        "commits-again",
        "each entry makes two commits",
        &["mutation/recorded"],
    ),
    specimen(
        Mutant::RefusalLeavesAFile,
        "refusal-leaves-a-file",
        "a declined call leaves a file in the library",
        &["approval/declined"],
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
        server: CorrectServer::Memory,
        breaks,
        imitates: None,
        detected_by,
    }
}
