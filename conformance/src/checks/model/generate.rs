//! Random programs for the tools that a server has.
//!
//! The generator tracks an approximate library, so that most calls name existing documents and headings.

use std::collections::BTreeMap;

use fastrand::Rng;
use tabellion_runtime::spec::EffectKind;

use super::program::{Edit, Kind, Program, Step};
use crate::{
    Bytes, Subject, markdown,
    request::{about, may_name},
    semantics,
};

/// Relative frequencies of the kinds of steps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepWeights {
    pub(super) call: u32,
    pub(super) preview: u32,
    pub(super) read: u32,
    pub(super) invalid: u32,
    pub(super) save: u32,
    pub(super) remove: u32,
    pub(super) stage: u32,
    pub(super) commit: u32,
    pub(super) restart: u32,
    pub(super) kill: u32,
    pub(super) other_server: u32,
}

/// Paths of documents, which also differ on a case-insensitive file system.
const PATHS: &[&str] = &[
    "plan.md",
    "notes/plan.md",
    "notes/deep/er/idea.markdown",
    "to do list.md",
    "Été/résumé.md",
    "UPPER.MD",
];

/// Blocks of which documents are composed. All Markdown dialects agree on them: they have no tables, and no quoted
/// heading shares a section's anchor.
const BLOCKS: &[&str] = &[
    "# Plan\n",
    "## Scope\n",
    "## Scope\n\nIt is all of it.\n",
    "### Scope\n\nPart of it.\n",
    "## `Code` and *more*\n\nText.\n",
    "Set below\n---------\n\nText.\n",
    "Later\n=====\n",
    "## Straße\n\nÜber alles – und mehr.\n",
    "A line.\nAnother one.  \n",
    "```\n# No heading\n## Scope\n```\n",
    "~~~ md\n## Later\n~~~\n",
    "- one\n- two\n\n  # No heading\n",
    "> ## Quoted\n",
    "    # No heading\n",
    "<!--\n# No heading\n-->\n",
    "\n\n",
    "#No heading\n",
];

/// Contents of calls.
const CONTENTS: &[&str] = &[
    "One line.\n",
    "No end",
    "## Scope\n\nLess of it.\n",
    "## New\n\nText.\n\n### Below\n\nMore.\n",
    "# Top\n",
    "New below\n---\n",
    "Two\r\nlines.\r\n",
    "```sh\n# no heading\n```\n",
    "\n\nIn blank lines.\n\n",
    "$1 \\1 $& %s {{x}}\n",
    "Ünïcödé 🙂\n",
    "",
];

/// Front matter.
const FRONT_MATTER: &[&str] = &["---\ntitle: \"A: b\"  # kept\n---\n", "+++\na = 1\n+++\n\n"];

/// A document that is not UTF-8.
const NOT_UTF8: &[u8] = b"# Plan\n\n\xff\xfe caf\xe9\n";

/// Returns a program of at most `max_steps` steps.
pub(super) fn program(subject: &Subject, weights: &StepWeights, max_steps: usize, dice: &mut Rng) -> Program {
    let mut generator = Generator {
        subject,
        kinds: kinds(subject),
        invalid: invalid(subject),
        paths: paths(subject),
        sketch: BTreeMap::new(),
        dice,
    };
    let mut documents = BTreeMap::new();
    for _ in 0..generator.dice.usize(1..=4) {
        let path = generator.path();
        let bytes = generator.document();
        documents.insert(path, Bytes(bytes));
    }
    generator.sketch = documents.clone();
    let steps = generator.dice.usize(max_steps.div_ceil(2)..=max_steps);
    let steps = (0..steps).map(|_| generator.step(weights)).collect();
    Program { documents, steps }
}

/// Returns the kinds of edits for which the server has a tool.
pub(super) fn kinds(subject: &Subject) -> Vec<Kind> {
    let kinds = Kind::ALL.into_iter();
    kinds.filter(|kind| subject.tool_with(kind.effect()).is_some()).collect()
}

/// Returns the kinds of edits for which the server has a preview.
pub(super) fn previewed(subject: &Subject) -> Vec<Kind> {
    let mut kinds = kinds(subject);
    kinds.retain(|kind| {
        let mut pairs = subject.contract.previews.iter();
        subject.tool_with(kind.effect()).is_some_and(|(applies, effect)| {
            pairs.any(|pair| {
                let preview = subject.contract.operation(pair.preview);
                pair.applies == applies.label()
                    && preview.is_some_and(|tool| subject.adapter.has(tool, Some(effect)))
            })
        })
    });
    kinds
}

