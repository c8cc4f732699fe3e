//! Which contracts are served over a library, and which over rows.

use tabellion_runtime::ContractSpec;

use super::Options;
use crate::contracts;

/// The contracts to serve, by what they read and change.
pub(super) struct Specs {
    /// Contracts over documents, which need a library.
    pub(super) over_documents: Vec<&'static ContractSpec>,
    /// Contracts over rows, which need the data folder.
    pub(super) over_rows: Vec<&'static ContractSpec>,
}

impl Specs {
    /// Returns the contracts of these names.
    pub(super) fn of(names: &[String]) -> Self {
        let specs = names.iter().filter_map(|name| contracts::spec(name));
        let (over_rows, over_documents) = specs.partition(|spec| spec.rows.is_some());
        Self {
            over_documents,
            over_rows,
        }
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> Vec<&'static ContractSpec> {
        [&self.over_documents[..], &self.over_rows].concat()
    }
}

/// Checks that the options name what the contracts need, and nothing else.
///
/// # Errors
/// What to add, or to leave out.
pub(crate) fn check(options: &Options) -> Result<(), String> {
    let specs = Specs::of(&options.contracts);
    let has_library = !options.libraries.is_empty();
    if let (Some(spec), false) = (specs.over_documents.first(), has_library) {
        let instead = if specs.over_rows.is_empty() {
            format!(
                "; or serve a contract over rows, which needs none: `--contract {}`",
                contracts::names_over_rows().join("` or `--contract ")
            )
        } else {
            format!("; or leave out `--contract {}`", spec.id)
        };
        let instead = if contracts::names_over_rows().is_empty() { "" } else { &instead };
        return Err(format!(
            "contract `{}` works on a library: name its folder, `<DIR>` or `--library DIR`{instead}",
            spec.id
        ));
    }
    if specs.over_documents.is_empty() {
        let unused = [
            (has_library, "a library"),
            (options.document.is_some(), "`--document`"),
        ];
        if let Some((_, what)) = unused.iter().find(|(is_given, _)| *is_given) {
            let names: Vec<_> = specs.over_rows.iter().map(|spec| spec.id).collect();
            return Err(format!(
                "{what} is for contracts over documents, and only `{}` is served, which keeps rows; leave it out, or add \
                 `--contract {}`",
                names.join("`, `"),
                contracts::default()
            ));
        }
    }
    if specs.over_rows.is_empty() && options.data.is_some() {
        return Err(format!(
            "`--data` is for contracts over rows, and none is served; leave it out{}",
            match contracts::names_over_rows().first() {
                Some(name) => format!(", or add `--contract {name}`"),
                None => String::new(),
            }
        ));
    }
    Ok(())
}
