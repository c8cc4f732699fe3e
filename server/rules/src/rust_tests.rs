//! Detects Rust code that is compiled for tests alone: by `#[test]` and `#[cfg(test)]`, in the file or in the file that declares it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::{Captures, Regex};
use tabellion_platform::Kind;
use tabellion_syntax::Language;

use crate::{
    files::Workspace,
    flat::{FlatTree, Index},
    test_paths,
};

/// Modules nested deeper in files are not followed.
const MAX_DEPTH: usize = 32;

/// Returns true if a node is in an item that is compiled for tests alone.
pub(crate) fn is_test(tree: &FlatTree<'_>, index: Index) -> bool {
    let mut first = tree.children(0).take_while(|&child| {
        let node = &tree.nodes[child];
        node.kind == "inner_attribute_item" || node.kind.ends_with("_comment")
    });
    if first.any(|child| is_for_tests(tree.text(child)) && tree.nodes[child].kind == "inner_attribute_item") {
        return true;
    }
    std::iter::once(index).chain(tree.ancestors(index)).any(|item| {
        let kind = tree.nodes[item].kind;
        let may_have_attributes =
            kind.ends_with("_item") || kind.ends_with("_declaration") || kind == "macro_invocation";
        may_have_attributes && has_test_attribute(tree, item)
    })
}

/// Returns true if an attribute before an item marks it as being for tests.
fn has_test_attribute(tree: &FlatTree<'_>, item: Index) -> bool {
    for sibling in tree.named_before(item) {
        match tree.nodes[sibling].kind {
            "attribute_item" if is_for_tests(tree.text(sibling)) => return true,
            "attribute_item" | "line_comment" | "block_comment" => {}
            _ => return false,
        }
    }
    false
}

/// Returns true if an attribute marks a test, or a condition that holds for tests alone.
fn is_for_tests(attribute: &str) -> bool {
    let inner = attribute.trim_start_matches(['#', '!', '[', ' ']).trim_end_matches([']', ' ', '\n']);
    let (path, arguments) = match inner.split_once('(') {
        Some((path, arguments)) => (path.trim(), arguments),
        None => (inner.trim(), ""),
    };
    match path.rsplit("::").next().unwrap_or_default().trim() {
        "test" | "bench" | "rstest" | "test_case" | "proptest" | "quickcheck" => true,
        "cfg" => Condition(arguments.trim_end().strip_suffix(')').unwrap_or(arguments)).implies_test(0),
        _ => false,
    }
}

/// A condition of `cfg`.
struct Condition<'text>(&'text str);

impl Condition<'_> {
    /// Returns true if the condition holds only if `test` does.
    fn implies_test(&self, depth: usize) -> bool {
        let text = self.0.trim().trim_end_matches(',').trim();
        let Some((operator, inner)) = text.split_once('(') else {
            return text == "test";
        };
        let inner = inner.trim_end().strip_suffix(')').unwrap_or(inner);
        let parts = split(inner);
        if depth > MAX_DEPTH || parts.is_empty() {
            return false;
        }
        let mut implied = parts.iter().map(|part| Condition(part).implies_test(depth + 1));
        match operator.trim() {
            "all" => implied.any(|implies| implies),
            "any" => implied.all(|implies| implies),
            _ => false,
        }
    }
}

/// Splits at the commas outside of parentheses.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_usize, 0);
    let mut parts = Vec::new();
    for (at, character) in list.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

static DECLARATIONS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"(?m)^[ \t]*((?:#\[[^\]\n]*\]\s*)+)(?:pub(?:\([^)\n]*\))?\s+)?mod\s+([A-Za-z_][A-Za-z0-9_]*)\s*;";
    Regex::new(pattern).expect("the pattern of declarations is a regular expression")
});

static PATH: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"#\[\s*path\s*=\s*"([^"\n]+)"\s*\]"#;
    Regex::new(pattern).expect("the pattern of paths is a regular expression")
});

/// The modules that files of a workspace declare for tests alone, read once.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// Their names, by the file that declares them.
    named: Mutex<HashMap<PathBuf, Vec<String>>>,
    /// By folder, the files that one of its files declares with `#[path]`.
    placed: Mutex<HashMap<PathBuf, Vec<PathBuf>>>,
}

