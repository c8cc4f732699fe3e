//! Renders a report as SARIF 2.1.0, which code hosts show next to the code.
//!
//! Each check is a rule. A required check that fails is an error, a recommended one a warning, and one that was not shown a note; a check
//! that passes or does not apply has no result.

use serde_json::{Value, json};

use crate::{
    check::Severity,
    report::{CheckReport, Rating, Report, terminal, visible},
};

/// Returns the document. `file` is the path, in the repository, of the file to show results at: a server's source is not known.
pub fn sarif(report: &Report, file: &str) -> String {
    let server = &report.server;
    let mut rules: Vec<Value> = vec![];
    let mut results = vec![];
    for check in &report.checks {
        let Some(level) = level(check.rating()) else {
            continue;
        };
        let known = rules.iter().position(|rule| rule["id"] == check.id);
        let index = known.unwrap_or_else(|| {
            rules.push(rule(check));
            rules.len() - 1
        });
        results.push(result(report, check, level, index, file));
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tabellion-conformance",
                "version": visible::line(&report.suite).to_string(),
                "rules": rules,
            } },
            "properties": {
                "server": visible::line(server.identity.as_ref().unwrap_or(&server.name)).to_string(),
                "contract": visible::line(&report.contract).to_string(),
            },
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn level(rating: Rating) -> Option<&'static str> {
    match rating {
        Rating::Broken => Some("error"),
        Rating::Advice => Some("warning"),
        Rating::NotShown | Rating::AdviceNotShown | Rating::Trouble | Rating::Unexpected => Some("note"),
        Rating::Holds | Rating::NotApplicable | Rating::Known => None,
    }
}

fn rule(check: &CheckReport) -> Value {
    let level = match check.severity {
        Severity::Must => "error",
        Severity::Should => "warning",
    };
    json!({
        "id": check.id,
        "shortDescription": { "text": check.states },
        "defaultConfiguration": { "level": level },
    })
}

fn result(report: &Report, check: &CheckReport, level: &str, index: usize, file: &str) -> Value {
    let details = anstream::adapter::strip_str(&terminal::failure(check)).to_string();
    let reason = check.reason.as_deref().unwrap_or("no reason is given");
    let command = report.server.command.join(" ");
    json!({
        "ruleId": check.id,
        "ruleIndex": index,
        "level": level,
        "message": { "text": format!("{}\n\n{}", visible::lines(reason), visible::lines(&details)) },
        "locations": [{
            // GitHub rejects results without one.
            "physicalLocation": { "artifactLocation": { "uri": file }, "region": { "startLine": 1 } },
            "logicalLocations": [{ "fullyQualifiedName": visible::line(&command).to_string(), "kind": "module" }],
        }],
        "partialFingerprints": { "check/v1": format!("{} {}", check.id, check.revision) },
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        Subject,
        check::Profile,
        checks,
        contracts::CONTRACTS,
        judgement::{fail, not_shown},
        report::Verdict,
    };

    #[test]
    fn what_does_not_hold_is_a_result_of_its_rule() {
        let subject = Subject::new(CONTRACTS[0], vec!["server".into(), "\u{1b}[31m".into()]);
        let report = |id: &str, verdict, stop| {
            let check = checks::find(id).unwrap();
            CheckReport::new(check, &subject, verdict, 1, stop, vec![], Duration::ZERO)
        };
        let (broken, unshown) = (fail("it broke"), not_shown("no time"));
        let mut checks = vec![
            report("wire/ids", Verdict::Pass, None),
            report("wire/bad-params", Verdict::Fail, Some(&broken)),
            report("wire/bad-params-code", Verdict::Fail, Some(&broken)),
            report("wire/bad-params", Verdict::NotShown, Some(&unshown)),
            report("wire/large-argument", Verdict::Fail, Some(&broken)),
        ];
        checks[4].known = Some("listed".to_owned());
        let report = Report::new(&subject, Profile::Quick, 1, checks, Duration::ZERO);
        let document: Value = serde_json::from_str(&sarif(&report, "adapter.toml")).unwrap();
        let run = &document["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let results = run["results"].as_array().unwrap().iter();
        let found: Vec<_> = results
            .map(|result| {
                let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
                assert_eq!(rule["id"], result["ruleId"]);
                (result["ruleId"].as_str().unwrap(), result["level"].as_str().unwrap())
            })
            .collect();
        let expected =
            [("wire/bad-params", "error"), ("wire/bad-params-code", "warning"), ("wire/bad-params", "note")];
        assert_eq!(found, expected);
        assert_eq!(rules.len(), 2);
        let place = "/results/0/locations/0/physicalLocation/artifactLocation/uri";
        assert_eq!(run.pointer(place).unwrap(), "adapter.toml");
        assert!(!sarif(&report, "adapter.toml").contains('\u{1b}'));
    }
}
