//! A file saved in the second of its index entry, with the same size, looks unchanged; git must detect the change, also after
//! an index written by us.

use std::{
    fs::{self, File},
    time::{Duration, SystemTime},
};

use super::support::{Bench, change, make};

/// Changes of `plan.md`, with the same size and time, before another document is changed.
#[test]
fn a_change_that_does_not_show_is_not_hidden() {
    let cases = [
        ("saved anew", "mine\n", " M plan.md", "plan.md"),
        // An unchanged file keeps its stat fields, so git need not read it.
        ("saved as it was", "plan\n", "", ""),
        ("converted, and another", "min\r\n", " M plan.md", "plan.md"),
    ];
    for version in ["2", "4"] {
        for (name, saved, status, noticed) in cases {
            for more in [0, 1] {
                let bench = Bench::new();
                bench.write("plan.md", "plan\n");
                let then = SystemTime::now() - Duration::from_secs(10);
                let date = |path: &str| {
                    File::options().write(true).open(bench.path(path)).unwrap().set_modified(then)
                };
                date("plan.md").unwrap();
                // Otherwise the change time reveals it.
                bench.git(&["config", "core.trustctime", "false"]);
                bench.git(&["add", "plan.md"]);
                bench.git(&["update-index", "--index-version", version]);
                bench.git(&["commit", "-q", "-m", "plan"]);
                fs::write(bench.path("plan.md"), saved).unwrap();
                date("plan.md").unwrap();
                date(".git/index").unwrap();
                let library = bench.library();
                for number in 0..=more {
                    make(&library, &change("notes/a.md", Some(&format!("{number}\n")))).unwrap();
                }
                assert_eq!(bench.git(&["diff-files", "--name-only"]), noticed, "{name}");
                assert_eq!(bench.status(), status, "{name}");
            }
        }
    }
}

/// A save after the examination of files must not be older than the index.
#[test]
fn an_index_is_not_later_than_what_it_has() {
    let bench = Bench::new();
    let library = bench.library();
    let modified = |path: &str| fs::metadata(bench.path(path)).unwrap().modified().unwrap();
    for number in 0..10 {
        make(&library, &change("notes/a.md", Some(&format!("{number}\n")))).unwrap();
        assert!(modified(".git/index") < modified("notes/a.md"));
        bench.assert_sound();
    }
}
