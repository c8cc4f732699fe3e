//! Words of texts, for the index, and of queries.
//!
//! Both go through [`words`], so any text finds itself. No character is an operator. The weight of a word is left to `ranking`.
//!
//! | step | module | example |
//! |---|---|---|
//! | compatibility forms, case and diacritics are folded | `fold` | `Ｃａｆé` → `cafe` |
//! | text is cut at blanks and punctuation; unspaced scripts into pairs of characters | `script` | `猫が好き` → `猫`, `猫が`, `が好`, `好`, `好き` |
//! | identifiers are kept whole and cut into parts | here | `parseHTTPHeader` → `parsehttpheader`, `parse`, `http`, `header` |
//! | names with marks are words too | `marked` | `C++` → `c`, `c++` |
//! | English words are reduced to stems, irregular forms to their base | `stem` | `bought`, `buying` → `buy` |

mod fold;
mod irregular;
mod marked;
mod script;
mod stem;
mod stop;

use std::collections::HashSet;

pub(crate) use self::stop::is_stop_word;
use self::{
    fold::{fold_case, normalize},
    script::{Class, class},
    stem::Stems,
};

/// Characters of a term; longer ones are cut, in texts and queries alike.
const MAX_TERM_CHARS: usize = 64;

/// Articles and particles of French and Italian that lose their vowel before one: `l'utilisateur` contains the word `utilisateur`.
const ELISIONS: &[&str] = &[
    "all", "c", "coll", "d", "dall", "dell", "j", "jusqu", "l", "lorsqu", "m", "n", "nell", "puisqu", "qu",
    "quell", "quoiqu", "s", "sull", "t", "un",
];

/// Particles of Korean, which are written to their noun.
const PARTICLES: &[&str] = &[
    "가",
    "과",
    "까지",
    "나",
    "는",
    "다",
    "도",
    "들",
    "라",
    "랑",
    "로",
    "를",
    "만",
    "보다",
    "부터",
    "에",
    "에는",
    "에도",
    "에서",
    "에게",
    "와",
    "으로",
    "은",
    "을",
    "의",
    "이",
    "이나",
    "이다",
    "이랑",
    "입니다",
    "처럼",
    "하고",
];

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The form that is indexed and searched.
    pub term: String,
    /// True for a word that reveals little of a text's subject: `the`, `did`, `what`.
    pub is_stop_word: bool,
    /// True for a part of an identifier whose whole is a word too, and for a name with marks whose letters are.
    pub is_part: bool,
    /// True for a part of an identifier that is not set apart by a hyphen: `java` of `JavaScript`.
    pub is_inner: bool,
}

/// Cuts a text into words, in their order. Names with marks follow.
pub fn words(text: &str) -> Vec<Word> {
    let text = normalize(text);
    let mut cutter = Cutter::default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match class(char) {
            Class::Letter => cutter.letter(char),
            Class::Unspaced => cutter.unspaced(char),
            Class::Mark => cutter.mark(char),
            Class::Symbol => {
                cutter.end();
                cutter.push(char.to_string(), false, false);
            }
            Class::Apostrophe => cutter.apostrophe(char, &text[at + char.len_utf8()..]),
            Class::Joiner => {
                let next = chars.peek().map(|(_, next)| class(*next));
                if next == Some(Class::Letter) {
                    cutter.joiner(char);
                } else {
                    cutter.end();
                }
            }
            Class::Separator => cutter.end(),
        }
    }
    cutter.end();
    for name in marked::names(&text) {
        cutter.push(name.to_owned(), false, true);
    }
    cutter.words
}

/// Returns the terms of a query's words, each once, and at most `max`. Stop words count if there are no other words.
pub fn query_terms(words: &[Word], max: usize) -> Vec<String> {
    let has_others = words.iter().any(|word| !word.is_stop_word);
    let mut seen = HashSet::new();
    let counting = words.iter().filter(|word| !(has_others && word.is_stop_word));
    let terms = counting.map(|word| &word.term).filter(|term| seen.insert(*term));
    terms.take(max).cloned().collect()
}

/// Collects characters until a word ends.
#[derive(Default)]
struct Cutter {
    words: Vec<Word>,
    stems: Stems,
    /// Parts of the identifier so far, as written.
    parts: Vec<String>,
    /// Characters of a script without blanks, each with its marks.
    run: Vec<String>,
    /// True after an apostrophe: the possessive's `s` is left out.
    skips_s: bool,
    /// True if a hyphen joins parts so far.
    has_hyphen: bool,
    /// Bytes before the apostrophe of an article or particle that has lost its vowel.
    elided: usize,
}

