//! The zoo: servers that are right but for one thing, as real ones are wrong, to prove that the checks see it.
//!
//! A mutant is an entry of [`ZOO`]. It deviates where the reference asks `is`, or, where it takes more than a line, in
//! `deeds`. A process is one mutant for all its life, or none.

mod deeds;

use std::sync::OnceLock;

pub(super) use deeds::*;

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
    /// Checks that fail, or families of which one fails.
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

/// All mutants that break something in whatever way they are spoken to.
pub const ZOO: &[Specimen] = &[
    specimen(
        Mutant::DropsLogEntry,
        "drops-log-entry",
        "a mutation leaves no entry in the log",
        "a log that is kept beside the data and written last, or not at all",
        &["mutation/log-entry"],
    ),
    specimen(
        Mutant::LogNewestFirst,
        "log-newest-first",
        "the log's entries come newest first",
        "the order of `git log` handed through",
        &["mutation/log-entry"],
    ),
    specimen(
        Mutant::CommitsTwice,
        "commits-twice",
        "a mutation makes two commits",
        "a log file that is committed after the document",
        &["mutation/one-commit"],
    ),
    specimen(
        Mutant::CommitsEverything,
        "commits-everything",
        "a mutation commits whatever else has changed in the folder",
        "`git commit --all` and `git add .`",
        &["mutation/person-uncommitted"],
    ),
    specimen(
        Mutant::SweepsInStaged,
        "sweeps-in-staged",
        "a mutation commits what a person has staged",
        "a commit made from the repository's index",
        &["mutation/person-uncommitted"],
    ),
    specimen(
        Mutant::ResetsIndex,
        "resets-index",
        "a mutation unstages what a person has staged",
        "an index that is written anew from the last commit",
        &["mutation/only-its-document"],
    ),
    specimen(
        Mutant::StealsLocks,
        "steals-locks",
        "a mutation takes git's locks away from who holds them",
        "a lock that is taken for one that a dead process left",
        &["mutation/odd-repository"],
    ),
    specimen(
        Mutant::ForgetsIndex,
        "forgets-index",
        "a mutation leaves the index behind, so that a person's next commit reverts it",
        "commits made from objects alone",
        &["mutation/one-commit"],
    ),
    specimen(
        Mutant::Amends,
        "amends",
        "a mutation takes the place of the last commit",
        "`git commit --amend`, to keep the history short",
        &["mutation/one-commit"],
    ),
    specimen(
        Mutant::ReturnsParentId,
        "returns-parent-id",
        "a mutation returns the commit before its own",
        "HEAD read before the commit is made",
        &["mutation/returned-id"],
    ),
    specimen(
        Mutant::ReturnsShortId,
        "returns-short-id",
        "a mutation returns the first seven digits of its commit",
        "what `git commit` prints, handed through",
        &["mutation/returned-id"],
    ),
    specimen(
        Mutant::PreviewsOtherLineEndings,
        "previews-other-line-endings",
        "the preview of a document with CRLF shows LF",
        "a diff made of lines that were split and joined",
        &["preview/equals-result"],
    ),
    specimen(
        Mutant::PreviewWrites,
        "preview-writes",
        "a preview makes the change",
        "a dry run that shares its code with the run",
        &["preview/writes-nothing"],
    ),
    specimen(
        Mutant::PreviewsStale,
        "previews-stale",
        "a preview is made of the last commit instead of the document as it is",
        "a cache of documents that does not see a person's editor",
        &["model/previews"],
    ),
    specimen(
        Mutant::WritesBeforeValidating,
        "writes-before-validating",
        "a document is written before the arguments are found wrong",
        "checks that come after the first effect",
        &["pure/refusals-change-nothing"],
    ),
    specimen(
        Mutant::TruncatesThenWrites,
        "truncates-then-writes",
        "a document is emptied and written again where it lies",
        "`open(path, \"w\")`, the commonest way to write a file",
        &["atomic/torn-reads"],
    ),
    specimen(
        Mutant::LosesRacingEdit,
        "loses-racing-edit",
        "a document is read before the lock is waited for, and written from that",
        "read, change, write without a second look",
        &["concurrent/processes"],
    ),
    specimen(
        Mutant::TwoProcessRace,
        "two-process-race",
        "two processes do not wait for each other",
        "a lock in the memory of one process",
        &["concurrent/processes"],
    ),
    specimen(
        Mutant::FollowsSymlinks,
        "follows-symlinks",
        "symbolic links are followed out of the library",
        "CVE-2025-53109",
        &["paths/links"],
    ),
    specimen(
        Mutant::FollowsSymlinkedFolder,
        "follows-symlinked-folder",
        "a document's folder may be a symbolic link, only the document may not",
        "a check of the last segment alone",
        &["paths/links"],
    ),
    specimen(
        Mutant::WritesDotGit,
        "writes-dot-git",
        "documents are written into `.git`",
        "popular servers that write `.git/hooks` and `.git/config`",
        &["paths/git-internals"],
    ),
    specimen(
        Mutant::DecodesPaths,
        "decodes-paths",
        "`%2e%2e/` in a path climbs out of the library",
        "a path that is decoded after it was checked",
        &["paths/escape"],
    ),
    specimen(
        Mutant::AcksBeforeWrite,
        "acks-before-write",
        "a mutation is answered before anything of it can be seen",
        "a queue of writes that is flushed later",
        &["mutation/one-commit"],
    ),
    specimen(
        Mutant::AcksWithoutCommit,
        "acks-without-commit",
        "where git fails, the document is written and success is said",
        "an exception that is caught and logged",
        &["atomic/disk-full"],
    ),
    specimen(
        Mutant::NoRecovery,
        "no-recovery",
        "what was cut off stays as it is",
        "nearly every server: there is no journal",
        &["atomic/kill"],
    ),
    specimen(
        Mutant::LeavesTempFiles,
        "leaves-temp-files",
        "a mutation leaves a temporary file beside the document",
        "write to a temporary file, copy, forget",
        &["mutation/one-commit"],
    ),
    specimen(
        Mutant::NormalisesLineEndings,
        "normalises-line-endings",
        "CRLF becomes LF",
        "the official filesystem server, on an edit of one word",
        &["bytes/untouched"],
    ),
    specimen(
        Mutant::DropsByteOrderMark,
        "drops-byte-order-mark",
        "a byte order mark is lost",
        "text read with `utf-8-sig` and written without",
        &["bytes/untouched"],
    ),
    specimen(
        Mutant::AddsFinalNewline,
        "adds-final-newline",
        "a document that ends without a newline gets one",
        "lines that are joined by an editor's habit",
        &["bytes/write-exact"],
    ),
    specimen(
        Mutant::FirstMatchWins,
        "first-match-wins",
        "of two headings that a target names, the first is taken",
        "a search that stops at the first match",
        &["model/one-client"],
    ),
    specimen(
        Mutant::MissingHeadingAppends,
        "missing-heading-appends",
        "an edit of a section that is not there is made at the end of the document",
        "servers that report success for it",
        &["pure/refusals-change-nothing"],
    ),
    specimen(
        Mutant::FenceHeading,
        "fence-heading",
        "a line in a code fence that looks like a heading is taken for one",
        "headings found by a regular expression",
        &["bytes/untouched"],
    ),
    specimen(
        Mutant::RunsHooks,
        "runs-hooks",
        "the repository's hooks run when the server commits",
        "`git commit` in a folder that somebody else has set up",
        &["paths/hostile-config"],
    ),
    specimen(
        Mutant::LosesDirtyFile,
        "loses-dirty-file",
        "what a person has saved and not committed is overwritten and gone",
        "a write that does not ask git what was there",
        &["mutation/person-uncommitted"],
    ),
    specimen(
        Mutant::LogsOnStdout,
        "logs-on-stdout",
        "a line that is no message stands among the answers",
        "`print`",
        &["wire/stdout-clean"],
    ),
    specimen(
        Mutant::DiesOnLargeArgument,
        "dies-on-large-argument",
        "a line of more than a megabyte ends the server",
        "two popular servers on a note of 30 MB",
        &["wire/large-argument"],
    ),
    specimen(
        Mutant::DiesOnBadLine,
        "dies-on-bad-line",
        "a line that is not JSON ends the server",
        "an exception that nobody catches",
        &["wire/bad-lines"],
    ),
    specimen(
        Mutant::AcceptsUnknownArguments,
        "accepts-unknown-arguments",
        "an argument that the contract does not know is ignored",
        "schemas that are shown and not enforced",
        &["schema/invalid-refused"],
    ),
    specimen(
        Mutant::IgnoresConfirm,
        "ignores-confirm",
        "a deletion that is not confirmed is made",
        "a flag that is there for the schema only",
        &["schema/invalid-refused"],
    ),
    specimen(
        Mutant::RefusesValid,
        "refuses-valid",
        "one kind of edit that the contract has is refused",
        "an operation that is not implemented yet",
        &["mutation/one-commit"],
    ),
    specimen(
        Mutant::ReadWrites,
        "read-writes",
        "reading a document stages what has changed",
        "a cache that is brought up to date by the way",
        &["pure/reads-change-nothing"],
    ),
    specimen(
        Mutant::ModeLost,
        "mode-lost",
        "a document that only its owner may read can be read by everybody once it was written",
        "a new file renamed over the old one",
        &["bytes/mode"],
    ),
    specimen(
        Mutant::ReplacesInvalidUtf8,
        "replaces-invalid-utf8",
        "bytes that are not UTF-8 become U+FFFD when the document is edited",
        "lossy decoding",
        &["bytes/invalid-utf8"],
    ),
    specimen(
        Mutant::DoesNothing,
        "does-nothing",
        "a mutation says success and does nothing",
        "a stub; a write that was swallowed",
        &["mutation/one-commit"],
    ),
    specimen(
        Mutant::Liar,
        "liar",
        "a mutation answers with a commit that does not exist, and never touches the disk",
        "a model that plays a server",
        &["mutation/one-commit", "mutation/returned-id"],
    ),
    specimen(
        Mutant::NeverExits,
        "never-exits",
        "the server stays when its input ends",
        "1 088 orphans on one machine",
        &["wire/exit-on-eof"],
    ),
    specimen(
        Mutant::DuplicateAnswers,
        "duplicate-answers",
        "each request is answered twice",
        "an answer that is sent by the handler and by its wrapper",
        &["wire/ids"],
    ),
    specimen(
        Mutant::NondeterministicList,
        "nondeterministic-list",
        "the list of tools has another order each time",
        "a hash map",
        &["wire/tools-list"],
    ),
    specimen(
        Mutant::WrongOutputShape,
        "wrong-output-shape",
        "numbers are answered as text",
        "results that nobody checks against the schema",
        &["wire/output-schema"],
    ),
    specimen(
        Mutant::ErrorsAsSuccess,
        "errors-as-success",
        "a refused call is answered as one that succeeded, with the error as text",
        "tools that return a string starting with `Error:`",
        &["schema/invalid-refused"],
    ),
];

