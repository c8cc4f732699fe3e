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

/// A symbol: path, kind, first and last line.
type Expected = (&'static str, &'static str, usize, usize);

/// Names of files, their sources, and their symbols.
const SYMBOLS: &[(&str, &str, &[Expected])] = &[
    (
        "a.rs",
        "/// Doc.\n#[derive(Debug)]\npub struct Foo<T>(T);\nimpl<T> Foo<T> {\n    pub fn bar(&self) -> u8 { const LOCAL: u8 = 1; LOCAL }\n}\nimpl Drop for Foo<u8> { fn drop(&mut self) {} }\ntrait Eats { fn eat(&self); }\nmod inner { pub const MAX: u8 = 3; macro_rules! m { () => {} } }\n",
        &[
            ("struct Foo", "struct", 3, 3),
            ("impl Foo<T>", "impl", 4, 6),
            ("impl Foo<T> > fn bar", "method", 5, 5),
            ("impl Drop for Foo<u8>", "impl", 7, 7),
            ("impl Drop for Foo<u8> > fn drop", "method", 7, 7),
            ("trait Eats", "interface", 8, 8),
            ("trait Eats > fn eat", "method", 8, 8),
            ("mod inner", "module", 9, 9),
            ("mod inner > const MAX", "constant", 9, 9),
            ("mod inner > macro m", "macro", 9, 9),
        ],
    ),
    (
        "a.py",
        "import os\n\nclass A(B):\n    @property\n    def x(self):\n        def inner(): pass\n        return inner\n\nasync def go(): ...\n",
        &[
            ("class A", "class", 3, 7),
            ("class A > def x", "method", 5, 7),
            ("class A > def x > def inner", "function", 6, 6),
            ("def go", "function", 9, 9),
        ],
    ),
    (
        "a.ts",
        "export const add = (a: number) => { const b = 1; return a + b };\nexport interface Shape { area(): number }\nclass C { run() {} }\ntype T = string;\nenum E { A }\nnamespace N { export function f() {} }\nconst { x, y } = z;\n",
        &[
            ("const add", "function", 1, 1),
            ("interface Shape", "interface", 2, 2),
            ("interface Shape > method area", "method", 2, 2),
            ("class C", "class", 3, 3),
            ("class C > method run", "method", 3, 3),
            ("type T", "type", 4, 4),
            ("enum E", "enum", 5, 5),
            ("enum E > A", "constant", 5, 5),
            ("namespace N", "module", 6, 6),
            ("namespace N > function f", "function", 6, 6),
        ],
    ),
    ("a.jsx", "function App() { return <b>hi</b> }\n", &[("function App", "function", 1, 1)]),
    ("a.tsx", "export const App = () => <b>hi</b>;\n", &[("const App", "function", 1, 1)]),
    (
        "a.go",
        "package a\n\ntype Engine struct{ n int }\ntype Doer interface{ Do() }\n\nfunc (e *Engine) Run(x int) {}\nfunc New() *Engine { return nil }\nconst Max = 3\n",
        &[
            ("type Engine", "struct", 3, 3),
            ("type Engine > field n", "constant", 3, 3),
            ("type Doer", "interface", 4, 4),
            ("type Doer > func Do", "method", 4, 4),
            ("func Engine::Run", "method", 6, 6),
            ("func New", "function", 7, 7),
            ("const Max", "constant", 8, 8),
        ],
    ),
    (
        "a.java",
        "class A { int n; A() {} void run() {} interface I { void f(); } enum E { X } record R(int a) {} }\n",
        &[
            ("class A", "class", 1, 1),
            ("class A > field n", "constant", 1, 1),
            ("class A > constructor A", "method", 1, 1),
            ("class A > method run", "method", 1, 1),
            ("class A > interface I", "interface", 1, 1),
            ("class A > interface I > method f", "method", 1, 1),
            ("class A > enum E", "enum", 1, 1),
            ("class A > enum E > X", "constant", 1, 1),
            ("class A > record R", "class", 1, 1),
            ("class A > record R > field a", "constant", 1, 1),
        ],
    ),
    (
        "a.c",
        "#define MAX 3\nstruct node { int x; };\ntypedef struct { int y; } pair;\nint *find(struct node *n);\nstatic int *find(struct node *n)\n{\n  struct stat buffer;\n  return 0;\n}\n",
        &[
            ("#define MAX", "macro", 1, 1),
            ("struct node", "struct", 2, 2),
            ("struct node > x", "constant", 2, 2),
            ("typedef pair", "struct", 3, 3),
            ("typedef pair > y", "constant", 3, 3),
            ("function find", "function", 4, 4),
            ("function find", "function", 5, 9),
        ],
    ),
    (
        "a.hpp",
        "namespace n {\ntemplate <class T> class Box : public Base {\n public:\n  T get() const;\n  ~Box();\n};\nint Box<int>::size() { return 1; }\nusing X = int;\n}\n",
        &[
            ("namespace n", "module", 1, 9),
            ("namespace n > class Box", "class", 2, 6),
            ("namespace n > class Box > method get", "method", 4, 4),
            ("namespace n > class Box > function ~Box", "method", 5, 5),
            ("namespace n > function Box<int>::size", "function", 7, 7),
            ("namespace n > using X", "type", 8, 8),
        ],
    ),
    (
        "a.md",
        "intro\n\n# One\n\ntext\n\n```\n# no heading\n```\n\n## Two ##\n\nmore\n\n# Three\n",
        &[("One", "section", 3, 14), ("One > Two", "section", 11, 14), ("Three", "section", 15, 15)],
    ),
    ("a.txt", "one\n\ntwo\n", &[]),
    ("empty.rs", "", &[]),
];

#[test]
fn symbols_are_found_with_their_lines() {
    for (path, source, expected) in SYMBOLS {
        let outline = cut(path, source);
        let found: Vec<_> = outline
            .symbols
            .iter()
            .map(|symbol| {
                (symbol.path.as_str(), symbol.kind.word(), *symbol.lines.start(), *symbol.lines.end())
            })
            .collect();
        assert_eq!(&found, expected, "{path}");
    }
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

/// Files of all languages: names and texts.
fn sources() -> Vec<(&'static str, &'static str)> {
    let symbols = SYMBOLS.iter().map(|(path, source, _)| (*path, *source));
    symbols.chain(definitions::DEFINITIONS.iter().map(|(path, source, _)| (*path, *source))).collect()
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
