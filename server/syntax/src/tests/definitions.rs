//! Definitions of every language, by small inputs: only symbols can be found by name.

use super::cut;
use crate::readable;

/// Names of files, their sources, and their symbols: the path, the name alone if it differs from the last word, the kind and the lines;
/// `from`, if comments or attributes before it belong to it; `announced`, if it is only declared.
pub(super) const DEFINITIONS: &[(&str, &str, &str)] = &[
    (
        "a.cpp",
        r"
            #define MAX(a, b) ((a) > (b) ? (a) : (b))
            ABSL_NAMESPACE_BEGIN
            namespace shop {
            // Holds one.
            template <class T>
            class Box : public Base {
             public:
              T get() const { return v; }
              ~Box();
              Box operator+(const Box& o) const { return o; }
              operator bool() const { return true; }
              static constexpr int kMax = 3;
              int plain, *next;
              struct { int x; } at;
            };
            template <class T>
            T Box<T>::size() { int local = 1; return local; }
            class EXPORTED Widget : public Base { int run() { return 1; } };
            class LOCKABLE EXPORTED Mutex {
              int lock() { return 1; }
            };
            static inline API_CALL int helper(int x) { return x; }
            TEST(Suite, Works) { run(); }
            DEFINE_HANDLER(on_click) { return 1; }
            bool operator<(const Box<int>& a, const Box<int>& b) { return true; }
            constexpr int kLimit = 3, kOther = 4;
            enum class Color { Red, Green };
            int (*callback)(int) = nullptr;
            auto twice = [](int x) { return x * 2; };
            template <> struct is_box<int> : std::true_type {};
            template <typename T> concept Addable = requires(T a) { a + a; };
            }
        ",
        r"
            #define MAX: macro 1
            namespace shop: module 3-32
            namespace shop > class Box: class 6-15 from 4
            namespace shop > class Box > function get: method 8
            namespace shop > class Box > function ~Box: method 9 announced
            namespace shop > class Box > function operator+: method 10
            namespace shop > class Box > function operator bool: method 11
            namespace shop > class Box > kMax: constant 12
            namespace shop > class Box > plain: constant 13 announced
            namespace shop > class Box > next: constant 13 announced
            namespace shop > class Box > at: constant 14 announced
            namespace shop > class Box > at > x: constant 14 announced
            namespace shop > function Box<T>::size = size: function 17 from 16
            namespace shop > class Widget: class 18
            namespace shop > class Widget > function run: method 18
            namespace shop > class Mutex: class 19-21
            namespace shop > class Mutex > function lock: method 20
            namespace shop > function helper: function 22
            namespace shop > function TEST(Suite, Works) = Works: function 23
            namespace shop > function DEFINE_HANDLER(on_click) = on_click: function 24
            namespace shop > function operator<: function 25
            namespace shop > kLimit: constant 26
            namespace shop > kOther: constant 26
            namespace shop > enum Color: enum 27
            namespace shop > enum Color > Red: constant 27
            namespace shop > enum Color > Green: constant 27
            namespace shop > callback: constant 28
            namespace shop > twice: function 29
            namespace shop > struct is_box<int> = is_box: struct 30
            namespace shop > concept Addable: interface 31
        ",
    ),
    (
        "a.c",
        r"
            static const struct file_operations fops = { .open = my_open };
            PyMODINIT_FUNC PyInit_foo(void) { return 0; }
            TEST_IMPL(tcp_open) { return 0; }
            static void __init setup(void)
            {
              int local = 3;
            }
            typedef int (*handler)(int);
            enum state { IDLE, BUSY = 2 };
            struct node {
              // Neighbours.
              struct node *left, *right;
              unsigned flag : 1;
              int (*visit)(struct node *);
              union { long number; char text[8]; };
            };
            typedef struct { int y; } pair;
            static void local(void) { struct { int z; } none; }
            enum token {
              FIRST = 1,
            #define FIRST FIRST
              SECOND,
            #include <tokens.h>
              LAST
            };
            static const struct command table[] =
            {
            #define COMMAND(name) \
              { name, #name },
            #include <commands.h>
              COMMAND(a),
            #undef COMMAND
              COMMAND('{'),
            };
            #define LATER 1
            static block after(void) { return 1; }
        ",
        r"
            fops: constant 1
            function PyInit_foo: function 2
            function tcp_open: function 3
            function setup: function 4-7
            typedef handler: type 8
            enum state: enum 9
            enum state > IDLE: constant 9
            enum state > BUSY: constant 9
            struct node: struct 10-16
            struct node > left: constant 12 from 11 announced
            struct node > right: constant 12 from 11 announced
            struct node > flag: constant 13 announced
            struct node > visit: constant 14 announced
            struct node > number: constant 15 announced
            struct node > text: constant 15 announced
            typedef pair: struct 17
            typedef pair > y: constant 17 announced
            function local: function 18
            enum token: enum 19-25
            enum token > FIRST: constant 20
            enum token > SECOND: constant 22
            enum token > LAST: constant 24
            table: constant 26-34
            #define LATER: macro 35
            function after: function 36
        ",
    ),
    (
        "a.h",
        r#"
            #ifdef __cplusplus
            extern "C" {
            #endif
            UV_EXTERN int uv_run(uv_loop_t* loop);
            typedef struct node_s node_t;
            struct node_s { int x; };
            #ifdef __cplusplus
            }
            #endif
        "#,
        r"
            function uv_run: function 4 announced
            typedef node_t: struct 5
            struct node_s: struct 6
            struct node_s > x: constant 6 announced
        ",
    ),
    (
        "macros.hpp",
        r#"
            #include <list>
            QT_BEGIN_NAMESPACE

            class Thing {
             public:
              int go();
            };
            FMT_BEGIN_EXPORT

            /** Views. */
            template <typename Char> class basic_view { int x; };
            enum class color : uint32_t { red, LAST };
            class FMT_VISIBLE("default") format_error : public std::runtime_error { };
            LIST_API node_t *list_push(node_t *l, void *d);
            UINT const twice(int x) { return x; }
            int first(int a) {
            #ifdef X
              if (a) {
            #else
              if (!a) {
            #endif
                return 1;
              }
              return 0;
            }
            enum {
              ONE
            };
            QT_END_NAMESPACE
        "#,
        r"
            class Thing: class 4-7
            class Thing > method go: method 6 announced
            class basic_view: class 11 from 10
            class basic_view > x: constant 11 announced
            enum color: enum 12
            enum color > red: constant 12
            enum color > LAST: constant 12
            class format_error: class 13
            function list_push: function 14 announced
            function twice: function 15
            function first: function 16-25
            ONE: constant 27
        ",
    ),
    (
        "a.js",
        r"
            function Cart() { this.items = []; this.add = function (x) { return x; }; }
            Cart.prototype.total = function () { return 1; };
            Cart.create = () => new Cart();
            exports.sum = (a, b) => a + b;
            exports.LIMIT = 3;
            module.exports.mul = function (a, b) { return a * b; };
            module.exports = { div: function (a) { return a; }, neg(a) { return -a; }, sub: (a) => a };
            const twice = (x) => x * 2, thrice = function (x) { return x; };
            class Shop { rate = 3; #secret = 1; static max = 4; open() {} get size() { return 1; } handler = () => {}; }
            function* gen() {}
            module.exports = class Till { open() {} };
            module.exports = function sell() {};
            export const { one, two: second, third = 3, ...rest } = all, [fourth] = list;
            const { imported } = require('x'), module = require('./module'), made = require('./make')();
            exports.create = create; exports.make = create; const pay = require('./pay').pay, spend = pay;
            app.use = function use() {}; const outer = function inner() {}; const Kind = class Own { open() {} };
            router.get('/', function home() {}); const Button = memo(function Button() {});
        ",
        r"
            function Cart: function 1
            function Cart > this.add = add: function 1
            Cart.prototype.total = total: function 2
            Cart.create = create: function 3
            exports.sum = sum: function 4
            exports.LIMIT = LIMIT: constant 5
            module.exports.mul = mul: function 6
            div: function 7
            method neg: method 7
            sub: function 7
            const twice: function 8
            const thrice: function 8
            class Shop: class 9
            class Shop > field rate: constant 9
            class Shop > field #secret: constant 9
            class Shop > field max: constant 9
            class Shop > method open: method 9
            class Shop > method size: method 9
            class Shop > field handler: function 9
            function gen: function 10
            Till: class 11
            Till > method open: method 11
            sell: function 12
            const one: constant 13
            const second: constant 13
            const third: constant 13
            const rest: constant 13
            const fourth: constant 13
            const module: constant 14 announced
            const made: constant 14
            exports.create = create: constant 15 announced
            exports.make = make: constant 15
            const pay: constant 15 announced
            const spend: constant 15
            app.use = use: function 16
            const outer: function 16
            const outer > function inner: function 16
            const Kind: class 16
            const Kind > class Own: class 16
            const Kind > class Own > method open: method 16
            function home: function 17
            const Button: constant 17
            const Button > function Button: function 17
        ",
    ),
    (
        "b.ts",
        r#"
            export function parse(x: string): string;
            export function parse(x: number): number;
            export function parse(x: any): any { return x; }
            export abstract class Shop {
              private rate: number = 3; name?: string;
              constructor(private x: number) {}
              abstract open(): void;
              run(a: string): void;
              run(a: any): void {}
            }
            export default function main() {}
            enum E { A, B = 2 }
            declare module "foo" { export const x: number; }
            interface Props { name: string; readonly on?: (x: number) => void }
            type Size = { width: number };
            function local(options: { a: string }) { enum Inner { C } }
            enum Q { 'by-name' = 1 }
            class $Type { $own = 1; }
        "#,
        r#"
            function parse: function 1 announced
            function parse: function 2 announced
            function parse: function 3
            class Shop: class 4-10
            class Shop > field rate: constant 5
            class Shop > field name: constant 5 announced
            class Shop > method constructor: method 6
            class Shop > field x: constant 6 announced
            class Shop > method open: method 7 announced
            class Shop > method run: method 8 announced
            class Shop > method run: method 9
            function main: function 11
            enum E: enum 12
            enum E > A: constant 12
            enum E > B: constant 12
            module "foo" = foo: module 13
            module "foo" > const x: constant 13
            interface Props: interface 14
            interface Props > field name: constant 14 announced
            interface Props > field on: constant 14 announced
            type Size: type 15
            type Size > field width: constant 15 announced
            function local: function 16
            function local > enum Inner: enum 16
            enum Q: enum 17
            enum Q > 'by-name' = by-name: constant 17
            class $Type: class 18
            class $Type > field $own: constant 18
        "#,
    ),
    (
        "b.py",
        r"
            MAX = 3
            LIMIT: int = 4
            add = lambda a, b: a + b
            class Cart:
                rate = 3
                tax: int

                @property
                # about
                def total(self):
                    x = 1
                    return x
            A, B = 1, 2
            # doc
            # more
            @deco(
                1
            )
            def go(): pass
            if True:
                FLAG = 1
            type Pair[T] = tuple[T, T]
            (C, D), [E] = f()
            self.x, _ = g()
        ",
        r"
            MAX: constant 1
            LIMIT: constant 2
            add: function 3
            class Cart: class 4-12
            class Cart > rate: constant 5
            class Cart > tax: constant 6 announced
            class Cart > def total: method 10-12 from 8
            A: constant 13
            B: constant 13
            def go: function 19 from 14
            FLAG: constant 21
            type Pair[T] = Pair: type 22
            C: constant 23
            D: constant 23
            E: constant 23
        ",
    ),
    (
        "b.java",
        r"
            package a;
            /** Doc. */
            public class Cart {
              static final int MAX = 3, MIN = 1;
              int n;
              Cart() {}
              @Override
              public int total(int x) { int y = 1; return y; }
              int total(int x, int z) { return 1; }
              enum E { X, Y { void f() {} } }
              record R(int a) { R { } }
              @interface Ann { int value() default 1; }
              interface I { int K = 1; void f(); default int g() { return 1; } }
              Runnable r = () -> {};
            }
        ",
        r"
            package a: module 1 announced
            class Cart: class 3-15 from 2
            class Cart > field MAX: constant 4
            class Cart > field MIN: constant 4
            class Cart > field n: constant 5 announced
            class Cart > constructor Cart: method 6
            class Cart > method total: method 7-8
            class Cart > method total: method 9
            class Cart > enum E: enum 10
            class Cart > enum E > X: constant 10
            class Cart > enum E > Y: constant 10
            class Cart > enum E > Y > method f: method 10
            class Cart > record R: class 11
            class Cart > record R > field a: constant 11 announced
            class Cart > record R > constructor R: method 11
            class Cart > @interface Ann: interface 12
            class Cart > @interface Ann > method value: method 12
            class Cart > interface I: interface 13
            class Cart > interface I > field K: constant 13
            class Cart > interface I > method f: method 13 announced
            class Cart > interface I > method g: method 13
            class Cart > field r: function 14
        ",
    ),
    (
        "b.go",
        r"
            package a

            const A, B = 1, 2
            const (
            	C = iota
            	D
            )
            var x, y int
            // Box holds.
            type Box[T any] struct{ n, m T; Base; at struct{ x int } }
            func (b *Box[T]) Get() T { return b.n }
            func (b Box[T]) put() {}
            type Doer interface{ Do(x int); Undo() }
            func Map[T any](x T) T { z := 1; return x }
            type (
            	E int
            	F = string
            )
            var handler = func(x int) int { return x }
            func (b *Two[K, V]) Get() {}
            func (Box) set() {}
            var _ Doer = nil
        ",
        r"
            package a: module 1 announced
            const A: constant 3
            const B: constant 3
            const C: constant 5
            const D: constant 6
            var x: constant 8
            var y: constant 8
            type Box: struct 10 from 9
            type Box > field n: constant 10 announced
            type Box > field m: constant 10 announced
            type Box > field at: constant 10 announced
            type Box > field at > field x: constant 10 announced
            func Box::Get = Get: method 11
            func Box::put = put: method 12
            type Doer: interface 13
            type Doer > func Do: method 13 announced
            type Doer > func Undo: method 13 announced
            func Map: function 14
            type E: type 16
            type F: type 17
            var handler: function 19
            func Two::Get = Get: method 20
            func Box::set = set: method 21
        ",
    ),
    (
        "b.rs",
        r#"
            #[macro_export]
            macro_rules! my_vec { () => {} }
            pub enum Kind { /// a
             A, B(u8), C { side: u8 } }
            trait Shape { type Out; const K: u8; fn area(&self) -> f64; fn twice(&self) -> f64 { 2.0 } }
            impl<T: Into<String>> Shape for Vec<a::Box<T>> { type Out = u8; const K: u8 = 1; fn area(&self) -> f64 { 1.0 } }
            unsafe impl Send for X {}
            impl dyn Shape { fn go(&self) {} }
            pub(crate) static mut S: u8 = 1;
            async fn run() {}
            extern "C" { fn ext(x: u8); }
            struct Cart { /// In cents.
             #[serde(default)]
             pub total: u64, tax: u64 }
            union Bits { word: u32 }
            fn local() { struct Inner { none: u8 } }
        "#,
        r"
            macro my_vec: macro 2 from 1
            enum Kind: enum 3-4
            enum Kind > A: constant 4
            enum Kind > B: constant 4
            enum Kind > C: constant 4
            enum Kind > C > field side: constant 4 announced
            trait Shape: interface 5
            trait Shape > type Out: type 5
            trait Shape > const K: constant 5 announced
            trait Shape > fn area: method 5 announced
            trait Shape > fn twice: method 5
            impl Shape for Vec<a::Box<T>> = Vec: impl 6
            impl Shape for Vec<a::Box<T>> > type Out: type 6
            impl Shape for Vec<a::Box<T>> > const K: constant 6
            impl Shape for Vec<a::Box<T>> > fn area: method 6
            impl Send for X: impl 7
            impl dyn Shape: impl 8
            impl dyn Shape > fn go: method 8
            static S: constant 9
            fn run: function 10
            fn ext: function 11 announced
            struct Cart: struct 12-14
            struct Cart > field total: constant 14 from 13 announced
            struct Cart > field tax: constant 14 announced
            union Bits: struct 15
            union Bits > field word: constant 15 announced
            fn local: function 16
            fn local > struct Inner: struct 16
        ",
    ),
    (
        "a.kt",
        r#"
            package a.b
            const val MAX = 3
            class User(val name: String, age: Int) {
              var total: Int = 0
              val tax: Int
                get() = 1
              constructor(x: Int) : this("a", x) {}
              fun add(x: Int): Int = x
              companion object {
                fun build() = 1
                const val K = 1
              }
            }
            interface Eats { fun eat() }
            enum class Suit { HEARTS, SPADES }
            object Single { }
            data class P(val x: Int)
            fun String.shout() = this
            val twice = { x: Int -> x }
            typealias X = Int
            class One { fun a() = 1; val b = 2 }
            object Two : Eats { override fun eat() { add(1) } }
            class Three { companion object Maker { fun make() { } } }
            fun `has two words`() {}
        "#,
        r"
            package a.b = b: module 1 announced
            val MAX: constant 2
            class User: class 3-13
            class User > val name: constant 3 announced
            class User > val total: constant 4
            class User > val tax: constant 5-6
            class User > constructor: method 7
            class User > fun add: method 8
            class User > fun build: method 10
            class User > val K: constant 11
            interface Eats: interface 14
            interface Eats > fun eat: method 14 announced
            enum Suit: enum 15
            enum Suit > HEARTS: constant 15
            enum Suit > SPADES: constant 15
            object Single: class 16
            class P: class 17
            class P > val x: constant 17 announced
            fun shout: function 18
            val twice: function 19
            typealias X: type 20
            class One: class 21
            class One > fun a: method 21
            class One > val b: constant 21
            object Two: class 22
            object Two > fun eat: method 22
            class Three: class 23
            class Three > object Maker: class 23
            class Three > object Maker > fun make: method 23
            fun `has two words` = has two words: function 24
        ",
    ),
    // The grammar takes these for expressions, or gives up.
    (
        "lost.kt",
        r#"
            @Retention(RUNTIME) @Target(FUNCTION)
            annotation class Marked

            /* Of a type. */
            @OptIn(Unsafe::class)
            actual class Sum {
              fun add(x: Int) = x
              class Part
            }
            // class None
            @Serializable // as text
            enum class Status { @SerialName("a") A }

            class Bytes
            actual constructor(
              val data: ByteArray,
            ) : Comparable<Bytes> {
              private var final = false
              fun `all of it`(): Int {
                final = true
                return 1
              }
            }
            internal fun <T> Json.decode(dynamic: dynamic): T = read(dynamic)
        "#,
        r"
            class Marked: class 2 from 1
            class Sum: class 6-9 from 4
            class Sum > fun add: method 7
            class Sum > class Part: class 8
            class Status: class 12 from 10
            class Bytes: class 14
            fun all of it: function 19-22
            fun decode: function 24
        ",
    ),
    (
        "a.swift",
        r"
            struct Cart {
              let total: Int = 0
              var tax: Int { return 1 }
              init(x: Int) {}
              func add(_ x: Int) -> Int { return x }
            }
            enum Suit { case hearts, spades }
            extension Cart { func more() {} }
            protocol Eats { func eat(); var name: String { get } }
            let top = 3
            actor A {}
            let a = 1, b = 2
            var (c, _) = (1, 2)
            class Row {
              subscript(i: Int) -> Int { return 1 }
              deinit {}
            }
            protocol Keeps { associatedtype Kept }
        ",
        r"
            struct Cart: struct 1-6
            struct Cart > total: constant 2
            struct Cart > tax: constant 3
            struct Cart > init: method 4
            struct Cart > func add: method 5
            enum Suit: enum 7
            enum Suit > case hearts: constant 7
            enum Suit > case spades: constant 7
            extension Cart: impl 8
            extension Cart > func more: method 8
            protocol Eats: interface 9
            protocol Eats > func eat: method 9 announced
            protocol Eats > name: constant 9 announced
            top: constant 10
            actor A: class 11
            a: constant 12
            b: constant 12
            c: constant 13
            class Row: class 14-17
            class Row > subscript: method 15
            class Row > deinit: method 16
            protocol Keeps: interface 18
            protocol Keeps > associatedtype Kept: type 18
        ",
    ),
    (
        "a.cs",
        r"
            namespace A.B;
            [Attr]
            public class Cart : Base {
              private const int Limit = 3;
              private readonly int _x, _y;
              public Cart(int a) {}
              ~Cart() {}
              public int Max { get; set; } public int Size { get { return 1; } }
              public int Total(int a) => a;
              public event EventHandler Changed;
            }
            public enum Color { Red, Green = 2 }
            public record Point(int X, int Y);
            public record struct P2(int X);
            public delegate void Done(int x);
            class Sum {
              public event Done Ended { add {} remove {} }
              public int this[int at] { get { return 1; } }
              public static Sum operator +(Sum a, Sum b) => a;
              public static implicit operator int(Sum a) => 1;
            }
        ",
        r"
            namespace A.B = B: module 1 announced
            class Cart: class 2-11
            class Cart > field Limit: constant 4
            class Cart > field _x: constant 5 announced
            class Cart > field _y: constant 5 announced
            class Cart > constructor Cart: method 6
            class Cart > destructor ~Cart: method 7
            class Cart > property Max: constant 8 announced
            class Cart > property Size: constant 8
            class Cart > method Total: method 9
            class Cart > field Changed: constant 10 announced
            enum Color: enum 12
            enum Color > Red: constant 12
            enum Color > Green: constant 12
            record Point: class 13
            record Point > property X: constant 13 announced
            record Point > property Y: constant 13 announced
            record P2: class 14
            record P2 > property X: constant 14 announced
            delegate Done: type 15
            class Sum: class 16-21
            class Sum > event Ended: constant 17
            class Sum > property this: constant 18
            class Sum > operator+: method 19
            class Sum > operator int: method 20
        ",
    ),
    (
        "a.rb",
        r#"
            module Shop
              MAX = 3
              Point = Struct.new(:x)
              class Cart
                attr_accessor :total, :tax
                def add(x) = x
                def self.build; end
                class << self
                  def make; end
                end
                define_method(:foo) { 1 }
                attr_writer "gift"
                alias plus add
                alias_method :more, :add
              end
            end
        "#,
        r"
            module Shop: module 1-16
            module Shop > MAX: constant 2
            module Shop > Point: constant 3
            module Shop > Point > x: method 3
            module Shop > class Cart: class 4-15
            module Shop > class Cart > total: method 5
            module Shop > class Cart > tax: method 5
            module Shop > class Cart > def add: method 6
            module Shop > class Cart > def build: method 7
            module Shop > class Cart > def make: method 9
            module Shop > class Cart > foo: method 11
            module Shop > class Cart > gift: method 12
            module Shop > class Cart > alias plus: method 13
            module Shop > class Cart > more: method 14
        ",
    ),
    (
        "a.php",
        r#"
            <?php
            namespace App\Service;
            const MAX = 3;
            class Cart {
              const TAX = 1;
              public int $total = 0, $tax;
              public function __construct(private int $x) {}
              public function add(int $x): int { return $x; }
            }
            enum Suit: string { case Hearts = 'h'; const Wild = self::Hearts; }
            function sum($a) { return 1; }
            trait T { abstract function t(); }
            define('LIMIT', 3);
            \define("OTHER", 4);
            $twice = fn($x) => $x * 2;
            $plain = 1;
        "#,
        r"
            namespace App\Service = Service: module 2 announced
            const MAX: constant 3
            class Cart: class 4-9
            class Cart > const TAX: constant 5
            class Cart > $total = total: constant 6
            class Cart > $tax = tax: constant 6 announced
            class Cart > function __construct: method 7
            class Cart > $x = x: constant 7 announced
            class Cart > function add: method 8
            enum Suit: enum 10
            enum Suit > case Hearts: constant 10
            enum Suit > const Wild: constant 10
            function sum: function 11
            trait T: class 12
            trait T > function t: method 12 announced
            define LIMIT: constant 13
            define OTHER: constant 14
            $twice = twice: function 15
        ",
    ),
    (
        "a.sh",
        r"
            #!/bin/bash
            # doc
            alpha() {
              local x=1
              echo hi
            }
            function beta { echo; }
            MAX=3
            readonly LIMIT=4
            export PATH_X=1
            lib::join() { :; }
            alias ll='ls -l'
        ",
        r"
            function alpha: function 3-6 from 1
            function beta: function 7
            MAX: constant 8
            LIMIT: constant 9
            PATH_X: constant 10
            function lib::join: function 11
            alias ll: function 12
        ",
    ),
    (
        "a.ex",
        r#"
            defmodule Shop.Cart do
              @moduledoc """
              Carts.

                  defmodule Example do
              """

              @doc "Adds."
              @spec add(t, integer) :: t
              def add(cart, n) do
                total = n
                total
              end

              defp empty?(cart), do: cart == []

              defmacro twice(x) do
                x
              end
            end

            defimpl String.Chars, for: Shop.Cart do
              def to_string(_), do: "cart"
            end
            @q """one line"""
            def after, do: "a"
        "#,
        r"
            defmodule Shop.Cart = Cart: module 1-20
            defmodule Shop.Cart > def add: function 10-13 from 8
            defmodule Shop.Cart > defp empty?: function 15
            defmodule Shop.Cart > defmacro twice: macro 17-19
            defimpl String.Chars = Chars: impl 22-24
            defimpl String.Chars > def to_string: method 23
            def after: function 26 from 25
        ",
    ),
    (
        "a.erl",
        r#"
            -module(cart).
            -export([total/1]).
            -record(item, {price}).
            -define(MAX, 3).
            -type price() :: integer().

            %% Adds prices.
            -spec total([price()]) -> price().
            total(Items) ->
                lists:sum(Items).
            first([]) -> 0;
            first([H | _]) ->
                case H of
                    other(Y) -> Y;
                    _ -> H
                end.
            long(State,
                    Rest) ->
                "a
            fake(x) -> y".
        "#,
        r"
            module cart: module 1
            record item: struct 3
            define MAX: macro 4
            type price: type 5
            total: function 9-10 from 7
            first: function 11-16
            long: function 17-20
        ",
    ),
    (
        "a.hs",
        r"
            {-# LANGUAGE LambdaCase #-}
            module Shop.Cart
              ( total ) where

            -- | Prices.
            data (Ord a) => Price a = Price a
              deriving (Eq)
            newtype Name = Name { unName :: String }
            data Shape
              = Round
              | Square Int
            type Cart = [Price Int]
            class Monoid a => Sums a where
              sums :: a -> Int

            {- A block
            data Not = Found
            -}
            total, tax :: Cart -> Int
            total cart = go cart
              where
                go = length
        ",
        r"
            module Shop.Cart = Cart: module 2-3 from 1
            data Price: type 6-7 from 5
            newtype Name: type 8
            data Shape: type 9-11
            data Shape > Round: constant 10
            data Shape > Square: constant 11
            type Cart: type 12
            class Sums: interface 13-14
            class Sums > sums: method 14
            total: function 19-22 from 16
        ",
    ),
    (
        "a.scala",
        r#"
            package shop

            /** A cart. */
            final case class Cart(items: List[Int]) extends Base {
              private val tax = 1
              override def total: Int = {
                val local = 2
                items.sum
              }
              type Item = Int
            }

            object Cart {
              implicit val ordering: Ordering[Cart] = ???
              private[shop] def empty = Cart(Nil)
            }
            sealed trait Shape
            enum Color { case Red }
            object Texts {
              val q = """one line"""
              val r = f("""text
            def fake = 1
              """, q)
              /* a /* nested */
              def hidden = 1 */
              @inline def after(x: Int) = 2
              def is_? = true
            }
        "#,
        r"
            class Cart: class 4-11 from 3
            class Cart > val tax: constant 5
            class Cart > def total: method 6-9
            class Cart > type Item: type 10
            object Cart: module 13-16
            object Cart > val ordering: constant 14
            object Cart > def empty: function 15
            trait Shape: interface 17
            enum Color: enum 18
            object Texts: module 19-28
            object Texts > val q: constant 20
            object Texts > val r: constant 21-23
            object Texts > def after: function 26 from 24
            object Texts > def is_?: function 27
        ",
    ),
    (
        "a.lua",
        r#"
            local M = {}

            --- Adds.
            function M.add(a, b)
              local sum = a + b
              return sum
            end

            local function helper() end
            M.twice = function(x) return x end
            function M:total() return 1 end
            return M
            --[==[
            function fake() end
            ]==]
            local text = [[
            function fake_too() end
            ]]
            --[[ one ]] function after() end
            describe("x", function() end)
        "#,
        r"
            function M.add = add: function 4-7 from 3
            function helper: function 9
            function M.twice = twice: function 10
            function M:total = total: function 11
            function after: function 19
        ",
    ),
    (
        "a.zig",
        r#"
            const std = @import("std");
            const Self = @This();
            const max: u32 = 3;

            /// A cart.
            pub const Cart = struct {
                total: u32,

                pub fn add(self: *Cart, n: u32) void {
                    const local = n;
                    self.total += local;
                }
            };
            const Color = enum { red };
            export fn run() void {}
        "#,
        r"
            const Self: constant 2
            const max: constant 3
            struct Cart: struct 6-13 from 5
            struct Cart > fn add: method 9-12
            enum Color: enum 14
            fn run: function 15
        ",
    ),
    (
        "a.dart",
        r"
            /// A cart.
            abstract class Cart<T> extends Base {
              final int max = 3;
              Cart.empty();
              Cart.of(int n) {
                if (n > 3) {
                  print(n);
                }
              }
              Future<int> total(int n) async {
                return n;
              }
              int get size => 3;
            }
            mixin Prices {}
            extension Words on String {}
            void main() => run();
            typedef Handler = void Function(int);
            /* licence */ class Page {
              @override Widget build(BuildContext c) {
                return Scaffold(body: () {
                  setState(() {
                  });
                });
              }
              var s = '''
            class Fake {}
            ''';
            }
        ",
        r"
            class Cart: class 2-14 from 1
            class Cart > Cart.of = of: method 5-9
            class Cart > total: method 10-12
            class Cart > get size: method 13
            mixin Prices: class 15
            extension Words: impl 16
            main: function 17
            typedef Handler: type 18
            class Page: class 19-29
            class Page > build: method 20-25
        ",
    ),
    (
        "a.jl",
        r#"
            module Shop

            """
                total(cart)
            """
            function total(cart)
                return 1
            end

            mutable struct Cart
                n::Int
            end
            const MAX = 3
            twice(x) = 2x
            macro log(x)
            end
            end
            @inline function fast(x)
            end
            isok(x, y=1)::Bool = x == y
            push!(a, () -> 1)
            @enum Color red green
        "#,
        r"
            module Shop: module 1
            function total: function 6-8 from 3
            struct Cart: struct 10-12
            const MAX: constant 13
            twice: function 14
            macro log: macro 15-17
            function fast: function 18-19
            isok: function 20
            @enum Color: enum 22
        ",
    ),
    (
        "a.R",
        r"
            # Adds.
            total_of <- function(x) {
              y <- 1
              sum(x)
            }
            as.cart = function(x) x
        ",
        r"
            function total_of: function 2-5 from 1
            function as.cart = cart: function 6
        ",
    ),
    (
        "a.ml",
        r#"
            (* Prices. *)
            type 'a price = Price of 'a
            exception Empty
            module Cart = struct
              let rec total = function
                | [] -> 0
                | x :: rest ->
                  let tax = 1 in
                  x + tax + total rest
              let max = 3
            end
            let run () = Cart.total []
            (* (* nested *)
            let fake = 1
            *)
            let text = "
            let fake = 2"
            and other x = x
            let[@inline] fast x = x
        "#,
        r"
            type price: type 2 from 1
            exception Empty: type 3
            module Cart: module 4-11
            module Cart > let total: function 5-9
            module Cart > let max: function 10
            let run: function 12
            let text: function 16-17 from 13
            and other: function 18
            let fast: function 19
        ",
    ),
    (
        "a.fs",
        r"
            module Shop.Cart

            /// A price.
            type Price =
                { Amount: int }
                member this.Total = this.Amount
                static member Zero = { Amount = 0 }

            let inline add a b =
                let local = a
                local + b
        ",
        r"
            module Shop.Cart = Cart: module 1
            type Price: type 4-7 from 3
            type Price > member Total: function 6
            type Price > member Zero: function 7
            let add: function 9-11
        ",
    ),
    (
        "a.clj",
        r#"
            (ns shop.cart
              (:require [clojure.string :as str]))

            (defprotocol Priced
              (price [this]))
            (defrecord Cart [items])
            (defn- total
              "Adds."
              [cart]
              1)
            (defmacro twice [x] x)
            (def ^:private max-items 3)
            (def ^{:doc "x" :dynamic true} *dyn* 1)
            (defn doc
              "Like
            (defn fake [])"
              [] 1)
            (deftest total-test)
        "#,
        r"
            ns shop.cart = cart: module 1-2
            defprotocol Priced: interface 4-5
            defrecord Cart: class 6
            defn- total: function 7-10
            defmacro twice: macro 11
            def max-items: constant 12
            def *dyn*: constant 13
            defn doc: function 14-17
            deftest total-test: function 18
        ",
    ),
    (
        "a.el",
        r"
            ;;; Adds.
            (defun cart-total (cart)
              (let ((x 1)) x))
            (defvar cart-max 3)
            (defmacro cart-twice (x) x)
        ",
        r"
            defun cart-total: function 2-3 from 1
            defvar cart-max: constant 4
            defmacro cart-twice: macro 5
        ",
    ),
    (
        "a.scm",
        r"
            (define (total cart)
              (define local 1)
              1)
            (define max-items 3)
        ",
        r"
            define total: function 1-3
            define max-items: constant 4
        ",
    ),
    (
        "a.pm",
        r"
            package Shop::Cart;

            # Adds.
            sub total {
                my ($self) = @_;
                return 1;
            }

            =head1 NAME

            sub not_found

            =cut

            1;
        ",
        r"
            package Shop::Cart = Cart: module 1
            sub total: function 4-7 from 3
        ",
    ),
    (
        "a.nim",
        r"
            type
              Cart* = ref object
                n: int
            proc total*(cart: Cart): int =
              1
            template twice(x: untyped): untyped = x
        ",
        r"
            type Cart: type 2-3
            proc total: function 4-5
            template twice: macro 6
        ",
    ),
    (
        "a.m",
        r"
            #define MAX 3
            @interface Cart : NSObject
            - (int)total;
            @end
            @implementation Cart
            // Adds.
            - (int)total {
                return 1;
            }
            + (instancetype)cartWithItems:(NSArray *)items { return nil; }
            @end
        ",
        r"
            #define MAX: macro 1
            @interface Cart: class 2
            total: method 3
            @implementation Cart: class 5
            total: method 7-9 from 6
            cartWithItems: method 10
        ",
    ),
    (
        "a.ps1",
        r"
            <#
            function Not-Found {}
            #>
            Function Get-Cart {
                param($n)
            }
            class Cart { }
        ",
        r"
            function Get-Cart: function 4-6 from 1
            class Cart: class 7
        ",
    ),
    (
        "a.proto",
        r#"
            syntax = "proto3";
            package shop.v1;
            option cc_api_version = 2;
            // A cart.
            message Cart {
              reserved 7;
              int32 total = 1;
              // Items.
              map<string, shop.Item> items = 2 [
                deprecated = true
              ];
              enum Color { RED = 0; NEW = 1; }
              oneof pay {
                Card card = 3;
              }
            }
            enum Size {
              SIZE_SMALL = 0;
            }
            service Shop {
              rpc Add (Cart) returns (Cart) {
                option (google.api.http) = { get: "/v1" };
              }
            }
            extend Cart { optional int32 tax = 126; }
        "#,
        r"
            package shop.v1 = v1: module 2
            message Cart: struct 5-16 from 4
            message Cart > field total: constant 7 announced
            message Cart > field items: constant 9-11 from 8 announced
            message Cart > enum Color: enum 12
            message Cart > enum Color > RED: constant 12
            message Cart > enum Color > NEW: constant 12
            message Cart > oneof pay: struct 13-15
            message Cart > oneof pay > field card: constant 14 announced
            enum Size: enum 17-19
            enum Size > SIZE_SMALL: constant 18
            service Shop: interface 20-24
            service Shop > rpc Add: method 21-23
            extend Cart: impl 25
            extend Cart > field tax: constant 25 announced
        ",
    ),
    (
        "a.graphql",
        r#"
            """
            A cart.
            """
            type Cart implements Node @key(fields: "id") {
              "Sum."
              total(in: Currency = EUR): Int! @deprecated
              items(
                first: Int
              ): [Item]
            }
            extend type Query { cart: Cart, tax(of: ID, at: Int): Int }
            enum Color {
              RED
              GREEN @beta
            }
            query Named($id: ID) {
              cart(id: $id) { total }
            }
            schema {
              query: Query
            }
        "#,
        r"
            type Cart: type 4-10 from 1
            type Cart > field total: constant 6 from 5 announced
            type Cart > field items: constant 7-9 announced
            type Query: type 11
            type Query > field cart: constant 11 announced
            type Query > field tax: constant 11 announced
            enum Color: enum 12-15
            enum Color > RED: constant 13
            enum Color > GREEN: constant 14
            query Named: function 16-18
        ",
    ),
    (
        "a.sql",
        r#"
            -- Carts.
            CREATE TABLE IF NOT EXISTS shop.carts (
                id int, -- the id, not null
                -- In cents.
                "total" numeric(10, 2) NOT NULL DEFAULT 0,
                state text default 'a, b c'
                    check (
                        state in ('a')
                    ),
                key_name varchar(9),
                primary key (id),
                CONSTRAINT positive CHECK (total > 0)
            );
            create or replace function total(c int) returns int as $$
              select 1;
            $$ language sql;
            CREATE UNIQUE INDEX cart_ids ON carts (id);
            create index cart_totals
              on carts (total);
            -- see a/*
            CREATE TABLE "Shop"."Items" (
                note text default 'a
            create table fake'
            );
            CREATE INDEX ON carts (id);
            create table pairs (a int, b numeric(1, 2), unique (a, b));
            create type address as (
              , street text
            );
            create view sums as
              select id as one
              from carts c;
        "#,
        r"
            table shop.carts = carts: struct 2-13 from 1
            table shop.carts > field id: constant 3 announced
            table shop.carts > field total: constant 5 from 4 announced
            table shop.carts > field state: constant 6-9 announced
            table shop.carts > field key_name: constant 10 announced
            function total: function 14-16
            index cart_ids: constant 17
            index cart_totals: constant 18-19
            table Shop.Items = Items: struct 21-24 from 20
            table Shop.Items > field note: constant 22-23 announced
            table pairs: struct 26
            table pairs > field a: constant 26 announced
            table pairs > field b: constant 26 announced
            type address: type 27-29
            type address > field street: constant 28 announced
            view sums: struct 30-32
        ",
    ),
    (
        "a.tf",
        r#"
            # A server.
            resource "aws_instance" "web" {
              ami = var.image
              user_data = <<-EOF
            variable "none" {}
              EOF
              tags = {
                Name = "web"
              }
            }
            data "aws_ami" "ubuntu" { owners = ["x"] }
            variable "image" {
              type = string
            }
            output "ip" { value = aws_instance.web.public_ip }
            module "vpc" {
              source = "./vpc"
            }
            locals {
              region = "eu"
              tags = {
                owner = "a"
              }
            }
        "#,
        r"
            aws_instance.web = web: constant 2-10 from 1
            data.aws_ami.ubuntu = ubuntu: constant 11
            var.image = image: constant 12-14
            output.ip = ip: constant 15
            module.vpc = vpc: module 16-18
            locals: module 19-24
            locals > local.region = region: constant 20
            locals > local.tags = tags: constant 21-23
        ",
    ),
    (
        "a.groovy",
        r"
            @CompileStatic
            class Cart {
              private static def total(x) {
                return 1
              }
            }
            String typed(int x) {
              return other(x) {
              }
            }
        ",
        r"
            class Cart: class 2-6 from 1
            class Cart > def total: method 3-5
            typed: function 7-10
        ",
    ),
    (
        "c.rs",
        r"
            /// Doc.
            #[derive(Debug)]
            pub struct Foo<T>(T);
            impl<T> Foo<T> {
                pub fn bar(&self) -> u8 { const LOCAL: u8 = 1; LOCAL }
            }
            mod inner { pub const MAX: u8 = 3; macro_rules! m { () => {} } }
        ",
        r"
            struct Foo: struct 3 from 1
            impl Foo<T> = Foo: impl 4-6
            impl Foo<T> > fn bar: method 5
            mod inner: module 7
            mod inner > const MAX: constant 7
            mod inner > macro m: macro 7
        ",
    ),
    (
        "c.py",
        r"
            class A(B):
                def x(self):
                    def inner(): pass
                    return inner

            async def go(): ...
        ",
        r"
            class A: class 1-4
            class A > def x: method 2-4
            class A > def x > def inner: function 3
            def go: function 6
        ",
    ),
    (
        "c.ts",
        r"
            export const add = (a: number) => { const b = 1; return a + b };
            export interface Shape { area(): number }
            type T = string;
            namespace N { export function f() {} }
            const { x, y } = z;
        ",
        r"
            const add: function 1
            interface Shape: interface 2
            interface Shape > method area: method 2 announced
            type T: type 3
            namespace N: module 4
            namespace N > function f: function 4
        ",
    ),
    ("c.jsx", "function App() { return <b>hi</b> }", "function App: function 1"),
    ("c.tsx", "export const App = () => <b>hi</b>;", "const App: function 1"),
    (
        "c.c",
        r"
            int *find(struct node *n);
            static int *find(struct node *n)
            {
              struct stat buffer;
              return 0;
            }
        ",
        r"
            function find: function 1 announced
            function find: function 2-6
        ",
    ),
    (
        "c.hpp",
        r"
            namespace n {
            class Box {
              T get() const;
              ~Box();
            };
            using X = int;
            }
        ",
        r"
            namespace n: module 1-7
            namespace n > class Box: class 2-5
            namespace n > class Box > method get: method 3 announced
            namespace n > class Box > function ~Box: method 4 announced
            namespace n > using X: type 6
        ",
    ),
    (
        "c.md",
        r"
            intro

            # One

            ```
            # no heading
            ```

            ## Two ##

            # Three
        ",
        r"
            One: section 3-10
            One > Two: section 9-10
            Three: section 11
        ",
    ),
    ("c.txt", "one\n\ntwo", ""),
    ("c.go", "", ""),
    (
        "a.vue",
        r#"
            <template><button @click="close">function no() {}</button></template>

            <script setup lang="ts">
            const count = ref<number>(0);
            function open(name: string): void { count.value = 1; }

            const close = () => {};
            </script>
            <style>function { }</style>
        "#,
        r"
            const count: constant 4
            function open: function 5
            const close: function 7
        ",
    ),
    (
        "a.html",
        "<script type=\"text/template\">function no() {}</script><script>function yes() {}</script>",
        "function yes: function 1",
    ),
    (
        "a.ipynb",
        r##"
            {
             "cells": [
              {
               "cell_type": "markdown",
               "source": [
                "# Totals"
               ]
              },
              {
               "cell_type": "code",
               "outputs": [{ "text": [
                "def output(): pass"
               ] }],
               "source": [
                "%matplotlib inline\n",
                "# Adds.\n",
                "def total(a, of=\"x\"):\n",
                "    return [\n",
                "    ]\n",
                "LIMIT = 3"
               ]
              }
             ]
            }
        "##,
        r"
            def total: function 17-19 from 16
            LIMIT: constant 20
        ",
    ),
    ("bin/tool", "#!/usr/bin/env -S python3.12 -u\n\ndef run():\n    pass", "def run: function 3-4"),
    ("bin/report", "#!/usr/bin/perl -w\n\nsub run {\n}", "sub run: function 3-4"),
    ("bin/serve", "#!/bin/sh\n\nserve() {\n  echo\n}", "function serve: function 3-5"),
];

#[test]
fn definitions_of_every_language_are_symbols() {
    for (path, source, expected) in DEFINITIONS {
        let lines = source.trim_matches([' ', '\n']).lines();
        let indented = lines.map(|line| line.strip_prefix("            ").unwrap_or(line));
        let source = indented.map(|line| format!("{line}\n")).collect::<String>();
        let outline = cut(path, &readable(path, source));
        let found = outline.symbols.iter().map(|symbol| {
            let (first, last) = (*symbol.lines.start(), *symbol.lines.end());
            let mut row = symbol.path.clone();
            if !row.ends_with(&format!(" {}", symbol.name)) && row != symbol.name {
                row += &format!(" = {}", symbol.name);
            }
            row += &format!(": {} {first}", symbol.kind.word());
            if first < last {
                row += &format!("-{last}");
            }
            if symbol.begins < first {
                row += &format!(" from {}", symbol.begins);
            }
            if !symbol.has_body {
                row += " announced";
            }
            row
        });
        let expected = expected.lines().map(str::trim).filter(|row| !row.is_empty());
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{path}");
    }
}
