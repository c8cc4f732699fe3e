//! Metrics of functions, by the indentation of their lines.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    files::{function, language},
    invalid,
};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// A function, and its metrics.
struct Measured {
    name: String,
    first: usize,
    last: usize,
    cyclomatic: usize,
    cognitive: usize,
    nesting: usize,
    parameters: usize,
    sloc: usize,
}

pub(super) fn analyze(path: &Path) -> Result<Value, Refusal> {
    let shown = path.to_string_lossy();
    let language = language(&shown);
    if !["rust", "python", "javascript", "go"].contains(&language) {
        return Err(invalid("the language of the file is not known"));
    }
    let text = fs::read_to_string(path).map_err(|_| invalid("the file can't be read"))?;
    let lines: Vec<_> = text.lines().collect();
    let starts = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, function(line)?)));
    let all: Vec<_> = starts.map(|(at, name)| measured(&lines, at, name)).collect();
    let sum = |of: fn(&Measured) -> usize| all.iter().map(of).sum::<usize>();
    let cyclomatic = if is(Mutant::FilesAreOne) {
        1
    } else {
        sum(|it| it.cyclomatic)
    };
    let shown_functions = all.iter().map(|it| {
        json!({
            "name": it.name, "line": it.first, "end_line": it.last, "cyclomatic": it.cyclomatic, "cognitive": it.cognitive,
            "sloc": it.sloc, "parameters": it.parameters, "nesting": it.nesting,
        })
    });
    let shown_functions: Vec<_> = shown_functions.collect();
    Ok(json!({
        "path": shown, "language": language, "cyclomatic": cyclomatic, "cognitive": sum(|it| it.cognitive),
        "maintainability_index": 100.0, "sloc": sum(|it| it.sloc), "functions": shown_functions, "analysis_time_ms": 0.0,
    }))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn measured(lines: &[&str], at: usize, name: &str) -> Measured {
    let depth = indent(lines[at]);
    let is_in = |line: &&&str| line.trim().is_empty() || indent(line) > depth;
    let mut last = at + lines[at + 1..].iter().take_while(is_in).count();
    if lines.get(last + 1).is_some_and(|line| line.trim() == "}") {
        last += 1;
    }
    while lines[last].trim().is_empty() {
        last -= 1;
    }
    let arguments = lines[at].split_once('(').map_or("", |(_, rest)| rest);
    let arguments = arguments.split(')').next().unwrap_or_default();
    let mut it = Measured {
        name: name.to_owned(),
        first: at + 1,
        last: last + 1,
        cyclomatic: 1,
        cognitive: 0,
        nesting: 0,
        parameters: arguments
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .count(),
        sloc: 0,
    };
    let mut around: Vec<usize> = Vec::new();
    for line in &lines[at..=last] {
        it.sloc += usize::from(!line.trim().is_empty());
        around.retain(|above| *above < indent(line));
        let is_branch = ["if ", "for ", "while "]
            .iter()
            .any(|word| line.trim_start().starts_with(word));
        if is_branch {
            it.cyclomatic += 1;
            it.cognitive += 1 + around.len();
            around.push(indent(line));
            it.nesting = it.nesting.max(around.len());
        }
    }
    it
}
