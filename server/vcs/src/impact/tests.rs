use super::*;
use crate::testing::{GO_ON, Playground, commit, git};

#[test]
fn a_score_is_that_of_the_formula() {
    for (files, lines, expected) in [
        (0, 0, 0.0),
        (1, 1, 10.397_207_708_399_18),
        (3, 120, 37.841_896_339_182_61),
        (1_000_000, 1_000_000_000, 100.0),
    ] {
        let found = score(files, lines);
        assert!((found - expected).abs() < 1e-9, "{files} {lines}: {found}");
    }
}

/// Sources before and after a change, and its impact: for each file, its symbols and its dependents as `path:line symbol`.
struct Case {
    name: &'static str,
    before: &'static [(&'static str, &'static str)],
    after: &'static [(&'static str, Option<&'static str>)],
    expected: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
}

const LIB: &str = "pub struct Price(u32);\n\nimpl Price {\n    pub fn total(&self) -> u32 {\n        self.0\n    }\n\n    \
    pub fn half(&self) -> u32 {\n        self.0 / 2\n    }\n}\n\npub fn unused() {}\n";
const SHOP: &str = "use crate::Price;\n\nfn sum(prices: &[Price]) -> u32 {\n    let mut all = 0;\n    for price in prices {\n        all \
    += price.total();\n        all += price.total();\n    }\n    all\n}\n\nfn totally() {}\n";

