//! Texts to token ids: BERT's normalisation and WordPiece, over the vocabulary of `data/vocab.txt`.
//!
//! Follows the `tokenizers` crate as the model's `tokenizer.json` configures it, except that names of special tokens in a text, such as
//! `[SEP]`, are ordinary characters. Memory does not grow with the length of the text.

use std::{collections::HashMap, sync::LazyLock};

use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::UnicodeNormalization as _;

/// The vocabulary, a token per line; the line number is the id.
const VOCABULARY: &str = include_str!("../data/vocab.txt");
/// Number of tokens in the vocabulary.
pub(crate) const VOCABULARY_SIZE: usize = 30_522;

/// Token for a word without pieces in the vocabulary.
const UNKNOWN: u32 = 100;
/// Begins each sequence.
const START: u32 = 101;
/// Ends each sequence.
const END: u32 = 102;

/// Longer words are unknown without a search of the vocabulary.
const MAX_WORD_CHARS: usize = 100;

/// Prefix of the pieces in the vocabulary that continue a word.
const CONTINUATION: &str = "##";

/// The vocabulary's pieces by text.
struct Vocabulary {
    /// Pieces that begin a word.
    first: HashMap<&'static str, u32>,
    /// Pieces that continue a word, without their `##`.
    later: HashMap<&'static str, u32>,
    /// Length of the longest piece in bytes.
    max_bytes: usize,
}

static PIECES: LazyLock<Vocabulary> = LazyLock::new(|| {
    let mut pieces =
        Vocabulary { first: HashMap::with_capacity(VOCABULARY_SIZE), later: HashMap::new(), max_bytes: 0 };
    for (id, piece) in (0..).zip(VOCABULARY.lines()) {
        pieces.max_bytes = pieces.max_bytes.max(piece.len());
        match piece.strip_prefix(CONTINUATION) {
            Some(later) if !later.is_empty() => pieces.later.insert(later, id),
            _ => pieces.first.insert(piece, id),
        };
    }
    pieces
});

/// Returns the ids of the text's tokens between those of start and end, `max` in all at most: excess tokens are cut off the
/// text's end.
pub(crate) fn tokenize(text: &str, max: usize) -> Vec<u32> {
    let mut tokens = Tokens { ids: vec![START], max: max - 1, word: String::new(), chars: 0 };
    let cleaned = text.chars().filter(|&c| !is_dropped(c));
    let bare = cleaned.nfd().filter(|&c| c.is_ascii() || category(c) != Category::NonspacingMark);
    for c in bare.flat_map(char::to_lowercase) {
        if c.is_whitespace() {
            tokens.end_word();
        } else if is_punctuation(c) || is_cjk(c) {
            tokens.end_word();
            tokens.push(c);
            tokens.end_word();
        } else {
            tokens.push(c);
        }
        if tokens.is_full() {
            break;
        }
    }
    tokens.end_word();
    tokens.ids.push(END);
    tokens.ids
}

/// Returns the number of a text's tokens, without those of start and end.
pub(crate) fn count(text: &str) -> usize {
    tokenize(text, usize::MAX).len() - 2
}

/// Returns true for the characters after which a new token always begins.
pub(crate) fn is_token_end(c: char) -> bool {
    c.is_whitespace() || is_punctuation(c) || is_cjk(c)
}

/// The tokens so far, and the current word.
struct Tokens {
    ids: Vec<u32>,
    max: usize,
    word: String,
    chars: usize,
}

impl Tokens {
    fn is_full(&self) -> bool {
        self.ids.len() >= self.max
    }

    fn push(&mut self, c: char) {
        self.chars += 1;
        if self.chars <= MAX_WORD_CHARS {
            self.word.push(c);
        }
    }

    /// Appends the pieces of the word, and begins the next one.
    fn end_word(&mut self) {
        if self.chars > MAX_WORD_CHARS {
            self.ids.push(UNKNOWN);
        } else if self.chars > 0 && !self.is_full() {
            let before = self.ids.len();
            if !append_pieces(&self.word, &mut self.ids) {
                self.ids.truncate(before);
                self.ids.push(UNKNOWN);
            }
        }
        self.ids.truncate(self.max);
        self.word.clear();
        self.chars = 0;
    }
}

/// Appends the longest piece that begins the word, then the longest that begins the rest, and so on. Returns false if the
/// vocabulary lacks a piece.
fn append_pieces(word: &str, ids: &mut Vec<u32>) -> bool {
    let vocabulary = &*PIECES;
    let mut pieces = &vocabulary.first;
    let mut rest = word;
    while !rest.is_empty() {
        let longest = (1..=rest.len().min(vocabulary.max_bytes)).rev();
        let found = longest
            .filter(|&end| rest.is_char_boundary(end))
            .find_map(|end| Some((end, *pieces.get(&rest[..end])?)));
        let Some((end, id)) = found else {
            return false;
        };
        ids.push(id);
        rest = &rest[end..];
        pieces = &vocabulary.later;
    }
    true
}

fn category(c: char) -> Category {
    get_general_category(c)
}

/// Returns true for control characters and the like, which are removed from the text without ending a word.
fn is_dropped(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | char::REPLACEMENT_CHARACTER => true,
        _ if c.is_ascii() => c.is_ascii_control(),
        _ => matches!(category(c), Category::Control | Category::Format | Category::PrivateUse),
    }
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(
        category(c),
        Category::ConnectorPunctuation
            | Category::DashPunctuation
            | Category::OpenPunctuation
            | Category::ClosePunctuation
            | Category::InitialPunctuation
            | Category::FinalPunctuation
            | Category::OtherPunctuation
    )
}

/// Returns true for the ideographs that BERT treats as words.
fn is_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{4E00}'..='\u{9FFF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{20000}'..='\u{2A6DF}'
            | '\u{2A700}'..='\u{2B73F}'
            | '\u{2B740}'..='\u{2B81F}'
            | '\u{2B920}'..='\u{2CEAF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{2F800}'..='\u{2FA1F}'
    )
}
