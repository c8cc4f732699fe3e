//! Tests that definitions are found by their names, and come first.

use super::{Bench, Texts};

/// Small functions and methods that share a chunk, in several languages.
const SHOP: &[(&str, &str)] = &[
    ("two.py", "def alpha():\n    return 1\n\n\n# Subtracts.\ndef beta():\n    return 2\n"),
    (
        "lib/cart.py",
        "LIMIT = 3\n\nclass Cart:\n    def total(self):\n        return 1\n\n    def tax(self):\n        return 2\n\nclass Bill:\n    def total(self):\n        return 3\n",
    ),
    (
        "src/cart.rs",
        "pub struct Cart {\n    // In kilograms.\n    weight: u8,\n}\n\nimpl Cart {\n    fn total(&self) {}\n    fn weigh(&self) {}\n}\n",
    ),
    (
        "Cart.php",
        "<?php\nnamespace App\\Service;\nclass Cart {\n  function total() {}\n  function ship() {}\n}\n",
    ),
    ("cart.js", "Cart.prototype.total = function () {};\nexports.pack = () => {};\nconst wrap = (x) => x;\n"),
    (
        "box.hpp",
        "template <class T>\nT Box<T>::size() { return 1; }\nbool operator<(Box a, Box b) { return true; }\nint other();\n",
    ),
    ("list.rb", "class List\n  def empty?\n    true\n  end\n  def ==(other)\n    true\n  end\nend\n"),
    ("state.ts", "enum State { Open, Closed }\n"),
    ("panel.tsx", "export const Panel = () => <b>panel</b>;\n"),
    ("bell.h", "void ring_bell(void);\n"),
    ("tables.sql", "create table shop.users (\n  id int,\n  email text\n);\n"),
    ("user.proto", "package acme.v1;\nmessage User { string email = 1; }\n"),
    ("main.tf", "resource \"aws_vpc\" \"net\" {\n}\n\nvariable \"region\" {\n}\n"),
    ("app/User.java", "package com.acme;\n\nclass User {\n  String nick;\n}\n"),
    ("my-crate/src/a/mod.rs", "struct Bean {\n    nick: u8,\n}\n"),
    ("bin/forge", "#!/usr/bin/env python3\n\ndef hammer():\n    pass\n"),
    ("run.sh", "first() {\n  echo 1\n}\n\nsecond() {\n  echo 2\n}\n"),
    (
        "lib/queue.ex",
        "defmodule Shop.Queue do\n  def push(a), do: a\n\n  @doc false\n  def pop(a) do\n    a\n  end\nend\n",
    ),
    (
        "service.go",
        "package user\n\ntype UserService struct{ Name string }\n\nfunc (s UserService) Load() int { return 1 }\n",
    ),
    // Two parsers of a text, and overloads.
    (
        "parse.go",
        "package parse\n\n// Load reads a.\nfunc Load() int { return 1 }\n\n// Load reads b.\nfunc (a A) Load() int { return 2 }\n\nfunc apart() {}\n\nfunc (b B) Load() int { return 3 }\n",
    ),
    (
        "parse.ts",
        "function parse(x: string): string;\nfunction parse(x: any): any { return x; }\nclass $Parser {}\nclass Parser { outer$Inner() {} }\n",
    ),
    ("guide.md", "# Guide: the parts\n\nWords.\n\n## Two. Words\n\nMore words.\n"),
];

