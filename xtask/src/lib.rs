//! Shared by `cargo xtask` and `cargo lab`: the workspace's folders, programs that tasks run, and foreign programs.
//!
//! `cargo xtask` repairs the tree, so this package depends on no crate with generated code: of the workspace's crates, on
//! `tabellion-codegen` alone. Tasks that need the product belong to `xtask/lab`.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

pub mod foreign;
pub mod run;
pub mod toolchain;

/// The result of a task.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Returns the workspace's root.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in a workspace")
}

/// Returns the folder of the contracts.
#[must_use]
pub fn schemas() -> PathBuf {
    root().join("schemas")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use toml::Table;

    use super::*;

    #[test]
    fn xtask_builds_without_the_code_that_it_repairs() {
        let manifest: Table =
            toml::from_str(&fs::read_to_string(root().join("xtask/Cargo.toml")).unwrap()).unwrap();
        for kind in ["dependencies", "dev-dependencies"] {
            let dependencies = manifest[kind].as_table().unwrap().keys();
            let ours: Vec<_> = dependencies.filter(|name| name.starts_with("tabellion")).collect();
            assert!(ours.iter().all(|name| *name == "tabellion-codegen"), "{kind}: {ours:?}");
        }
    }
}
