//! Trees of source files, as data: each file has a unique word, in the name of a function and in its comment.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::{Deserialize, Serialize};

/// The word that is in each function and section of each file.
pub(super) const COMMON: &str = "till";

/// Extensions, with the names of their languages.
pub(super) const KINDS: &[(&str, &str)] =
    &[("rs", "rust"), ("py", "python"), ("js", "javascript"), ("go", "go"), ("md", "markdown")];
/// Folders of a tree.
pub(super) const FOLDERS: &[&str] = &["src", "src/deep", "lib", "fixtures"];

/// A source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Source {
    /// Index of its kind in [`KINDS`].
    pub(super) kind: usize,
    /// The number of its word.
    pub(super) word: usize,
    /// Number of its functions.
    pub(super) functions: usize,
}

/// Files by their paths.
pub(super) type Tree = BTreeMap<String, Source>;

/// Returns the unique word of a number, in lower-case letters.
pub(super) fn word(number: usize) -> String {
    const SYLLABLES: [&str; 10] = ["ba", "co", "du", "fo", "gi", "ho", "ju", "ka", "lo", "mu"];
    let digits = format!("{number:03}");
    let syllables = digits.bytes().map(|digit| SYLLABLES[usize::from(digit - b'0')]);
    format!("z{}x", syllables.collect::<String>())
}

impl Source {
    /// Returns the name of its first function.
    pub(super) fn function(&self) -> String {
        format!("count_{}", word(self.word))
    }

    /// Returns the content.
    pub(super) fn text(&self) -> String {
        let own = word(self.word);
        let mut text = String::new();
        for number in 0..self.functions.max(1) {
            let name = match number {
                0 => self.function(),
                _ => format!("pad_{own}_{number}"),
            };
            // Writing to a `String` does not fail.
            let _ = match KINDS[self.kind % KINDS.len()].0 {
                "rs" => write!(
                    text,
                    "/// Counts {own} in the {COMMON}.\npub fn {name}(amount: i64) -> i64 {{\n    let {COMMON} = amount + {number};\n    \
                     {COMMON} * 2\n}}\n\n"
                ),
                "py" => write!(
                    text,
                    "def {name}(amount):\n    # Counts {own} in the {COMMON}.\n    {COMMON} = amount + {number}\n    return {COMMON} * 2\n\n\n"
                ),
                "js" => write!(
                    text,
                    "// Counts {own} in the {COMMON}.\nfunction {name}(amount) {{\n  const {COMMON} = amount + {number};\n  return {COMMON} * \
                     2;\n}}\n\n"
                ),
                "go" => {
                    let package = if number == 0 { "package shop\n\n" } else { "" };
                    write!(
                        text,
                        "{package}// Counts {own} in the {COMMON}.\nfunc {name}(amount int) int {{\n\t{COMMON} := amount + {number}\n\treturn \
                         {COMMON} * 2\n}}\n\n"
                    )
                }
                _ => write!(
                    text,
                    "# About {name}\n\nWhat {own} is, and how the {COMMON} counts it, for the {number}th time.\n\n"
                ),
            };
        }
        text
    }
}

/// Returns a path for a file of this number.
pub(super) fn path(folder: &str, kind: usize, number: usize) -> String {
    format!("{folder}/file_{number}.{}", KINDS[kind % KINDS.len()].0)
}

/// Returns a random tree of `many` files.
pub(super) fn random(dice: &mut fastrand::Rng, many: usize) -> Tree {
    let file = |number| {
        let kind = number % KINDS.len();
        let source = Source { kind, word: number, functions: dice.usize(1..9) };
        (path(FOLDERS[dice.usize(..FOLDERS.len())], kind, number), source)
    };
    (0..many).map(file).collect()
}