/// A query, its filters, and the hits: path, symbol and lines.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn definitions_are_found_by_every_name_that_they_have() {
    let bench = Bench::new();
    bench.run(&Texts::new(SHOP));
    let cases: &[Case] = &[
        ("beta", &[], &["two.py def beta 5-7"]),
        ("alpha", &[], &["two.py def alpha 1-2"]),
        ("beta", &[("symbol", "beta")], &["two.py def beta 5-7"]),
        ("return", &[("symbol", "beta")], &["two.py def beta 5-7"]),
        ("return", &[("symbol", "def beta")], &["two.py def beta 5-7"]),
        ("return", &[("symbol", "two.beta")], &["two.py def beta 5-7"]),
        ("return", &[("symbol", "two.py::beta")], &["two.py def beta 5-7"]),
        ("return", &[("symbol", "beta"), ("kind", "function")], &["two.py def beta 5-7"]),
        ("return", &[("symbol", "beta"), ("kind", "class")], &[]),
        ("return", &[("symbol", "other.beta")], &[]),
        ("return", &[("symbol", "alpha"), ("symbol", "beta")], &[]),
        ("return", &[("kind", "function"), ("kind", "class")], &[]),
        // If several symbols have the name, each is a hit.
        (
            "return",
            &[("symbol", "total")],
            &["lib/cart.py class Cart > def total 4-5", "lib/cart.py class Bill > def total 11-12"],
        ),
        ("return", &[("symbol", "Bill.total")], &["lib/cart.py class Bill > def total 11-12"]),
        ("return", &[("symbol", "class Cart > def total")], &["lib/cart.py class Cart > def total 4-5"]),
        ("return", &[("symbol", "lib.cart.Cart.tax")], &["lib/cart.py class Cart > def tax 7-8"]),
        ("limit", &[("symbol", "LIMIT"), ("kind", "constant")], &["lib/cart.py LIMIT 1-1"]),
        ("cart", &[("symbol", "crate::cart::Cart::weigh")], &["src/cart.rs impl Cart > fn weigh 8-8"]),
        ("cart", &[("symbol", "impl Cart > fn weigh")], &["src/cart.rs impl Cart > fn weigh 8-8"]),
        // Members of types.
        ("weight", &[("symbol", "weight")], &["src/cart.rs struct Cart > field weight 2-3"]),
        ("cart", &[("symbol", "weight"), ("kind", "field")], &["src/cart.rs struct Cart > field weight 2-3"]),
        (
            "cart",
            &[("symbol", "struct Cart > field weight")],
            &["src/cart.rs struct Cart > field weight 2-3"],
        ),
        ("Cart.weight", &[], &["src/cart.rs struct Cart > field weight 2-3"]),
        ("weight", &[], &["src/cart.rs struct Cart > field weight 2-3"]),
        ("open", &[("symbol", "State.Open")], &["state.ts enum State > Open 1-1"]),
        ("cart", &[("symbol", "App\\Service\\Cart::ship()")], &["Cart.php class Cart > function ship 5-5"]),
        (
            "cart",
            &[("symbol", "Cart.total"), ("language", "javascript")],
            &["cart.js Cart.prototype.total 1-1"],
        ),
        ("pack", &[("symbol", "pack")], &["cart.js exports.pack 2-2"]),
        ("wrap", &[("symbol", "const wrap"), ("kind", "function")], &["cart.js const wrap 3-3"]),
        ("box", &[("symbol", "Box::size")], &["box.hpp function Box<T>::size 1-2"]),
        ("box", &[("symbol", "operator<")], &["box.hpp function operator< 3-3"]),
        ("other", &[("symbol", "other")], &["box.hpp function other 4-4"]),
        ("list", &[("symbol", "empty?")], &["list.rb class List > def empty? 2-4"]),
        ("list", &[("symbol", "List#empty")], &["list.rb class List > def empty? 2-4"]),
        ("list", &[("symbol", "==")], &["list.rb class List > def == 5-7"]),
        ("echo", &[("symbol", "second")], &["run.sh function second 5-7"]),
        // Files whose language has several names or kinds of files.
        ("panel", &[("language", "typescript")], &["panel.tsx const Panel 1-1"]),
        ("panel", &[("language", "TypeScriptReact")], &["panel.tsx const Panel 1-1"]),
        ("bell", &[("language", "c")], &["bell.h function ring_bell 1-1"]),
        ("bell", &[("language", "C++")], &["bell.h function ring_bell 1-1"]),
        ("bell", &[("language", "objective-c")], &["bell.h function ring_bell 1-1"]),
        ("bell", &[("language", "cuda")], &["bell.h function ring_bell 1-1"]),
        ("hammer", &[("language", "python")], &["bin/forge def hammer 3-4"]),
        ("echo 2", &[("language", "Shell-Script")], &["run.sh function second 1-7"]),
        // A language without a grammar.
        (
            "queue",
            &[("symbol", "Shop.Queue.pop"), ("language", "elixir")],
            &["lib/queue.ex defmodule Shop.Queue > def pop 4-7"],
        ),
        ("Shop.Queue", &[], &["lib/queue.ex defmodule Shop.Queue 1-8"]),
        ("def pop", &[], &["lib/queue.ex defmodule Shop.Queue > def pop 4-7"]),
        (
            "words",
            &[("symbol", "Guide: the parts > Two. Words")],
            &["guide.md Guide: the parts > Two. Words 5-7"],
        ),
        ("words", &[("symbol", "two words")], &["guide.md Guide: the parts > Two. Words 5-7"]),
        // Columns, fields of messages, and addresses.
        ("users.email", &[], &["tables.sql table shop.users > field email 3-3"]),
        ("email", &[("symbol", "shop.users.email")], &["tables.sql table shop.users > field email 3-3"]),
        (
            "email",
            &[("symbol", "email"), ("kind", "field"), ("language", "proto")],
            &["user.proto message User > field email 2-2"],
        ),
        ("User.email", &[], &["user.proto message User > field email 2-2"]),
        ("aws_vpc.net", &[], &["main.tf aws_vpc.net 1-2"]),
        ("region", &[("symbol", "var.region"), ("language", "Terraform")], &["main.tf var.region 4-5"]),
        // With the package or module that the file or its path says.
        ("nick", &[("symbol", "com.acme.User.nick")], &["app/User.java class User > field nick 4-4"]),
        ("nick", &[("symbol", "acme.User.nick")], &["app/User.java class User > field nick 4-4"]),
        ("nick", &[("symbol", "org.User.nick")], &[]),
        (
            "nick",
            &[("symbol", "my_crate::a::Bean::nick")],
            &["my-crate/src/a/mod.rs struct Bean > field nick 2-2"],
        ),
        ("nick", &[("symbol", "other_crate::a::Bean::nick")], &[]),
        ("my_crate::a::Bean", &[], &["my-crate/src/a/mod.rs struct Bean 1-3"]),
        // As queries.
        ("Cart.tax", &[], &["lib/cart.py class Cart > def tax 7-8"]),
        ("Cart::weigh", &[], &["src/cart.rs impl Cart > fn weigh 8-8"]),
        ("class Bill > def total", &[], &["lib/cart.py class Bill > def total 11-12"]),
        ("def beta", &[], &["two.py def beta 5-7"]),
        ("def beta():", &[], &["two.py def beta 5-7"]),
        ("class Cart<T> {", &[("language", "php")], &["Cart.php class Cart 3-6"]),
        ("Cart<T>", &[("symbol", "Cart<T>"), ("language", "php")], &["Cart.php class Cart 3-6"]),
        ("UserService.Load", &[], &["service.go func UserService::Load 5-5"]),
        ("UserService.Name", &[], &["service.go type UserService > field Name 3-3"]),
        ("user", &[("symbol", "user.UserService")], &["service.go type UserService 3-3"]),
        // Overloads without another symbol between them are one hit.
        ("Load", &[("path", "parse.go")], &["parse.go func Load 3-7", "parse.go func B::Load 11-11"]),
        ("parse", &[("path", "parse.ts")], &["parse.ts function parse 1-2"]),
        ("$Parser", &[("path", "parse.ts")], &["parse.ts class $Parser 3-3"]),
        ("Parser", &[("path", "parse.ts")], &["parse.ts class Parser 4-4"]),
        ("x", &[("symbol", "$Parser")], &["parse.ts class $Parser 3-3"]),
        // Among symbols of a kind, the one with the words.
        ("echo 2", &[("kind", "function"), ("path", "run.sh")], &["run.sh function second 5-7"]),
    ];
    for (query, filters, expected) in cases {
        let found = bench.filtered(query, filters);
        let shown = found.iter().map(|hit| {
            let symbol = hit.symbol.as_deref().unwrap_or_default();
            format!("{} {symbol} {}-{}", hit.path, hit.start_line, hit.end_line)
        });
        // Without a filter, others follow.
        let count = if filters.is_empty() { expected.len() } else { usize::MAX };
        let shown: Vec<String> = shown.take(count).collect();
        assert_eq!(shown, *expected, "{query} {filters:?}");
        for hit in &found {
            let (_, text) = SHOP.iter().find(|(path, _)| *path == hit.path).expect("a file");
            let lines = text.split_inclusive('\n').skip(hit.start_line as usize - 1);
            let lines: String = lines.take((hit.end_line - hit.start_line + 1) as usize).collect();
            assert_eq!(hit.content, lines, "{query} {filters:?}");
        }
    }
}

