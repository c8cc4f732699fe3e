//! Contracts that are served from one library, by this process or by others, and undo what each other guarantees.

use std::{process, time::SystemTime};

use tabellion_library::Library;
use tabellion_pack::Packs;
use tabellion_platform::{
    names,
    presence::{Presence, is_present},
};
use tabellion_runtime::ContractSpec;

/// Name of the folder with the servers, within the library's own folder.
const FOLDER: &str = "serving";
/// Maximum number of servers that are looked at.
const MAX_SERVERS: usize = 1_000;

/// Says to other processes that this one serves `contracts` from `library`, until what is returned is dropped. Returns a warning too if
/// the files of a contract with roles are changed by one without, here or in a different process. A library that can't be written is
/// joined by none.
pub(super) fn join(
    library: &Library,
    contracts: &[&'static ContractSpec],
    packs: Packs,
) -> (Vec<Presence>, Option<String>) {
    let folder = library.derived(FOLDER);
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let own = format!("{}.{since}", process::id());
    let join = |spec: &&ContractSpec| Presence::join(&folder, &format!("{}.{own}", spec.id)).ok();
    let present = contracts.iter().filter_map(join).collect();
    let all = names(&folder).unwrap_or_default();
    let all = all.iter().filter_map(|name| name.to_str()).take(MAX_SERVERS);
    let others = all.filter(|name| !name.ends_with(&own) && is_present(&folder, name));
    let others = others.filter_map(|name| packs.spec(name.split_once('.')?.0));
    let served: Vec<_> = contracts.iter().copied().chain(others).collect();
    let guarded = served.iter().find(|spec| spec.auth.is_some());
    let open = served.iter().find(|spec| spec.auth.is_none() && spec.tools.iter().any(|tool| tool.mutating));
    let warning = guarded.zip(open).map(|(guarded, open)| {
        format!(
            "`{}` changes the files of `{}` without its roles, gates and reviews; serve them from libraries of their own",
            open.id, guarded.id
        )
    });
    (present, warning)
}
