//! The mutations that are cut off and failed at each of their points, each over a library that a person works in too.

use serde_json::{Value, json};
use tabellion_conformance::ledger;

use crate::support::{Library, edit};

/// One mutation of one document.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The document.
    pub(crate) path: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// Makes the library as it is before.
    pub(crate) prepare: fn(&Library),
    /// A folder that is a file system of its own, so that nothing can be renamed from `.git` into it.
    pub(crate) mounted: Option<&'static str>,
    /// Whether the server makes the repository, so that its start belongs to the mutation.
    pub(crate) makes_repository: bool,
}

const DOCUMENT: &str = "# A\n\none\n\n## B\n\ntwo\n";

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    let write = |path: &str| json!({ "path": path, "content": "# New\n\nall of it\n" });
    let delete = |path: &str| json!({ "path": path, "confirm": true });
    let case = |name, tool, path, arguments, prepare| Case {
        name,
        path,
        tool,
        arguments,
        prepare,
        mounted: None,
        makes_repository: false,
    };
    let (writes, edits, deletes) = ("write_markdown", "edit_markdown", "delete_markdown");
    let mut cases = vec![
        case("create", writes, "notes/new.md", write("notes/new.md"), in_use),
        case(
            "create in new folders",
            writes,
            "x/y/new.md",
            write("x/y/new.md"),
            in_use,
        ),
        case("overwrite", writes, "notes/a.md", write("notes/a.md"), in_use),
        case("delete", deletes, "notes/a.md", delete("notes/a.md"), in_use),
        case(
            "delete the last in its folder",
            deletes,
            "solo/a.md",
            delete("solo/a.md"),
            in_use,
        ),
        case(
            "adopt, overwrite",
            writes,
            "notes/a.md",
            write("notes/a.md"),
            dirty,
        ),
        case(
            "adopt, delete",
            deletes,
            "notes/a.md",
            delete("notes/a.md"),
            dirty,
        ),
        case(
            "adopt an untracked file",
            edits,
            "draft.md",
            edit("draft.md", "append", "", "- e\n"),
            in_use,
        ),
        case("first commit", writes, "notes/a.md", write("notes/a.md"), unborn),
        Case {
            makes_repository: true,
            ..case(
                "first repository",
                writes,
                "notes/a.md",
                write("notes/a.md"),
                |_| (),
            )
        },
    ];
    for (name, tool, path, arguments) in [
        (
            "mounted: create",
            writes,
            "notes/x/new.md",
            write("notes/x/new.md"),
        ),
        ("mounted: overwrite", writes, "notes/a.md", write("notes/a.md")),
        ("mounted: delete", deletes, "notes/a.md", delete("notes/a.md")),
    ] {
        cases.push(Case {
            mounted: Some("notes"),
            ..case(name, tool, path, arguments, dirty)
        });
    }
    for (name, target) in [
        ("append", ""),
        ("prepend", ""),
        ("replace_section", "B"),
        ("insert_before", "B"),
        ("insert_after", "B"),
    ] {
        let arguments = edit("notes/a.md", name, target, "## C\n\nthree\n");
        cases.push(case(name, edits, "notes/a.md", arguments, in_use));
    }
    cases
}

/// A library with a history, and with a person's work in all states: changed, staged, staged and changed, removed, untracked.
fn in_use(library: &Library) {
    ledger::git(library.root(), &["init", "--quiet", "--initial-branch=main"]).expect("git init");
    for path in [
        "notes/a.md",
        "notes/b.md",
        "solo/a.md",
        "staged.md",
        "both.md",
        "changed.md",
        "removed.md",
    ] {
        library.put(path, DOCUMENT);
    }
    library.commit_all("first");
    library.put("notes/b.md", "# B\n");
    library.commit_all("second");
    library.put("staged.md", "staged\n");
    library.put("both.md", "staged\n");
    ledger::git(library.root(), &["add", "staged.md", "both.md"]).expect("git add");
    library.put("both.md", "and changed\n");
    library.put("changed.md", "changed\n");
    library.put("draft.md", "# Draft\n\n- d\n");
    std::fs::remove_file(library.path("removed.md")).expect("removed");
}

/// As [`in_use`], and the document itself has what no commit has.
fn dirty(library: &Library) {
    in_use(library);
    library.put("notes/a.md", "# A\n\na person's\n");
}

/// A repository without a commit.
fn unborn(library: &Library) {
    ledger::git(library.root(), &["init", "--quiet", "--initial-branch=main"]).expect("git init");
    library.put("draft.md", "# Draft\n");
}
