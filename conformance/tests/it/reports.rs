//! Each format against a file that people have looked at. `UPDATE_GOLDEN=1` writes them anew.

use std::{fs, path::Path};

use tabellion_conformance::{
    known::KnownFailures,
    report::{
        Rating, Report, Verdict, badge,
        compare::Comparison,
        html, junit, markdown,
        terminal::{self, Extras, RerunCommand},
    },
};

use crate::sample;

fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    if let Some((number, (line, was))) =
        text.lines().zip(expected.lines().chain([""])).enumerate().find(|(_, (line, was))| line != was)
    {
        let number = number + 1;
        panic!("{name}, line {number}:\n  was {was}\n  is  {line}\n`UPDATE_GOLDEN=1` writes it anew");
    }
    assert_eq!(text, expected, "{name}");
}

fn samples() -> [(&'static str, Report); 5] {
    [
        ("passing", sample::passing()),
        ("failing", sample::failing()),
        ("unshown", sample::unshown()),
        ("troubled", sample::troubled()),
        ("hostile", sample::hostile()),
    ]
}

#[test]
fn terminal() {
    for (name, report) in samples() {
        let outdated = ["`known.toml`: remove lines 3 to 5 (`pure/reads`): it passes".to_owned()];
        let again = RerunCommand {
            what: vec!["--seed 1".into()],
            options: vec!["--dir /tmp".into()],
            command: "server {library}".into(),
        };
        let with = Extras {
            again: Some(&again),
            saved: Some(Path::new("cases")),
            outdated: if name == "unshown" { &outdated } else { &[] },
            ..Extras::default()
        };
        let coloured = terminal::whole(&report, with);
        golden(&format!("{name}.txt"), &anstream::adapter::strip_str(&coloured).to_string());
        if name == "failing" {
            golden("failing.ansi", &coloured);
        }
    }
}

#[test]
fn files_of_one_report() {
    for (name, report) in samples() {
        let reports = [report];
        let comparison = Comparison::new(&reports).unwrap();
        golden(&format!("{name}.xml"), &junit::junit(&reports[0]));
        golden(&format!("{name}.md"), &markdown::markdown(&comparison));
        golden(&format!("{name}.svg"), &badge::badge(&reports[0]));
        golden(&format!("{name}.html"), body(&html::page(&comparison)));
    }
}

#[test]
fn servers_side_by_side() {
    let reports = [sample::passing(), sample::failing(), sample::unshown()];
    let comparison = Comparison::new(&reports).unwrap();
    golden("compared.md", &markdown::markdown(&comparison));
    golden("compared.html", body(&html::page(&comparison)));
}

#[test]
fn reports_of_different_contracts_are_not_compared() {
    let reports = [sample::passing(), sample::hostile()];
    let error = Comparison::new(&reports).unwrap_err();
    assert!(error.contains("about the contract a\"><b"), "{error}");
    assert!(!error.contains(['\u{1b}', '\u{202e}', '\n']), "{error:?}");
}

#[test]
fn a_badge_counts_required_checks_that_were_not_run() {
    let mut report = sample::passing();
    report.contract = "declared 0.1.0".into();
    report.guarantees.clear();
    let (held, all) = report.promises();
    assert_eq!(held, all);
    report.not_run =
        ["wire/ids", "schema/valid-accepted", "budget/memory", "no/check"].map(String::from).to_vec();
    assert_eq!(report.promises(), (held, all + 1));
}

#[test]
fn a_guarantee_without_a_known_failure_is_not_shown() {
    let mut report = sample::passing();
    report.guarantees[0].verdict = Verdict::NotShown;
    assert_eq!(report.rating(&report.guarantees[0]), Some(Rating::NotShown));
}

/// The part of a page that is its own.
fn body(page: &str) -> &str {
    page.split_once("</style>").unwrap().1
}

#[test]
fn nothing_a_server_says_gets_out_of_its_place() {
    let reports = [sample::hostile()];
    let comparison = Comparison::new(&reports).unwrap();
    let page = html::page(&comparison);
    let texts = [
        ("page", page.as_str()),
        ("junit", &junit::junit(&reports[0])),
        ("markdown", &markdown::markdown(&comparison)),
        ("badge", &badge::badge(&reports[0])),
    ];
    for (format, text) in texts {
        for bad in ["\u{1b}", "\u{202e}", "\u{0}", "\u{2028}", "]]>", "<!--"] {
            let is_in_a_fence = format == "markdown" && matches!(bad, "]]>" | "<!--");
            assert!(is_in_a_fence || !text.contains(bad), "{format} has {bad:?}");
        }
        assert!(format == "markdown" || !text.contains("<script"), "{format}");
    }
    assert!(!page.contains(" style=") && !page.contains("http:") && !page.contains("https:"), "{page}");
    let shown = terminal::whole(&reports[0], Extras::default());
    let codes = shown.split('\u{1b}').skip(1).all(|code| {
        let end = code.find(|it: char| !(it == '[' || it == ';' || it.is_ascii_digit()));
        end.is_some_and(|end| code[end..].starts_with('m'))
    });
    assert!(codes, "only colours: {shown:?}");
}

#[test]
fn reports_are_of_the_published_schema() {
    let schema = include_str!("../../report.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, report) in samples() {
        let value = serde_json::to_value(&report).unwrap();
        if let Some(error) = validator.iter_errors(&value).next() {
            panic!("{name}: {} at {}", error, error.instance_path());
        }
        assert_eq!(Report::parse(&value.to_string()).unwrap(), report);
    }
    let mut other = serde_json::to_value(sample::passing()).unwrap();
    other["checks"][0]["verdict"] = "fine".into();
    assert!(!validator.is_valid(&other));
}

#[test]
fn what_passes_though_it_is_listed_is_to_be_removed() {
    let text = "# ours\n[[known]]\ncheck = \"mutation/one-commit\"\nreason = \"batches\"\n\n# more\n";
    let known = KnownFailures::parse("known.toml", text).unwrap();
    let mut report = sample::passing();
    assert!(known.outdated(&report).is_empty(), "the run has not taken the list into account");
    report.checks[8].known = known.reason("mutation/one-commit", "2026-07-28").map(str::to_owned);
    let all =
        "`known.toml`: remove lines 2 to 4 (`mutation/one-commit`): mutation/one-commit (2026-07-28) passes";
    assert_eq!(known.outdated(&report), [all]);
    report.checks[3].known = report.checks[8].known.clone();
    report.checks[3].verdict = Verdict::Fail;
    let some =
        "`known.toml`: narrow lines 2 to 4 (`mutation/one-commit`): mutation/one-commit (2026-07-28) passes";
    assert_eq!(known.outdated(&report), [some]);
}
