//! The mutations that are interrupted at each of their points, each in a library that a person uses too.

use serde_json::{Value, json};
use tabellion_conformance::ledger;

use crate::support::{Library, SERVE, SEVERAL_DOCUMENTS, edit};

/// A mutation of one document or of several.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The server that has the tool.
    pub(crate) server: &'static str,
    /// The changed documents.
    pub(crate) paths: Vec<&'static str>,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// Creates the library's state before the mutation.
    pub(crate) prepare: fn(&Library),
    /// A folder on a separate file system, so that no file can be renamed from `.git` into it.
    pub(crate) mounted: Option<&'static str>,
    /// True if the server creates the repository, so that its start belongs to the mutation.
    pub(crate) makes_repository: bool,
}

const DOCUMENT: &str = "# A\n\none\n\n## B\n\ntwo\n";

pub(crate) fn all() -> Vec<Case> {
    let write = |path: &str| json!({ "path": path, "content": "# New\n\nall of it\n" });
    let delete = |path: &str| json!({ "path": path, "confirm": true });
    let case = |name, tool, path, arguments, prepare| Case {
        name,
        server: SERVE,
        paths: vec![path],
        tool,
        arguments,
        prepare,
        mounted: None,
        makes_repository: false,
    };
    let (writes, edits, deletes) = ("write_markdown", "edit_markdown", "delete_markdown");
    let mut cases = vec![
        case("create", writes, "notes/new.md", write("notes/new.md"), in_use),
        case("create in new folders", writes, "x/y/new.md", write("x/y/new.md"), in_use),
        case("overwrite", writes, "notes/a.md", write("notes/a.md"), in_use),
        case("delete", deletes, "notes/a.md", delete("notes/a.md"), in_use),
        case("delete the last in its folder", deletes, "solo/a.md", delete("solo/a.md"), in_use),
        case("adopt, overwrite", writes, "notes/a.md", write("notes/a.md"), dirty),
        case("adopt, delete", deletes, "notes/a.md", delete("notes/a.md"), dirty),
        case("adopt an untracked file", edits, "draft.md", edit("draft.md", "append", "", "- e\n"), in_use),
        case("first commit", writes, "notes/a.md", write("notes/a.md"), unborn),
        Case {
            makes_repository: true,
            ..case("first repository", writes, "notes/a.md", write("notes/a.md"), |_| ())
        },
    ];
    for (name, tool, path, arguments) in [
        ("mounted: create", writes, "notes/x/new.md", write("notes/x/new.md")),
        ("mounted: overwrite", writes, "notes/a.md", write("notes/a.md")),
        ("mounted: delete", deletes, "notes/a.md", delete("notes/a.md")),
    ] {
        cases.push(Case { mounted: Some("notes"), ..case(name, tool, path, arguments, dirty) });
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
    cases.extend(of_two_documents());
    cases
}

/// A name, the preparation, the mounted folder if there is one, and two documents with their content afterwards.
type TwoDocuments =
    (&'static str, fn(&Library), Option<&'static str>, [(&'static str, Option<&'static str>); 2]);

/// Two documents in one commit. A document without content is deleted. The first one always changes: `tabellion/ifBase` is
/// compared with it.
fn of_two_documents() -> impl Iterator<Item = Case> {
    let cases: [TwoDocuments; 9] = [
        ("two: overwrite", in_use, None, [("notes/a.md", Some("new\n")), ("solo/a.md", Some("new too\n"))]),
        (
            "two: create in new folders",
            in_use,
            None,
            [("x/y/new.md", Some("new\n")), ("x/new.md", Some("new too\n"))],
        ),
        (
            "two: create in deep folders, in a pack",
            in_use,
            None,
            [("x/y/z/1/new.md", Some("new\n")), ("z/y/x/1/new.md", Some("new too\n"))],
        ),
        ("two: rename", in_use, None, [("moved/a.md", Some(DOCUMENT)), ("solo/a.md", None)]),
        ("two: delete all of a folder", in_use, None, [("notes/a.md", None), ("notes/b.md", None)]),
        ("two: adopt both", dirty, None, [("notes/a.md", Some("new\n")), ("draft.md", None)]),
        ("two: one as it was", in_use, None, [("solo/a.md", Some("new\n")), ("notes/a.md", Some(DOCUMENT))]),
        ("two: first commit", unborn, None, [("notes/a.md", Some("new\n")), ("b.md", Some("new too\n"))]),
        (
            "two: one of them mounted",
            in_use,
            Some("notes"),
            [("notes/a.md", Some("new\n")), ("solo/a.md", None)],
        ),
    ];
    cases.into_iter().map(|(name, prepare, mounted, documents)| Case {
        name,
        server: SEVERAL_DOCUMENTS,
        paths: documents.map(|(path, _)| path).to_vec(),
        tool: "change_documents",
        arguments: json!({ "documents": documents.map(|(path, content)| match content {
            Some(content) => json!({ "path": path, "content": content }),
            None => json!({ "path": path }),
        }) }),
        prepare,
        mounted,
        makes_repository: false,
    })
}

/// Creates a library with a history, and with a person's work in all states: changed, staged, staged and changed, removed, untracked.
fn in_use(library: &Library) {
    ledger::git(library.root(), &["init", "--quiet", "--initial-branch=main"]).expect("git init");
    for path in ["notes/a.md", "notes/b.md", "solo/a.md", "staged.md", "both.md", "changed.md", "removed.md"]
    {
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

/// Like [`in_use`], with uncommitted bytes in the document itself.
fn dirty(library: &Library) {
    in_use(library);
    library.put("notes/a.md", "# A\n\na person's\n");
}

/// Creates a repository without a commit.
fn unborn(library: &Library) {
    ledger::git(library.root(), &["init", "--quiet", "--initial-branch=main"]).expect("git init");
    library.put("draft.md", "# Draft\n");
}
