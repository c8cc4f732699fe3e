//! Refuses circles of imports: files of a crate that, through others, import each other.
//!
//! It reads `use` declarations and paths (`crate::a::B`, `super::B`, `a::B`). A name is followed through re-exports to the file
//! that defines it, so a module that re-exports its children does not depend on them. Tests and the tokens of macros are not
//! read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    slice,
};

use syn::{
    Attribute, File, Item, ItemUse, UseTree, Visibility,
    visit::{self, Visit},
};
use toml::{Table, Value};
use xtask::{Outcome, root};

/// Upper bound of re-exports that a name is followed through.
const MAX_REEXPORTS: usize = 16;

/// Files that import each other, relative to the workspace.
type Circle = BTreeSet<String>;

/// Returns a message for each circle.
pub(crate) fn problems() -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    for root in crate_roots()? {
        for circle in Crate::read(&root)?.circles() {
            let files: String = circle.iter().map(|file| format!("\n  {file}")).collect();
            let advice = "these files import each other: move what both sides need below them, or merge them";
            problems.push(format!("{advice}{files}"));
        }
    }
    Ok(problems)
}

/// Returns the root files of all crates of the workspace but tests and examples.
fn crate_roots() -> Outcome<Vec<PathBuf>> {
    let workspace: Table = toml::from_str(&fs::read_to_string(root().join("Cargo.toml"))?)?;
    let members = workspace["workspace"]["members"].as_array().ok_or("no members")?;
    let mut roots = Vec::new();
    for member in members.iter().filter_map(Value::as_str) {
        for name in ["lib.rs", "main.rs"] {
            let path = root().join(member).join("src").join(name);
            if path.is_file() {
                roots.push(path);
            }
        }
    }
    Ok(roots)
}

/// A module, in a file of its own or within another.
#[derive(Default)]
struct Module {
    file: usize,
    /// Names of child modules and of items that are defined here.
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// Absolute paths that names of this module stand for, imported or re-exported.
    names: BTreeMap<String, Vec<String>>,
    /// Absolute paths whose items are all imported or re-exported.
    globs: Vec<Vec<String>>,
    /// Absolute paths that its code depends on.
    references: Vec<Vec<String>>,
}

/// The modules of a crate, by their absolute paths.
#[derive(Default)]
struct Crate {
    files: Vec<PathBuf>,
    modules: BTreeMap<Vec<String>, Module>,
}

impl Crate {
    fn read(root: &Path) -> Outcome<Self> {
        let mut all = Self::default();
        let folder = root.parent().ok_or("no folder")?;
        all.add_file(root, folder, Vec::new())?;
        Ok(all)
    }

    /// Adds the module at `path` with its children. `folder` is where their files are.
    fn add_file(&mut self, file: &Path, folder: &Path, path: Vec<String>) -> Outcome {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parsed: File = syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        self.files.push(file.to_owned());
        self.add_module(self.files.len() - 1, folder, path, &parsed.items)
    }

    fn add_module(&mut self, file: usize, folder: &Path, path: Vec<String>, items: &[Item]) -> Outcome {
        let mut module = Module { file, ..Module::default() };
        for item in items {
            if is_test(attributes(item)) {
                continue;
            }
            if let Item::Mod(child) = item {
                let name = child.ident.to_string();
                module.children.insert(name.clone());
                let below = [&path[..], slice::from_ref(&name)].concat();
                if let Some((_, items)) = &child.content {
                    self.add_module(file, &folder.join(&name), below, items)?;
                } else if let Some((file, folder)) = file_of(folder, &name, &child.attrs) {
                    self.add_file(&file, &folder, below)?;
                }
            } else if let Some(name) = name_of(item) {
                module.items.insert(name);
            }
        }
        let mut reader = Reader { path: &path, module };
        items.iter().for_each(|item| reader.visit_item(item));
        let module = reader.module;
        self.modules.insert(path, module);
        Ok(())
    }

    /// Returns the file that defines what the absolute path names.
    fn file_defining(&self, path: &[String], depth: usize) -> usize {
        let mut at = Vec::new();
        for (number, segment) in path.iter().enumerate() {
            let module = &self.modules[&at];
            if module.children.contains(segment)
                && self.modules.contains_key(&[&at[..], slice::from_ref(segment)].concat())
            {
                at.push(segment.clone());
                continue;
            }
            if module.items.contains(segment) || depth == 0 {
                return module.file;
            }
            let rest = &path[number + 1..];
            if let Some(target) = module.names.get(segment) {
                return self.file_defining(&[target, rest].concat(), depth - 1);
            }
            let of_glob = module.globs.iter().find(|glob| {
                self.modules.get(*glob).is_some_and(|module| {
                    module.items.contains(segment)
                        || module.children.contains(segment)
                        || module.names.contains_key(segment)
                })
            });
            return match of_glob {
                Some(glob) => self.file_defining(&[glob, &path[number..]].concat(), depth - 1),
                None => module.file,
            };
        }
        self.modules[&at].file
    }

    /// Returns the groups of files that import each other.
    fn circles(&self) -> Vec<Circle> {
        let mut imports = vec![BTreeSet::new(); self.files.len()];
        for module in self.modules.values() {
            let targets = module.references.iter().map(|path| self.file_defining(path, MAX_REEXPORTS));
            imports[module.file].extend(targets.filter(|target| *target != module.file));
        }
        let reached: Vec<_> = (0..imports.len()).map(|from| reachable(&imports, from)).collect();
        let mut circles = BTreeSet::new();
        for from in 0..imports.len() {
            let circle: Circle = (0..imports.len())
                .filter(|to| reached[from].contains(to) && reached[*to].contains(&from))
                .map(|file| shown(&self.files[file]))
                .collect();
            circles.insert(circle);
        }
        circles.into_iter().filter(|circle| !circle.is_empty()).collect()
    }
}

