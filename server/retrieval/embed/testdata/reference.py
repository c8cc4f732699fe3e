"""Writes texts.jsonl and vectors.i16: what the reference implementation makes of texts.

    python reference.py MODEL

MODEL is the folder of all-MiniLM-L6-v2 with tokenizer.json and model.safetensors. Needs sentence-transformers; the files here are
from 3.0.1 with transformers 4.44.2, tokenizers 0.19.1 and torch 2.4.1. All texts were written for this file or are drawn at random.
"""

import json
import random
import sys
import unicodedata
from pathlib import Path

import numpy
from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer

MAX_TOKENS = 256
VECTORS = 200
HERE = Path(__file__).parent

SENTENCES = """
The parser was renamed last spring, after the second release.
Every edit is atomic: one commit, one entry of the log.
How do I configure image optimization?
Which hobby did the gardener pick up during the winter?
She bought eleven apples, three pears and a melon.
The server refuses requests whose body exceeds one megabyte.
A lock that is never released stops all other writers.
Rain is expected in the north; the south stays dry.
What is the difference between a mutex and a semaphore?
The committee's decision can't be appealed.
"Quotation marks," he said, "are easily forgotten."
Migrations run in order, and each of them once.
The bridge was closed for repairs until Tuesday, 14 March 1967.
Heat transfer in a laminar boundary layer grows with the square root of velocity.
Two proteins compete for the same binding site.
Why does the cache grow without bound?
Backups are taken nightly and kept for thirty days.
The recipe wants 250 g of flour, 1/2 tsp of salt and 3 eggs.
Who maintains the library of Markdown files?
An index is derived from its source and can be rebuilt at any time.
Retry with exponential back-off, at most five times.
The violinist tuned her instrument before the concert began.
Tokens that expire are renewed in the background.
Vectors of equal length are compared by their angle.
Mice lacking the gene gained weight more slowly than their littermates.
Please do not feed the ducks.
The quick brown fox jumps over the lazy dog.
THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG.
the quick brown fox jumps over the lazy dog
We measured 15.5 texts per second on one core.
It failed with error 0x80070005: access is denied.
The mayor opened the market, cut the ribbon and left.
Nothing in a query is an operator.
A cold start takes 40 ms; a warm one, 3 ms.
Where is the retry limit of the HTTP client set?
Ships that pass in the night
Documents are sorted by date, newest first.
There were 1,234,567 rows, of which 89.01 % were empty.
Dear Sir or Madam, I regret to inform you that your parcel is lost.
to be or not to be
""".strip().splitlines()

SCRIPTS = """
Быстрая коричневая лиса прыгает через ленивую собаку.
Съешь ещё этих мягких французских булок, да выпей чаю.
Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί.
敏捷的棕色狐狸跳过了懒狗。
数据库索引可以随时重建。
素早い茶色の狐がのろまな犬を飛び越える。
カタカナとひらがなと漢字
다람쥐 헌 쳇바퀴에 타고파
색인은 언제든지 다시 만들 수 있습니다.
الثعلب البني السريع يقفز فوق الكلب الكسول
השועל החום המהיר קופץ מעל הכלב העצלן
तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है।
สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ
Con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng.
Pijamalı hasta yağız şoföre çabucak güvendi. İSTANBUL ISPARTA
Zażółć gęślą jaźń
Příliš žluťoučký kůň úpěl ďábelské ódy
Falsches Üben von Xylophonmusik quält jeden größeren Zwerg
Voix ambiguë d'un cœur qui, au zéphyr, préfère les jattes de kiwis
El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia
Árvíztűrő tükörfúrógép
Ο ΣΊΣΥΦΟΣ ΚΑΙ Ο ΟΔΥΣΣΕΎΣ
ǅungla Ǆ ǆ ﬁne ﬂow Ⅳ ½ ² ™ № ㎏
naïve café (precomposed) and naïve café (combining)
አማርኛ ሀሁሂሃ
ქართული ანბანი
Հայերեն այբուբեն
ಕನ್ನಡ தமிழ் తెలుగు മലയാളം
🙂 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 emoji 🚀🚀
x² + y² = r², ∑ᵢ aᵢ ≤ ∞, α→β, ∀x∈ℝ
""".strip().splitlines()

