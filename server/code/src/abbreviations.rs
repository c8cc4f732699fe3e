//! Abbreviations of programmers: a question asks for authentication, the code is in `auth.py`.

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

/// Abbreviations, each with the words that it stands for. Left out are those that are keywords of a language (`def`, `fn`, `var`), since
/// they are in every file, and inflected forms, which have the same stem.
#[rustfmt::skip]
const ABBREVIATIONS: &[&str] = &[
    "alloc allocate", "app application", "arg argument", "arr array", "async asynchronous", "attr attribute",
    "auth authentication authorization authenticate authorize", "buf buffer", "cb callback", "cmd command",
    "col column", "conf configuration config", "config configuration configure", "conn connection", "ctx context",
    "db database", "dep dependency", "desc description", "dest destination", "dict dictionary", "diff difference",
    "dir directory", "doc document", "dst destination", "elem element", "env environment", "err error",
    "eval evaluate", "exec execute execution", "expr expression", "id identifier", "ident identifier", "idx index",
    "impl implementation", "info information", "init initialize initialization initializer", "iter iterator iterate",
    "js javascript", "len length", "lib library", "max maximum", "mem memory", "mgr manager", "min minimum",
    "msg message", "num number", "obj object", "opt optimize option", "param parameter", "pkg package",
    "pos position", "prev previous", "ptr pointer", "ref reference", "regex regexp", "repo repository",
    "req request require", "res response result", "resp response", "seq sequence", "spec specification",
    "src source", "srv server", "stats statistics", "stmt statement", "sync synchronize synchronous synchronization",
    "temp temporary", "tmp temporary", "ts typescript", "tx transaction", "txn transaction", "util utility",
    "val value", "vec vector",
];

/// Returns the terms that mean the same as a term of a query.
pub(crate) fn equivalents(term: &str) -> impl Iterator<Item = &'static str> {
    static EQUIVALENTS: LazyLock<HashMap<String, BTreeSet<String>>> = LazyLock::new(|| {
        let mut all: HashMap<String, BTreeSet<String>> = HashMap::new();
        for line in ABBREVIATIONS {
            let mut terms = tabellion_retrieval::words(line).into_iter().map(|word| word.term);
            let short = terms.next().unwrap_or_default();
            for word in terms {
                all.entry(short.clone()).or_default().insert(word.clone());
                all.entry(word).or_default().insert(short.clone());
            }
        }
        all
    });
    EQUIVALENTS.get(term).into_iter().flatten().map(String::as_str)
}
