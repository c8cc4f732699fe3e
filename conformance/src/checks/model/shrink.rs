//! Shrinks a program: fewer steps first, then fewer documents, then simpler ones.

use std::{collections::HashSet, ops::Range};

use super::program::{Kind, Program, Step};
use crate::Bytes;

/// Simplest paths, in order.
const PATHS: &[&str] = &["a.md", "b.md", "c.md", "d.md", "e.md", "f.md"];
/// The simplest heading.
const HEADING: &str = "A";

/// Returns smaller programs, smallest first.
pub(super) fn smaller(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    drop_steps(program, &mut found);
    drop_documents(program, &mut found);
    simplify_paths(program, &mut found);
    simplify_headings(program, &mut found);
    simplify_steps(program, &mut found);
    simplify_documents(program, &mut found);

    let own_weight = weight(program);
    let mut seen = HashSet::new();
    let mut found: Vec<_> = found
        .into_iter()
        .map(|program| (weight(&program), program))
        .filter(|(weight, program)| *weight < own_weight && seen.insert(program.clone()))
        .collect();
    found.sort_by_key(|(weight, _)| *weight);
    found.into_iter().map(|(_, program)| program).collect()
}

/// Returns the size of a program. A step weighs more than its parts, a document more than its bytes.
pub(super) fn weight(program: &Program) -> usize {
    let documents = program.documents.iter();
    let documents = documents.map(|(path, bytes)| 5_000 + path_weight(path) + bytes_weight(&bytes.0));
    let steps = program.steps.iter().map(|step| {
        let own = match step {
            Step::Call(edit) => {
                100 * edit.kind as usize + text_weight(&edit.content) + text_weight(&edit.target)
            }
            Step::Preview(edit) => {
                1_000 + 100 * edit.kind as usize + text_weight(&edit.content) + text_weight(&edit.target)
            }
            Step::Save { bytes, .. } => bytes_weight(&bytes.0),
            Step::Kill => 1,
            _ => 0,
        };
        20_000 + own + step.path().map_or(0, path_weight)
    });
    documents.sum::<usize>() + steps.sum::<usize>()
}

fn path_weight(path: &str) -> usize {
    let plain = PATHS.iter().position(|it| *it == path);
    plain.unwrap_or(PATHS.len() + path.len())
}

fn text_weight(text: &str) -> usize {
    bytes_weight(text.as_bytes())
}

/// Returns the weight of bytes: letters and line feeds weigh least.
fn bytes_weight(bytes: &[u8]) -> usize {
    let of = |byte: &u8| match byte {
        b'A' | b'\n' => 2,
        b'a'..=b'z' | b'B'..=b'Z' | b' ' => 3,
        0..=127 => 4,
        _ => 6,
    };
    bytes.iter().map(of).sum()
}

/// Drops runs of steps, those at the end first.
fn drop_steps(program: &Program, found: &mut Vec<Program>) {
    for part in parts(program.steps.len()) {
        let mut smaller = program.clone();
        smaller.steps.drain(part);
        found.push(smaller);
    }
}

/// Returns halves, quarters, and so on down to single elements, from the end.
fn parts(length: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut size = length.div_ceil(2);
    while size > 0 {
        let ends = (1..=length).rev().step_by(size);
        parts.extend(ends.map(|end| end.saturating_sub(size)..end));
        size /= 2;
    }
    parts
}

/// Drops the documents that no step names, then all, then each.
fn drop_documents(program: &Program, found: &mut Vec<Program>) {
    let used: HashSet<_> = program.steps.iter().filter_map(Step::path).collect();
    let mut without = |kept: &dyn Fn(&str) -> bool| {
        let mut smaller = program.clone();
        smaller.documents.retain(|path, _| kept(path));
        found.push(smaller);
    };
    without(&|path| used.contains(path));
    without(&|_| false);
    for dropped in program.documents.keys() {
        without(&|path| path != dropped);
    }
}

/// Replaces each path by the simplest free one, in all steps or in a single step.
fn simplify_paths(program: &Program, found: &mut Vec<Program>) {
    let of_steps = program.steps.iter().filter_map(Step::path);
    let of_documents = program.documents.keys().map(String::as_str);
    let used: HashSet<_> = of_steps.chain(of_documents).collect();
    let Some(free) = PATHS.iter().find(|path| !used.contains(**path)) else {
        return;
    };
    for old in &used {
        let mut smaller = program.clone();
        if let Some(bytes) = smaller.documents.remove(*old) {
            smaller.documents.insert((*free).to_owned(), bytes);
        }
        for path in smaller.steps.iter_mut().filter_map(Step::path_mut) {
            if path == old {
                (*free).clone_into(path);
            }
        }
        found.push(smaller);
    }
    // One document may suffice for two.
    for number in 0..program.steps.len() {
        for plain in PATHS.iter().filter(|path| used.contains(**path)) {
            let mut smaller = program.clone();
            if let Some(path) = smaller.steps[number].path_mut() {
                (*plain).clone_into(path);
                found.push(smaller);
            }
        }
    }
}

