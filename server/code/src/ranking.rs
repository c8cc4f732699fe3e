//! The ranking of chunks, with the reason for each number.
//!
//! The value of a chunk is
//!
//! ```text
//! (own + file × words of the file + name × names + path × folders + file_name × file's name + whole × definition + spelled × definition + stem × module) × place
//! ```
//!
//! *own* is BM25 of the chunk's words, *words of the file* that of all words of its file. *names*, *folders* and *file's name* are the
//! rarities of the query's words that are in a name that the chunk defines, in the folders of the file, and in its name. *definition* is
//! the rarity of a whole name that is in the query and that the chunk defines, *module* that of a name in the query that the file has.
//! *place* is less than 1 for tests, examples, documents and copies. Each further chunk of a file counts *again* times the one before.
//! Weights are below, each with its reason.

use tabellion_retrieval::engine::Bm25;
use tabellion_syntax::Language;

/// The weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights {
    pub(crate) chunk: Bm25,
    pub(crate) file_text: Bm25,
    pub(crate) file: f32,
    pub(crate) name: f32,
    pub(crate) path: f32,
    pub(crate) file_name: f32,
    pub(crate) whole: f32,
    pub(crate) spelled: f32,
    pub(crate) stem: f32,
    pub(crate) test: f32,
    pub(crate) asked_test: f32,
    pub(crate) example: f32,
    pub(crate) foreign: f32,
    pub(crate) text: f32,
    pub(crate) again: f32,
}

/// The weights in use. They were chosen on the development half of a public benchmark of code search, from round numbers; neighbouring
/// values give the same within chance (standard error .013).
pub(crate) const WEIGHTS: Weights = Weights {
    // Chunks have similar lengths, so a short chunk with the words is more relevant.
    chunk: Bm25 { k1: 1.5, b: 0.75 },
    // A word that a file repeats all over is its subject, and a long file is as likely to be the answer as a short one.
    file_text: Bm25 { k1: 4.0, b: 0.1 },
    // The chunk is the text that is read; its file shows if the subject is the same.
    file: 0.5,
    // Definitions rather than uses.
    name: 1.0,
    // Folders are named after areas, files after their subjects.
    path: 1.0,
    file_name: 2.5,
    // A name in a question may be its subject; a file of that name is the module that has it.
    whole: 1.0,
    // The same spelling ranks before names that differ in case and underscores.
    spelled: 1.0,
    stem: 1.5,
    // Tests repeat the words of the code under test, so they would win; a query that asks for tests ranks them above
    // other such files.
    test: 0.3,
    asked_test: 0.7,
    // Examples and scripts use the code that is searched for.
    example: 0.5,
    // Copied or generated code is seldom meant.
    foreign: 0.6,
    // Documents describe the code in the words of the question.
    text: 0.2,
    // The second chunk of a file is less informative than the first of another.
    again: 0.4,
};

/// If the word "test" is in more than one of this many chunks of sources, the project is about tests: it is in four of ten chunks of test
/// runners, and in one of ten or fewer of other projects.
pub(crate) const SOURCES_ABOUT_TESTS: usize = 5;

/// Names of folders that show a project, or help to make it; with an `s`, words of such names.
const EXAMPLES: &[&str] = &["bench", "benchmark", "demo", "doc", "example", "sample", "script", "tutorial"];

/// Extensions of documents and data. Files in an unknown language may still be programs.
const NO_PROGRAMS: &[&str] = &[
    "adoc",
    "cfg",
    "conf",
    "css",
    "csproj",
    "csv",
    "gradle",
    "htm",
    "html",
    "ini",
    "ipynb",
    "json",
    "jsonc",
    "json5",
    "less",
    "lock",
    "log",
    "markdown",
    "md",
    "mdx",
    "mod",
    "properties",
    "rdoc",
    "ronn",
    "rst",
    "scss",
    "snap",
    "sum",
    "svg",
    "tex",
    "toml",
    "tsv",
    "txt",
    "xml",
    "yaml",
    "yml",
];

/// Returns true if a file, with this name in lower case, may be a program. Names without an extension are those of commands in some folders.
fn is_program(path: &str, name: &str, folder: Option<&str>) -> bool {
    match name.rsplit_once('.') {
        Some((_, extension)) => {
            !(NO_PROGRAMS.contains(&extension) || extension.bytes().all(|byte| byte.is_ascii_digit()))
        }
        None => {
            matches!(folder, Some("bin" | "sbin" | "libexec" | "hooks")) || Language::of_path(path).is_some()
        }
    }
}