const CASES: &[Case] = &[
    Case {
        name: "the body of a method",
        before: &[("lib.rs", LIB), ("shop.rs", SHOP)],
        after: &[(
            "lib.rs",
            Some(
                "pub struct Price(u32);\n\nimpl Price {\n    pub fn total(&self) -> u32 {\n        self.0 + 1\n    }\n\n    \
                 pub fn half(&self) -> u32 {\n        self.0 / 2\n    }\n}\n\npub fn unused() {}\n",
            ),
        )],
        expected: &[("lib.rs", &["impl Price > fn total"], &["shop.rs:6 fn sum"])],
    },
    Case {
        name: "a symbol that is gone and still used",
        before: &[("lib.rs", LIB), ("shop.rs", SHOP)],
        after: &[(
            "lib.rs",
            Some(
                "pub struct Price(u32);\n\nimpl Price {\n    pub fn half(&self) -> u32 {\n        self.0 / 2\n    }\n}\n\npub fn unused() {}\n",
            ),
        )],
        expected: &[("lib.rs", &["impl Price > fn total"], &["shop.rs:6 fn sum"])],
    },
    Case {
        name: "a file that is gone",
        before: &[("lib.rs", LIB), ("shop.rs", SHOP)],
        after: &[("lib.rs", None)],
        expected: &[(
            "lib.rs",
            &["fn unused", "impl Price", "impl Price > fn half", "impl Price > fn total", "struct Price"],
            &["shop.rs:1 ", "shop.rs:3 fn sum", "shop.rs:6 fn sum"],
        )],
    },
    Case {
        name: "a new function that nothing uses",
        before: &[("lib.rs", LIB), ("shop.rs", SHOP)],
        after: &[("new.py", Some("def brand_new():\n    return 1\n"))],
        expected: &[("new.py", &["def brand_new"], &[])],
    },
    Case {
        name: "lines outside of all symbols, texts, and files of no language",
        before: &[("lib.rs", "// one\nfn a() {}\n"), ("notes.txt", "a\n"), ("binary.rs", "fn a() {}\0")],
        after: &[
            ("lib.rs", Some("// two\nfn a() {}\n")),
            ("notes.txt", Some("b\n")),
            ("binary.rs", Some("fn b() {}\0")),
        ],
        expected: &[("lib.rs", &[], &[]), ("notes.txt", &[], &[]), ("binary.rs", &[], &[])],
    },
    Case {
        name: "scripts without an extension",
        before: &[
            ("lib.py", "def total():\n    return 1\n"),
            ("bin/count", "#!/usr/bin/env python3\nimport lib\n\ndef run():\n    return lib.total()\n"),
            ("bin/other", "#!/bin/sh\ntotal\n"),
            ("LICENSE", "total\n"),
        ],
        after: &[
            ("lib.py", Some("def total():\n    return 2\n")),
            (
                "bin/count",
                Some("#!/usr/bin/env python3\nimport lib\n\ndef run():\n    return lib.total() + 1\n"),
            ),
        ],
        expected: &[("bin/count", &["def run"], &[]), ("lib.py", &["def total"], &["bin/count:5 def run"])],
    },
    Case {
        name: "a name that many files define",
        before: &[
            ("a.rs", "pub fn make() {\n    1;\n}\n"),
            ("b.rs", "pub fn make() {}\n"),
            ("c.rs", "pub fn make() {}\n"),
            ("d.rs", "pub fn make() {}\n"),
            ("e.rs", "fn user() {\n    make();\n}\n"),
        ],
        after: &[("a.rs", Some("pub fn make() {\n    2;\n}\n"))],
        expected: &[("a.rs", &["fn make"], &[])],
    },
    Case {
        name: "a function that calls itself, and a use in the same file",
        before: &[("a.py", "def f(n):\n    return f(n - 1)\n\ndef g():\n    return f(3)\n")],
        after: &[("a.py", Some("def f(n):\n    return f(n - 2)\n\ndef g():\n    return f(3)\n"))],
        expected: &[("a.py", &["def f"], &["a.py:5 def g"])],
    },
    Case {
        name: "a field, which others have too",
        before: &[
            ("A.java", "class A {\n  int tax;\n}\n"),
            ("B.java", "class B {\n  int tax;\n  int g() { return tax; }\n}\n"),
            ("C.java", "class C {\n  int tax;\n}\n"),
            ("D.java", "class D {\n  int tax;\n}\n"),
            ("E.java", "class E {\n  int f(A a) { return a.tax; }\n}\n"),
        ],
        after: &[("A.java", Some("class A {\n  long tax;\n}\n"))],
        expected: &[("A.java", &["class A > field tax"], &["E.java:2 class E > method f"])],
    },
    Case {
        name: "variables of functions that have the name, and calls beside them",
        before: &[
            ("A.java", "class A {\n  static int total() { return 1; }\n}\n"),
            ("B.java", "class B {\n  int f() {\n    int total = A.total();\n    return total;\n  }\n}\n"),
            ("C.java", "class C {\n  int f(int total) { return total; }\n  F g = total -> total;\n}\n"),
            ("D.java", "class D {\n  void f() {\n    try (var total = o()) { g(total); }\n  }\n}\n"),
            ("a.rs", "pub fn total() -> u8 { 1 }\n"),
            ("b.rs", "fn f() {\n    let total = crate::a::total();\n    g(total)\n}\n"),
            ("c.rs", "fn f(x: Option<u8>) {\n    if let Some(total) = x { g(total) }\n}\n"),
            ("d.rs", "fn f(x: Option<u8>) {\n    match x { Some(total) => total, None => 1 }\n}\n"),
            ("a.rb", "def total\n  1\nend\n"),
            ("b.rb", "def f(x)\n  total = x.total\n  total\nend\n"),
            ("a.kt", "fun summed(): Int {\n    return 1\n}\n"),
            ("b.kt", "fun g(summed: Int): Int {\n    return summed\n}\n"),
            ("a.php", "<?php\nfunction total() { return 1; }\n"),
            ("b.php", "<?php\nfunction f() { $total = 3; return $total; }\n"),
            ("c.php", "<?php\nfunction g() { return total(); }\n"),
            ("a.swift", "func total() -> Int {\n  return 1\n}\n"),
            (
                "b.swift",
                "func f(total: Int, x: Int?) {\n  let h = { total in total }\n}\nfunc g() {\n  if let total = x { g(total) }\n}\n\
                 func h() {\n  guard let total = x else { return }\n  while let total = next() { g(total) }\n}\n\
                 func i() {\n  for total in x { g(total) }\n  switch x { case .some(let total): g(total) }\n}\n",
            ),
            ("c.swift", "func j() -> Int {\n  return list.map { total in total } + total()\n}\n"),
            ("A.cs", "class A {\n  static int Total() { return 1; }\n}\n"),
            ("B.cs", "class B {\n  int F() { var Total = A.Total(); return Total; }\n}\n"),
            ("C.cs", "class C {\n  void F() { foreach (var Total in x) { G(Total); } }\n}\n"),
        ],
        after: &[
            ("A.java", Some("class A {\n  static int total() { return 2; }\n}\n")),
            ("a.rs", Some("pub fn total() -> u8 { 2 }\n")),
            ("a.rb", Some("def total\n  2\nend\n")),
            ("a.kt", Some("fun summed(): Int {\n    return 2\n}\n")),
            ("a.php", Some("<?php\nfunction total() { return 2; }\n")),
            ("a.swift", Some("func total() -> Int {\n  return 2\n}\n")),
            ("A.cs", Some("class A {\n  static int Total() { return 2; }\n}\n")),
        ],
        expected: &[
            ("A.cs", &["class A > method Total"], &["B.cs:2 class B > method F"]),
            ("A.java", &["class A > method total"], &["B.java:3 class B > method f"]),
            ("a.kt", &["fun summed"], &[]),
            ("a.php", &["function total"], &["c.php:2 function g"]),
            ("a.rb", &["def total"], &["b.rb:2 def f"]),
            ("a.rs", &["fn total"], &["b.rs:2 fn f"]),
            ("a.swift", &["func total"], &["c.swift:2 func j"]),
        ],
    },
    Case {
        name: "decorators and attributes, but not the comments between them",
        before: &[
            ("a.py", "@cached\n# Adds.\n@slow\ndef total():\n    return 1\n"),
            ("b.py", "def f():\n    return total()\n"),
            ("a.rs", "impl A {\n    /// Adds.\n    #[inline]\n    fn sum(&self) {}\n}\n"),
            ("c.py", "# Adds.\n@slow\ndef other():\n    return 1\n"),
        ],
        after: &[
            ("a.py", Some("@cached(2)\n# Adds.\n@slow\ndef total():\n    return 1\n")),
            ("a.rs", Some("impl A {\n    /// Adds.\n    #[inline(always)]\n    fn sum(&self) {}\n}\n")),
            ("c.py", Some("# Adds it.\n@slow\ndef other():\n    return 1\n")),
        ],
        expected: &[
            ("a.py", &["def total"], &["b.py:2 def f"]),
            ("a.rs", &["impl A > fn sum"], &[]),
            ("c.py", &[], &[]),
        ],
    },
    Case {
        name: "comments, texts, local variables, parameters, labels, other languages, and files with a symbol of their own",
        before: &[
            ("lib.py", "def total(x):\n    return x\n"),
            ("comment.py", "# the total is printed\n\ndef f():\n    \"\"\"total\"\"\"\n    return 'total'\n"),
            (
                "local.py",
                "def f():\n    total = 1\n    return total\n\ndef g(total, a=2):\n    return [total for a in b]\n",
            ),
            (
                "taken.py",
                "def f():\n    for total, x in y:\n        with open(x) as total:\n            print(total)\n",
            ),
            ("label.py", "def f():\n    return g(total=1)\n"),
            ("own.py", "total = 1\n\ndef f():\n    return total\n"),
            ("loop.py", "for total in range(3):\n    print(total)\n"),
            ("lambda.py", "f = lambda total: total\ng = [total for total in x if total]\n"),
            ("method.py", "class Z:\n    def total(self):\n        return 1\n\nprint(Z().total())\n"),
            ("beside.py", "f = lambda total: total\nprint(total(1))\n"),
            ("page.js", "function f() {\n  return total(1);\n}\n"),
            ("user.py", "from lib import total\n\ndef f(x=total(1)):\n    y = 2\n    return f'{total(y)}'\n"),
            ("member.py", "import lib\n\ndef f():\n    total = lib.total(2)\n    return total\n"),
            ("global.py", "def f():\n    global total\n    total = 2\n\nprint(total(3))\n"),
        ],
        after: &[("lib.py", Some("def total(x):\n    return x + 1\n"))],
        expected: &[(
            "lib.py",
            &["def total"],
            &[
                "beside.py:2 ",
                "global.py:3 def f",
                "global.py:5 ",
                "member.py:4 def f",
                "user.py:1 ",
                "user.py:3 def f",
            ],
        )],
    },
    Case {
        name: "local variables of other languages",
        before: &[
            ("lib.rs", "pub fn total() -> u8 {\n    1\n}\n"),
            (
                "a.rs",
                "fn f(total: u8) {\n    let g = |x| x;\n    total + 1;\n}\nfn h() {\n    let (a, total) = b;\n    a + total;\n}\n",
            ),
            ("b.rs", "// total\nfn f() -> u8 {\n    log!(\"total\", total());\n    crate::total()\n}\n"),
            ("lib.ts", "export function sum() {\n  return 1;\n}\n"),
            (
                "a.js",
                "function f(sum) {\n  return sum;\n}\nfunction g() {\n  const { sum } = h;\n  return `sum`;\n}\n",
            ),
            ("b.tsx", "const f = () => `${sum()}`;\n"),
            ("lib.c", "int add(int a)\n{\n  return 1;\n}\n"),
            ("lib.h", "int add(int a);\n#define TWICE(x) add(add(x))\n"),
            (
                "a.c",
                "int f(int add)\n{\n  return add;\n}\nint g(void)\n{\n  int add = 1;\n  return add;\n}\n",
            ),
            ("b.cpp", "int f()\n{\n  return add(1);\n}\n"),
            ("lib.go", "package a\n\nfunc Max() int {\n\treturn 1\n}\n"),
            (
                "a.go",
                "package a\n\nfunc f(Max int) int {\n\treturn Max\n}\nfunc g() {\n\tMax := 1\n\tprint(Max)\n}\n",
            ),
            ("lib.sh", "build() {\n  echo 1\n}\n"),
            ("a.sh", "echo build\nbuild one\n"),
        ],
        after: &[
            ("lib.rs", Some("pub fn total() -> u8 {\n    2\n}\n")),
            ("lib.ts", Some("export function sum() {\n  return 2;\n}\n")),
            ("lib.c", Some("int add(int a)\n{\n  return 2;\n}\n")),
            ("lib.go", Some("package a\n\nfunc Max() int {\n\treturn 2\n}\n")),
            ("lib.sh", Some("build() {\n  echo 2\n}\n")),
        ],
        expected: &[
            ("lib.rs", &["fn total"], &["b.rs:3 fn f"]),
            ("lib.ts", &["function sum"], &["b.tsx:1 const f"]),
            ("lib.c", &["function add"], &["b.cpp:3 function f", "lib.h:2 #define TWICE"]),
            ("lib.go", &["func Max"], &[]),
            ("lib.sh", &["function build"], &["a.sh:2 "]),
        ],
    },
    Case {
        name: "names with marks",
        before: &[
            ("a.rb", "class A\n  def valid?(x)\n    1\n  end\n  def name=(x)\n    @name = 1\n  end\nend\n"),
            (
                "b.rb",
                "def go(a)\n  a.valid?(1)\nend\ndef set(a)\n  a.name = 1\nend\ndef get(a)\n  a.name\nend\n",
            ),
            ("a.ts", "export class S {\n  users$ = of(1);\n  #own = 1;\n}\nexport const items$ = of(2);\n"),
            (
                "b.ts",
                "import { items$ } from './a';\nfunction go(s) {\n  s.users$.subscribe();\n}\nconst own = 1, items = 2, users = own;\n",
            ),
            ("lib.sh", "do-thing() {\n  echo 1\n}\n"),
            ("b.sh", "do-thing\ndo_thing\nthing\n"),
            ("a.kt", "class A {\n    fun `is open`() {\n        f(1)\n    }\n}\n"),
            ("b.kt", "fun g(a: A) {\n    a.`is open`()\n}\n"),
        ],
        after: &[
            (
                "a.rb",
                Some("class A\n  def valid?(x)\n    2\n  end\n  def name=(x)\n    @name = 2\n  end\nend\n"),
            ),
            (
                "a.ts",
                Some("export class S {\n  users$ = of(2);\n  #own = 2;\n}\nexport const items$ = of(3);\n"),
            ),
            ("lib.sh", Some("do-thing() {\n  echo 2\n}\n")),
            ("a.kt", Some("class A {\n    fun `is open`() {\n        f(2)\n    }\n}\n")),
        ],
        expected: &[
            ("a.kt", &["class A > fun `is open`"], &["b.kt:2 fun g"]),
            ("a.rb", &["class A > def name=", "class A > def valid?"], &["b.rb:2 def go", "b.rb:5 def set"]),
            (
                "a.ts",
                &["class S > field #own", "class S > field users$", "const items$"],
                &["b.ts:1 ", "b.ts:3 function go"],
            ),
            ("lib.sh", &["function do-thing"], &["b.sh:1 "]),
        ],
    },
    Case {
        name: "files with a field, a method or a wrapper of the same name",
        before: &[
            ("a.ts", "export function total(x) {\n  return 1;\n}\n"),
            (
                "b.ts",
                "import { total } from './a';\ninterface Row { total: number }\nfunction f(r: Row) {\n  return total(r);\n}\nfunction g(r: Row) {\n  \
                 return r.total;\n}\n",
            ),
            (
                "c.ts",
                "import * as a from './a';\nexport function total(x) {\n  return a.total(x);\n}\nconst y = total(1);\n",
            ),
            ("a.py", "def total(x):\n    return 1\n"),
            ("b.py", "from a import total\nclass Row:\n    total: int\n\ndef f(r):\n    return total(r)\n"),
            (
                "c.py",
                "try:\n    from a import total\nexcept ImportError:\n    def total(x):\n        return 0\n",
            ),
            ("d.rs", "pub fn total() -> u8 {\n    1\n}\n"),
            (
                "e.rs",
                "mod tests {\n    fn total() {}\n    fn f() {\n        total();\n    }\n}\nfn g() {\n    total();\n}\nimpl X {\n    fn total(&self) {}\n}\n",
            ),
            (
                "Own.java",
                "class Own {\n  int sum() { return 1; }\n  int g() { return sum() + this.sum(); }\n}\n",
            ),
            ("Sum.java", "class Sum {\n  int sum() { return 1; }\n}\n"),
            (
                "Other.java",
                "class Other {\n  int sum() { return sums.sum(); }\n}\nclass None extends Sum {\n  int h() { return sum(); }\n}\n",
            ),
            ("store.js", "export class Store {\n  save(x) {\n    return 1;\n  }\n}\n"),
            (
                "service.js",
                "class Service {\n  save(x) {\n    return this.store.save(x);\n  }\n  other() {\n    return this.save(1);\n  }\n}\n",
            ),
            ("node.js", "class Node extends Store {\n  save(x) {\n    return super.save(x);\n  }\n}\n"),
            ("client.py", "class Client:\n    def fetch(self):\n        return self.next.fetch()\n"),
            (
                "cli.py",
                "def fetch(client):\n    return client.fetch()\n\ndef main(client):\n    fetch(client)\n",
            ),
        ],
        after: &[
            ("a.ts", Some("export function total(x) {\n  return 2;\n}\n")),
            ("a.py", Some("def total(x):\n    return 2\n")),
            ("d.rs", Some("pub fn total() -> u8 {\n    2\n}\n")),
            ("Sum.java", Some("class Sum {\n  int sum() { return 2; }\n}\n")),
            ("store.js", Some("export class Store {\n  save(x) {\n    return 2;\n  }\n}\n")),
            (
                "client.py",
                Some("class Client:\n    def fetch(self):\n        return 1 + self.next.fetch()\n"),
            ),
        ],
        expected: &[
            (
                "Sum.java",
                &["class Sum > method sum"],
                &["Other.java:2 class Other > method sum", "Other.java:5 class None > method h"],
            ),
            ("a.py", &["def total"], &["b.py:1 ", "b.py:6 def f", "c.py:2 "]),
            ("a.ts", &["function total"], &["b.ts:1 ", "b.ts:4 function f", "c.ts:3 function total"]),
            ("client.py", &["class Client > def fetch"], &["cli.py:2 def fetch"]),
            ("d.rs", &["fn total"], &["e.rs:8 fn g"]),
            (
                "store.js",
                &["class Store > method save"],
                &["node.js:3 class Node > method save", "service.js:3 class Service > method save"],
            ),
        ],
    },
    Case {
        name: "labels, which are uses of fields only",
        before: &[
            ("a.rs", "pub struct Config {\n    pub retries: u32,\n}\npub fn total() -> u8 {\n    1\n}\n"),
            (
                "b.rs",
                "fn literal() {\n    Config { retries: 3 }\n}\nfn short(retries: u32) {\n    Config { retries }\n}\nfn pattern(c: Config) {\n    let \
                 Config { retries, .. } = c;\n}\nfn others<'total>(total: u8) {\n    Row { total: 1 };\n    Row { total };\n    let Row { total } = r;\n    \
                 'total: loop { break 'total; }\n    struct Row { total: u8 }\n}\nfn local(retries: u8) {\n    f(retries)\n}\n",
            ),
            ("a.py", "class Config:\n    retries: int\n\ndef total():\n    return 1\n"),
            (
                "b.py",
                "def f():\n    return Config(retries=3)\ndef g(x):\n    match x:\n        case Config(retries=3, total=2): pass\ndef h(retries):\n    \
                 f(retries)\n",
            ),
            (
                "a.ts",
                "export interface Config {\n  retries: number;\n}\nexport function total() {\n  return 1;\n}\n",
            ),
            (
                "b.tsx",
                "const literal = () => ({ retries: 3 });\nfunction pattern({ retries }: Config) {\n  return retries;\n}\nfunction short(retries) {\n  \
                 return { retries };\n}\nconst element = () => <C retries={3} />;\nfunction others({ total }, x: { total: number }) {\n  return <C \
                 total={{ total: total }} />;\n}\n",
            ),
            (
                "a.go",
                "package a\n\ntype Config struct {\n\tRetries int\n}\n\nfunc Total() int {\n\treturn 1\n}\n",
            ),
            ("b.go", "package a\n\nvar c = Config{Retries: 3}\nvar d = Row{Total: 3}\n"),
            ("a.h", "struct ops {\n  int retries;\n};\nint total(int x) {\n  return 1;\n}\n"),
            ("b.c", "struct ops o = {\n  .retries = 3,\n};\nstruct row r = {\n  .total = 3,\n};\n"),
            ("a.kt", "class Config {\n    var retries = 1\n}\nfun total(): Int {\n    return 1\n}\n"),
            (
                "b.kt",
                "fun f() {\n    Config(retries = 3)\n}\nfun g() {\n    Row(total = 3)\n}\nfun h(total: Int) {\n    val total = a.total()\n}\n",
            ),
            ("a.swift", "struct Config {\n    var retries: Int\n}\nfunc total() -> Int {\n    return 1\n}\n"),
            ("b.swift", "func f() {\n    Config(retries: 3)\n}\nfunc g() {\n    Row(total: 3)\n}\n"),
            ("a.cs", "class Config {\n  int Retries { get; set; }\n  int Total() { return 1; }\n}\n"),
            (
                "b.cs",
                "class B {\n  void F() { G(new Config { Retries = 3 }); }\n  void G() { H(Total: 1); }\n}\n",
            ),
            ("a.php", "<?php\nclass Config {\n  public $retries = 1;\n}\nfunction total() { return 1; }\n"),
            (
                "b.php",
                "<?php\nfunction f() { return Config::$retries; }\nfunction g() { $retries = 1; return h(total: $retries); }\nfunction i() { return new \
                 Config(retries: 3); }\n",
            ),
        ],
        after: &[
            (
                "a.rs",
                Some("pub struct Config {\n    pub retries: u64,\n}\npub fn total() -> u8 {\n    2\n}\n"),
            ),
            ("a.py", Some("class Config:\n    retries: float\n\ndef total():\n    return 2\n")),
            (
                "a.ts",
                Some(
                    "export interface Config {\n  retries: string;\n}\nexport function total() {\n  return 2;\n}\n",
                ),
            ),
            (
                "a.go",
                Some(
                    "package a\n\ntype Config struct {\n\tRetries int64\n}\n\nfunc Total() int {\n\treturn 2\n}\n",
                ),
            ),
            ("a.h", Some("struct ops {\n  long retries;\n};\nint total(int x) {\n  return 2;\n}\n")),
            ("a.kt", Some("class Config {\n    var retries = 2\n}\nfun total(): Int {\n    return 2\n}\n")),
            (
                "a.swift",
                Some("struct Config {\n    var retries: Int64\n}\nfunc total() -> Int {\n    return 2\n}\n"),
            ),
            ("a.cs", Some("class Config {\n  long Retries { get; set; }\n  int Total() { return 2; }\n}\n")),
            (
                "a.php",
                Some("<?php\nclass Config {\n  public $retries = 2;\n}\nfunction total() { return 2; }\n"),
            ),
        ],
        expected: &[
            (
                "a.cs",
                &["class Config > method Total", "class Config > property Retries"],
                &["b.cs:2 class B > method F"],
            ),
            ("a.go", &["func Total", "type Config > field Retries"], &["b.go:3 var c"]),
            ("a.h", &["function total", "struct ops > retries"], &["b.c:2 o"]),
            ("a.kt", &["class Config > val retries", "fun total"], &["b.kt:2 fun f", "b.kt:8 fun h"]),
            (
                "a.php",
                &["class Config > $retries", "function total"],
                &["b.php:2 function f", "b.php:4 function i"],
            ),
            ("a.py", &["class Config > retries", "def total"], &["b.py:2 def f", "b.py:5 def g"]),
            (
                "a.rs",
                &["fn total", "struct Config > field retries"],
                &["b.rs:2 fn literal", "b.rs:5 fn short", "b.rs:8 fn pattern"],
            ),
            ("a.swift", &["func total", "struct Config > retries"], &["b.swift:2 func f"]),
            (
                "a.ts",
                &["function total", "interface Config > field retries"],
                &[
                    "b.tsx:1 const literal",
                    "b.tsx:2 function pattern",
                    "b.tsx:6 function short",
                    "b.tsx:8 const element",
                ],
            ),
        ],
    },
    Case {
        name: "symbols of Ruby that name methods, and attributes of C#",
        before: &[
            ("a.rb", "module A\n  def total\n    1\n  end\nend\n"),
            (
                "b.rb",
                "class B\n  before_action :total\n  attr_reader :x\n  rescue_from E, with: :total\n  has_many :total\n  test 'x' do\n    create(:total)\n  \
                 end\n  def f(x)\n    x.map(&:total)\n  end\n  def g(x)\n    x.send(:total)\n  end\n  def h(x)\n    x[:total] + y(:total, total: 1)\n  \
                 end\nend\n",
            ),
            ("c.rb", "module C\n  included do\n    after_save :go, only: %i[total]\n  end\nend\n"),
            (
                "a.cs",
                "class AuthorizeAttribute {\n  AuthorizeAttribute(int x) { }\n}\nclass A { int GetAttribute() { return 1; } }\n",
            ),
            (
                "b.cs",
                "[Authorize(1)]\nclass B {\n  [Mvc.Authorize]\n  int F() { return x.Get() + x.Authorize(); }\n}\n",
            ),
        ],
        after: &[
            ("a.rb", Some("module A\n  def total\n    2\n  end\nend\n")),
            (
                "a.cs",
                Some(
                    "class AuthorizeAttribute {\n  AuthorizeAttribute(long x) { }\n}\nclass A { int GetAttribute() { return 2; } }\n",
                ),
            ),
        ],
        expected: &[
            (
                "a.cs",
                &[
                    "class A > method GetAttribute",
                    "class AuthorizeAttribute > constructor AuthorizeAttribute",
                ],
                &["b.cs:1 class B", "b.cs:3 class B > method F"],
            ),
            (
                "a.rb",
                &["module A > def total"],
                &["b.rb:2 class B", "b.rb:10 class B > def f", "b.rb:13 class B > def g", "c.rb:3 module C"],
            ),
        ],
    },
    Case {
        name: "constructors, and parameters of them that are fields",
        before: &[
            ("a.py", "class Base:\n    def __init__(self):\n        pass\n"),
            (
                "b.py",
                "from a import Base\nclass C(Base):\n    def __init__(self):\n        super().__init__()\ndef f():\n    return Base()\n",
            ),
            (
                "a.ts",
                "export class Base {\n  constructor(x: number) {}\n}\nclass Field {\n  constructor(private rate: number) {}\n}\n",
            ),
            ("b.ts", "function f() {\n  return new Base(1);\n}\nfunction g() {\n  return new Field(1);\n}\n"),
            ("a.rb", "class Base\n  def initialize(x)\n    1\n  end\nend\n"),
            ("b.rb", "def f\n  Base.new(1)\nend\n"),
            ("a.php", "<?php\nclass Base {\n  function __construct($x) {}\n}\n"),
            ("b.php", "<?php\nfunction f() { return new Base(1); }\n"),
            ("a.swift", "class Base {\n  init(x: Int) {}\n}\n"),
            ("b.swift", "func f() {\n  let b = Base(x: 1)\n}\n"),
            ("a.kt", "class Base(val rate: Int)\nclass Second {\n    constructor(x: Int) {}\n}\n"),
            ("b.kt", "fun f() {\n    Base(1)\n}\nfun g() {\n    Second(1)\n}\n"),
        ],
        after: &[
            ("a.py", Some("class Base:\n    def __init__(self, x):\n        pass\n")),
            (
                "a.ts",
                Some(
                    "export class Base {\n  constructor(x: string) {}\n}\nclass Field {\n  constructor(private rate: string) {}\n}\n",
                ),
            ),
            ("a.rb", Some("class Base\n  def initialize(x, y)\n    1\n  end\nend\n")),
            ("a.php", Some("<?php\nclass Base {\n  function __construct($x, $y) {}\n}\n")),
            ("a.swift", Some("class Base {\n  init(x: Int64) {}\n}\n")),
            ("a.kt", Some("class Base(val rate: Long)\nclass Second {\n    constructor(x: Long) {}\n}\n")),
        ],
        expected: &[
            (
                "a.kt",
                &["class Base", "class Base > val rate", "class Second > constructor"],
                &["b.kt:2 fun f", "b.kt:5 fun g"],
            ),
            ("a.php", &["class Base > function __construct"], &["b.php:2 function f"]),
            ("a.py", &["class Base > def __init__"], &["b.py:1 ", "b.py:2 class C", "b.py:6 def f"]),
            ("a.rb", &["class Base > def initialize"], &["b.rb:2 def f"]),
            ("a.swift", &["class Base > init"], &["b.swift:2 func f"]),
            (
                "a.ts",
                &[
                    "class Base > method constructor",
                    "class Field > field rate",
                    "class Field > method constructor",
                ],
                &["b.ts:2 function f", "b.ts:5 function g"],
            ),
        ],
    },
    Case {
        name: "another name for a symbol, and sources within pages",
        before: &[
            ("a.js", "function total(x) {\n  return 1;\n}\nmodule.exports = total;\n"),
            ("b.js", "const total = require('./a').total;\ntotal(2);\n"),
            ("g.js", "const lib = require('./lib');\nlib(1);\n"),
            ("h.js", "const lib = require('./lib');\nlib(1);\n"),
            ("f.js", "const total = require('total');\ntotal(1);\n"),
            ("c.js", "const total = require('./a');\nfunction f() {\n  return total(2);\n}\n"),
            ("d.js", "exports.total = require('./a').total;\n"),
            ("e.js", "const total = sum(1);\nfunction f() {\n  return total;\n}\n"),
            (
                "a.vue",
                "<template>{{ x }}</template>\n<script setup lang=\"ts\">\nimport { total } from './a';\nconst x: number = total(1);\n</script>\n",
            ),
            (
                "b.svelte",
                "<script>\n  function f(total) {\n    return total;\n  }\n  function g() {\n    return total(1);\n  }\n</script>\n<p>total</p>\n",
            ),
            (
                "c.html",
                "<p>total</p><script type=\"text/template\">total</script>\n<script>total(1)</script>\n",
            ),
            (
                "d.vue",
                "<template>\n  é total\n</template>\n<script>\nexport function other() {\n  return 1;\n}\n</script>\n",
            ),
            ("other.ts", "import { other } from './d.vue';\n"),
            ("a.py", "def total(x):\n    return 1\n"),
            ("b.py", "import a\ntotal = a.total\nx = total(1)\n"),
            ("a.go", "package a\n\nfunc Total() int {\n\treturn 1\n}\n"),
            ("b.go", "package b\n\nvar Total = a.Total\n"),
        ],
        after: &[
            ("a.js", Some("function total(x) {\n  return 2;\n}\nmodule.exports = total;\n")),
            ("g.js", Some("const lib = require('./new/lib');\nlib(1);\n")),
            (
                "d.vue",
                Some(
                    "<template>\n  é total\n</template>\n<script>\nexport function other() {\n  return 2;\n}\n</script>\n",
                ),
            ),
            ("a.py", Some("def total(x):\n    return 2\n")),
            ("a.go", Some("package a\n\nfunc Total() int {\n\treturn 2\n}\n")),
        ],
        expected: &[
            ("a.go", &["func Total"], &["b.go:3 var Total"]),
            (
                "a.js",
                &["function total"],
                &[
                    "a.js:4 ",
                    "a.vue:3 ",
                    "a.vue:4 const x",
                    "b.js:1 const total",
                    "b.js:2 ",
                    "b.svelte:6 function g",
                    "c.html:2 ",
                    "c.js:1 const total",
                    "c.js:3 function f",
                    "d.js:1 exports.total",
                ],
            ),
            ("a.py", &["def total"], &["b.py:2 total", "b.py:3 x"]),
            ("d.vue", &["function other"], &["other.ts:1 "]),
            ("g.js", &["const lib"], &["g.js:2 "]),
        ],
    },
    Case {
        name: "definitions of what another type declares",
        before: &[
            ("a.rs", "pub trait Shape {\n    fn area(&self) -> u8;\n    fn twice(&self) -> u8 { 1 }\n}\n"),
            (
                "b.rs",
                "impl Shape for X {\n    fn area(&self) -> u8 { 1 }\n    fn twice(&self) -> u8 { 1 }\n}\nimpl X {\n    fn area(&self) {}\n}\n",
            ),
            (
                "c.rs",
                "impl Shape for Y {\n    fn area(&self) -> u8 { 1 }\n}\nimpl Shape for Z {\n    fn area(&self) -> u8 { 1 }\n}\n",
            ),
            ("d.rs", "impl Shape for Q {\n    fn area(&self) -> u8 { 1 }\n}\n"),
            ("e.rs", "fn f(p: &dyn Shape) -> u8 {\n    p.area()\n}\n"),
            ("f.rs", "trait Shape {\n    fn area(&self);\n}\nimpl Shape for W {\n    fn area(&self) {}\n}\n"),
            ("Shape.java", "interface Shape {\n  int area();\n}\n"),
            ("X.java", "class X\n  implements Shape {\n  @Override\n  public int area() { return 1; }\n}\n"),
            ("Y.java", "// Shape\nclass Y {\n  int area() { return 1; }\n}\n"),
            ("a.ts", "interface Form {\n  area: number;\n  size(): number;\n}\n"),
            ("b.ts", "class X implements Form {\n  area = 1;\n  size() { return 1; }\n}\n"),
            ("a.swift", "protocol Shape {\n  func area() -> Int\n}\n"),
            ("b.swift", "extension X: Shape {\n  func area() -> Int { return 1 }\n}\n"),
            ("a.cs", "interface IShape {\n  int Area();\n}\n"),
            ("b.cs", "class X : IShape\n{\n  public int Area() { return 1; }\n}\n"),
        ],
        after: &[
            (
                "a.rs",
                Some("pub trait Shape {\n    fn area(&self) -> u16;\n    fn twice(&self) -> u8 { 2 }\n}\n"),
            ),
            ("Shape.java", Some("interface Shape {\n  long area();\n}\n")),
            ("a.ts", Some("interface Form {\n  area: string;\n  size(): string;\n}\n")),
            ("a.swift", Some("protocol Shape {\n  func area() -> Int64\n}\n")),
            ("a.cs", Some("interface IShape {\n  long Area();\n}\n")),
        ],
        expected: &[
            ("Shape.java", &["interface Shape > method area"], &["X.java:4 class X > method area"]),
            ("a.cs", &["interface IShape > method Area"], &["b.cs:3 class X > method Area"]),
            (
                "a.rs",
                &["trait Shape > fn area", "trait Shape > fn twice"],
                &[
                    "b.rs:2 impl Shape for X > fn area",
                    "c.rs:2 impl Shape for Y > fn area",
                    "c.rs:5 impl Shape for Z > fn area",
                    "d.rs:2 impl Shape for Q > fn area",
                    "e.rs:2 fn f",
                ],
            ),
            ("a.swift", &["protocol Shape > func area"], &["b.swift:2 extension X > func area"]),
            (
                "a.ts",
                &["interface Form > field area", "interface Form > method size"],
                &["b.ts:2 class X > field area", "b.ts:3 class X > method size"],
            ),
        ],
    },
    Case {
        name: "types with parts elsewhere, and imports beside definitions",
        before: &[
            ("a.rs", "pub struct Price(u8);\n"),
            ("b.rs", "use crate::a::Price;\n\nimpl Display for Price {}\n\nfn f(p: &Price) {}\n"),
            ("c.rs", "impl A for Price {}\n"),
            ("d.rs", "impl B for Price {}\nimpl C for Price {}\n"),
            ("e.rs", "impl D for Price {}\n"),
            ("a.swift", "struct Price {\n  init(x: Int) {}\n}\n"),
            ("b.swift", "extension Price {}\nfunc g(p: Price) {}\n"),
            ("a.rb", "class Total\n  def initialize\n    1\n  end\nend\n"),
            ("b.rb", "class Total\n  def more\n    Total.new\n  end\nend\n"),
            ("c.rb", "module C\n  class Total\n  end\n  def f\n    Total.new\n  end\nend\n"),
            ("a.cs", "partial class Total {\n  Total(int x) {}\n}\n"),
            ("b.cs", "partial class Total {\n  void F() {}\n}\n"),
            ("c.cs", "class Total {\n  Total F() { return new Total(1); }\n}\n"),
            ("a.py", "class Total:\n    def __init__(self):\n        pass\n"),
            (
                "b.py",
                "try:\n    from a import Total\nexcept ImportError:\n    Total = None\ndef f():\n    return Total()\n",
            ),
            ("c.py", "from total.Total import x\nclass Total: pass\ny = Total()\n"),
            ("d.py", "from a import *\nTotal = deco(Total)\n"),
        ],
        after: &[
            ("a.rs", Some("pub struct Price(u16);\n")),
            ("a.swift", Some("struct Price {\n  init(x: Int64) {}\n}\n")),
            ("a.rb", Some("class Total\n  def initialize\n    2\n  end\nend\n")),
            ("a.cs", Some("partial class Total {\n  Total(long x) {}\n}\n")),
            ("a.py", Some("class Total:\n    def __init__(self, x):\n        pass\n")),
        ],
        expected: &[
            ("a.cs", &["class Total > constructor Total"], &["b.cs:1 class Total"]),
            ("a.py", &["class Total > def __init__"], &["b.py:2 ", "b.py:6 def f", "d.py:2 Total"]),
            (
                "a.rb",
                &["class Total > def initialize"],
                &["b.rb:1 class Total", "b.rb:3 class Total > def more"],
            ),
            (
                "a.rs",
                &["struct Price"],
                &[
                    "b.rs:1 ",
                    "b.rs:3 impl Display for Price",
                    "b.rs:5 fn f",
                    "c.rs:1 impl A for Price",
                    "d.rs:1 impl B for Price",
                    "d.rs:2 impl C for Price",
                    "e.rs:1 impl D for Price",
                ],
            ),
            ("a.swift", &["struct Price > init"], &["b.swift:1 extension Price", "b.swift:2 func g"]),
        ],
    },
    Case {
        name: "blocks with variables, and the values of these",
        before: &[
            ("a.go", "package a\n\nfunc user(x int) int {\n\treturn 1\n}\n"),
            (
                "b.go",
                "package a\n\nfunc f() {\n\tuser := user(1)\n\tuser(2)\n}\n\nfunc g() {\n\tif user := 1; user > 0 {\n\t\tprint(user)\n\t}\n\tuser(3)\n}\n\n\
                 func h(user int) {\n\tuser(4)\n}\n",
            ),
            ("a.rs", "pub fn user(x: u8) -> u8 {\n    1\n}\n"),
            (
                "b.rs",
                "fn f() {\n    let user = user(1);\n    g(user);\n}\nfn g() {\n    {\n        let user = 1;\n        g(user)\n    }\n    user(5)\n}\nfn h() {\n    \
                 if let Some(user) = user(1) { g(user) }\n}\nfn i() {\n    let user = 1;\n    || user;\n}\n",
            ),
            ("a.kt", "fun user(x: Int): Int {\n    return 1\n}\n"),
            (
                "b.kt",
                "fun f() {\n    val user = user(1)\n    g(user)\n}\nfun g() {\n    val user = 1\n    if (x) {\n        h(user)\n    }\n}\n",
            ),
            ("a.rb", "def user(x)\n  1\nend\n"),
            ("b.rb", "def f(user: 1)\n  user\nend\ndef g(user = 1, *users)\n  user\nend\n"),
            ("a.c", "int user(int x) {\n  return 1;\n}\n"),
            ("b.c", "int f(void) {\n  { int user = 1, *x = &user; g(user); }\n  return user(1);\n}\n"),
            (
                "b.cpp",
                "template <class... T> int g(T&&... user) { return h(user...); }\nint i(int user = 1) { return user; }\n",
            ),
            ("a.swift", "func user(x: Int) -> Int {\n  return 1\n}\n"),
            (
                "b.swift",
                "func f() {\n  do {\n    let user = 1\n    g(user)\n  }\n  user(x: 1)\n}\nfunc g() {\n  guard let user = x else { return }\n  h(user)\n}\n",
            ),
        ],
        after: &[
            ("a.go", Some("package a\n\nfunc user(x int) int {\n\treturn 2\n}\n")),
            ("a.rs", Some("pub fn user(x: u8) -> u8 {\n    2\n}\n")),
            ("a.kt", Some("fun user(x: Int): Int {\n    return 2\n}\n")),
            ("a.rb", Some("def user(x)\n  2\nend\n")),
            ("a.c", Some("int user(int x) {\n  return 2;\n}\n")),
            ("a.swift", Some("func user(x: Int) -> Int {\n  return 2\n}\n")),
        ],
        expected: &[
            ("a.c", &["function user"], &["b.c:3 function f"]),
            ("a.go", &["func user"], &["b.go:4 func f", "b.go:12 func g"]),
            ("a.kt", &["fun user"], &["b.kt:2 fun f"]),
            ("a.rb", &["def user"], &[]),
            ("a.rs", &["fn user"], &["b.rs:2 fn f", "b.rs:10 fn g", "b.rs:13 fn h"]),
            ("a.swift", &["func user"], &["b.swift:6 func f"]),
        ],
    },
    Case {
        name: "other names of imports, and variables of further forms",
        before: &[
            ("a.ts", "export function total() {\n  return 1;\n}\n"),
            ("again.js", "export { default as total } from './a';\n"),
            ("alias.ts", "import { sum as total } from './sum';\ntotal(1);\nexport { sum as total };\n"),
            ("space.ts", "import * as total from './sum';\nfunction f() { return total.sum(1); }\n"),
            ("key.js", "const { sum: total } = require('./sum');\nfunction f() { return total(1); }\n"),
            (
                "default.js",
                "function f(total = 1) { return total; }\nfunction g({ total = 1 }) { return total; }\n",
            ),
            (
                "rest.js",
                "function f(...total) { return total; }\nfunction g([total = 1], { x: total }) { return total; }\n",
            ),
            ("use.js", "import total from './a';\nfunction f(x = total(1)) {}\nexport { total as sum };\n"),
            ("a.py", "def total():\n    return 1\n"),
            (
                "b.py",
                "from sum import sum as total\nimport sum.total as total\ndef f():\n    return total(1)\n",
            ),
            ("c.py", "from a import total as t\n"),
            ("a.rs", "pub fn total() -> u8 {\n    1\n}\n"),
            ("b.rs", "use sum::{sum as total};\nfn f() {\n    total();\n}\n"),
            ("a.go", "package a\n\nfunc total() int {\n\treturn 1\n}\n"),
            (
                "b.go",
                "package a\n\nimport total \"x/sum\"\n\nfunc f(total ...int) int {\n\treturn total[0]\n}\n\nfunc g() {\n\tswitch total := x.(type) {\n\tcase \
                 int:\n\t\tprint(total)\n\t}\n\tselect {\n\tcase total := <-c:\n\t\tprint(total)\n\t}\n}\n",
            ),
            ("a.rb", "def total\n  1\nend\n"),
            (
                "b.rb",
                "def f\n  go\nrescue E => total\n  total\nend\ndef g(x)\n  x.each { |(a, total)| total }\n  for total in x\n    total\n  end\nend\n",
            ),
            ("a.cs", "class A {\n  static int total() { return 1; }\n}\n"),
            (
                "b.cs",
                "using total = App.Sum;\nclass B {\n  void F() { if (x is C total) { G(total); } }\n  void G() { H(out var total); G(total); }\n  void H() { try {} \
                 catch (E total) { G(total); } }\n}\n",
            ),
            ("a.kt", "fun total(): Int {\n    return 1\n}\n"),
            ("b.kt", "import price.price as total\nfun f() {\n    try {} catch (total: E) { g(total) }\n}\n"),
            ("a.cpp", "int total() {\n  return 1;\n}\n"),
            ("b.cpp", "int f() {\n  auto [a, total] = x;\n  return total;\n}\n"),
            ("A.java", "class A {\n  int sum = 1;\n}\n"),
            ("B.java", "class B {\n  void f() { if (x instanceof C sum) { g(sum); } }\n}\n"),
        ],
        after: &[
            ("a.ts", Some("export function total() {\n  return 2;\n}\n")),
            ("a.py", Some("def total():\n    return 2\n")),
            ("a.rs", Some("pub fn total() -> u8 {\n    2\n}\n")),
            ("a.go", Some("package a\n\nfunc total() int {\n\treturn 2\n}\n")),
            ("a.rb", Some("def total\n  2\nend\n")),
            ("a.cs", Some("class A {\n  static int total() { return 2; }\n}\n")),
            ("a.kt", Some("fun total(): Int {\n    return 2\n}\n")),
            ("a.cpp", Some("int total() {\n  return 2;\n}\n")),
            ("A.java", Some("class A {\n  int sum = 2;\n}\n")),
        ],
        expected: &[
            ("A.java", &["class A > field sum"], &[]),
            ("a.cpp", &["function total"], &[]),
            ("a.cs", &["class A > method total"], &[]),
            ("a.go", &["func total"], &[]),
            ("a.kt", &["fun total"], &[]),
            ("a.py", &["def total"], &["c.py:1 "]),
            ("a.rb", &["def total"], &[]),
            ("a.rs", &["fn total"], &[]),
            ("a.ts", &["function total"], &["again.js:1 ", "use.js:1 ", "use.js:2 function f"]),
        ],
    },
];

