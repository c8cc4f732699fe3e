//! Checks of contracts with a memory and an index of source code, such as the contract `mcb`.

mod code;
mod memory;

use tabellion_conformance::checks::{Family, Pack};

/// The families of the memory and of the index.
pub static PACK: Pack = Pack {
    families: &[
        Family::new(memory::CHECKS, memory::is_of).always(),
        Family::new(code::INDEX, |contract| code::is_of(contract, "index")).always(),
        Family::new(code::SEARCH, |contract| code::is_of(contract, "search")).always(),
        Family::new(code::VCS, |contract| code::is_of(contract, "vcs")).always(),
        Family::new(code::VALIDATE, |contract| code::is_of(contract, "validate")).always(),
    ],
    smoke: &[
        "memory/kept",
        "memory/found",
        "memory/timeline",
        "memory/inject",
        "index/status",
        "index/incremental",
        "search/filters",
        "search/exact",
        "vcs/compare",
        "validate/run",
    ],
};
