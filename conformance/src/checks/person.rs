//! A library with a person's uncommitted work: staged changes, unstaged changes and new files.

use crate::checks::prelude::*;

/// Path of a document without uncommitted changes.
pub(super) const DOCUMENT: &str = "notes/plan.md";

/// Its text.
pub(super) const TEXT: &str = "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Twice\n\none\n\n## Twice\n\ntwo\n\n```\n## Fenced\n```\n";

/// Committed documents. The contract's examples name some of them.
const DOCUMENTS: &[(&str, &str)] = &[
    (DOCUMENT, TEXT),
    ("a.md", "# A\n\nbudget\n"),
    ("index.mdx", "# Index\n"),
    ("notes/staged.md", "# Staged\n\nold\n"),
    ("notes/both.md", "# Both\n\nold\n"),
    ("notes/dirty.md", "# Dirty\n\nold\n"),
    ("notes/gone.md", "# Gone\n"),
    ("notes/untouched.md", "# Untouched\n"),
    ("other/plan.md", "# Other plan\n\n## Scope\n\nbudget\n"),
];

/// Creates a library with a person's uncommitted work.
pub(super) fn at_work<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    at_work_beside(bench, &[])
}

/// As [`at_work`], in a library that also has these documents.
pub(super) fn at_work_beside<'a>(bench: &Bench<'a>, documents: &[(&str, &str)]) -> Result<Scene<'a>, Stop> {
    let scene = bench.scene(&[documents, DOCUMENTS].concat())?;
    scene.put("notes/staged.md", "# Staged\n\nnew\n")?;
    scene.put("notes/both.md", "# Both\n\nstaged\n")?;
    scene.put("notes/new.md", "# New\n\nstaged\n")?;
    scene.git(&["add", "notes/staged.md", "notes/both.md", "notes/new.md"])?;
    scene.git(&["rm", "--quiet", "notes/gone.md"])?;
    scene.put("notes/both.md", "# Both\n\nnot staged\n")?;
    scene.put("notes/dirty.md", "# Dirty\n\nnot staged\n")?;
    scene.put("notes/untracked.md", "# Untracked\n")?;
    Ok(scene)
}