/// Returns all files that `from` imports, directly or not.
fn reachable(imports: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut reached, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(file) = left.pop() {
        left.extend(imports[file].iter().filter(|next| reached.insert(**next)));
    }
    reached
}

/// Collects the imports and paths of one module, without those of its children.
struct Reader<'a> {
    path: &'a [String],
    module: Module,
}

impl Reader<'_> {
    /// Returns the absolute path; `None` if it leads to another crate, or is a name without a path.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut at = self.path.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {}
            name if self.module.children.contains(name) => {}
            _ => return None,
        }
        while rest.first().is_some_and(|segment| segment == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        Some([&at, rest].concat())
    }

    /// Adds the paths of a declaration. A re-export makes names, but its file does not depend on them.
    fn add_use(&mut self, tree: &UseTree, mut before: Vec<String>, is_reexport: bool) {
        let (name, path) = match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                return self.add_use(&path.tree, before, is_reexport);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_use(tree, before.clone(), is_reexport));
            }
            UseTree::Name(name) if name.ident == "self" => (before.last().cloned(), before),
            UseTree::Name(name) => {
                (Some(name.ident.to_string()), [before, vec![name.ident.to_string()]].concat())
            }
            UseTree::Rename(rename) => {
                (Some(rename.rename.to_string()), [before, vec![rename.ident.to_string()]].concat())
            }
            UseTree::Glob(_) => (None, before),
        };
        let Some(path) = self.absolute(&path) else {
            return;
        };
        match name {
            Some(name) => drop(self.module.names.insert(name, path.clone())),
            None => self.module.globs.push(path.clone()),
        }
        if !is_reexport {
            self.module.references.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        // Modules within this one are read by themselves.
        if !is_test(attributes(item)) && !matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_use(&item.tree, Vec::new(), !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // `pub(in crate::a)` is no import.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1
            && let Some(path) = self.absolute(&segments)
        {
            self.module.references.push(path);
        }
        visit::visit_path(self, path);
    }
}

/// Returns the file of a module that is declared without a body, and the folder of its children's files.
fn file_of(folder: &Path, name: &str, attributes: &[Attribute]) -> Option<(PathBuf, PathBuf)> {
    let is_elsewhere = attributes.iter().any(|attribute| attribute.path().is_ident("path"));
    let beside = folder.join(name).with_extension("rs");
    let within = folder.join(name).join("mod.rs");
    let file = [beside, within].into_iter().find(|file| file.is_file())?;
    (!is_elsewhere).then(|| (file, folder.join(name)))
}

/// Returns true for `#[test]`, and for any `#[cfg(…)]` that needs `test`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
        let needs_test = |condition: String| {
            let words: Vec<_> = condition.split(|c: char| !c.is_alphanumeric()).collect();
            words.contains(&"test") && !words.contains(&"not") && !words.contains(&"any")
        };
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && condition.is_ok_and(needs_test)
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

/// Returns the path relative to the workspace.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the circles of a crate with these files, by the files' names without folder.
    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let all = Crate::read(&folder.path().join(files[0].0)).unwrap().circles();
        let name = |file: &String| file.rsplit('/').next().unwrap().to_owned();
        all.iter().map(|circle| circle.iter().map(name).collect()).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let lib = "mod a; mod b; pub use b::B;";
        for (case, a, b, expected) in [
            ("one way", "use crate::b::B;", "pub struct B;", &[][..]),
            ("by use", "use crate::b::B; pub struct A;", "use super::a::A; pub struct B;", &["a.rs", "b.rs"]),
            ("by path", "pub struct A(crate::b::B);", "pub fn f() { crate::a::g(); }", &["a.rs", "b.rs"]),
            (
                "through a re-export",
                "use crate::B; pub struct A;",
                "use crate::a::A; pub struct B;",
                &["a.rs", "b.rs"],
            ),
            (
                "in a group",
                "use crate::{b::{self}}; pub struct A;",
                "use crate::a::*; pub struct B;",
                &["a.rs", "b.rs"],
            ),
            ("in a body", "fn f() { use crate::b::B; }", "use crate::a::f; pub struct B;", &["a.rs", "b.rs"]),
            (
                "in a test alone",
                "#[cfg(test)] mod tests { use crate::b::B; } pub struct A;",
                "use crate::a::A; pub struct B;",
                &[],
            ),
            ("by visibility alone", "pub(in crate::b) struct A; use crate::b::B;", "pub struct B;", &[]),
        ] {
            let found = circles(&[("lib.rs", lib), ("a.rs", a), ("b.rs", b)]);
            let expected: Vec<Vec<String>> = if expected.is_empty() {
                vec![]
            } else {
                vec![expected.iter().map(|&it| it.into()).collect()]
            };
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn a_parent_that_imports_its_child_must_not_be_imported_by_it() {
        let child = "use super::Shared; pub struct Child;";
        let uses = "mod child; use child::Child; pub struct Shared;";
        assert_eq!(circles(&[("lib.rs", uses), ("child.rs", child)]), [["child.rs", "lib.rs"]]);
        let reexports = "mod child; pub use child::Child; pub struct Shared;";
        assert_eq!(circles(&[("lib.rs", reexports), ("child.rs", child)]), Vec::<Vec<String>>::new());
        let folder = [("lib.rs", "mod a;"), ("a/mod.rs", uses), ("a/child.rs", child)];
        assert_eq!(circles(&folder), [["child.rs", "mod.rs"]]);
    }
}
