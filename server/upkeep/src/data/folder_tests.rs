//! The place of the folder, by system, and the refused folders.

use std::path::{Path, PathBuf};

use tabellion_clients::{Machine, System};
use tabellion_library::CreateFolders;

use super::folder::{DataFolder, of_user};

#[test]
fn the_place_is_that_of_the_system() {
    for (system, variables, expected) in [
        (System::Linux, &[][..], "/home/p/.local/share/tabellion"),
        (System::Linux, &[("XDG_DATA_HOME", "/d")], "/d/tabellion"),
        (System::Linux, &[("XDG_DATA_HOME", "d")], "/home/p/.local/share/tabellion"),
        (System::MacOs, &[("XDG_DATA_HOME", "/d")], "/home/p/Library/Application Support/tabellion"),
        (System::Windows, &[], "/home/p/AppData/Local/tabellion"),
        (System::Windows, &[("LOCALAPPDATA", "/l")], "/l/tabellion"),
    ] {
        let machine = Machine {
            system,
            home: "/home/p".into(),
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        assert_eq!(of_user(&machine), Path::new(expected), "{system:?}, {variables:?}");
    }
}

#[test]
fn folders_that_can_only_be_a_mistake_are_refused() {
    let below = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    for (path, create, expected) in [
        (PathBuf::new(), CreateFolders::Last, Some("has no name")),
        ("/".into(), CreateFolders::Last, Some("is the root of the file system; choose another")),
        ("/etc/rows".into(), CreateFolders::All, Some("belongs to the system")),
        (below(""), CreateFolders::Nothing, None),
        (below("new"), CreateFolders::Last, None),
        (below("new"), CreateFolders::Nothing, Some("does not exist")),
        (below("a/b"), CreateFolders::Last, Some("`mkdir -p ")),
        (below("a/b"), CreateFolders::All, None),
        (below("Cargo.toml"), CreateFolders::Last, Some("is not a folder; choose another data folder")),
    ] {
        let folder = DataFolder::choose(Some(&path)).expect("it is given");
        let found = folder.check(create);
        let is_right = match (&found, expected) {
            (Ok(()), None) => true,
            (Err(error), Some(expected)) => error.contains(expected),
            _ => false,
        };
        assert!(is_right, "{path:?}, {create:?}: {found:?}");
    }
}
