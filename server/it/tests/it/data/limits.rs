//! A full disk and a read-only file system: changes are refused with advice, nothing changes, and reading goes on.

use std::{
    fs::{self, File},
    io::Write as _,
};

use serde_json::json;

use super::{Data, count_teams, create_team, entity};
use crate::{
    support::{Outcome, Server, ended},
    torture::mount::Mount,
};

/// A row that exceeds the space left on an almost full disk.
fn create_large(server: &mut Server, name: &str) -> Outcome<()> {
    let settings = json!({ "text": "x".repeat(60_000) }).to_string();
    let data = json!({ "name": name, "settings_json": settings });
    entity(server, "create", "org", json!({ "data": data })).map(drop)
}

#[test]
fn a_full_disk_refuses_changes_and_keeps_the_rest() {
    for mount in [Mount::memory("8m"), Mount::image(32 << 20)].into_iter().flatten() {
        let data = Data::new_in(mount.path());
        let mut server = data.serve();
        create_team(&mut server, "a").expect("made");
        let filler = mount.path().join("filler");
        let mut file = File::create(&filler).expect("a file");
        for size in [1 << 16, 1 << 10, 1] {
            while file.write_all(&vec![7; size]).and_then(|()| file.sync_data()).is_ok() {}
        }
        drop(file);
        let mut made = 0;
        let refused = loop {
            match create_large(&mut server, &format!("org {made}")) {
                Ok(()) => made += 1,
                Err(refused) => break refused,
            }
            assert!(made < 200, "the disk has room");
        };
        assert_eq!(refused.code, -32603, "{refused:?}");
        assert!(refused.message.contains("free some space"), "{refused:?}");
        assert_eq!(count_teams(&mut server), 1);
        fs::remove_file(&filler).expect("removed");
        create_large(&mut server, "then").expect("the same server makes it");
        server.close();
        let export = data.checked();
        let orgs = export.rows.iter().filter(|(entity, _)| entity == "org");
        assert_eq!(orgs.count(), made + 2, "the default one, those made, and the last");
    }
}

#[test]
fn a_read_only_file_system_is_read() {
    let Some(mount) = Mount::memory("16m") else { return };
    let data = Data::new_in(mount.path());
    let mut server = data.serve();
    create_team(&mut server, "a").expect("made");
    server.close();
    mount.remount("ro");
    let mut server = data.serve();
    for _ in 0..2 {
        let refused = create_team(&mut server, "b").expect_err("it is read-only");
        assert!(refused.message.contains("mount it writable"), "{refused:?}");
        assert_eq!(count_teams(&mut server), 1);
    }
    assert_eq!(data.checked().teams(), ["a"].into());
    server.close();
    mount.remount("rw");
    let mut server = data.serve();
    create_team(&mut server, "c").expect("made");
    server.close();
    assert_eq!(data.checked().teams(), ["a", "c"].into());
}

#[test]
fn a_folder_that_can_not_be_made_is_said() {
    let Some(mount) = Mount::memory("1m") else { return };
    let data = Data::new_in(mount.path());
    mount.remount("ro");
    let (code, _, said) = ended(&mut data.command());
    assert_eq!(code, Some(1));
    assert!(said.contains("can't create `") && said.contains("Read-only"), "{said}");
    mount.remount("rw");
}