/// Every symbol of a hit is found again by the name that the hit shows, as a filter and as a query.
#[test]
fn what_an_answer_shows_is_a_filter_and_a_query() {
    let bench = Bench::new();
    bench.run(&Texts::new(SHOP));
    for word in ["return", "cart", "total", "list", "echo", "words", "box", "service"] {
        for hit in bench.search(word) {
            let Some(symbol) = &hit.symbol else { continue };
            let again = bench.filtered(word, &[("symbol", symbol), ("kind", &hit.kind)]);
            for again in [again, bench.search(symbol)] {
                assert!(
                    again.iter().any(|again| again.symbol == hit.symbol && again.path == hit.path),
                    "{symbol}"
                );
            }
        }
    }
}

/// Files, a query, and the paths that come first.
type Order = (&'static [(&'static str, &'static str)], &'static str, &'static [&'static str]);

#[test]
fn what_has_the_name_or_the_marks_of_a_query_comes_first() {
    const RETRY: &[(&str, &str)] = &[
        ("deploy/app.yaml", "retries:\n  max_retry_count: 5\n"),
        ("src/retry.py", "def retry_count(count):\n    return count\n"),
    ];
    const TIMEOUT: &[(&str, &str)] = &[
        ("src/a.py", "def timeout_seconds(timeout):\n    return timeout\n"),
        ("tests/b.py", "def timeout():\n    return 1\n"),
    ];
    const CASE: &[(&str, &str)] = &[
        ("layout.py", "class Layout:\n    tokenizer: Path = None\n\ntokenizer = Layout().tokenizer\n"),
        ("reader.py", "class Reader:\n    pass\n\nclass Tokenizer:\n    def run(self):\n        return 1\n"),
    ];
    const CART: &[(&str, &str)] = &[
        ("make_cart.py", "make_cart(1)\nmake_cart(2)\n"),
        ("src/use.c", "int main(void) {\n  make_cart(1);\n  make_cart(2);\n  return make_cart(3);\n}\n"),
        ("src/cart.h", "int make_cart(int number_of_many_things);\n"),
        ("tests/helpers.py", "def make_cart(a):\n    return a\n"),
    ];
    const PARSE: &[(&str, &str)] = &[
        ("a.js", "exports.parseBody = parseBody;\n\nfunction parseBody(x) {\n  return x;\n}\n"),
        ("b.js", "const parseBody = require('./a').parseBody;\nparseBody(parseBody(1));\n"),
    ];
    const MEMBER: &[(&str, &str)] = &[
        ("client.ts", "function retries(o) {\n  return o.maxRetries + o.maxRetries + o.maxRetries;\n}\n"),
        ("options.ts", "interface ClientOptions {\n  url: string\n  maxRetries: number\n}\n"),
    ];
    const UNDERSCORE: &[(&str, &str)] = &[
        ("a.js", "class A {\n  request() {\n    this._request();\n    this._request();\n  }\n}\n"),
        ("b.js", "const request = require('./request');\n"),
        ("c.js", "class C {\n  _request() {\n    const much = 1;\n  }\n}\n"),
    ];
    const LIST: &[(&str, &str)] = &[
        ("a.rb", "def empty?\n  true\nend\n\ndef save!\n  1\nend\n"),
        ("b.rb", "def empty\n  empty? && empty? && save! && save!\nend\n\ndef save\n  1\nend\n"),
    ];
    const TYPE: &[(&str, &str)] = &[
        ("a.rs", "impl Price {\n    fn price(&self) -> u8 {\n        Price.price\n    }\n}\n"),
        ("b.rs", "/// Of many words that say more and more of it.\npub struct Price {\n    x: u8,\n}\n"),
    ];
    const NOTES: &[(&str, &str)] = &[
        ("a.md", "Objective C and C code, in C.\n"),
        ("b.md", "Written in C++ (C++17), of long words and many more of them here.\n"),
        ("c.md", "// Ported from C# and .NET to F# here\nclass Port { }\n"),
        ("d.md", "The net of a node, and node js and f and js.\n"),
        ("e.md", "It runs on node.js only, or so they say who have many words for it.\n"),
    ];
    const MARKS: &[(&str, &str)] =
        &[("a.ts", "const a = b ?? c;\n"), ("b.ts", "const a = b?.c;\n"), ("c.ts", "const a = b != c;\n")];
    const PATHS: &[(&str, &str)] = &[
        ("README.md", "See src/app.rs, src/app.rs and max_size for more of it.\n"),
        ("src/app.rs", "fn main() {}\n"),
        ("sql/max_size.sql", "SELECT 1;\n"),
        ("src/sizes.rs", "fn size_max() {}\n"),
    ];
    let cases: &[Order] = &[
        (PATHS, "src/app.rs", &["src/app.rs", "README.md"]),
        (PATHS, "app.rs", &["src/app.rs", "README.md"]),
        (PATHS, "max_size", &["sql/max_size.sql", "README.md", "src/sizes.rs"]),
        (RETRY, "max_retry_count", &["deploy/app.yaml"]),
        (RETRY, "maxRetryCount", &["deploy/app.yaml"]),
        (RETRY, "retry_count", &["src/retry.py"]),
        (TIMEOUT, "timeout", &["tests/b.py"]),
        (CART, "make_cart", &["tests/helpers.py", "src/cart.h"]),
        (PARSE, "parseBody", &["a.js", "b.js"]),
        (MEMBER, "maxRetries", &["options.ts", "client.ts"]),
        (MEMBER, "max_retries", &["options.ts", "client.ts"]),
        (UNDERSCORE, "_request", &["c.js"]),
        (UNDERSCORE, "request", &["a.js"]),
        (LIST, "empty?", &["a.rb", "b.rb"]),
        (LIST, "`save!`", &["a.rb", "b.rb"]),
        (LIST, "save", &["b.rb", "a.rb"]),
        (TYPE, "Price", &["b.rs", "a.rs"]),
        (CASE, "Tokenizer", &["reader.py", "layout.py"]),
        (CASE, "tokenizer", &["layout.py", "reader.py"]),
        (NOTES, "C++", &["b.md"]),
        (NOTES, "is it C++?", &["b.md"]),
        (NOTES, "C#", &["c.md"]),
        (NOTES, ".NET", &["c.md"]),
        (NOTES, "F#", &["c.md"]),
        (NOTES, "node.js", &["e.md"]),
        (NOTES, "words of node.js", &["e.md"]),
        (MARKS, "??", &["a.ts"]),
        (MARKS, "?.", &["b.ts"]),
        (MARKS, " != ", &["c.ts"]),
        (MARKS, "b?.c", &["b.ts"]),
    ];
    for (files, query, expected) in cases {
        let bench = Bench::new();
        bench.run(&Texts::new(files));
        let found = bench.paths(query, &[]);
        assert_eq!(found[..found.len().min(expected.len())], **expected, "{query}");
    }
}