impl Cutter {
    fn letter(&mut self, char: char) {
        self.end_run();
        if std::mem::take(&mut self.skips_s) {
            return;
        }
        match self.parts.last_mut() {
            Some(part) if !part.is_empty() && !begins_part(part, char) => part.push(char),
            Some(part) if part.is_empty() => part.push(char),
            Some(part) => {
                // `HTTPHeader`: the last capital belongs to the next part.
                let capital = part.chars().next_back().filter(|last| last.is_uppercase());
                let mut next = String::new();
                if let Some(capital) = capital.filter(|_| char.is_lowercase()) {
                    part.pop();
                    next.push(capital);
                }
                next.push(char);
                self.parts.push(next);
            }
            None => self.parts.push(char.to_string()),
        }
    }

    fn unspaced(&mut self, char: char) {
        self.end_identifier();
        self.run.push(char.to_string());
    }

    fn mark(&mut self, char: char) {
        if let Some(last) = self.run.last_mut().or_else(|| self.parts.last_mut()) {
            last.push(char);
        }
    }

    /// Joins `snake_case` and `kebab-case`.
    fn joiner(&mut self, char: char) {
        self.end_run();
        self.has_hyphen |= char != '_';
        if self.parts.last().is_some_and(|part| !part.is_empty()) {
            self.parts.push(String::new());
        }
    }

    /// Leaves an apostrophe out: `don't` is one word, `Ann's` is `Ann`.
    fn apostrophe(&mut self, char: char, rest: &str) {
        self.end_run();
        let mut rest = rest.chars();
        let next = rest.next();
        let ends = rest
            .next()
            .is_none_or(|after| !matches!(class(after), Class::Letter | Class::Apostrophe | Class::Mark));
        let is_inside = !self.parts.is_empty() && next.is_some_and(char::is_alphabetic);
        match next {
            Some('s' | 'S') if ends && is_inside => self.skips_s = true,
            _ if is_inside && char != '`' => {
                let before = &self.parts[0];
                if self.parts.len() == 1 && ELISIONS.contains(&&*before.to_lowercase()) {
                    self.elided = before.len();
                }
            }
            _ => self.end(),
        }
    }

    fn end(&mut self) {
        self.end_identifier();
        self.end_run();
    }

    fn end_identifier(&mut self) {
        self.skips_s = false;
        let mut parts = std::mem::take(&mut self.parts);
        parts.retain(|part| !part.is_empty());
        if parts.len() > 1 {
            self.push(parts.concat(), true, false);
        }
        let elided = std::mem::take(&mut self.elided);
        if let [word] = &parts[..]
            && elided > 0
        {
            self.push(word[elided..].to_owned(), true, false);
        }
        let is_part = parts.len() > 1;
        let first = self.words.len();
        for part in parts {
            self.push(part, true, is_part);
        }
        let is_inner = is_part && !std::mem::take(&mut self.has_hyphen);
        self.words[first..].iter_mut().for_each(|word| word.is_inner = is_inner);
    }

    /// Ends a run of a script without blanks: single ideographs, and pairs of neighbouring characters; of Korean, also a noun of one syllable.
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run.len() > 1 && PARTICLES.contains(&&*run[1..].concat()) {
            self.push(run[0].clone(), false, true);
        }
        for (at, char) in run.iter().enumerate() {
            if run.len() == 1 || char.starts_with(script::is_ideograph) {
                self.push(char.clone(), false, run.len() > 1);
            }
            if let Some(next) = run.get(at + 1) {
                self.push(format!("{char}{next}"), false, false);
            }
        }
    }

    fn push(&mut self, written: String, is_language: bool, is_part: bool) {
        let mut term = fold_case(&written);
        if let Some((end, _)) = term.char_indices().nth(MAX_TERM_CHARS) {
            term.truncate(end);
        }
        let is_stop_word = is_language && is_stop_word(&term);
        if is_language {
            term = self.stems.stem(term);
        }
        if !term.is_empty() {
            self.words.push(Word { term, is_stop_word, is_part, is_inner: false });
        }
    }
}

/// Returns true if `char` begins a new part of an identifier after `part`.
fn begins_part(part: &str, char: char) -> bool {
    let Some(last) = part.chars().next_back() else {
        return false;
    };
    let capitals = part.chars().rev().take_while(|char| char.is_uppercase()).count();
    (last.is_lowercase() && char.is_uppercase())
        || (capitals > 1 && char.is_lowercase())
        || last.is_numeric() != char.is_numeric()
}

#[cfg(test)]
mod tests;
