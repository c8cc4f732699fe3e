//! Mutants of the server of `learning-os`.

use super::{Mutant, Specimen};
use crate::correct_server::CorrectServer;

pub(super) const MEMORY: &[Specimen] = &[
    specimen(
        Mutant::JoinsLines,
        "joins-lines",
        "an entry comes onto an open last line",
        &["append/content"],
    ),
    specimen(
        Mutant::Overwrites,
        "overwrites",
        "the file becomes the entry",
        &["append/content"],
    ),
    specimen(
        Mutant::SortsMembers,
        "sorts-members",
        "members come in the order of their names",
        &["append/content"],
    ),
    specimen(
        Mutant::AppendsTwice,
        "appends-twice",
        "the entry comes twice",
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
        "an open last line makes way for the entry",
        &["append/program"],
    ),
    specimen(
        Mutant::NoLock,
        "no-lock",
        "the file is read, and written later",
        &["append/all-arrive"],
    ),
    specimen(
        Mutant::CountsCharacters,
        "counts-characters",
        "the limit is one of characters",
        &["append/entry-size"],
    ),
    specimen(
        Mutant::NoLimit,
        "no-limit",
        "there is none",
        &["append/entry-size"],
    ),
    specimen(
        Mutant::CutsEntries,
        "cuts-entries",
        "what is too large is cut",
        &["append/entry-size"],
    ),
    specimen(
        Mutant::CutsFiles,
        "cuts-files",
        "of a large file the beginning is told",
        &["append/read-size"],
    ),
    specimen(
        Mutant::AnyTime,
        "any-time",
        "any text is a time",
        &["append/timestamp"],
    ),
    specimen(
        Mutant::AnyFile,
        "any-file",
        "any file may be named",
        &["append/other-files"],
    ),
    specimen(
        Mutant::FollowsLinks,
        "follows-links",
        "links are followed, to read and to write",
        &["append/linked-file"],
    ),
    specimen(
        Mutant::ReadsThroughLinks,
        "reads-through-links",
        "links are followed where files are read",
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
        "what is declined is done",
        &["approval/declined"],
    ),
    specimen(
        Mutant::AnyAnswer,
        "any-answer",
        "any answer approves",
        &["approval/odd-answer"],
    ),
    specimen(
        Mutant::ShowsTheFirstLine,
        "shows-the-first-line",
        "the question has the first line alone",
        &["approval/shown"],
    ),
    specimen(
        Mutant::ShowsNoFile,
        "shows-no-file",
        "the question does not name the file",
        &["approval/shown"],
    ),
    specimen(
        Mutant::ApprovesForEver,
        "approves-for-ever",
        "an approval may be used again",
        &["approval/once"],
    ),
    specimen(
        Mutant::ApprovesOfAnything,
        "approves-of-anything",
        "an approval is good for other arguments",
        &["approval/once"],
    ),
    specimen(
        Mutant::WritesWhatWas,
        "writes-what-was",
        "the file becomes what it was when it was asked, with the entry",
        &["approval/meanwhile"],
    ),
    specimen(
        Mutant::DeniesSmallLetters,
        "denies-small-letters",
        "denied names are compared letter by letter",
        &["policy/paths"],
    ),
    specimen(
        Mutant::DeniesTheEnd,
        "denies-the-end",
        "only the path's last name may be denied",
        &["policy/paths"],
    ),
    specimen(
        Mutant::AllowsFirst,
        "allows-first",
        "what is allowed is never denied",
        &["policy/paths"],
    ),
    specimen(
        Mutant::AllowsBeginnings,
        "allows-beginnings",
        "a path that begins with an allowed one is allowed",
        &["policy/paths"],
    ),
    specimen(
        Mutant::ReplacesBytes,
        "replaces-bytes",
        "what is no text is told with other characters",
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
        "each entry is two commits",
        &["mutation/recorded"],
    ),
    specimen(
        Mutant::RefusalLeavesAFile,
        "refusal-leaves-a-file",
        "a refusal leaves something in the library",
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