CODE = [
    "fn main() {\n    println!(\"Hello, world!\");\n}",
    "pub fn parse(input: &str) -> Result<Ast, ParseError> {\n    let mut parser = Parser::new(input);\n    parser.program()\n}",
    "impl<T: Clone> Iterator for Cycle<T> {\n    type Item = T;\n    fn next(&mut self) -> Option<T> { self.inner.next() }\n}",
    "def retry(attempts=3, delay=0.5):\n    \"\"\"Calls the function again after a failure.\"\"\"\n    for attempt in range(attempts):\n        try:\n            return call()\n        except OSError:\n            time.sleep(delay * 2 ** attempt)",
    "class UserRepository:\n    def __init__(self, session: Session) -> None:\n        self._session = session\n\n    def find_by_email(self, email: str) -> User | None:\n        return self._session.query(User).filter_by(email=email).first()",
    "export async function fetchUser(id: number): Promise<User> {\n  const response = await fetch(`/api/users/${id}`);\n  if (!response.ok) throw new HttpError(response.status);\n  return response.json();\n}",
    "const debounce = (fn, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(() => fn(...a), ms); }; };",
    "func (s *Server) handleHealth(w http.ResponseWriter, r *http.Request) {\n\tw.WriteHeader(http.StatusOK)\n}",
    "public static <K, V> Map<V, K> invert(Map<K, V> map) {\n    Map<V, K> out = new HashMap<>();\n    map.forEach((k, v) -> out.put(v, k));\n    return out;\n}",
    "static inline int ring_push(struct ring *r, uint32_t v)\n{\n\tif (r->head - r->tail == RING_SIZE)\n\t\treturn -ENOSPC;\n\tr->buf[r->head++ & RING_MASK] = v;\n\treturn 0;\n}",
    "template <typename T> T&& forward(std::remove_reference_t<T>& t) noexcept { return static_cast<T&&>(t); }",
    "SELECT u.id, COUNT(*) AS n FROM users u JOIN orders o ON o.user_id = u.id WHERE o.total > 9.99 GROUP BY u.id HAVING n > 3;",
    "#!/bin/sh\nset -eu\nfor f in *.txt; do\n  wc -l \"$f\"\ndone | sort -n",
    "{\"name\": \"example\", \"version\": \"1.0.0\", \"files\": [\"a.js\", \"b.js\"], \"private\": true, \"n\": null}",
    "name: build\non: [push]\njobs:\n  test:\n    runs-on: linux\n    steps:\n      - run: make test",
    "<ul class=\"menu\"><li><a href=\"#top\">Top</a></li><li>&nbsp;</li></ul>",
    ".button:hover { color: #ff8800; margin: 0 auto; transition: opacity .2s ease-in-out }",
    "# Title\n\nSome *emphasis*, some **strong** text, a [link](https://example.com/a?b=c#d) and `code`.\n\n- one\n- two\n",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n-let x = 1;\n+let x = 2;",
    "HTTPServerConnectionPoolExhaustedError",
    "get_user_by_id getUserById GetUserByID get-user-by-id GET_USER_BY_ID",
    "std::collections::HashMap<String, Vec<u8>>",
    "thread 'main' panicked at src/main.rs:4:10:\nindex out of bounds: the len is 3 but the index is 7",
    "2024-05-17T09:41:23.123Z ERROR [worker-7] db.pool: timed out after 30000 ms (attempt 3/5)",
    "^(?:[a-z0-9!#$%&'*+/=?^_`{|}~-]+)@(?:[a-z0-9-]+\\.)+[a-z]{2,}$",
    "deadbeefcafebabe0123456789abcdef0123456789abcdef0123456789abcdef",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "if x>=0&&y<=1||!z{a+=1;b-=2;c*=3;d/=4;e%=5;f^=6;g<<=7;h>>=8;}",
    "λ> map (\\x -> x * 2) [1..10]",
]

