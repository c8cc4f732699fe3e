//! All mutants: a row for each, with its name on the command line, its defect, the origin of the defect in real servers if known,
//! and the checks that must fail.

use crate::correct_server::CorrectServer;

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

/// Declares [`Mutant`], and lists of specimens, each of the mutants of one correct server.
macro_rules! mutants {
    (@origin) => { None };
    (@origin $origin:literal) => { Some($origin) };
    ($(
        $(#[$attribute:meta])*
        $visibility:vis $list:ident: $server:ident {$(
            $mutant:ident $name:literal: $breaks:literal $(imitates $origin:literal)? fails $checks:expr;
        )+}
    )+) => {
        /// A defect.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mutant {
            $($(#[doc = $breaks] $mutant,)+)+
        }

        $(
            $(#[$attribute])*
            $visibility const $list: &[Specimen] = &[$(Specimen {
                mutant: Mutant::$mutant,
                name: $name,
                server: CorrectServer::$server,
                breaks: $breaks,
                imitates: mutants!(@origin $($origin)?),
                detected_by: &$checks,
            },)+];
        )+
    };
}

mutants! {
    /// Mutants of the reference, over either transport.
    pub(super) ZOO: Reference {
        DropsLogEntry "drops-log-entry": "a mutation leaves no entry in the log"
            imitates "a separate log that is written last, or not at all" fails ["mutation/log-entry"];
        LogNewestFirst "log-newest-first": "the log's entries come newest first"
            imitates "the order of `git log`" fails ["mutation/log-entry"];
        CommitsTwice "commits-twice": "a mutation makes two commits"
            imitates "a log file committed after the document" fails ["mutation/one-commit"];
        CommitsEverything "commits-everything": "a mutation commits everything that has changed in the folder"
            imitates "`git commit --all` and `git add .`" fails ["mutation/person-uncommitted"];
        SweepsInStaged "sweeps-in-staged": "a mutation commits what a person has staged"
            imitates "a commit of the repository's index"
            fails ["mutation/person-uncommitted", "concurrent/git"];
        ResetsIndex "resets-index": "a mutation unstages what a person has staged"
            imitates "an index rebuilt from HEAD" fails ["mutation/only-its-document"];
        StealsLocks "steals-locks": "a mutation removes git's locks held by other processes"
            imitates "a lock assumed to be stale" fails ["mutation/odd-repository"];
        ForgetsIndex "forgets-index": "a mutation does not update the index, so that a person's next commit reverts it"
            imitates "commits created from objects only" fails ["mutation/one-commit"];
        Amends "amends": "a mutation amends the last commit"
            imitates "`git commit --amend`, to keep the history short"
            fails ["mutation/one-commit", "mutation/sequence"];
        ReturnsParentId "returns-parent-id": "a mutation returns the commit before its own"
            imitates "HEAD read before the commit is made" fails ["mutation/returned-id"];
        ReturnsShortId "returns-short-id": "a mutation returns the first seven digits of its commit"
            imitates "the output of `git commit`" fails ["mutation/returned-id"];
        PreviewsOtherLineEndings "previews-other-line-endings": "the preview of a document with CRLF has LF"
            imitates "a diff of lines that were split and joined" fails ["preview/equals-result"];
        PreviewWrites "preview-writes": "a preview makes the change"
            imitates "a dry run that shares code with the real run" fails ["preview/writes-nothing"];
        PreviewsStale "previews-stale": "a preview is based on the last commit instead of the current document"
            imitates "a document cache that ignores external edits" fails ["model/previews"];
        WritesBeforeValidating "writes-before-validating": "a document is written before the arguments are validated"
            imitates "validation after the first effect" fails ["pure/refusals-change-nothing"];
        TruncatesThenWrites "truncates-then-writes": "a document is truncated and rewritten in place"
            imitates "`open(path, \"w\")`, the most common way to write a file"
            fails ["atomic/torn-reads", "concurrent/editor"];
        LosesRacingEdit "loses-racing-edit": "a document is read before the lock is taken, and not read again"
            imitates "read, change, write without a second read"
            fails ["concurrent/processes", "concurrent/sections", "store/processes"];
        TwoProcessRace "two-process-race": "two processes do not exclude each other"
            imitates "an in-memory lock" fails ["concurrent/processes"];
        FollowsSymlinks "follows-symlinks": "symbolic links are followed out of the library"
            imitates "CVE-2025-53109" fails ["paths/links"];
        FollowsSymlinkedFolder "follows-symlinked-folder": "symbolic links are refused as documents, but followed as folders"
            imitates "a check of the last segment only" fails ["paths/links", "paths/swapped-folder"];
        HasOneMoreTool "has-one-more-tool": "a tool beside the contract's takes any path"
            imitates "`get_file_info` and `head` beside a reading tool that checks" fails ["paths/every-tool"];
        EmptiesBeforeEncoding "empties-before-encoding": "a document is emptied before its text is encoded, which fails"
            imitates "`open(path, \"w\", encoding=…)`" fails ["mutation/encoding"];
        StopsAmidBatch "stops-amid-batch": "a call for several documents stops at the first that fails, and reports success"
            imitates "a loop whose errors are logged" fails ["mutation/batch"];
        MovesText "moves-text": "a document that is moved is read as text and written"
            imitates "`read_text` and `write_text` for a move" fails ["bytes/moved"];
        SavesAnew "saves-anew": "a document is removed before it is written"
            imitates "a rename of a temporary file without its mode" fails ["bytes/every-tool"];
        IgnoresDryRun "ignores-dry-run": "a tool has an argument for a dry run, and does not look at it"
            imitates "an option that one of several tools forgets" fails ["mutation/options"];
        PagesByBytes "pages-by-bytes": "parts of a document are cut between bytes"
            imitates "`read(limit)` of a file opened in binary" fails ["bytes/pages"];
        WritesDotGit "writes-dot-git": "documents are written into `.git`"
            imitates "popular servers that write `.git/hooks` and `.git/config`"
            fails ["paths/git-internals"];
        DecodesPaths "decodes-paths": "`%2e%2e/` in a path escapes the library"
            imitates "a path decoded after the check" fails ["paths/escape"];
        WritesLate "writes-late": "a mutation of one document is visible 300 ms after its answer"
            imitates "a write queue that is flushed by a timer" fails ["store/acknowledged", "store/pipelined"];
        AcksBeforeWrite "acks-before-write": "a mutation is answered before it is made, and then it is lost"
            imitates "a write queue that is flushed later"
            fails ["mutation/one-commit", "wire/eof-in-flight", "concurrent/clients", "concurrent/create"];
        AcksWithoutCommit "acks-without-commit": "if git fails, the document is written and success is reported"
            imitates "an exception caught and logged" fails ["atomic/disk-full", "atomic/io-error"];
        NoRecovery "no-recovery": "an interrupted mutation is not recovered"
            imitates "nearly every server: no journal" fails ["atomic/kill"];
        LeavesTempFiles "leaves-temp-files": "a mutation leaves a temporary file beside the document"
            imitates "write to a temporary file, copy, forget" fails ["mutation/one-commit"];
        DropsUnknownLines "drops-unknown-lines": "an edit writes again only those lines of the document that the server knows"
            imitates "server-memory, which parses its file and writes it anew" fails ["store/unknown"];
        UndoesAfterCrash "undoes-after-crash": "after a crash, the last commit is undone"
            imitates "a journal that is rolled back although it was committed" fails ["store/killed"];
        PidFile "pid-file": "a server that was killed leaves a file that keeps the next from starting"
            imitates "a lock file that outlives its process" fails ["atomic/kill", "atomic/restart"];
        NormalisesLineEndings "normalises-line-endings": "CRLF becomes LF"
            imitates "the official filesystem server, on an edit of one word" fails ["bytes/untouched"];
        DropsByteOrderMark "drops-byte-order-mark": "a byte order mark is lost"
            imitates "text read with `utf-8-sig` and written without" fails ["bytes/untouched"];
        AddsFinalNewline "adds-final-newline": "a document that ends without a newline gets one"
            imitates "lines joined with a final newline" fails ["bytes/write-exact"];
        FirstMatchWins "first-match-wins": "an ambiguous target means the first matching heading"
            imitates "a search that stops at the first match" fails ["model/one-client"];
        MissingHeadingAppends "missing-heading-appends": "an edit of a missing section is appended to the document"
            imitates "servers that report success for a missing section"
            fails ["pure/refusals-change-nothing"];
        FenceHeading "fence-heading": "a line in a code fence is treated as a heading"
            imitates "headings found by a regular expression" fails ["bytes/untouched"];
        RunsHooks "runs-hooks": "the repository's hooks run when the server commits"
            imitates "`git commit` in an untrusted repository" fails ["paths/hostile-config"];
        AcksBeforePush "acks-before-push": "a change is visible and acknowledged before the remote has it"
            imitates "markdown-vault-mcp, which pushes in the background" fails ["remote/refused"];
        ShowsFirst "shows-first": "a change is visible before the remote has it, and stays when the remote refuses it"
            imitates "`git commit && git push`" fails ["remote/refused"];
        PlansAgainAfterYes "plans-again-after-yes": "a push that was not answered is taken for refused, and the change is made again"
            imitates "a retry on each error" fails ["remote/lost-answer"];
        PushesByForce "pushes-by-force": "a push replaces whatever the branch has"
            imitates "`git push --force`" fails ["remote/acknowledged", "remote/rewritten"];
        Rebases "rebases": "a change that others were faster than gets another commit, and the answer names the first one"
            imitates "`git pull --rebase`" fails ["remote/acknowledged"];
        NeverCatchesUp "never-catches-up": "the remote's commits are not taken"
            imitates "a push without a fetch" fails ["remote/acknowledged", "remote/killed", "remote/steps"];
        TakesTheirs "takes-theirs": "the remote's commits replace what is here"
            imitates "`git reset --hard origin/main`" fails ["remote/in-the-way"];
        FollowsInsteadOf "follows-instead-of": "the library's configuration says where a push goes"
            imitates "`git push` in the library" fails ["remote/configuration"];
        LosesDirtyFile "loses-dirty-file": "a person's saved, uncommitted changes are overwritten and lost"
            imitates "a write that ignores the state in git" fails ["mutation/person-uncommitted"];
        LogsOnStdout "logs-on-stdout": "a line that is not a message is written between the answers"
            imitates "`print`" fails ["wire/stdout-clean"];
        DiesOnLargeArgument "dies-on-large-argument": "a line of more than a megabyte crashes the server"
            imitates "two popular servers on a note of 30 MB" fails ["wire/large-argument"];
        DiesOnBadLine "dies-on-bad-line": "a line that is not JSON crashes the server"
            imitates "an uncaught exception" fails ["wire/bad-lines"];
        AcceptsUnknownArguments "accepts-unknown-arguments": "an unknown argument is ignored"
            imitates "schemas that are listed but not enforced" fails ["schema/invalid-refused"];
        IgnoresConfirm "ignores-confirm": "a deletion is executed without confirmation"
            imitates "a flag that exists only in the schema" fails ["schema/invalid-refused"];
        RefusesValid "refuses-valid": "one kind of edit in the contract is refused"
            imitates "an unimplemented operation" fails ["mutation/one-commit"];
        ReadWrites "read-writes": "reading a document stages all changes"
            imitates "a cache updated on reads"
            fails ["pure/reads-change-nothing", "pure/no-write-without-call"];
        ModeLost "mode-lost": "a write makes a document readable for everybody"
            imitates "a new file with default permissions, renamed over the old one" fails ["bytes/mode", "store/files"];
        ReplacesInvalidUtf8 "replaces-invalid-utf8": "an edit replaces bytes that are not UTF-8 by U+FFFD"
            imitates "lossy decoding" fails ["bytes/invalid-utf8"];
        DoesNothing "does-nothing": "a mutation reports success and does nothing"
            imitates "a stub; a swallowed write error" fails ["mutation/one-commit"];
        Liar "liar": "a mutation answers with a commit that does not exist, and never touches the disk"
            imitates "a language model that simulates a server"
            fails ["mutation/one-commit", "mutation/returned-id"];
        NeverExits "never-exits": "the server keeps running after its input ends"
            imitates "1 088 orphaned processes on one machine" fails ["wire/exit-on-eof"];
        DuplicateAnswers "duplicate-answers": "each request is answered twice"
            imitates "an answer sent by the handler and by its wrapper" fails ["wire/ids"];
        NondeterministicList "nondeterministic-list": "the order of the list of tools changes"
            imitates "a hash map" fails ["wire/tools-list"];
        ListOfTheStart "list-of-the-start": "each start has its own order of the list of tools"
            imitates "a set of allowed commands, printed into a description" fails ["wire/tools-list-starts"];
        WrongOutputShape "wrong-output-shape": "numbers are returned as strings"
            imitates "results not validated against the schema" fails ["wire/output-schema"];
        ErrorsAsSuccess "errors-as-success": "a refused call is answered as a success with the error as text"
            imitates "tools that return a string starting with `Error:`" fails ["schema/invalid-refused"];
        AnyRevision "any-revision": "every revision is accepted, including unknown ones"
            imitates "an echoed version" fails ["wire/handshake"];
        AnswersNotifications "answers-notifications": "notifications are answered"
            imitates "a handler for requests only" fails ["wire/notifications-first"];
        ContentIsText "content-is-text": "a result's content is a string instead of a list of blocks"
            imitates "a handwritten result" fails ["wire/official-schema"];
        TextSaysDone "text-says-done": "the text of every result is `Done.`"
            imitates "servers that rely on the structured result" fails ["wire/text-mirrors-structure"];
        UnknownToolIsFine "unknown-tool-is-fine": "a call of an unknown tool succeeds"
            imitates "a default branch that does nothing" fails ["wire/bad-params"];
        OneErrorCode "one-error-code": "every error has the code of an internal error"
            imitates "one handler for all exceptions"
            fails ["wire/unknown-method", "wire/bad-params-code", "wire/bad-lines-code"];
        TalksMuch "talks-much": "each tool's description is a manual"
            imitates "manuals in descriptions" fails ["budget/tools-list-tokens"];
        DiesOnDeepNesting "dies-on-deep-nesting": "a thousand nested lists crash the server"
            imitates "a recursive parser" fails ["schema/json-oddities"];
        AsciiOnly "ascii-only": "non-ASCII arguments are refused"
            imitates "a regular expression in a validator" fails ["schema/valid-accepted"];
        AnyName "any-name": "documents are written under names that some systems cannot store"
            imitates "paths checked only for `..`" fails ["paths/names"];
        HidesOddNames "hides-odd-names": "existing documents with names that some systems cannot store are neither listed nor read"
            imitates "one validator for new names and existing ones" fails ["paths/existing-names"];
        PipesAreEmpty "pipes-are-empty": "a special file is treated as an empty document and replaced"
            imitates "a file opened without checking its type" fails ["paths/special-files"];
        TrustsEnvironment "trusts-environment": "git's environment variables are passed on"
            imitates "a program started with the inherited environment" fails ["paths/environment"];
        TextInMessage "text-in-message": "the commit message contains the written text"
            imitates "a message that describes the change" fails ["paths/injection"];
        ForgetsPrefix "forgets-prefix": "the library is assumed to be the root of its repository"
            imitates "a path passed to git unchanged" fails ["paths/inner-root"];
        RefusesLinkedRoot "refuses-linked-root": "a library named by a symbolic link is refused"
            imitates "a path that must equal its `realpath`" fails ["paths/linked-root"];
        CommitsAtStart "commits-at-start": "uncommitted changes are committed at the start"
            imitates "plugins that commit everything when opened" fails ["pure/start-changes-nothing"];
        LogsRefusals "logs-refusals": "a refused call makes an empty commit"
            imitates "an audit log in the history" fails ["mutation/refused-nothing"];
        IgnoresBase "ignores-base": "a base is returned but never compared"
            imitates "an ignored precondition" fails ["preview/stale", "concurrent/lost-update"];
        PreviewsAnything "previews-anything": "the preview of a refused edit shows no change"
            imitates "a preview that catches all errors" fails ["preview/refused-alike"];
        ReadsUnixEndings "reads-unix-endings": "a document with CRLF is returned with LF"
            imitates "files opened in text mode" fails ["bytes/read-exact"];
        RemembersDocuments "remembers-documents": "a process returns a document from its cache although it has changed"
            imitates "a cache that only the process's own writes invalidate"
            fails ["model/two-servers", "model/beside-a-person"];
        LogOfAProcess "log-of-a-process": "the log has only this process's entries"
            imitates "an in-memory log" fails ["model/restarts", "atomic/restart", "concurrent/log"];
        AppliesTwice "applies-twice": "an edit is made twice"
            imitates "a call retried after a lost answer" fails ["mutation/content"];
        Formats "formats": "lists and line ends of the whole document are reformatted"
            imitates "a formatter that runs on save" fails ["mutation/no-implicit-edits"];
        StartsSlowly "starts-slowly": "the first answer takes a millisecond for each document"
            imitates "an index built before the first answer" fails ["budget/handshake"];
        Hoards "hoards": "200 KB of memory are in use for each document"
            imitates "an in-memory index" fails ["budget/memory"];
        ReadsInParts "reads-in-parts": "a document is read in two parts"
            imitates "pages of a file, read separately" fails ["concurrent/reads-whole"];
        TakesWhatIsThere "takes-what-is-there": "a document is read while git rewrites it"
            imitates "every server that opens a file for each request" fails ["concurrent/reads-beside-git"];
        WritesThenCommits "writes-then-commits": "a document is written in place, then staged, then committed"
            imitates "nearly every server that commits at all"
            fails ["atomic/kill-observed", "atomic/full-disk-really"];
        LeavesFolders "leaves-folders": "a refused call leaves the created folders of its document"
            imitates "`mkdir -p` before anything else" fails ["pure/refusals-change-nothing"];
    }

    /// Mutants of the reference whose defect exists only over HTTP.
    pub HTTP_ZOO: Reference {
        HttpAnyOrigin "http-any-origin": "pages of any origin may call tools"
            imitates "DNS rebinding protection that is off by default" fails ["http/origin"];
        HttpBadBodyIsFine "http-bad-body-is-fine": "a malformed body is answered with success"
            imitates "a handler that catches all exceptions" fails ["http/bad-bodies-status"];
        HttpNotificationsAreOk "http-notifications-are-ok": "a notification is answered with 200"
            imitates "a framework's default status" fails ["http/notifications"];
        HttpNoMediaType "http-no-media-type": "an answer lacks its content type"
            imitates "a handwritten response" fails ["http/answers"];
        HttpUnknownMethodIsFine "http-unknown-method-is-fine": "an unknown method is answered with 200"
            imitates "the status of the older revision" fails ["http/unknown-method"];
        HttpAnyVersion "http-any-version": "an unknown revision in the headers is accepted"
            imitates "an ignored header" fails ["http/revision-header"];
        HttpIgnoresHeaders "http-ignores-headers": "headers may contradict the body"
            imitates "a server that reads only the body, behind a gateway that reads only the headers"
            fails ["http/headers-agree"];
        HttpSessionStays "http-session-stays": "an ended session remains usable"
            imitates "DELETE answered by a framework" fails ["http/session-ends"];
        HttpUnknownSessionIsBad "http-unknown-session-is-bad": "an unknown session is answered with 400"
            imitates "an official SDK's example" fails ["http/unknown-session"];
        HttpGetSaysHello "http-get-says-hello": "GET shows a page"
            imitates "a status page at the same path" fails ["http/get"];
        HttpServesPut "http-serves-put": "PUT calls tools"
            imitates "a route for all methods" fails ["http/other-methods"];
        HttpMixesClients "http-mixes-clients": "of two clients with equal request ids, one receives the other's answers"
            imitates "one SDK transport shared by all clients" fails ["http/clients-apart"];
    }

    /// Mutants of the server of `learning-os`.
    pub(super) MEMORY: Memory {
        JoinsLines "joins-lines": "an entry is appended to an unterminated last line"
            fails ["append/content"];
        Overwrites "overwrites": "the entry replaces the file" fails ["append/content"];
        SortsMembers "sorts-members": "members are sorted by name" fails ["append/content"];
        AppendsTwice "appends-twice": "the entry is appended twice" fails ["append/content"];
        UnixEndings "unix-endings": "all line endings become newlines" fails ["append/content"];
        DropsLastLine "drops-last-line": "the entry replaces an unterminated last line"
            fails ["append/program"];
        NoLock "no-lock": "the file is read and written without a lock" fails ["append/all-arrive"];
        CountsCharacters "counts-characters": "the size limit counts characters" fails ["append/entry-size"];
        NoLimit "no-limit": "there is no size limit" fails ["append/entry-size"];
        CutsEntries "cuts-entries": "an entry that is too large is cut" fails ["append/entry-size"];
        CutsFiles "cuts-files": "a file that is too large is cut" fails ["append/read-size"];
        AnyTime "any-time": "any text is accepted as a time" fails ["append/timestamp"];
        AnyFile "any-file": "any file name is accepted" fails ["append/other-files"];
        FollowsLinks "follows-links": "links are followed for reading and writing"
            fails ["append/linked-file"];
        ReadsThroughLinks "reads-through-links": "links are followed for reading" fails ["policy/links"];
        AsksNoPerson "asks-no-person": "no person is asked" fails ["approval/declined"];
        AsksInVain "asks-in-vain": "a declined call is executed" fails ["approval/declined"];
        AnyAnswer "any-answer": "any answer counts as approval" fails ["approval/odd-answer"];
        ShowsTheFirstLine "shows-the-first-line": "the question shows only the first line"
            fails ["approval/shown"];
        ShowsNoFile "shows-no-file": "the question omits the file name" fails ["approval/shown"];
        ApprovesForEver "approves-for-ever": "an approval can be reused" fails ["approval/once"];
        ApprovesOfAnything "approves-of-anything": "an approval is valid for other arguments"
            fails ["approval/once"];
        WritesWhatWas "writes-what-was": "the entry is appended to the file's content at the time of the question"
            fails ["approval/meanwhile"];
        DeniesSmallLetters "denies-small-letters": "denied names are compared case-sensitively"
            fails ["policy/paths"];
        DeniesTheEnd "denies-the-end": "only the last segment of a path is checked against denied names"
            fails ["policy/paths"];
        AllowsFirst "allows-first": "an allowed path is never denied" fails ["policy/paths"];
        AllowsBeginnings "allows-beginnings": "a path with an allowed prefix is allowed"
            fails ["policy/paths"];
        ReplacesBytes "replaces-bytes": "invalid UTF-8 is returned with replacement characters"
            fails ["policy/no-file"];
        MissingIsAnError "missing-is-an-error": "a missing file is an error" fails ["policy/no-file"];
        CommitsNothing "commits-nothing": "nothing is committed" fails ["mutation/recorded"];
        CommitsAgain "commits-again": "each entry makes two commits" fails ["mutation/recorded"];
        RefusalLeavesAFile "refusal-leaves-a-file": "a declined call leaves a file in the library"
            fails ["approval/declined"];
    }

    /// Mutants of the server of `safe-markdown-editor`.
    pub(super) EDITOR: Editor {
        CountsFromOne "counts-from-one": "listed positions count from 1" fails ["outline/position"];
        InsertsBehind "inserts-behind": "a section is inserted after the one at the position"
            fails ["outline/position"];
        MovesBefore "moves-before": "a move counts positions as before the move" fails ["outline/position"];
        ClampsPositions "clamps-positions": "a position out of range means the last one"
            fails ["outline/position"];
        ReadsTheHeading "reads-the-heading": "a section's text includes its heading"
            fails ["outline/get-update"];
        AddsNewlines "adds-newlines": "an update adds a blank line" fails ["outline/get-update"];
        EatsChildren "eats-children": "an update removes the subsections" fails ["outline/inside"];
        KeepsChildren "keeps-children": "a deletion keeps the subsections" fails ["outline/inside"];
        TrimsDocuments "trims-documents": "the end of the document is trimmed" fails ["outline/inside"];
        IdsArePlaces "ids-are-places": "an id is a position" fails ["outline/ids"];
        IdsComeAgain "ids-come-again": "a freed id is reused" fails ["outline/ids"];
        IdsOfAProcess "ids-of-a-process": "each process assigns different ids" fails ["outline/ids"];
        GoneIsTheFirst "gone-is-the-first": "an unknown id means the first section" fails ["outline/gone-id"];
        UndoForgetsIds "undo-forgets-ids": "an undo changes all ids" fails ["undo/inverts"];
        UndoEndsLines "undo-ends-lines": "an undo adds a newline at the end" fails ["undo/inverts"];
        RedoDoesNothing "redo-does-nothing": "a redo reports success and does nothing"
            fails ["undo/redo-inverts-undo"];
        KeepsRedo "keeps-redo": "an edit does not clear the redo history" fails ["undo/edit-clears-redo"];
        UndoResets "undo-resets": "an undo removes the last commit" fails ["undo/history-kept"];
        UndoOverwrites "undo-overwrites": "an undo overwrites a person's edits" fails ["undo/hand-edit"];
        RedoesOnce "redoes-once": "a redo clears the redo history" fails ["undo/program"];
        UndoOfNothing "undo-of-nothing": "an undo without an edit succeeds" fails ["undo/nothing"];
        ThreeLevels "three-levels": "only three edits can be undone" fails ["undo/levels"];
        UndoOfAProcess "undo-of-a-process": "a process can undo only its own edits" fails ["undo/levels"];
        UndoIsNotLogged "undo-is-not-logged": "the history lacks undos" fails ["mutation/recorded"];
    }

    /// Mutants of the server of the example `desk`, whose tools have operations.
    pub(super) DESK: Desk {
        TakesNearest "takes-nearest": "values without an operation are taken for those of another"
            fails ["operations/unsupported"];
        UnsupportedLeavesAFile "unsupported-leaves-a-file": "a call that comes to no operation leaves a file in the library"
            fails ["operations/unsupported"];
        IgnoresUnused "ignores-unused": "an argument that the operation does not take is ignored"
            fails ["operations/unused-argument"];
        NamesNoArgument "names-no-argument": "the refusal of an argument does not name it"
            fails ["operations/unused-argument"];
    }

    /// Mutants of the server of the example `tracker`, whose store keeps rows.
    pub(super) TRACKER: Tracker {
        LogsNoRows "logs-no-rows": "a change of rows leaves no entry in the log"
            fails ["rows/one-change", "rows/log-replays", "rows/crowd", "rows/killed", "rows/faults"];
        LogsRowsTwice "logs-rows-twice": "a change of rows leaves two entries in the log"
            fails ["rows/one-change", "rows/crowd", "rows/killed", "rows/faults"];
        LogsOneRow "logs-one-row": "the entry has the first row of several that changed"
            fails ["rows/one-change", "rows/killed", "rows/faults"];
        LogsBeforeRows "logs-before-rows": "the log is written before the rows, and each by itself"
            fails ["rows/killed", "rows/faults"];
        PatchResets "patch-resets": "an update sets the fields that it does not name to their defaults"
            fails ["rows/patch", "rows/model"];
        DeletesNothing "deletes-nothing": "the deletion of a row that is not there succeeds"
            fails ["rows/one-change", "rows/model", "orgs/apart"];
        GetsAcrossOrgs "gets-across-orgs": "a row of another org is got by its key"
            fails ["rows/model", "orgs/apart"];
        ListsAcrossOrgs "lists-across-orgs": "a list has the rows of all orgs"
            fails ["rows/model", "orgs/apart"];
        RefersAcrossOrgs "refers-across-orgs": "a row can refer to one of another org"
            fails ["rows/model", "orgs/apart"];
        UniqueAcrossOrgs "unique-across-orgs": "a value of a row of another org is taken"
            fails ["orgs/apart"];
        IgnoresUnique "ignores-unique": "two rows can have the same unique value"
            fails ["rows/unique", "rows/model"];
        CaseMatters "case-matters": "a unique name is compared with regard to its case" fails ["rows/unique"];
        IgnoresReferences "ignores-references": "a row can refer to one that is not there"
            fails ["rows/references", "rows/model", "orgs/apart"];
        GoesInCircles "goes-in-circles": "a chain of references can lead back to its beginning"
            fails ["rows/references", "rows/model"];
        ForgetsCascade "forgets-cascade": "rows that should be deleted with another stay"
            fails ["rows/references", "rows/model"];
        ForgetsClear "forgets-clear": "a reference to a deleted row stays" fails ["rows/references"];
        DeletesWhatIsUsed "deletes-what-is-used": "a row that others need can be deleted"
            fails ["rows/references", "rows/model"];
        IgnoresRowBase "ignores-row-base": "a change ignores the content that the row must still have"
            fails ["rows/if-base"];
        IgnoresKeys "ignores-keys": "a call with an idempotency key is made again" fails ["rows/idempotency"];
        KeysOfAProcess "keys-of-a-process": "idempotency keys are forgotten when the server ends"
            fails ["rows/idempotency"];
        SecretListed "secret-listed": "lists and answers have the secret as long as the process runs"
            fails ["rows/model", "secrets/once"];
        SecretInLog "secret-in-log": "the log has the answer with the secret" fails ["secrets/once"];
        SecretReplayed "secret-replayed": "a repeated call is answered with the secret"
            fails ["secrets/once"];
        SecretOnStderr "secret-on-stderr": "the secret is written to standard error" fails ["secrets/once"];
        AnswersBeforeRows "answers-before-rows": "a change is answered before it is written"
            fails ["rows/one-change", "rows/log-replays", "rows/refused", "rows/patch", "rows/references",
                "rows/unique", "rows/if-base", "rows/idempotency", "rows/model", "rows/crowd", "rows/killed",
                "rows/faults", "rows/synced-before-answer", "orgs/apart"];
        NeverSyncs "never-syncs": "the data file is not synced" fails ["rows/synced-before-answer"];
        WritesInPlace "writes-in-place": "the data file is cut and written anew"
            fails ["rows/killed", "rows/faults", "rows/synced-before-answer"];
        RowsWithoutLock "rows-without-lock": "several processes read and write the data file without a lock"
            fails ["rows/crowd"];
        AnyNumber "any-number": "a number that is not the next one is accepted" fails ["rows/model"];
        ForgetsHook "forgets-hook": "what follows from a field's value does not happen" fails ["rows/model"];
        HookStays "hook-stays": "what followed from a field's value stays when the value is no longer that"
            fails ["rows/model"];
        ForgetsAlso "forgets-also": "the other row that an operation also changes stays as it was"
            fails ["rows/model"];
        AlsoAgain "also-again": "an update that changes nothing changes the other row once more"
            fails ["rows/model"];
        AlsoRegardless "also-regardless": "the other row is changed whatever the row's values are"
            fails ["rows/model"];
        ReviewsOwnWork "reviews-own-work": "two fields that must differ can have the same value"
            fails ["rows/model"];
        WordsArePhrases "words-are-phrases": "a search for several words finds their sequence alone"
            fails ["rows/model"];
        WordsOfTitle "words-of-title": "a search for words looks at the first of two fields"
            fails ["rows/model"];
        WordsHaveCase "words-have-case": "a search for words minds their case" fails ["rows/model"];
        DeletesDefaultOrg "deletes-default-org": "the org of calls that name none can be deleted"
            fails ["rows/model"];
        PinsStay "pins-stay": "two rows have a mark that only one can have" fails ["rows/unique"];
        UsesIdsAgain "uses-ids-again": "the id of a deleted row is given to another, which old references then name"
            fails ["rows/unique"];
        RoundsNumbers "rounds-numbers": "a number beyond 2^53 is accepted, and rounded"
            fails ["rows/refused"];
        TakesNul "takes-nul": "a text with a NUL is accepted" fails ["rows/refused"];
        NamesNoField "names-no-field": "the refusal of a value does not name its field"
            fails ["rows/refused"];
    }

    /// Mutants of modes, of provenance and of errors.
    pub(super) ORIGINS: Mcb {
        NeedsNoProvenance "needs-no-provenance": "a call that lacks required provenance is made"
            fails ["provenance/missing", "provenance/delegated"];
        NamesOneField "names-one-field": "the refusal names the first of the fields that are missing"
            fails ["provenance/missing", "provenance/delegated"];
        BlankWillDo "blank-will-do": "a blank text is taken for provenance"
            fails ["provenance/missing", "provenance/delegated"];
        OneSpelling "one-spelling": "only the first of a field's keys is read" fails ["provenance/aliases"];
        LastSpellingCounts "last-spelling-counts": "of several keys of a field, the last counts"
            fails ["provenance/aliases"];
        KeepsWhatItNeeds "keeps-what-it-needs": "provenance is kept with the changes of those tools only that require it"
            fails ["provenance/kept"];
        SeesItsWatch "sees-its-watch": "a call finds only what its own session has made"
            fails ["provenance/no-filter"];
        OrdersOfNoOne "orders-of-no-one": "a delegated call need not say by whom"
            fails ["provenance/delegated"];
        AnyModeWillDo "any-mode-will-do": "a tool is called in modes that it is not for"
            fails ["modes/matrix"];
        TakesUnknownModes "takes-unknown-modes": "a mode that does not exist is taken for the default"
            fails ["modes/matrix"];
        EnvironmentFirst "environment-first": "the environment's mode goes before the argument's"
            fails ["modes/matrix"];
        HidesTools "hides-tools": "tools that are not for the mode are not listed" fails ["modes/listed"];
        RefusesByResult "refuses-by-result": "refusals are results with `isError`" fails ["errors/channel"];
        CodeOfItsOwn "code-of-its-own": "what is not there is refused with a code that the contract does not have"
            fails ["errors/channel"];
        TellsThePath "tells-the-path": "errors of files name their path" fails ["errors/sanitized"];
        TellsTheStatement "tells-the-statement": "errors have the statement that failed"
            fails ["errors/sanitized"];
        TellsTheType "tells-the-type": "errors are printed as they are in memory" fails ["errors/sanitized"];
        NamesNoRequest "names-no-request": "an internal error does not say under which id the log has its cause"
            fails ["errors/sanitized"];
    }

    /// Mutants of the server of the example `bulletin`, whose callers have roles and whose calls pass gates.
    pub(super) BULLETIN: Bulletin {
        UnknownIsOwner "unknown-is-owner": "a caller of a role that does not exist is taken for the owner"
            fails ["auth/unknown"];
        IgnoresRoles "ignores-roles": "every known caller may call everything" fails ["auth/roles"];
        SkipsAClause "skips-a-clause": "one clause is never judged"
            fails ["gates/each-clause", "gates/all-said"];
        LooksOnlyBefore "looks-only-before": "clauses about the answer are not judged"
            fails ["gates/each-clause", "gates/nothing-written"];
        AsksForNoReview "asks-for-no-review": "a clause that asks for a review is ignored"
            fails ["gates/each-clause"];
        SaysTheFirst "says-the-first": "of several violations, the refusal names the first"
            fails ["gates/all-said"];
        ForgivesTheSecond "forgives-the-second": "a call that was refused is made when it is repeated"
            fails ["gates/pure"];
        WritesAllTheSame "writes-all-the-same": "a call with violations leaves a draft"
            fails ["gates/nothing-written"];
    }

    /// Mutants of the server of the example `bulletin` whose defect exists only over REST.
    pub REST_ZOO: Bulletin {
        RestLosesMembers "rest-loses-members": "a result over REST lacks a member that it has over MCP"
            imitates "two serializers of one result" fails ["rest/same-answers"];
        RestIgnoresKeys "rest-ignores-keys": "a call over REST is made again, whatever its idempotency key"
            imitates "a header that no handler reads" fails ["rest/same-answers"];
        RestIgnoresIfMatch "rest-ignores-if-match": "a change over REST overwrites a document that has changed"
            imitates "a header that no handler reads" fails ["rest/same-answers"];
        RestDescribesOneLess "rest-describes-one-less": "the description lacks a tool"
            imitates "a description that is written by hand" fails ["rest/openapi"];
        RestSaysNumbers "rest-says-numbers": "a time is a number, and the description says text"
            imitates "a description that is written by hand" fails ["rest/openapi"];
        RestRefusesWith200 "rest-refuses-with-200": "every refusal has the status 200"
            imitates "RPC in the body of a POST" fails ["rest/errors"];
        RestRefusesAsProblem "rest-refuses-as-problem": "refusals are `application/problem+json`, in whatever form the contract has"
            imitates "a framework's default handler of errors" fails ["rest/errors", "rest/openapi"];
        RestMakesThenRefuses "rest-makes-then-refuses": "a call without credentials is made, and then refused"
            imitates "a layer that looks at credentials after the handler" fails ["rest/errors"];
        ExecutionsNameNoCommit "executions-name-no-commit": "an execution is a success, and does not say of which commit"
            imitates "an audit log that is written before the change" fails ["audit/agrees-with-commits"];
        ExecutionsSucceed "executions-succeed": "the execution of a refused call is a success"
            imitates "an audit log that is written before the change" fails ["audit/agrees-with-commits"];
        CommitsNameNoExecution "commits-name-no-execution": "the message of a commit does not name the execution that made it"
            imitates "history that knows nothing of the audit log" fails ["audit/agrees-with-commits"];
        RefusalsAreCommits "refusals-are-commits": "a refused call is a commit, without a change"
            imitates "an audit log that is kept in the history" fails ["audit/agrees-with-commits"];
        ExecutionsOfAnyone "executions-of-anyone": "a caller is shown the executions of others"
            imitates "ids that are taken for secrets" fails ["audit/agrees-with-commits"];
        ExecutionsOfAProcess "executions-of-a-process": "executions are forgotten with the server"
            imitates "a table in memory" fails ["audit/killed"];
        ExecutionsRunForEver "executions-run-for-ever": "an execution is running for ever if the server is killed"
            imitates "a status that a task in the background writes" fails ["audit/killed"];
        LimitIsIgnored "limit-is-ignored": "a session makes as many calls as it likes"
            imitates "a limit that is documented alone"
            fails ["limits/each", "limits/retry-after", "limits/shared"];
        LimitPermitsOneMore "limit-permits-one-more": "a session makes one call more than its limit permits"
            imitates "`>` instead of `>=`" fails ["limits/each", "limits/retry-after", "limits/shared"];
        LimitsOfCallers "limits-of-callers": "all sessions of a caller share a limit"
            imitates "a counter by the key of the caller" fails ["limits/each"];
        LimitsOfAProcess "limits-of-a-process": "each server of a library has limits of its own"
            imitates "counters in memory" fails ["limits/shared"];
        RestSaysNoTime "rest-says-no-time": "a refusal for a limit does not say when to come back"
            imitates "a middleware that sends a status alone" fails ["limits/retry-after", "sessions/most"];
        AnySessions "any-sessions": "a caller has as many sessions as it likes"
            imitates "sessions without a count" fails ["sessions/most"];
        EndedSessionsLive "ended-sessions-live": "a session that has ended can be used"
            imitates "signed session ids that are never revoked" fails ["sessions/most"];
        SessionsOfAnyone "sessions-of-anyone": "a caller can use the sessions of others"
            imitates "ids that are taken for secrets" fails ["sessions/most"];
        IdleSessionsLive "idle-sessions-live": "a session without a call does not end"
            imitates "an expiry that is documented alone" fails ["sessions/idle"];
        CallsAreNoUse "calls-are-no-use": "a session ends a while after it was opened, whether it is used or not"
            imitates "an expiry that is set once" fails ["sessions/idle", "sessions/age"];
        OldSessionsLive "old-sessions-live": "a session that is in use never ends"
            imitates "an expiry that slides" fails ["sessions/age"];
    }

    /// Mutants of a server whose rows are in PostgreSQL: behind its back, another connection changes them.
    pub DATABASE_ZOO: Mcb {
        RowVanishes "row-vanishes": "a row is gone from the database after its change was acknowledged"
            imitates "a failover to a standby that is behind" fails ["rows/one-change"];
        EntryVanishes "entry-vanishes": "an acknowledged change has no entry in the database's log"
            imitates "a log that another transaction writes" fails ["rows/one-change"];
        EntryTwice "entry-twice": "an acknowledged change has two entries in the database's log"
            imitates "a transaction that is repeated after its outcome was unknown" fails ["rows/one-change"];
        EntryIsEmptied "entry-is-emptied": "a later change empties an entry of the database's log"
            imitates "a log that the server may update" fails ["rows/log-replays"];
        RefusalIsLogged "refusal-is-logged": "a refused call leaves an entry in the database's log"
            imitates "a savepoint that is released instead of rolled back" fails ["rows/refused"];
        KeysVanish "keys-vanish": "idempotency keys in the database are deleted when a server starts"
            imitates "keys that each server has for itself" fails ["rows/idempotency"];
    }

    /// Mutants of a memory.
    pub(super) MEMORIES: Mcb {
        StoresUnasked "stores-unasked": "a sentence about each call that stores is stored in the same memory"
            imitates "MCB v0.2.1"
            fails ["memory/kept", "memory/counted", "memory/runs", "memory/listed", "memory/no-filter",
                "memory/timeline", "memory/inject", "memory/filters", "memory/scores"];
        ForgetsCommit "forgets-commit": "the commit of an observation is not kept"
            fails ["memory/kept", "memory/counted"];
        CountsAcrossProjects "counts-across-projects": "the same observation of another project is counted on the first one"
            imitates "MCB v0.2.1" fails ["memory/counted"];
        CountsNoPatterns "counts-no-patterns": "a pattern of errors that occurs again is not counted"
            imitates "MCB v0.2.1" fails ["memory/counted"];
        ForgetsLaterTags "forgets-later-tags": "the same observation again does not join its tags"
            fails ["memory/counted"];
        MergesRuns "merges-runs": "an execution that is equal to another is not kept"
            imitates "MCB v0.2.1" fails ["memory/runs"];
        FiltersAfterCut "filters-after-cut": "lists and searches are cut to their limit, and then filtered"
            imitates "MCB v0.2.1" fails ["memory/listed", "memory/filters"];
        CutsInsideCharacters "cuts-inside-characters": "a preview that ends inside of a character is an error"
            imitates "MCB v0.2.1"
            fails ["memory/kept", "memory/listed", "memory/no-filter", "memory/timeline", "memory/inject",
                "memory/filters", "memory/scores"];
        HidesOtherSessions "hides-other-sessions": "a caller sees only what its own session stored"
            imitates "MCB v0.2.1"
            fails ["memory/kept", "memory/counted", "memory/runs", "memory/listed", "memory/no-filter",
                "memory/timeline", "memory/inject", "memory/any-text", "memory/found", "memory/filters",
                "memory/scores"];
        DropsSameSecond "drops-same-second": "a timeline lacks the neighbours of the anchor's second"
            imitates "MCB v0.2.1" fails ["memory/timeline"];
        IgnoresWindow "ignores-window": "a timeline ignores its window"
            imitates "MCB v0.2.1" fails ["memory/timeline"];
        TimelineOfAll "timeline-of-all": "a timeline has observations of all resources"
            imitates "MCB v0.2.1" fails ["memory/timeline"];
        CutsLastEntry "cuts-last-entry": "the last entry of a context is cut to fill the budget"
            fails ["memory/inject"];
        OverBudget "a-quarter-more": "a context is a quarter longer than its budget"
            imitates "an estimate of tokens that is too low" fails ["memory/inject"];
        IgnoresSharedTags "ignores-shared-tags": "a context has the newest first, whatever tags are asked for"
            fails ["memory/inject"];
        QueriesAreSyntax "queries-are-syntax": "a query with an open quotation is a syntax error"
            imitates "MCB v0.2.1" fails ["memory/any-text"];
        WordsAreAscii "words-are-ascii": "words of other scripts are not found" fails ["memory/any-text"];
        IndexFollowsLater "index-follows-later": "a search finds what was there at the last one"
            imitates "an index that is filled in the background"
            fails ["memory/no-filter", "memory/timeline", "memory/found", "memory/filters"];
        IndexOfAProcess "index-of-a-process": "a search finds what its own process stored"
            imitates "an index in memory" fails ["memory/found"];
        AnyTag "any-tag": "an entry with one of several tags passes"
            imitates "an `IN` for a list of tags"
            fails ["memory/listed", "memory/timeline", "memory/filters"];
        IgnoresFilters "ignores-filters": "`filters` of a search are ignored"
            imitates "MCB v0.2.1" fails ["memory/filters"];
        ScoresAscend "scores-ascend": "the best hit is the last"
            imitates "bm25 of SQLite, whose best value is the lowest" fails ["memory/scores"];
        ScoresBeyondOne "scores-beyond-one": "scores are above 1"
            imitates "bm25 without a limit" fails ["memory/scores"];
        IgnoresLowest "ignores-lowest": "hits below `min_score` are answered" fails ["memory/scores"];
    }

    /// Mutants of an index of source code.
    pub(super) CODE: Mcb {
        SaysIndexed "says-indexed": "the status is `idle` as soon as a run begins; the first search ends it"
            imitates "claude-context, whose users are told \"indexed\" when nothing is"
            fails ["index/status", "index/restart", "index/incremental", "index/clear", "index/git",
                "index/branch-moves", "index/outside", "search/filters", "search/branch", "search/exact",
                "search/fresh", "vcs/index", "vcs/commits"];
        IndexInMemory "index-in-memory": "the index is gone after a restart"
            imitates "MCB v0.2.1" fails ["index/restart", "index/killed", "index/clear", "vcs/index"];
        TakesRunsForDone "takes-runs-for-done": "what a killed run had indexed is taken for all"
            fails ["index/killed"];
        KeepsRemoved "keeps-removed": "files that are gone, or fit no longer, stay in the index"
            imitates "an index that looks at changed files only"
            fails ["index/status", "index/incremental", "index/branch-moves", "vcs/commits"];
        KeepsUnfitting "keeps-unfitting": "files that the filters of a later run leave out stay in the index"
            imitates "MCB v0.2.1, which skipped unchanged files before it looked at its filters"
            fails ["index/incremental"];
        ClearKeepsHashes "clear-keeps-hashes": "a cleared collection is never indexed again"
            imitates "MCB v0.2.1" fails ["index/clear"];
        NamesOutside "names-outside": "any path of the disk may be named"
            imitates "MCB v0.2.1" fails ["index/outside"];
        FollowsLinksOut "follows-links-out": "links in a folder are followed to what is outside of the workspace"
            fails ["index/outside"];
        SkipsSameSize "skips-same-size": "a file that has the size that it had is taken for unchanged"
            fails ["index/incremental", "search/fresh"];
        CodeFiltersAfterCut "code-filters-after-cut": "hits are cut to the limit, and then filtered"
            imitates "MCB v0.2.1" fails ["search/filters", "search/branch"];
        IgnoresExtensions "ignores-extensions": "`extensions` of a search are ignored"
            imitates "MCB v0.2.1" fails ["search/filters", "search/branch"];
        CodeScoresNegative "code-scores-negative": "scores are below 0"
            imitates "MCB v0.2.1: bm25 of SQLite" fails ["search/scores"];
        CodeScoresAscend "code-scores-ascend": "the best hit is the last"
            imitates "MCB v0.2.1" fails ["search/scores", "search/exact"];
        CodeQueriesAreSyntax "code-queries-are-syntax": "a query with an open bracket is a syntax error"
            imitates "queries that are handed on to a database" fails ["search/any-text"];
        IgnoresNames "ignores-names": "names and quoted texts are words like others" fails ["search/exact"];
        HitsEachWord "hits-each-word": "a chunk with several words of the query is several hits"
            imitates "MCB v0.2.1: 35 hits of 7 chunks" fails ["search/one-hit-a-chunk"];
        IndexesWorkTree "indexes-work-tree": "branches are indexed from the files that are checked out"
            imitates "MCB v0.2.1, whose `git_index` was the same as `start`"
            fails ["index/git", "index/branch-moves", "search/branch", "vcs/index"];
        ChecksBranchesOut "checks-branches-out": "a branch is checked out to be indexed, and uncommitted changes are lost"
            fails ["index/git"];
        HashesTextsAlone "hashes-texts-alone": "the blob of a hit is a digest of the text, not the one that git makes"
            fails ["index/git", "index/branch-moves", "vcs/index"];
        IndexesBlobsOnce "indexes-blobs-once": "a file that two branches have alike is indexed for one of them"
            imitates "an index that keeps each blob once, to save space"
            fails ["index/git", "search/branch", "vcs/index"];
        KeepsOldTips "keeps-old-tips": "a branch that is indexed is taken for unchanged"
            fails ["index/branch-moves", "vcs/index", "vcs/commits"];
        IgnoresBranch "ignores-branch": "the filter `branch` is ignored"
            imitates "MCB v0.2.1" fails ["index/git", "search/branch", "vcs/index", "vcs/commits"];
        CountsRepositories "counts-repositories": "`index_repository` counts files, and indexes nothing"
            imitates "MCB v0.2.1" fails ["search/branch", "vcs/index", "vcs/commits"];
        CountsCommits "counts-commits": "commits are counted, and their messages not indexed"
            imitates "MCB v0.2.1" fails ["vcs/commits"];
        IgnoresDepth "ignores-depth": "all commits are indexed, however few are asked for"
            fails ["vcs/commits"];
        FollowsLinksToRepositories "follows-links-to-repositories": "a repository behind a link is listed too"
            fails ["vcs/repositories"];
        StopsAtRepositories "stops-at-repositories": "what lies in a repository is not listed"
            fails ["vcs/repositories"];
        ListsAnyDepth "lists-any-depth": "repositories are listed however deep they are"
            fails ["vcs/repositories"];
        ListsAnyId "lists-any-id": "the list of one repository has all" fails ["vcs/repositories"];
        FindsNoRenames "finds-no-renames": "a renamed file is one that was removed and one that was added"
            imitates "MCB v0.2.1" fails ["vcs/compare"];
        ComparesTips "compares-tips": "the last commits of two branches are compared, without their merge base"
            fails ["vcs/compare"];
        SearchesWorkTree "searches-work-tree": "the search of a branch reads the work tree"
            fails ["vcs/search"];
        CaseAlwaysCounts "case-always-counts": "the search of a branch finds no text in another case"
            fails ["vcs/search"];
        ImpactIsZero "impact-is-zero": "the impact of each file is 0"
            imitates "MCB v0.2.1" fails ["vcs/impact"];
        HasNoDependents "has-no-dependents": "nothing depends on what was changed"
            imitates "MCB v0.2.1" fails ["vcs/impact"];
        FindingsAreErrors "findings-are-errors": "a run with findings is refused"
            imitates "MCB v0.2.1" fails ["validate/run"];
        RunsAllCategories "runs-all-categories": "the category of a run is ignored"
            imitates "MCB v0.2.1" fails ["validate/run"];
        ListsAllRules "lists-all-rules": "the list of a category has all rules" fails ["validate/rules"];
        FilesAreOne "files-are-one": "the complexity of each file is 1"
            imitates "MCB v0.2.1" fails ["validate/analyze"];
    }

    /// Mutants of notes with review.
    pub(super) NOTES: Brainforge {
        ShowsWhatWaits "shows-what-waits": "searches and exports have what no person has approved"
            fails ["review/pending-unseen"];
        LinksWhatWaits "links-what-waits": "a note can be linked with one that waits"
            fails ["review/pending-unseen"];
        ApprovesItsOwn "approves-its-own": "any decision that was refused is reported as done" fails ["review/own"];
        ApprovesNothing "approves-nothing": "an approval ends the review, and the note stays as it was"
            fails ["review/decided", "review/program", "review/killed"];
        DecidesTwice "decides-twice": "what was decided on can be decided on again" fails ["review/decided"];
        ApprovesStale "approves-stale": "an approval that was refused is reported as done"
            fails ["review/stale"];
        ComparesNumbersAlone "compares-numbers-alone": "a proposal is approved although its note was edited by hand since, if that left the number as it was"
            fails ["review/stale"];
        RevisesAtOnce "revises-at-once": "an agent's second version of a change does not wait"
            fails ["review/program"];
        DecidesUnseen "decides-unseen": "a decision is on the proposal as it is, whatever the person was shown"
            fails ["review/shown"];
        RejectsUnseen "rejects-unseen": "only an approval is compared with what the person was shown"
            fails ["review/shown"];
        IgnoresParts "ignores-parts": "an approval of parts is one of the whole proposal"
            fails ["review/parts", "review/unknown-parts"];
        CountsPartsFromZero "counts-parts-from-zero": "the part after the one that was named is taken"
            fails ["review/parts"];
        DropsOtherParts "drops-other-parts": "an approval of parts ends the review, and the author can't go on"
            fails ["review/parts"];
        PassesOverUnknownParts "passes-over-unknown-parts": "parts that are not there, or are named twice, are passed over"
            fails ["review/unknown-parts"];
        CommitsPartByPart "commits-part-by-part": "a decision is two commits, of the note and of what waited"
            fails ["review/decided", "review/killed"];
        SkipsNumbers "skips-numbers": "a change takes two numbers" fails ["versions/all"];
        ForgetsVersions "forgets-versions": "only the last version can be read" fails ["versions/all"];
        HandEditsDoNotCount "hand-edits-do-not-count": "a note that was edited by hand keeps its number"
            fails ["versions/by-hand"];
        IgnoresVersions "ignores-versions": "any version can be changed" fails ["versions/conflict"];
        LocksTooLate "locks-too-late": "the version is read before the lock is taken"
            fails ["versions/crowd"];
        CommitsOthersWork "commits-others-work": "a commit has all that is not committed yet"
            fails ["versions/commits"];
        LinksAnything "links-anything": "a link can lead to a note that does not exist" fails ["links/ends"];
        LinksTwice "links-twice": "a link that is there is made again" fails ["links/once"];
        ReadsAtStart "reads-at-start": "the index is made once, when the server is first asked"
            fails ["notes/fresh"];
        CutsThenFilters "cuts-then-filters": "the best are taken, and then those that pass the filters"
            fails ["notes/filters"];
        ScoresAboveOne "scores-above-one": "scores are from 0 to 2" fails ["notes/scores"];
        ExcerptsAreNotes "excerpts-are-notes": "the excerpt is the whole note" fails ["notes/excerpts"];
        AlwaysExcerpts "always-excerpts": "excerpts are there, whether they are asked for or not"
            fails ["notes/excerpts"];
        QuestionsAreSyntax "questions-are-syntax": "a query with an open quotation is an error"
            fails ["notes/any-text"];
        ExportsNoLinks "exports-no-links": "an export has no links" fails ["export/whole"];
        SaysOtherSize "says-other-size": "the size of an export is not that of the file"
            fails ["export/whole"];
        StripsFiles "strips-files": "files of an archive lack what is known of them"
            fails ["export/archives"];
        LeavesOutUnknown "leaves-out-unknown": "an export leaves out notes that do not exist, and says nothing"
            fails ["export/filters"];
        LastsAYear "lasts-a-year": "an export can be fetched for a year" fails ["export/expires"];
    }
}