#[test]
fn changed_lines_touch_symbols_and_these_have_dependents() {
    for case in CASES {
        let place = Playground::new();
        let top = place.init("ws/repo");
        let before: Vec<_> = case.before.iter().map(|(path, text)| (*path, Some(*text))).collect();
        commit(&top, &before, "before");
        git(&top, &["checkout", "-q", "-b", "topic"]);
        commit(&top, case.after, "after");
        let repository = place.open("repo").expect("a repository");
        let revision = |name| repository.revision(name).expect("a branch");
        let comparison =
            repository.compare(&revision("main"), &revision("topic"), GO_ON).expect("a comparison");
        let impact = repository.impact(&comparison, 10, GO_ON).expect("an impact");
        let mut found: Vec<_> = impact
            .files
            .iter()
            .map(|file| {
                let dependents = file.dependents.iter();
                let dependents =
                    dependents.map(|user| format!("{}:{} {}", user.path, user.line, user.symbol));
                (file.change.path.clone(), file.symbols.clone(), dependents.collect::<Vec<_>>())
            })
            .collect();
        found.sort();
        let mut expected: Vec<_> = case
            .expected
            .iter()
            .map(|(path, symbols, dependents)| {
                let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
                ((*path).to_owned(), owned(symbols), owned(dependents))
            })
            .collect();
        expected.sort();
        assert_eq!(found, expected, "{}", case.name);
    }
}

