//! Paths of tests, by the conventions of each language.

use tabellion_syntax::Language;

/// Returns true if a file is tests by its path, relative to the workspace and with `/`.
pub(crate) fn is_test_path(language: Option<Language>, path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    match language {
        Some(Language::Rust) => in_folder(&["tests", "benches"]),
        Some(Language::Python) => {
            in_folder(&["tests", "test"])
                || stem.starts_with("test_")
                || stem.ends_with("_test")
                || stem == "conftest"
        }
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            in_folder(&["__tests__", "tests", "test"]) || name.contains(".test.") || name.contains(".spec.")
        }
        Some(Language::Go) => stem.ends_with("_test"),
        Some(Language::Java) => {
            path.contains("src/test/") || stem.ends_with("Test") || stem.ends_with("Tests")
        }
        Some(_) => {
            in_folder(&["tests", "test", "unittests"])
                || stem.ends_with("_test")
                || stem.ends_with("_unittest")
        }
        None => false,
    }
}
