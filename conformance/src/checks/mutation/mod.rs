//! What an accepted mutation leaves behind: one commit, of one document, as the call says, in the log once; and that
//! nothing else happens, least of all to what a person is at.

mod commit;
mod content;
mod log;
mod others;
mod recorded;
mod sequence;
mod states;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    commit::ONE_COMMIT,
    commit::RETURNED_ID,
    content::CONTENT,
    content::NO_IMPLICIT_EDITS,
    others::ONLY_ITS_DOCUMENT,
    others::PERSON_UNCOMMITTED,
    log::LOG_ENTRY,
    log::REFUSED_NOTHING,
    recorded::CHECK,
    sequence::SEQUENCE,
    states::ODD_REPOSITORY,
];
