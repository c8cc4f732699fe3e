//! Runs over folders and files.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::workspace;
use crate::{
    MAX_FILE_BYTES, MAX_FINDINGS, Report, RunError, Scope, Selection, analyze, rule::Severity, run,
    set::RuleSet,
};

const BAD: &str = "fn f() {\n    g().unwrap();\n}\n";

fn selection(rules: &[&str]) -> Selection {
    Selection { rules: rules.iter().map(|&id| id.to_owned()).collect(), ..Selection::default() }
}

fn run_in(folder: &tempfile::TempDir, path: &str, rules: &[&str]) -> Result<Report, RunError> {
    let workspace = folder.path().canonicalize().expect("a folder");
    run(&RuleSet::of_workspace(&workspace), &workspace, &workspace.join(path), &selection(rules), &|| false)
}

fn places(report: &Report) -> Vec<String> {
    report
        .findings
        .iter()
        .map(|finding| format!("{}:{}:{}", finding.file, finding.line, finding.column))
        .collect()
}

#[test]
fn a_folder_is_searched_as_its_ignore_rules_say() {
    let folder = workspace(&[
        ("b/one.rs", BAD),
        ("a.rs", BAD),
        (".hidden/two.rs", BAD),
        (".gitignore", "ignored.rs\n"),
        (".ignore", "also/\n"),
        ("ignored.rs", BAD),
        ("also/three.rs", BAD),
        ("target/four.rs", BAD),
        ("b/node_modules/five.rs", BAD),
        ("__pycache__/six.rs", BAD),
        (".git/seven.rs", BAD),
        ("target.rs", BAD),
    ]);
    let report = run_in(&folder, "", &["QUAL001"]).expect("a report");
    assert_eq!(places(&report), [".hidden/two.rs:2:9", "a.rs:2:9", "b/one.rs:2:9", "target.rs:2:9"]);
    assert_eq!((report.scope, report.errors, report.total(), report.passed()), (Scope::Project, 4, 4, false));
    let report = run_in(&folder, "b", &["QUAL001"]).expect("a report");
    assert_eq!(places(&report), ["b/one.rs:2:9"]);
    let report =
        run_in(&folder, "ignored.rs", &["QUAL001"]).expect("a file that is asked for is not ignored");
    assert_eq!((places(&report), report.scope), (vec!["ignored.rs:2:9".to_owned()], Scope::File));
}

#[test]
fn repositories_within_a_repository_are_skipped_unless_they_are_asked_for() {
    let files = [
        ("a.rs", BAD),
        ("sub/a.rs", BAD),
        ("sub/.git", "gitdir: x"),
        ("sub/in/.git/HEAD", ""),
        ("sub/in/a.rs", BAD),
    ];
    let bare = [("bare/HEAD", ""), ("bare/refs/x", ""), ("bare/objects/x", ""), ("bare/hook.rs", BAD)];
    let folder = workspace(&[&files[..], &bare].concat());
    let found = |path: &str| {
        let report = run_in(&folder, path, &["QUAL001"]).expect("a report");
        let skipped: Vec<_> =
            report.skipped.iter().map(|each| format!("{}: {}", each.file, each.reason)).collect();
        (places(&report), skipped)
    };
    let skipped = |paths: &[&str]| {
        paths.iter().map(|path| format!("{path}: a repository of its own")).collect::<Vec<_>>()
    };
    // A folder of clones.
    assert_eq!(found(""), (vec!["a.rs:2:9".into(), "sub/a.rs:2:9".into()], skipped(&["bare", "sub/in"])));
    assert_eq!(found("sub"), (vec!["sub/a.rs:2:9".into()], skipped(&["sub/in"])));
    fs::create_dir(folder.path().join(".git")).expect("a folder");
    assert_eq!(found(""), (vec!["a.rs:2:9".into()], skipped(&["bare", "sub"])));
    assert_eq!(found("sub/in"), (vec!["sub/in/a.rs:2:9".into()], vec![]));
}

