//! Runs the rules on a folder: `cargo run --release -p tabellion-rules --example validate -- FOLDER [RULE…]`.

use std::{env, error::Error, path::Path};

use tabellion_rules::{RuleSet, Selection, run};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".into());
    let workspace = Path::new(&folder).canonicalize()?;
    let set = RuleSet::of_workspace(&workspace);
    for error in set.errors() {
        println!("{error}");
    }
    let selection = Selection { rules: arguments.collect(), ..Selection::default() };
    let report = run(&set, &workspace, &workspace, &selection, &|| false)?;
    for finding in &report.findings {
        let (severity, id) = (finding.severity.name(), &finding.id);
        println!(
            "{}:{}:{}: {severity} {id}: {}",
            finding.file, finding.line, finding.column, finding.message
        );
    }
    for skipped in &report.skipped {
        println!("{}: not looked at: {}", skipped.file, skipped.reason);
    }
    let (errors, warnings, infos) = (report.errors, report.warnings, report.infos);
    println!(
        "{} files, {errors} errors, {warnings} warnings, {infos} infos, {:?}",
        report.files, report.duration
    );
    Ok(())
}