/// Returns the tools and names of the contract's invalid examples whose path is valid.
fn invalid(subject: &Subject) -> Vec<(&'static str, &'static str)> {
    // An adapter may omit the invalid member.
    if !subject.is_native() {
        return Vec::new();
    }
    let tools = subject.operations().filter(|tool| tool.mutating);
    let examples = tools.flat_map(|tool| tool.examples.iter().map(move |it| (tool, it)));
    let invalid = examples.filter(|(tool, it)| !it.valid && it.at.as_deref() != tool.path);
    invalid.map(|(tool, example)| (tool.label(), &*example.name)).collect()
}

/// Returns the paths of documents, which the contract lets every operation name. For other endings than `.md`, mapped tools may have
/// rules of their own.
fn paths(subject: &Subject) -> Vec<String> {
    let operations: Vec<_> = subject.operations().filter(|tool| !tool.effects.is_empty()).collect();
    let may_be_named = |path: &str| {
        let calls = operations.iter().filter_map(|tool| about(tool, path));
        calls.into_iter().all(|call| call.path() == path && may_name(&call))
    };
    let known = PATHS.iter().copied().filter(|path| subject.is_native() || path.ends_with(".md"));
    let paths: Vec<_> = known.filter(|path| may_be_named(path)).map(String::from).collect();
    if paths.is_empty() {
        return vec![subject.place(EffectKind::Write, PATHS[0])];
    }
    paths
}

struct Generator<'a> {
    subject: &'a Subject,
    kinds: Vec<Kind>,
    invalid: Vec<(&'static str, &'static str)>,
    paths: Vec<String>,
    /// The approximate library after the steps generated so far.
    sketch: BTreeMap<String, Bytes>,
    dice: &'a mut Rng,
}