/// Replaces the words of each target by the simplest heading, in all documents and steps.
fn simplify_headings(program: &Program, found: &mut Vec<Program>) {
    let mut steps = program.steps.clone();
    let targets = steps.iter_mut().filter_map(Step::edit_mut).map(|edit| edit.target.clone());
    let targets: HashSet<_> = targets.collect();
    for target in targets {
        let words = target.trim_matches(['#', ' ']);
        if words.is_empty() || words == HEADING {
            continue;
        }
        let plain = |text: &str| text.replace(words, HEADING);
        let bytes = |bytes: &Bytes| match str::from_utf8(&bytes.0) {
            Ok(text) => plain(text).as_str().into(),
            Err(_) => bytes.clone(),
        };
        let mut smaller = program.clone();
        for document in smaller.documents.values_mut() {
            *document = bytes(document);
        }
        for step in &mut smaller.steps {
            if let Step::Save { bytes: saved, .. } = step {
                *saved = bytes(saved);
            }
            if let Some(edit) = step.edit_mut() {
                edit.content = plain(&edit.content);
                edit.target = plain(&edit.target);
            }
        }
        found.push(smaller);
    }
}

/// Simplifies the kind, text and target of each step.
fn simplify_steps(program: &Program, found: &mut Vec<Program>) {
    for (number, step) in program.steps.iter().enumerate() {
        let mut instead = |step: Step| {
            let mut smaller = program.clone();
            smaller.steps[number] = step;
            found.push(smaller);
        };
        match step {
            Step::Preview(edit) => instead(Step::Call(edit.clone())),
            Step::Kill => instead(Step::Restart),
            Step::Save { path, bytes } => {
                for bytes in simpler(&bytes.0) {
                    let path = path.clone();
                    instead(Step::Save { path, bytes: Bytes(bytes) });
                }
            }
            _ => {}
        }
        let is_preview = matches!(step, Step::Preview(_));
        let Some(edit) = step.clone().edit_mut().cloned() else {
            continue;
        };
        let mut instead = |edit| {
            instead(if is_preview { Step::Preview(edit) } else { Step::Call(edit) });
        };
        for kind in Kind::ALL.into_iter().filter(|kind| *kind < edit.kind) {
            let mut edit = edit.clone();
            edit.kind = kind;
            if !kind.has_target() {
                edit.target.clear();
            }
            if !kind.has_content() {
                edit.content.clear();
            }
            instead(edit);
        }
        for content in simpler(edit.content.as_bytes()) {
            if let Ok(content) = String::from_utf8(content) {
                let edit = edit.clone();
                instead(super::program::Edit { content, ..edit });
            }
        }
        for target in ["A", "# A"] {
            let mut edit = edit.clone();
            if edit.kind.has_target() {
                target.clone_into(&mut edit.target);
                instead(edit);
            }
        }
    }
}

/// Simplifies the bytes of each document.
fn simplify_documents(program: &Program, found: &mut Vec<Program>) {
    for (path, bytes) in &program.documents {
        for bytes in simpler(&bytes.0) {
            let mut smaller = program.clone();
            smaller.documents.insert(path.clone(), Bytes(bytes));
            found.push(smaller);
        }
    }
}

/// Returns simpler bytes: nearly none, fewer lines, plain line endings.
fn simpler(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = [&b""[..], b"A", b"A\n", b"# A\n"].map(<[u8]>::to_vec).into();
    let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for part in parts(lines.len()) {
        found.push([&lines[..part.start], &lines[part.end..]].concat().concat());
    }
    if let [line] = lines[..] {
        let is_inside = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let half = (line.len() / 2..).find(|at| !is_inside(at)).unwrap_or_default();
        let (first, last) = line.split_at(half);
        found.extend([first.to_vec(), last.to_vec()]);
    }
    if let Ok(text) = str::from_utf8(bytes) {
        found.push(text.replace("\r\n", "\n").into_bytes());
        found.push(text.trim_end().as_bytes().to_vec());
        found.push(text.trim_start_matches('\u{feff}').as_bytes().to_vec());
    }
    // A part of a line ending or of a character would be a different input.
    let is_odd = |bytes: &[u8]| has_lone_return(bytes) || str::from_utf8(bytes).is_err();
    if !is_odd(bytes) {
        found.retain(|bytes| !is_odd(bytes));
    }
    found
}

fn has_lone_return(bytes: &[u8]) -> bool {
    let next = bytes.iter().skip(1).chain(Some(&0));
    bytes.iter().zip(next).any(|(it, next)| *it == b'\r' && *next != b'\n')
}