/// Returns true if a folder with this name in lower case shows a project, or helps to make it: `_examples`, `docs_src`. A part of a
/// word says nothing: `docker`, `documents`, `sampling`.
fn is_example(folder: &str) -> bool {
    let name = folder.trim_start_matches(['_', '.']);
    matches!(folder, ".github" | "benches" | "benchmarking" | "documentation")
        || EXAMPLES.contains(&name)
        || name
            .split(|mark: char| !mark.is_ascii_alphabetic())
            .any(|word| word.strip_suffix('s').is_some_and(|one| EXAMPLES.contains(&one)))
}

/// The kind of a file, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// The project's own sources.
    Source,
    /// Tests and their data.
    Test,
    /// Examples and benchmarks.
    Example,
    /// Generated code, or copies from elsewhere.
    Foreign,
    /// No program: documents, data, configuration.
    Text,
}

impl FileKind {
    pub(crate) fn from_path(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let mut parts: Vec<&str> = lower.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default();
        let among = |names: &[&str]| parts.iter().any(|part| names.contains(part));
        let is_test = among(&[
            "test",
            "tests",
            "testing",
            "spec",
            "specs",
            "__tests__",
            "testdata",
            "fixtures",
            "mocks",
            "__mocks__",
        ]) || name.contains(".test.")
            || name.contains(".spec.")
            // As pytest and minitest find them. Elsewhere `test_functions.bash` may be a library for tests.
            || (stem.starts_with("test_") && (name.ends_with(".py") || name.ends_with(".rb")))
            || name.ends_with(".bats")
            || stem.ends_with("_test")
            || stem.ends_with("_tests")
            || stem.ends_with("_spec")
            // `OrderTest.java`, `jvmTest/`, `Shop.Orders.Tests/`.
            || path.split(['/', '.']).any(|part| part.ends_with("Test") || part.ends_with("Tests"))
            || stem == "conftest"
            || stem == "tests";
        if is_test {
            Self::Test
        } else if among(&[
            "vendor",
            "third_party",
            "thirdparty",
            "generated",
            "dist",
            "node_modules",
            "compat",
            "_compat",
            "legacy",
            "deprecated",
        ]) || name.contains(".min.")
            || name.contains(".generated.")
            || name.ends_with(".d.ts")
            || name.ends_with(".pyi")
            || name.ends_with("_pb2.py")
            || name.ends_with(".pb.go")
        {
            Self::Foreign
        } else if !is_program(path, name, parts.last().copied()) {
            Self::Text
        } else if parts.iter().any(|folder| is_example(folder)) {
            Self::Example
        } else {
            Self::Source
        }
    }

    /// Returns the factor of its files' values.
    pub(crate) fn factor(self, weights: &Weights, about_tests: bool) -> f32 {
        match self {
            Self::Source => 1.0,
            Self::Test if about_tests => weights.asked_test,
            Self::Test => weights.test,
            Self::Example => weights.example,
            Self::Foreign => weights.foreign,
            Self::Text => weights.text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FileKind;

    #[test]
    fn a_path_tells_what_a_file_is_for() {
        let cases: &[(FileKind, &[&str])] = &[
            (
                FileKind::Source,
                &[
                    "src/main.rs",
                    "bin/deploy",
                    "Rakefile",
                    "lib/bats-core/test_functions.bash",
                    "src/testing.py",
                    "a/contest.c",
                    "Manifest.java",
                ],
            ),
            (
                FileKind::Test,
                &[
                    "tests/parser.rs",
                    "src/jvmTest/kotlin/Zip.kt",
                    "Shop.Orders.Tests/Fixtures.cs",
                    "src/test_parser.py",
                    "lib/test_parser.rb",
                    "a_test.go",
                    "a/Some.test.ts",
                    "a.spec.js",
                    "src/SomeTest.java",
                    "conftest.py",
                    "src/tests.rs",
                    "retry.bats",
                    "spec/fixtures/a.json",
                ],
            ),
            (
                FileKind::Source,
                &["docker/run.sh", "src/documents/a.rs", "sampling/a.py", "scripting/a.java", "github/a.go"],
            ),
            (
                FileKind::Example,
                &[
                    "examples/a.rs",
                    "_examples/a.go",
                    "benchmarks/a.py",
                    "docs/conf.py",
                    "docs_src/a.py",
                    "x/doc/a.go",
                ],
            ),
            (FileKind::Foreign, &["vendor/a.go", "a.min.js", "types/a.d.ts", "a_pb2.py"]),
            (FileKind::Text, &["README.md", "Cargo.toml", "docs/guide.rst", "LICENSE", "lib.so.1"]),
        ];
        for (place, paths) in cases {
            for path in *paths {
                assert_eq!(FileKind::from_path(path), *place, "{path}");
            }
        }
    }
}
