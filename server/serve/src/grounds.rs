//! The partition of contracts: those over a library, and those over rows.

use tabellion_pack::Packs;
use tabellion_runtime::ContractSpec;

use super::Options;

/// The contracts to serve, by the data that they work on.
pub(super) struct Specs {
    /// Contracts over documents, which need a library.
    pub(super) over_documents: Vec<&'static ContractSpec>,
    /// Contracts over rows, which need the data folder.
    pub(super) over_rows: Vec<&'static ContractSpec>,
}

impl Specs {
    /// Returns the contracts of these names.
    pub(super) fn named(packs: Packs, names: &[String]) -> Self {
        let specs = names.iter().filter_map(|name| packs.spec(name));
        let (over_rows, over_documents) = specs.partition(|spec| spec.rows.is_some());
        Self { over_documents, over_rows }
    }

    /// Returns a contract over documents with roles, and one without roles that changes documents.
    pub(super) fn guarded_and_open(&self) -> (Option<&'static str>, Option<&'static str>) {
        let guarded = self.over_documents.iter().find(|spec| spec.auth.is_some());
        let changes =
            |spec: &&&ContractSpec| spec.auth.is_none() && spec.tools.iter().any(|tool| tool.mutating);
        let open = self.over_documents.iter().find(changes);
        (guarded.map(|spec| spec.id), open.map(|spec| spec.id))
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> Vec<&'static ContractSpec> {
        [&self.over_documents[..], &self.over_rows].concat()
    }
}

/// The contracts and their data, as named on a command line.
pub struct Needs<'a> {
    /// Names of the contracts.
    pub contracts: &'a [String],
    /// True if a library is named.
    pub has_library: bool,
    /// True if a document is named.
    pub has_document: bool,
    /// True if a place of rows is named.
    pub has_data: bool,
    /// True if workspaces are named.
    pub has_workspaces: bool,
}

impl<'a> From<&'a Options> for Needs<'a> {
    fn from(options: &'a Options) -> Self {
        Self {
            contracts: &options.contracts,
            has_library: !options.libraries.is_empty(),
            has_document: options.document.is_some(),
            has_data: options.data.is_some(),
            has_workspaces: !options.workspaces.is_empty(),
        }
    }
}

/// Checks that the command line names exactly the data that the contracts need.
///
/// # Errors
/// The option to add, or to omit.
pub fn check(needs: &Needs<'_>, packs: Packs) -> Result<(), String> {
    let specs = Specs::named(packs, needs.contracts);
    let others = packs.names_over_rows().join("` or `--contract ");
    if specs.over_rows.is_empty() && needs.has_data {
        return Err(format!(
            "`--data` is for contracts over rows, and none is served; leave it out, or add `--contract {others}`"
        ));
    }
    if specs.over_rows.is_empty() && needs.has_workspaces {
        return Err(format!(
            "`--workspace` is for contracts over rows, and none is served; leave it out, or add `--contract {others}`"
        ));
    }
    if let (Some(spec), false) = (specs.over_documents.first(), needs.has_library) {
        let id = spec.id;
        let instead = if specs.over_rows.is_empty() {
            format!("serve a contract over rows, which needs none: `--contract {others}`")
        } else {
            format!("leave out `--contract {id}`")
        };
        return Err(format!(
            "contract `{id}` works on a library: name its folder with `--library <DIR>`, or {instead}"
        ));
    }
    if specs.over_documents.is_empty() {
        let unused = [(needs.has_library, "a library"), (needs.has_document, "`--document`")];
        if let Some((_, what)) = unused.iter().find(|(is_given, _)| *is_given) {
            let names: Vec<_> = specs.over_rows.iter().map(|spec| spec.id).collect();
            return Err(format!(
                "{what} is for contracts over documents, and only `{}` is served, which keeps rows; leave it out, or add \
                 `--contract {}`",
                names.join("`, `"),
                packs.default_name()
            ));
        }
    }
    Ok(())
}