EDGES = [
    "",
    " ",
    "\t\r\n \u3000\u00a0\u2003",
    "a",
    ".",
    "!?!?!?...---___***",
    "()[]{}<>«»“”‘’„‚‹›「」『』【】",
    "-–—―‐‑‒−",
    "can't won't it's o'clock rock'n'roll",
    "state-of-the-art up-to-date",
    "a\u0000b\ufffdc\u0001d\u007fe\u0085f\u200bg\u00adh\u2060i\ufeffj",
    "zero\u200dwidth\u200cjoiner",
    "left\u202eright\u202c",
    "line\u2028separator paragraph\u2029separator",
    "tab\tnew\nline\r\nreturn\x0bvertical\x0cfeed",
    "e\u0301e\u0301e\u0301 \u0301 \u0301\u0301a",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a\u032f\u031e\u0320\u034dA",
    "\uac00\uac01\uac02 \u1100\u1161\u11a8",
    "\u212b \u00c5 A\u030a \u2126 \u03a9",
    "\u1e9e \u00df SS \u0130 i\u0307 \u0131",
    "\u4e00\u3400\U00020000\uf900\U0002f800",
    "\ue000\U000f0000\U0010fffd",
    "x" * 99 + " " + "y" * 100 + " " + "z" * 101,
    "w" * 5000,
    "antidisestablishmentarianism floccinaucinihilipilification pneumonoultramicroscopicsilicovolcanoconiosis",
    "##ing ##s # ## ###",
    "1 12 123 1234 12345 123456 3.14159 -1e-10 1,000.00 0xff",
    "$100 €100 £100 ¥100 ₹100 ₿1 50% 50‰",
    "https://user:pass@example.com:8080/path/to/page.html?query=1&other=2#fragment",
    "C:\\Users\\person\\notes.md /home/person/notes.md ../../a/b.c ~/x",
    "person@example.com @mention #hashtag",
    "AaAaAa BBBbbb cCcCc",
    "the the the the the the the the",
    "\U0001f600\U0001f600\U0001f600",
    "\u2460\u2461\u2462 \u2160\u2161 \u00b9\u00b2\u00b3",
    "^ ` ~ | \\ / $ + = < >",
]


def long_texts():
    """Texts around and beyond the limit."""
    drawn = random.Random(1)
    for count in (120, 250, 253, 254, 255, 256, 257, 300, 2000):
        yield " ".join(["word"] * count)
    yield "\n\n".join(CODE[:10])
    yield " ".join(SENTENCES)
    for count in (8, 10, 12, 14, 16, 20):
        yield " ".join(drawn.sample(SENTENCES, count))
    yield "".join(SCRIPTS)


def mixtures(count):
    """Parts of the texts above, one after the other."""
    drawn = random.Random(2)
    for _ in range(count):
        parts = drawn.sample(SENTENCES + SCRIPTS + CODE, drawn.randint(2, 5))
        words = [word for part in parts for word in part.split(" ")]
        first = drawn.randrange(len(words))
        yield " ".join(words[first : first + drawn.randint(1, 60)])


def characters(count):
    """Random characters that the tables of old and new versions of Unicode describe alike."""
    drawn = random.Random(3)
    old = unicodedata.ucd_3_2_0
    ranges = [(0x20, 0x7F)] * 4 + [(0xA0, 0x250)] * 3 + [(0x250, 0x1000), (0x1000, 0x3000), (0x3000, 0xA000), (0xAC00, 0xD7A4), (0x1D400, 0x1D800)]
    for _ in range(count):
        text = ""
        while len(text) < 40:
            c = chr(drawn.randrange(*drawn.choice(ranges)))
            if old.category(c) == unicodedata.category(c) != "Cn":
                text += c + drawn.choice(["", "", " "])
        yield text


def main():
    folder = Path(sys.argv[1])
    # Few of the long ones: they are most of the file.
    embedded = SENTENCES + SCRIPTS + CODE + EDGES + list(long_texts())
    embedded += list(mixtures(VECTORS - len(embedded)))
    assert len(embedded) == VECTORS, len(embedded)
    more = list(characters(150))

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    with open(HERE / "texts.jsonl", "w", encoding="utf-8") as out:
        for text in embedded + more:
            row = {"text": text, "ids": tokenizer.encode(text).ids}
            out.write(json.dumps(row, separators=(",", ":")) + "\n")

    transformer = models.Transformer(str(folder), max_seq_length=MAX_TOKENS)
    model = SentenceTransformer(modules=[transformer, models.Pooling(384), models.Normalize()], device="cpu")
    vectors = model.encode(embedded, batch_size=8)
    (numpy.round(vectors * 32767).astype("<i2")).tofile(HERE / "vectors.i16")


main()
