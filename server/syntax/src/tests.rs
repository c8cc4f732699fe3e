mod definitions;

use proptest::prelude::*;

use crate::{Language, MAX_BYTES, Outline, outline};

/// Checks the invariants of every outline, and returns the file's.
fn cut(path: &str, source: &str) -> Outline {
    let outline = outline(path, source);
    let joined: String = outline.chunks.iter().map(|chunk| &source[chunk.bytes.clone()]).collect();
    assert_eq!(joined, source, "{path}: chunks concatenate to the file");
    let mut last = 1;
    for chunk in &outline.chunks {
        assert!(!chunk.bytes.is_empty() && chunk.bytes.len() <= MAX_BYTES, "{path}: {chunk:?}");
        assert!(
            *chunk.lines.start() >= last && chunk.lines.start() <= chunk.lines.end(),
            "{path}: {chunk:?}"
        );
        last = *chunk.lines.start();
        for symbol in &outline.symbols[chunk.defines.clone()] {
            assert!(chunk.bytes.contains(&symbol.bytes.start), "{path}: {symbol:?} begins in {chunk:?}");
        }
    }
    let defined: usize = outline.chunks.iter().map(|chunk| chunk.defines.len()).sum();
    assert_eq!(defined, outline.symbols.len(), "{path}: each symbol begins in one chunk");
    outline
}

#[test]
fn items_keep_their_comments_and_large_ones_are_cut_between_their_parts() {
    let filler = "    let value = compute(value);\n".repeat(30);
    let source = format!(
        "//! Module.\n\nuse a::b;\n\n/// First.\n#[test]\nfn first() {{\n{filler}}}\n\n/// Large.\nimpl Large {{\n    /// One.\n    fn one() {{\n{filler}    }}\n\n    /// Two.\n    fn two() {{\n{filler}    }}\n}}\n\n/// Last.\nfn last() {{}}\n"
    );
    let outline = cut("a.rs", &source);
    let begin: Vec<(&str, Option<&str>)> = outline
        .chunks
        .iter()
        .map(|chunk| {
            let text = &source[chunk.bytes.clone()];
            let about = outline.about(chunk).map(|symbol| symbol.path.as_str());
            (text.lines().next().unwrap_or_default(), about)
        })
        .collect();
    assert_eq!(
        begin,
        [
            ("//! Module.", Some("fn first")),
            ("/// Large.", Some("impl Large > fn one")),
            ("    /// Two.", Some("impl Large > fn two")),
            ("/// Last.", Some("fn last")),
        ]
    );
}

#[test]
fn a_signature_shares_a_chunk_with_the_beginning_of_its_body() {
    let cases = [
        (
            "a.py",
            "class A:\n    def load(self):\n        \"\"\"Loads.\"\"\"\n",
            "        self.value = compute(value)\n",
            "",
        ),
        ("a.rb", "class A\n  def load(a)\n", "    @value = compute(value)\n", "  end\nend\n"),
        ("a.go", "package a\n\nfunc load() {\n", "\tvalue = compute(value)\n", "}\n"),
        ("a.cs", "class A\n{\n    void Load()\n    {\n", "        value = Compute(value);\n", "    }\n}\n"),
        ("a.rs", "impl A {\n    fn load() {\n", "        value = compute(value);\n", "    }\n}\n"),
    ];
    for (path, before, line, after) in cases {
        let source = format!("{before}{}{after}", line.repeat(100));
        let outline = cut(path, &source);
        let load = outline.symbols.iter().position(|symbol| symbol.name.to_lowercase() == "load");
        let chunk = outline.chunks.iter().find(|chunk| chunk.defines.contains(&load.expect("a symbol")));
        let text = &source[chunk.expect("a chunk").bytes.clone()];
        assert!(text.matches(line).count() > 20, "{path}: {text}");
    }
}

/// Files of all languages: names and texts.
fn sources() -> Vec<(&'static str, &'static str)> {
    definitions::DEFINITIONS.iter().map(|(path, source, _)| (*path, *source)).collect()
}

#[test]
fn anything_is_cut_into_what_it_was() {
    let deep = "(\n".repeat(5000);
    let long = format!("let a = \"{}\";\nlet b = 1;\n", "é".repeat(5000));
    let nested = "fn a() {\n".repeat(3000);
    for source in [
        deep.as_str(),
        &long,
        &nested,
        "\r\n\r\nfn a() {}\r\n",
        "\u{feff}fn a() {}",
        "no break at the end",
        "\n\n\n",
        "\0\0",
    ] {
        for language in Language::ALL {
            cut(&format!("a.{}", language.extensions()[0]), source);
        }
        for (path, _) in sources() {
            cut(path, source);
        }
        cut("a.md", source);
        cut("a.txt", source);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Mixtures of parts of the sources above.
    #[test]
    fn any_mixture_is_cut_into_what_it_was(parts in prop::collection::vec((0..sources().len(), 0usize..400, 0usize..400), 0..40), of in 0..sources().len()) {
        let mut source = String::new();
        for (at, from, to) in parts {
            let (_, text) = sources()[at];
            source.extend(text.chars().skip(from.min(to)).take(from.abs_diff(to)));
        }
        cut(sources()[of].0, &source);
    }
}