impl Generator<'_> {
    fn step(&mut self, weights: &StepWeights) -> Step {
        type Make<'a> = fn(&mut Generator<'a>) -> Step;
        let can_read = self.subject.tool_with(EffectKind::Read).is_some();
        let can_be_invalid = !self.invalid.is_empty();
        let choices: [(u32, Make<'_>); 11] = [
            (weights.call, Self::call),
            (weights.preview, Self::preview),
            (weights.read * u32::from(can_read), Self::read),
            (weights.invalid * u32::from(can_be_invalid), Self::invalid),
            (weights.save, Self::save),
            (weights.remove, Self::remove),
            (weights.stage, Self::stage),
            (weights.commit, |_| Step::Commit),
            (weights.restart, |_| Step::Restart),
            (weights.kill, |_| Step::Kill),
            (weights.other_server, |_| Step::OtherServer),
        ];
        let mut at = self.dice.u32(0..choices.iter().map(|(weight, _)| weight).sum());
        for (weight, make) in choices {
            match at.checked_sub(weight) {
                Some(rest) => at = rest,
                None => return make(self),
            }
        }
        self.call()
    }

    fn call(&mut self) -> Step {
        let kinds = self.kinds.clone();
        Step::Call(self.edit(&kinds))
    }

    fn preview(&mut self) -> Step {
        let kinds = previewed(self.subject);
        if kinds.is_empty() {
            return self.call();
        }
        Step::Preview(self.edit(&kinds))
    }

    fn edit(&mut self, kinds: &[Kind]) -> Edit {
        let kind = kinds[self.dice.usize(..kinds.len())];
        let path = match kind {
            Kind::Write => self.path(),
            _ => self.path_of_document(),
        };
        let content = match kind {
            Kind::Write if self.dice.bool() => self.text(),
            _ if kind.has_content() => self.one_of(CONTENTS).to_owned(),
            _ => String::new(),
        };
        let target = if kind.has_target() { self.target(&path) } else { String::new() };
        let edit = Edit { kind, path, content, target };
        self.sketch_edit(&edit);
        edit
    }

    fn read(&mut self) -> Step {
        let path = self.path_of_document();
        Step::Read { path }
    }

    fn invalid(&mut self) -> Step {
        let (tool, example) = self.invalid[self.dice.usize(..self.invalid.len())];
        Step::Invalid { tool: tool.to_owned(), example: example.to_owned(), path: self.path_of_document() }
    }

    fn save(&mut self) -> Step {
        let path = if self.dice.bool() { self.path() } else { self.path_of_document() };
        let bytes = match self.sketch.get(&path) {
            Some(Bytes(now)) if self.dice.u8(..3) > 0 => {
                let more = if self.dice.bool() { "By hand.\n" } else { "\r\n## By hand" };
                Bytes([now, more.as_bytes()].concat())
            }
            _ => Bytes(self.document()),
        };
        self.sketch.insert(path.clone(), bytes.clone());
        Step::Save { path, bytes }
    }

    fn remove(&mut self) -> Step {
        let path = self.path_of_document();
        self.sketch.remove(&path);
        Step::Remove { path }
    }

    fn stage(&mut self) -> Step {
        let path = self.path_of_document();
        Step::Stage { path }
    }

    /// Returns a random path.
    fn path(&mut self) -> String {
        self.paths[self.dice.usize(..self.paths.len())].clone()
    }

    /// Returns a path, mostly of an existing document.
    fn path_of_document(&mut self) -> String {
        if self.sketch.is_empty() || self.dice.u8(..10) == 0 {
            return self.path();
        }
        let at = self.dice.usize(..self.sketch.len());
        self.sketch.keys().nth(at).cloned().unwrap_or_default()
    }

    /// Returns the bytes of a document; a few are not UTF-8.
    fn document(&mut self) -> Vec<u8> {
        match self.dice.u8(..16) {
            0 => NOT_UTF8.to_vec(),
            1 => Vec::new(),
            _ => self.text().into_bytes(),
        }
    }

    /// Returns a document in UTF-8.
    fn text(&mut self) -> String {
        let mut text = String::new();
        if self.dice.u8(..4) == 0 {
            text.push_str(self.one_of(FRONT_MATTER));
        }
        for _ in 0..self.dice.usize(1..=5) {
            text.push_str(self.one_of(BLOCKS));
            if self.dice.u8(..3) > 0 {
                text.push('\n');
            }
        }
        if self.dice.u8(..4) == 0 {
            text = text.trim_end().to_owned();
        }
        if self.dice.u8(..4) == 0 {
            text = text.replace('\n', "\r\n");
        }
        if self.dice.u8(..8) == 0 {
            text.insert(0, '\u{feff}');
        }
        text
    }

    /// Returns a target, mostly that of an existing section.
    fn target(&mut self, path: &str) -> String {
        let document = self.sketch.get(path);
        let document = document.and_then(|bytes| str::from_utf8(&bytes.0).ok());
        let document = document.unwrap_or_default();
        let sections = markdown::sections(document).unwrap_or_default();
        if sections.is_empty() || self.dice.u8(..6) == 0 {
            return self
                .one_of(&["## Nowhere", "Scope", "#scope-1", "# No heading", "  ", "## Scope"])
                .to_owned();
        }
        let is_ambiguous = |text: &str| sections.iter().filter(|it| it.text == text).count() > 1;
        if let Some(one) = sections.iter().find(|it| is_ambiguous(&it.text))
            && self.dice.bool()
        {
            return one.text.clone();
        }
        let section = &sections[self.dice.usize(..sections.len())];
        let line = document[section.heading.clone()].trim();
        match self.dice.u8(..4) {
            0 => section.text.clone(),
            1 => format!("#{}", section.text.to_lowercase().replace(' ', "-")),
            _ if line.contains('\n') => section.text.clone(),
            _ => line.to_owned(),
        }
    }

    /// Applies a call to the sketch.
    fn sketch_edit(&mut self, edit: &Edit) {
        let call = self.subject.request(edit.kind.effect(), edit.with());
        let before = self.sketch.get(&edit.path).map(|bytes| &bytes.0[..]);
        let change = call.and_then(|call| semantics::change(&call, before).ok());
        let Some(change) = change else { return };
        match semantics::plainest(&change, before) {
            Some(after) => self.sketch.insert(edit.path.clone(), Bytes(after)),
            None => self.sketch.remove(&edit.path),
        };
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.dice.usize(..texts.len())]
    }
}