/// No name on other systems.
#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_not_utf_8_is_skipped_with_the_reason() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let folder = workspace(&[("a.rs", "")]);
    fs::write(folder.path().join(OsStr::from_bytes(b"b\xff.rs")), BAD).expect("a file");
    let report = run_in(&folder, "", &["QUAL001"]).expect("a report");
    let [skipped] = &report.skipped[..] else { panic!("{report:?}") };
    assert_eq!((&*skipped.file, skipped.reason), ("b\u{fffd}.rs", crate::SkipReason::Name));
}

#[test]
fn modules_that_are_declared_for_tests_are_tests() {
    let folder = workspace(&[
        ("src/lib.rs", "#[cfg(test)]\nmod helpers;\nmod real;\n#[cfg(any(test, unix))]\npub mod testing;\n"),
        ("src/helpers.rs", BAD),
        ("src/helpers/deep.rs", BAD),
        ("src/helpers/more/mod.rs", BAD),
        ("src/testing.rs", BAD),
        (
            "src/real.rs",
            "#[cfg(test)]\n#[path = \"real_tests.rs\"]\nmod tests;\n#[cfg(test)]\npub(crate) mod inner;\nmod kept;\n",
        ),
        ("src/real_tests.rs", BAD),
        ("src/real/inner.rs", BAD),
        ("src/real/kept.rs", BAD),
        ("src/tests/mod.rs", BAD),
        ("build.rs", BAD),
    ]);
    let report = run_in(&folder, "", &["QUAL001"]).expect("a report");
    assert_eq!(places(&report), ["build.rs:2:9", "src/real/kept.rs:2:9", "src/testing.rs:2:9"]);
}

#[test]
fn all_findings_are_counted_and_the_severe_ones_listed() {
    let many = "// TODO one\n".repeat(MAX_FINDINGS);
    let folder = workspace(&[("a.rs", &many), ("b.rs", &many), ("z.rs", BAD)]);
    let report = run_in(&folder, "", &["QUAL001", "TODO001"]).expect("a report");
    assert_eq!((report.errors, report.infos, report.total()), (1, 2 * MAX_FINDINGS, 2 * MAX_FINDINGS + 1));
    assert_eq!(report.findings.len(), MAX_FINDINGS);
    assert!(report.findings.is_sorted());
    assert_eq!(report.findings.last().map(|last| last.severity), Some(Severity::Error));
    let again = run_in(&folder, "", &["QUAL001", "TODO001"]).expect("a report");
    assert_eq!(again.findings, report.findings);
}

#[test]
fn files_that_can_not_be_looked_at_are_named() {
    let folder = workspace(&[
        ("big.rs", &" ".repeat(usize::try_from(MAX_FILE_BYTES).expect("small") + 1)),
        ("fine.rs", ""),
    ]);
    fs::write(folder.path().join("latin.rs"), b"// caf\xe9\n").expect("written");
    fs::write(folder.path().join("picture.png"), b"\x89PNG\r\n\xff\0").expect("written");
    let report = run_in(&folder, "", &[]).expect("a report");
    let skipped: Vec<String> =
        report.skipped.iter().map(|each| format!("{}: {}", each.file, each.reason)).collect();
    assert_eq!(skipped, ["big.rs: larger than 1048576 bytes", "latin.rs: not UTF-8"]);
    assert_eq!((report.files, report.passed()), (1, true));
    for (path, message) in [
        ("latin.rs", "`latin.rs`: not UTF-8"),
        ("big.rs", "`big.rs`: larger than 1048576 bytes"),
        ("none.rs", "`none.rs` is neither a file nor a folder of the workspace"),
    ] {
        assert_eq!(run_in(&folder, path, &[]).expect_err("an error").to_string(), message);
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let outside = workspace(&[("secret.rs", BAD), ("deep/more.rs", BAD)]);
    let folder = workspace(&[("a.rs", BAD)]);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(outside.path().join(target), folder.path().join(name)).expect("a link");
    };
    link("secret.rs", "link.rs");
    link("deep", "linked");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).expect("a link");
    assert_eq!(places(&run_in(&folder, "", &["QUAL001"]).expect("a report")), ["a.rs:2:9"]);
    for path in ["link.rs", "linked"] {
        assert!(matches!(run_in(&folder, path, &[]), Err(RunError::NoSuchPath { .. })), "{path}");
    }
    let other = outside.path().canonicalize().expect("a folder");
    let inside = folder.path().canonicalize().expect("a folder");
    let run = run(&RuleSet::built_in(), &inside, &other, &selection(&[]), &|| false);
    assert!(matches!(run, Err(RunError::NoSuchPath { .. })));
}

