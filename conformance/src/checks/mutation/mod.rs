//! Checks of mutations: an accepted one makes one commit of one document with one log entry, and changes nothing else,
//! least of all a person's uncommitted work.

mod batch;
mod commit;
mod content;
mod encoding;
mod log;
mod options;
mod others;
mod recorded;
mod sequence;
mod states;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    batch::BATCH,
    commit::ONE_COMMIT,
    commit::RETURNED_ID,
    content::CONTENT,
    content::NO_IMPLICIT_EDITS,
    encoding::ENCODING,
    options::OPTIONS,
    others::ONLY_ITS_DOCUMENT,
    others::PERSON_UNCOMMITTED,
    log::LOG_ENTRY,
    log::REFUSED_NOTHING,
    recorded::CHECK,
    sequence::SEQUENCE,
    states::ODD_REPOSITORY,
];
