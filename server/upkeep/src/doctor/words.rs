//! The index of words.

use std::sync::Arc;

use tabellion_pack::{IndexState as Indexed, Packs};
use tabellion_records::Records;
use tabellion_runtime::spec::RowsSpec;

use super::finding::Finding;

/// Checks how many of these rows are in the index of words, which the command `reindex` makes anew.
pub(super) fn of_rows(
    spec: &'static RowsSpec,
    records: Arc<Records>,
    packs: Packs,
    reindex: String,
) -> Option<Finding> {
    const ID: &str = "words";
    let index = packs.words(spec.contract, records)?;
    let shown = index.path().display();
    Some(match index.standing() {
        Ok(Indexed::Missing { rows }) => Finding::green(
            ID,
            format!("none of {rows} rows are indexed: there is no `{shown}` yet; the first search makes it"),
        ),
        Ok(Indexed::Current { rows, at }) => {
            Finding::green(ID, format!("`{shown}` is current: {rows} of {rows} rows, up to change {at}"))
        }
        Ok(Indexed::Behind { has, rows, at, end }) => Finding::green(
            ID,
            format!(
                "`{shown}` is behind: it has changes up to {at} of {end}, and {has} rows where {rows} are there; the next search \
                 takes the rest"
            ),
        ),
        Ok(Indexed::Void(why)) => Finding::yellow(
            ID,
            format!("`{shown}` is no index of these rows: {why}"),
            format!("the next search makes it anew, or {reindex}"),
        ),
        Ok(Indexed::Wrong { has, rows }) => Finding::red(
            ID,
            format!("`{shown}` says that it has everything, and has {has} rows where {rows} are there"),
            reindex,
        ),
        Err(failure) => Finding::red(
            ID,
            failure.to_string(),
            "make the file and its folder writable; a damaged one can be deleted",
        ),
    })
}