impl Modules {
    /// Returns true if the file at `path`, below `workspace`, is a module that is declared for tests alone, or is below one.
    pub(crate) fn is_test_file(&self, workspace: &Workspace, path: &Path) -> bool {
        let relative = workspace.relative(path);
        if test_paths::is_test_path(Some(Language::Rust), &relative) {
            return true;
        }
        let mut module = path.to_path_buf();
        for _ in 0..MAX_DEPTH {
            if self.is_placed_for_tests(workspace, &module) {
                return true;
            }
            let Some((name, parents)) = declared_in(&module) else {
                return false;
            };
            let parents: Vec<PathBuf> =
                parents.into_iter().filter(|parent| workspace.has(parent) && *parent != module).collect();
            if parents.iter().any(|parent| self.test_modules(workspace, parent).contains(&name)) {
                return true;
            }
            match parents.into_iter().find(|parent| workspace.kind(parent) == Some(Kind::File)) {
                Some(parent) => module = parent,
                None => return false,
            }
        }
        false
    }

    fn test_modules(&self, workspace: &Workspace, file: &Path) -> Vec<String> {
        let mut known = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            declared_for_tests(workspace, file)
                .filter(|(path, _)| path.is_none())
                .map(|(_, name)| name)
                .collect()
        };
        known.entry(file.to_path_buf()).or_insert_with(read).clone()
    }

    /// Returns true if a file of the same folder declares this one for tests, with `#[path]`.
    fn is_placed_for_tests(&self, workspace: &Workspace, file: &Path) -> bool {
        let Some(folder) = file.parent().filter(|folder| workspace.has(folder)) else {
            return false;
        };
        let mut known = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        let placed = known.entry(folder.to_path_buf()).or_insert_with(|| {
            let names = workspace.names(folder).unwrap_or_default();
            let entries = names.into_iter().map(|name| folder.join(name));
            let sources = entries.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
            let placed = sources.flat_map(|source| {
                declared_for_tests(workspace, &source).filter_map(|(path, _)| path).collect::<Vec<_>>()
            });
            placed.map(|path| folder.join(path)).collect()
        });
        placed.contains(&file.to_path_buf())
    }
}

/// Returns the modules that a file declares for tests alone: the `#[path]` of each, if it has one, and the name.
fn declared_for_tests(workspace: &Workspace, file: &Path) -> impl Iterator<Item = (Option<String>, String)> {
    let text = workspace.read(file).unwrap_or_default();
    let declared = |declaration: Captures<'_>| {
        let attributes = &declaration[1];
        let path = PATH.captures(attributes).map(|path| path[1].to_owned());
        let is_test = attributes.split_inclusive(']').map(str::trim).any(is_for_tests);
        is_test.then(|| (path, declaration[2].to_owned()))
    };
    let all: Vec<_> = DECLARATIONS.captures_iter(&text).filter_map(declared).collect();
    all.into_iter()
}

/// Returns the name of a file's module, and the files that can declare it.
fn declared_in(file: &Path) -> Option<(String, Vec<PathBuf>)> {
    let stem = file.file_stem()?.to_str()?;
    let folder = file.parent()?;
    let (name, above) = match stem {
        "lib" | "main" => return None,
        "mod" => (folder.file_name()?.to_str()?.to_owned(), folder.parent()?),
        _ => (stem.to_owned(), folder),
    };
    let mut parents: Vec<PathBuf> =
        ["mod.rs", "lib.rs", "main.rs"].iter().map(|name| above.join(name)).collect();
    parents.extend(
        above
            .file_name()
            .and_then(|name| name.to_str())
            .map(|name| above.with_file_name(format!("{name}.rs"))),
    );
    Some((name, parents))
}

#[cfg(test)]
mod tests {
    use super::is_for_tests;

    #[test]
    fn attributes_for_tests_are_known() {
        for (attribute, expected) in [
            ("#[test]", true),
            ("#[tokio::test(flavor = \"multi_thread\")]", true),
            ("#[cfg(test)]", true),
            ("#![cfg(test)]", true),
            ("# [ cfg ( all ( unix , test ) ) ]", true),
            ("#[cfg(any(test, all(test, unix)))]", true),
            ("#[cfg(any(test, feature = \"testing\"))]", false),
            ("#[cfg(not(test))]", false),
            ("#[cfg(all(not(test), unix))]", false),
            ("#[cfg(feature = \"test\")]", false),
            ("#[cfg_attr(test, derive(Debug))]", false),
            ("#[derive(Debug)]", false),
            ("#[cfg()]", false),
            ("#[cfg(]", false),
        ] {
            assert_eq!(is_for_tests(attribute), expected, "{attribute}");
        }
    }
}