#[test]
fn a_cancelled_run_ends() {
    let names: Vec<String> = (0..200).map(|number| format!("f{number}.rs")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), BAD)).collect();
    let folder = workspace(&files);
    let workspace = folder.path().canonicalize().expect("a folder");
    let asked = AtomicUsize::new(0);
    let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= 250;
    let run = run(&RuleSet::built_in(), &workspace, &workspace, &selection(&[]), &cancelled);
    assert_eq!(run, Err(RunError::Cancelled));
    assert!(asked.load(Ordering::Relaxed) < 300, "it went on");
}

#[test]
fn paths_are_rules_too() {
    let rule = "id: HOUSE002\nname: No junk\ncategory: organization\nseverity: info\ndescription: Finds junk drawers.\n\
        rationale: A name that says nothing.\nmessage: a junk drawer\npath:\n  glob: ['**/utils.*', 'src/misc/**']\n  except: ['vendor/**']\n";
    let folder = workspace(&[
        (".mcb/rules/junk.yml", rule),
        ("src/utils.rs", ""),
        ("utils.py", ""),
        ("src/misc/deep/a.txt", "words\n"),
        ("vendor/utils.rs", ""),
        ("src/utils_of_trees.rs", ""),
    ]);
    let report = run_in(&folder, "", &["HOUSE002"]).expect("a report");
    assert_eq!(places(&report), ["src/misc/deep/a.txt:1:1", "src/utils.rs:1:1", "utils.py:1:1"]);
}

#[test]
fn an_analysis_needs_a_file_of_a_known_language() {
    let script = "#!/usr/bin/env python3\ndef f(): pass\n";
    let program = "fn f() {\n    if a {}\n}\n";
    let folder = workspace(&[("a.rs", program), ("notes.txt", "words"), ("d/b.rs", ""), ("tool", script)]);
    let workspace = folder.path().canonicalize().expect("a folder");
    let analysis = analyze(&workspace, &workspace.join("a.rs")).expect("an analysis");
    assert_eq!(
        (analysis.path.as_str(), analysis.language.name(), analysis.metrics.cyclomatic),
        ("a.rs", "rust", 2)
    );
    let script = analyze(&workspace, &workspace.join("tool")).expect("an analysis");
    assert_eq!(script.language.name(), "python");
    for (path, message) in [
        (
            "notes.txt",
            "`notes.txt` is in none of the languages that can be measured: rust, python, javascript, typescript, tsx, go, java, c, cpp",
        ),
        ("d", "`d` is neither a file nor a folder of the workspace"),
        ("none.rs", "`none.rs` is neither a file nor a folder of the workspace"),
    ] {
        assert_eq!(
            analyze(&workspace, &workspace.join(path)).expect_err("an error").to_string(),
            message,
            "{path}"
        );
    }
}

/// Special and huge files that a clone may have in place of a file of rules: the run goes on without them, and does not wait.
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_read() {
    for name in [".ignore", ".gitignore", "sub/.gitignore", ".mcb/rules/a.toml", "lib.rs", ".mcb"] {
        for kind in ["pipe", "device", "large"] {
            let folder = workspace(&[("a.rs", BAD)]);
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            match kind {
                "pipe" => {
                    let made = std::process::Command::new("mkfifo").arg(&path).status();
                    assert!(made.expect("it runs").success());
                }
                "device" => std::os::unix::fs::symlink("/dev/zero", &path).expect("a link"),
                _ => {
                    let file = fs::File::create(&path).expect("a file");
                    file.set_len(6_000_000_000).expect("it has holes");
                }
            }
            let report = run_in(&folder, "", &["QUAL001"]).expect("a report");
            assert_eq!(places(&report).len(), 1, "{kind} as {name}");
        }
    }
}
