//! Any text is a query, and exact names and quoted texts come first.

use super::server::{CODE, SHOP, Server};
use tabellion_conformance::{check::fewer_steps, checks::prelude::*, texts::TEXTS};

pub(super) const ANY_TEXT: Check = Check {
    id: "search/any-text",
    guarantees: &["any-text-is-a-query"],
    states: "Any text is a query for code: it is answered without an error, and a word of any script finds the file that has it.",
    explains: "Indexes files with texts of more than 20 scripts, punctuation, operators of query languages, code and odd characters, and \
               searches each text. A server that hands queries to its database as they are answers a bracket with a syntax error.",
    cases: |_| {
        let names: Vec<_> = TEXTS.iter().map(|text| text.name.clone()).collect();
        let chunks = names.chunks(TEXTS_OF_A_CASE);
        let case = |names: &[String]| Case::new(format!("{} to {}", names[0], names[names.len() - 1]), names);
        Ok(chunks.map(case).collect())
    },
    shrink: fewer_steps::<String>,
    ..Check::must(|bench, case| any_text(bench, &case.read::<Vec<String>>()?))
};

pub(super) const EXACT: Check = Check {
    id: "search/exact",
    guarantees: &["exact-names-are-found"],
    states: "The name of a function finds its definition first, and a quoted text what has it before what has only its words.",
    explains: "Indexes a definition among callers, longer names with it, and texts that repeat its words, and searches its name; and a line \
               of code among lines of the same words in another order, and searches it in quotation marks.",
    cases: |_| {
        let sought = [
            ("a name", "parse_price", "src/price.rs"),
            ("a name in camel case", "parsePrice", "web/price.js"),
            ("a quoted line", "\"rate * amount + surplus\"", "src/surplus.rs"),
            ("a quoted text", "\"no till was open\"", "src/messages.py"),
        ];
        let case = |(name, query, path): (&str, &str, &str)| {
            let (query, path) = (query.to_owned(), path.to_owned());
            Case::new(name, Sought { query, path })
        };
        Ok(sought.map(case).into())
    },
    ..Check::must(|bench, case| exact(bench, &case.read()?))
};

/// Number of texts of a case.
const TEXTS_OF_A_CASE: usize = 12;

/// A query, and the file that must be found first.
#[derive(Debug, Serialize, Deserialize)]
struct Sought {
    query: String,
    path: String,
}

fn any_text(bench: &Bench<'_>, names: &[String]) -> Judgement {
    let texts: Vec<_> = TEXTS.iter().filter(|text| names.contains(&text.name)).collect();
    let mut server = Server::start(bench)?;
    for (number, text) in texts.iter().enumerate() {
        server.put(&format!("{SHOP}/text_{number}.md"), format!("{}\n", text.text))?;
    }
    server.index(&json!({}))?;
    for (number, text) in texts.iter().enumerate() {
        for query in [&text.text].into_iter().chain(&text.word) {
            let asked = json!({ "query": query });
            if let Reply::Refused(refusal) = server.ask(CODE, &asked)? {
                return Err(fail(format!(
                    "{}: the query {query:?} was refused: {}",
                    text.name, refusal.message
                )));
            }
        }
        if let Some(word) = &text.word {
            let found = server.search(word, &json!({}))?;
            ensure(found.iter().any(|hit| hit.is_in(&format!("text_{number}.md"))), || {
                format!("{}: `{word}` does not find {:?}", text.name, text.text)
            })?;
        }
    }
    Ok(())
}

/// Files that the names and lines are searched in.
const SOUGHT_AMONG: &[(&str, &str)] = &[
    (
        "src/price.rs",
        "/// Reads an amount.\npub fn parse_price(text: &str) -> Option<i64> {\n    text.parse().ok()\n}\n",
    ),
    (
        "src/caller.rs",
        "use price::parse_price;\n\npub fn both(a: &str, b: &str) -> bool {\n    parse_price(a) == parse_price(b) && parse_price(a).is_some()\n}\n",
    ),
    (
        "src/longer.rs",
        "pub fn parse_price_list(text: &str) -> Vec<i64> {\n    text.lines().filter_map(|line| line.parse().ok()).collect()\n}\n",
    ),
    (
        "notes.md",
        "# Prices\n\nTo parse a price, parse the text of the price. A price that does not parse is no price. Parse each price.\n",
    ),
    ("web/price.js", "// Reads an amount.\nfunction parsePrice(text) {\n  return Number(text);\n}\n"),
    ("web/caller.js", "const both = (a, b) => parsePrice(a) === parsePrice(b) && parsePrice(a) > 0;\n"),
    (
        "src/surplus.rs",
        "pub fn due(rate: i64, amount: i64, surplus: i64) -> i64 {\n    rate * amount + surplus\n}\n",
    ),
    (
        "src/surplus_other.rs",
        "/// Rate, amount, surplus: the surplus of an amount is a rate of the amount.\npub fn other(surplus: i64, amount: i64, rate: i64) -> i64 \
         {\n    surplus * rate + amount * rate + surplus * amount\n}\n",
    ),
    ("src/messages.py", "def complain():\n    raise ValueError(\"no till was open\")\n"),
    (
        "src/till.py",
        "def open_till(till, was):\n    # open the till: no till was till the till is open\n    return till if was else open(till)\n",
    ),
];

fn exact(bench: &Bench<'_>, sought: &Sought) -> Judgement {
    let mut server = Server::start(bench)?;
    for (path, text) in SOUGHT_AMONG {
        server.put(&format!("{SHOP}/{path}"), text)?;
    }
    server.index(&json!({}))?;
    let found = server.search(&sought.query, &json!({}))?;
    ensure(found.first().is_some_and(|hit| hit.is_in(&sought.path)), || {
        let paths: Vec<_> = found.iter().map(|hit| &hit.file_path).collect();
        format!("`{}` finds {paths:?}, but `{}` must be first", sought.query, sought.path)
    })
}
