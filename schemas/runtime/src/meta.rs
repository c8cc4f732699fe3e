//! Keys of `_meta` that are Tabellion's own, of requests and of responses.

/// `_meta` key of a request: the content id that the document must still have (`null`: must not exist yet).
pub const IF_BASE: &str = "tabellion/ifBase";
/// `_meta` key of a request: a caller's own name for it; a repeated key is answered with the first call's commit.
pub const IDEMPOTENCY_KEY: &str = "tabellion/idempotencyKey";
/// `_meta` key of a response: the id of the document's content (after a change: of its new content).
pub const BASE: &str = "tabellion/base";
/// `_meta` key of a response: the path of the document or folder, if its spelling differs from the request's.
pub const PATH: &str = "tabellion/path";
/// `_meta` key of a response: the commit that was made, if the response itself has no place for it.
pub const COMMIT: &str = "tabellion/commit";
/// `_meta` key of a response: the change of rows that was made.
pub const CHANGE: &str = "tabellion/change";
/// `_meta` key of a response: set if the answer omits some of the matches.
pub const TRUNCATED: &str = "tabellion/truncated";
/// `_meta` key of a response: the total number of matches, if the answer omits some of them.
pub const TOTAL: &str = "tabellion/total";
/// `_meta` key of a response: set if the file has bytes that are in no commit.
pub const DIRTY: &str = "tabellion/dirty";
/// `_meta` key of a response: sentences about effects that the caller may not intend.
pub const WARNINGS: &str = "tabellion/warnings";
/// `_meta` key of a response: the change waits for a review. An object: `id` of the workflow's instance, `revision` (the content id of the
/// proposal), and `url` or `command`, with which people see it and decide.
pub const REVIEW: &str = "tabellion/review";
/// `_meta` key of a response: the verdict of the operation's gates.
pub const GATES: &str = "tabellion/gates";
/// `_meta` key of a response: the call with this idempotency key had been made before and was not made again.
pub const REPLAYED: &str = "tabellion/replayed";
/// `_meta` key of a response: the progress of the change to the remote that the library is shared through. An object: `state` (`published`,
/// `pending`, `refused`, `unreachable` or `blocked`), `ahead` (the number of commits that the remote does not have), and for the last three
/// `why` and `since`.
pub const REMOTE: &str = "tabellion/remote";
/// `_meta` key of a request: the session that it belongs to; and of a response: the session that it was counted in.
pub const SESSION: &str = "tabellion/session";
/// `_meta` key of a request: its provenance, by the names of fields or any of their other keys.
pub const PROVENANCE: &str = "tabellion/provenance";
/// `_meta` key of a response: the id of its execution.
pub const EXECUTION: &str = "tabellion/execution";
