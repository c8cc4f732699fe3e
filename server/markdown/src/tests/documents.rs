//! Random documents for the property tests: blocks of every kind, with every line ending.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::{Edit, Flavor, Outline};

/// Blocks with `\n` as line ending, some of which leave a construct open.
const BLOCKS: &[&str] = &[
    "# Alpha\n",
    "## Alpha\n",
    "## Beta ##\n",
    "### *Gamma* `x`\n",
    " ###### 日本語\n",
    "#\n",
    "Setext\n===\n",
    "Two\nlines\n---\n",
    "Delta\n-\n",
    "plain text\n",
    "two lines\nof text\n",
    "hard break  \nafter\n",
    "- item\n",
    "- item\n  - nested\n\n    text\n",
    "* # Listed\n",
    "1. one\n2. two\n",
    "> quote\n",
    "> # Quoted\nlazy\n",
    "```rust\n# not a heading\n```\n",
    "~~~\nunclosed\n",
    "````\n",
    "    indented code\n",
    "<div>\n",
    "</div>\n",
    "<!-- comment\n",
    "-->\n",
    "<Tab title=\"x\">\n",
    "</Tab>\n",
    "<Tab\n",
    "import a from 'a'\n",
    "export const a = 1\n",
    "{/* mdx */}\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "| 3 | 4 |\n",
    "---\n",
    "+++\n",
    "***\n",
    "===\n",
    "[a]: /url\n",
    "'title'\n",
    "[^1]: note\n",
    "emoji 🎉 \u{202e}\u{200b}\n",
    "# 🎉 Alpha\n",
    "\u{feff}# Alpha\n",
    "\t# tabbed\n",
    "\n",
    "\n",
    "\n\n",
    "   \n",
];

/// Returns texts made of up to `max_blocks` blocks, with one or several kinds of line ending, with and without a last one.
pub(super) fn text(max_blocks: usize) -> impl Strategy<Value = String> {
    let ending = select(&["\n", "\n", "\r\n", "\r"][..]);
    let block = (select(BLOCKS), ending.clone());
    let mixed = select(&[false, false, true][..]);
    (proptest::collection::vec(block, 0..=max_blocks), ending, mixed, any::<bool>()).prop_map(
        |(blocks, main, mixed, final_ending)| {
            let written = |(block, own): (&str, &str)| block.replace('\n', if mixed { own } else { main });
            let text: String = blocks.into_iter().map(written).collect();
            if final_ending { text } else { text.trim_end_matches(['\n', '\r']).to_owned() }
        },
    )
}

/// A document with an edit of it.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) old: String,
    pub(super) flavor: Flavor,
    content: String,
    operation: usize,
    target: String,
}

impl Case {
    /// Returns the edit; an append if the document has no section to target.
    pub(super) fn edit(&self) -> Edit<'_> {
        let (target, content) = (self.target.as_str(), self.content.as_str());
        match self.operation {
            _ if target.is_empty() => Edit::Append { content },
            0 => Edit::Append { content },
            1 => Edit::Prepend { content },
            2 => Edit::ReplaceSection { target, content },
            3 => Edit::InsertBefore { target, content },
            _ => Edit::InsertAfter { target, content },
        }
    }
}

/// Returns documents, with and without byte order mark and front matter, each with one edit of it.
pub(super) fn case() -> impl Strategy<Value = Case> {
    let mark = select(&["", "", "\u{feff}"][..]);
    let front = select(&["", "", "---\nx: y\n---\n", "+++\r\nx = 1\r\n+++\r\n", "---\n# no\n---"][..]);
    let flavor = select(&[Flavor::CommonMark, Flavor::Mdx][..]);
    let document = (mark, front, text(14)).prop_map(|(mark, front, text)| format!("{mark}{front}{text}"));
    (document, flavor, text(4), 0..5usize, any::<Index>()).prop_map(
        |(old, flavor, content, operation, index)| {
            let outline = Outline::parse(&old, flavor);
            // A heading without any letter has no slug to name it by.
            let slugs: Vec<&str> =
                outline.sections().iter().map(|s| s.slug.as_str()).filter(|s| !s.is_empty()).collect();
            let target = if slugs.is_empty() { String::new() } else { format!("#{}", index.get(&slugs)) };
            Case { old, flavor, content, operation, target }
        },
    )
}

#[test]
fn only_texts_get_the_endings_of_a_document() {
    for (now, earlier, expected) in
        [("b\n", "a\r\n", "a\n"), ("b\r\n", "a\n", "a\r\n"), ("\0b\n", "\0a\r\n", "\0a\r\n")]
    {
        assert_eq!(
            *crate::with_endings_of(now.as_bytes(), earlier.as_bytes()),
            *expected.as_bytes(),
            "{earlier:?}"
        );
    }
}
