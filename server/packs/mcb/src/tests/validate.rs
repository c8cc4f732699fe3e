//! Rules and metrics over files of the workspace, which is the bench's folder.

use serde_json::{Value, json};

use super::bench::Bench;

const VALIDATE: &str = "validate";
const CODE: &str = "fn f(a: u8) {\n    if a > 1 && a < 5 {\n        g().unwrap();\n    }\n}\n";
const RULE: &str = "id: HOUSE001\nname: No dogs\ncategory: naming\nseverity: info\ndescription: Finds dogs in code.\n\
    rationale: A house of cats.\nmessage: a dog\nregex: dog\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("shop/src/lib.rs", CODE);
    bench.write("shop/notes.txt", "a dog\n");
    bench.write(".mcb/rules/dogs.yml", RULE);
    bench.write(".mcb/rules/broken.yml", "id: dog\n");
    bench
}

#[track_caller]
fn ask(bench: &Bench, request: Value) -> (Value, Value) {
    bench.answer(VALIDATE, request).unwrap()
}

#[test]
fn a_run_answers_what_rules_find() {
    let bench = bench();
    std::fs::write(bench.folder().join("shop/wide.txt"), b"\xff\xfed\0o\0g\0").unwrap();
    std::fs::write(bench.folder().join("shop/picture"), b"\x89PNG\0").unwrap();
    let request = json!({ "action": "run", "path": "shop", "rules": ["QUAL001", "HOUSE001"] });
    let (answer, meta) = ask(&bench, request);
    let expected = json!({
        "workspace": bench.folder().canonicalize().unwrap(), "scope": "project", "passed": false,
        "total_violations": 2, "errors": 1, "warnings": 0, "infos": 1, "duration_secs": answer["duration_secs"],
        "violations": [
            {
                "id": "HOUSE001", "category": "naming", "severity": "info", "file": "shop/notes.txt", "line": 1, "column": 3,
                "message": "a dog", "suggestion": null,
            },
            {
                "id": "QUAL001", "category": "quality", "severity": "error", "file": "shop/src/lib.rs", "line": 3, "column": 13,
                "message": "`unwrap` panics without a reason", "suggestion": answer["violations"][1]["suggestion"],
            },
        ],
    });
    assert_eq!(answer, expected);
    let errors = json!([
        ".mcb/rules/broken.yml:1: a rule needs `name`, `category`, `severity`, `description`, `rationale`, `message`"
    ]);
    assert_eq!(meta["tabellion/ruleErrors"], errors);
    let skipped = json!(["shop/wide.txt: not UTF-8"]);
    assert_eq!(meta["tabellion/skipped"], skipped);
    let warnings = json!([
        format!("rule files that can't be used are left out: {}", errors[0].as_str().unwrap()),
        format!("some files were not checked: {}", skipped[0].as_str().unwrap()),
    ]);
    assert_eq!(meta["tabellion/warnings"], warnings);
    let file = json!({ "action": "run", "path": "shop/notes.txt", "scope": "file", "category": "naming" });
    let (answer, _) = ask(&bench, file);
    assert_eq!(
        (&answer["passed"], &answer["scope"], &answer["infos"]),
        (&json!(true), &json!("file"), &json!(1))
    );
}

#[test]
fn rules_are_listed_by_category() {
    let bench = bench();
    let (all, _) = ask(&bench, json!({ "action": "list_rules" }));
    assert_eq!(all["count"], all["rules"].as_array().unwrap().len());
    assert_eq!((&all["filter"], all["categories"].as_array().unwrap().len()), (&Value::Null, 19));
    let (named, _) = ask(&bench, json!({ "action": "list_rules", "category": "naming" }));
    let expected = json!([{
        "id": "HOUSE001", "name": "No dogs", "category": "naming", "severity": "info", "description": "Finds dogs in code.",
        "languages": [], "engine": "regex",
    }]);
    assert_eq!((&named["filter"], &named["rules"]), (&json!("naming"), &expected));
}

#[test]
fn an_analysis_has_the_sums_of_its_functions() {
    let (answer, _) = ask(&bench(), json!({ "action": "analyze", "path": "shop/src/lib.rs" }));
    let expected = json!({
        "path": "shop/src/lib.rs", "language": "rust", "cyclomatic": 3, "cognitive": 2, "sloc": 5,
        "maintainability_index": answer["maintainability_index"], "analysis_time_ms": answer["analysis_time_ms"],
        "functions": [{
            "name": "f", "line": 1, "end_line": 5, "cyclomatic": 3, "cognitive": 2, "sloc": 5, "parameters": 1, "nesting": 1,
        }],
    });
    assert_eq!(answer, expected);
}

#[test]
fn what_can_not_be_validated_is_refused() {
    let bench = bench();
    let refusal = |request: Value| bench.refusal(VALIDATE, request);
    let absent = json!({ "action": "run", "path": "shop", "rules": ["MYR004"] });
    let error = bench.answer(VALIDATE, absent).unwrap_err();
    let left_out = "; left out is .mcb/rules/broken.yml:1: a rule needs `name`";
    assert!(error["message"].as_str().unwrap().contains(left_out), "{error}");
    for (request, rule) in [
        (json!({ "action": "run", "path": "nowhere" }), "path"),
        (json!({ "action": "run", "path": "/" }), "path"),
        (json!({ "action": "run", "path": "shop/../.." }), "path"),
        (json!({ "action": "run", "path": "shop", "rules": ["QUAL001", "QUAL999"] }), "no_such"),
        (json!({ "action": "run", "path": "shop", "category": "cats" }), "no_such"),
        (json!({ "action": "run", "path": "shop", "scope": "file" }), "scope"),
        (json!({ "action": "list_rules", "category": "cats" }), "no_such"),
        (json!({ "action": "analyze", "path": "shop" }), "path"),
        (json!({ "action": "analyze", "path": "shop/none.rs" }), "path"),
        (json!({ "action": "analyze", "path": "shop/notes.txt" }), "language"),
    ] {
        assert_eq!(refusal(request.clone()), rule, "{request}");
    }
}