#[test]
fn the_files_with_most_lines_come_first_and_dependents_are_bounded() {
    let place = Playground::new();
    let top = place.init("ws/repo");
    let users: String = (0..150).map(|user| format!("def user_{user}():\n    return helper()\n\n")).collect();
    commit(&top, &[("users.py", Some(&users)), ("a.py", Some("def helper():\n    return 1\n"))], "before");
    git(&top, &["checkout", "-q", "-b", "topic"]);
    commit(
        &top,
        &[
            ("a.py", Some("def helper():\n    x = 1\n    y = 2\n    return x + y\n")),
            ("b.py", Some("z = 1\n")),
        ],
        "after",
    );
    let repository = place.open("repo").expect("a repository");
    let revision = |name| repository.revision(name).expect("a branch");
    let comparison = repository.compare(&revision("main"), &revision("topic"), GO_ON).expect("a comparison");
    let impact = repository.impact(&comparison, 1, GO_ON).expect("an impact");
    let files: Vec<_> = impact
        .files
        .iter()
        .map(|file| (&*file.change.path, file.dependents.len(), file.total_dependents))
        .collect();
    assert_eq!(files, [("a.py", MAX_DEPENDENTS, 150)]);
    assert!((impact.score - score(2, 5)).abs() < 1e-9);
    let cancelled = repository.impact(&comparison, 1, &|| true);
    assert_eq!(cancelled.expect_err("cancelled").rule(), "cancelled");
}
