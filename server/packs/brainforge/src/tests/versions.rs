//! Numbers of versions: each is given once, by tools and by hand, and wherever the file is.

use super::*;

/// Acts, a letter each: a person edits the note (`e`), commits (`c`), or moves the file and commits (`m`; `x` with an edit, `r` to a path that
/// another note takes up later; `v` leaves it uncommitted, and removes the empty folder), and an owner updates (`u`) or links it (`l`). After
/// each, the note has the number in the list.
fn check(acts: &str, expected: &[u64]) {
    let bench = Bench::new();
    let other = bench.note(By::Owner, "other")["note_id"].clone();
    let mut path = "plan.md".to_owned();
    fs::write(bench.folder.path().join(&path), "The plan is old.\n").unwrap();
    let found = bench.call(AGENT, tool::SEMANTIC_SEARCH, json!({ "query": "plan" }));
    let id = found["results"][0]["note_id"].as_str().unwrap().to_owned();
    let version =
        || bench.resource(By::Owner, "note", json!({ "note_id": id })).unwrap()["version"].as_u64().unwrap();
    let commit = || {
        bench.git(&["add", "--all"]);
        bench.git(&["commit", "-m", "by hand"]);
    };
    let mut numbers = vec![];
    for (number, act) in acts.chars().enumerate() {
        let before = version();
        let edit = |path: &str| {
            let file = bench.folder.path().join(path);
            let text = fs::read_to_string(&file).unwrap();
            fs::write(file, format!("{text}edit {number}\n")).unwrap();
        };
        match act {
            'e' => edit(&path),
            'c' => commit(),
            'u' => {
                drop(bench.call(By::Owner, tool::UPDATE_NOTE, updated(&id, before, &format!("word{number}"))))
            }
            'l' => {
                let link = json!({ "source_note_id": id, "target_note_id": other, "relation_type": "cites" });
                bench.call(By::Owner, tool::CREATE_LINK, link);
            }
            _ => {
                let folder = format!("{number}");
                fs::create_dir(bench.folder.path().join(&folder)).unwrap();
                let to = format!("{folder}/plan.md");
                fs::rename(bench.folder.path().join(&path), bench.folder.path().join(&to)).unwrap();
                if act == 'x' {
                    edit(&to);
                }
                if act == 'v' {
                    let _ = fs::remove_dir(bench.folder.path().join(&path).parent().unwrap());
                } else {
                    commit();
                }
                if act == 'r' {
                    fs::write(bench.folder.path().join(&path), "---\nversion: 70\n---\nAnother plan.\n")
                        .unwrap();
                    commit();
                }
                path = to;
            }
        }
        if "ul".contains(act) {
            assert!(bench.git(&["diff", "--exit-code", "HEAD"]), "{acts} {number}: all is committed");
        }
        numbers.push(version());
        if version() > before {
            let refused = bench.refusal(By::Owner, tool::UPDATE_NOTE, updated(&id, before, "lost"));
            assert_eq!(refused.1, "version_conflict", "{acts} {number}");
        }
    }
    assert_eq!(numbers, expected, "{acts}");
    let versions = bench.resource(By::Owner, "note_versions", json!({ "note_id": id })).unwrap();
    let listed = versions["versions"].as_array().unwrap().iter().map(|it| it["version"].as_u64().unwrap());
    assert_eq!(listed.collect::<Vec<_>>(), (1..=version()).rev().collect::<Vec<_>>(), "{acts}");
}

#[test]
fn no_number_is_given_twice() {
    for (acts, numbers) in [
        ("ceecec", &[1, 2, 2, 2, 3, 3][..]),
        ("ceceue", &[1, 2, 2, 3, 4, 5]),
        ("ceceleu", &[1, 2, 2, 3, 3, 4, 5]),
        ("euee", &[1, 2, 3, 3]),
        ("uleclu", &[2, 2, 3, 3, 3, 4]),
        ("umeuemecu", &[2, 2, 3, 4, 5, 5, 5, 5, 6]),
        ("uxxu", &[2, 3, 3, 4]),
        ("cecuru", &[1, 2, 2, 3, 3, 4]),
        ("celmex", &[1, 2, 2, 2, 3, 3]),
        ("uuvuvu", &[2, 3, 3, 4, 4, 5]),
        ("uvlueve", &[2, 2, 2, 3, 4, 4, 4]),
        ("uvmveuvl", &[2, 2, 2, 2, 3, 4, 4, 4]),
    ] {
        check(acts, numbers);
    }
}