/// All mutants that break something which there is over HTTP only.
pub const HTTP_ZOO: &[Specimen] = &[
    specimen(
        Mutant::HttpAnyOrigin,
        "http-any-origin",
        "a page from anywhere may call tools",
        "DNS rebinding protection that is off unless it is configured",
        &["http/origin"],
    ),
    specimen(
        Mutant::HttpBadBodyIsFine,
        "http-bad-body-is-fine",
        "a body that is no message is answered with success",
        "a handler that catches everything",
        &["http/bad-bodies-status"],
    ),
    specimen(
        Mutant::HttpNotificationsAreOk,
        "http-notifications-are-ok",
        "a notification is answered with 200",
        "a framework's usual status",
        &["http/notifications"],
    ),
    specimen(
        Mutant::HttpNoMediaType,
        "http-no-media-type",
        "an answer does not say that it is JSON or a stream of events",
        "a response that is written by hand",
        &["http/answers"],
    ),
    specimen(
        Mutant::HttpUnknownMethodIsFine,
        "http-unknown-method-is-fine",
        "an unknown method is answered with 200",
        "the status of the era of sessions",
        &["http/unknown-method"],
    ),
    specimen(
        Mutant::HttpAnyVersion,
        "http-any-version",
        "a revision in the headers that nobody has is taken",
        "a header that nobody reads",
        &["http/revision-header"],
    ),
    specimen(
        Mutant::HttpIgnoresHeaders,
        "http-ignores-headers",
        "headers and body may say different things",
        "a server that reads the body alone, behind a gateway that reads the headers alone",
        &["http/headers-agree"],
    ),
    specimen(
        Mutant::HttpSessionStays,
        "http-session-stays",
        "a session that was ended goes on",
        "a DELETE that is answered by a framework",
        &["http/session-ends"],
    ),
    specimen(
        Mutant::HttpUnknownSessionIsBad,
        "http-unknown-session-is-bad",
        "a session that is not there is answered with 400",
        "an example of an official SDK",
        &["http/unknown-session"],
    ),
    specimen(
        Mutant::HttpGetSaysHello,
        "http-get-says-hello",
        "GET shows a page",
        "a status page at the same path",
        &["http/get"],
    ),
    specimen(
        Mutant::HttpServesPut,
        "http-serves-put",
        "PUT calls tools",
        "a route for all methods",
        &["http/other-methods"],
    ),
    specimen(
        Mutant::HttpMixesClients,
        "http-mixes-clients",
        "of two clients that use the same ids one gets the other's answers",
        "one transport of an SDK for all clients",
        &["http/clients-apart"],
    ),
];
