//! Long texts, cut into parts that the model reads whole.

use crate::{
    model::MAX_TOKENS,
    tokenizer::{count, is_token_end},
};

/// Parts of a text that count; the rest is found by its words alone.
const MAX_PARTS: usize = 64;
/// Tokens of a part, without those of start and end.
const PART: usize = MAX_TOKENS - 2;

/// Cuts a text into parts of at most [`MAX_TOKENS`] tokens: at the end of a line, unless that leaves less than half a part, else
/// between tokens. A text with no more tokens is one part.
pub fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut at, mut tokens) = (vec![], 0, 0, 0);
    // The end of the part's last line, and the tokens up to there.
    let mut line = None;
    for piece in text.split_inclusive(is_token_end) {
        let more = count(piece);
        if tokens + more > PART {
            let (end, taken) = line.filter(|(_, taken)| taken * 2 >= PART).unwrap_or((at, tokens));
            parts.push(&text[start..end]);
            if parts.len() == MAX_PARTS {
                return parts;
            }
            (start, tokens, line) = (end, tokens - taken, None);
        }
        at += piece.len();
        tokens += more;
        if piece.ends_with('\n') {
            line = Some((at, tokens));
        }
    }
    if tokens > 0 || parts.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_PARTS, PART, parts};
    use crate::tokenizer::count;

    #[test]
    fn a_long_text_is_cut_at_lines() {
        for text in ["", "one line", &"word ".repeat(PART)] {
            assert_eq!(parts(text), [text]);
        }
        let line = format!("{}\n", "word ".repeat(100));
        assert_eq!(parts(&line.repeat(5)), [&*line.repeat(2), &*line.repeat(2), &*line]);
        let long = "word ".repeat(PART + 1);
        assert_eq!(parts(&long), [&*"word ".repeat(PART), "word "]);
        // No cut leaves less than half a part.
        let title = format!("title\n{}", "word ".repeat(PART));
        assert_eq!(parts(&title)[0], format!("title\n{}", "word ".repeat(PART - 1)));
        assert_eq!(parts(&"word ".repeat(PART * (MAX_PARTS + 1))).len(), MAX_PARTS);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn parts_join_to_the_text_and_fit(text in "([a-zé]{1,120}|[ .,\n]|[一-龠]){0,800}") {
            let parts = parts(&text);
            prop_assert!(parts.iter().all(|part| count(part) <= PART));
            let joined = parts.concat();
            // The rest has no token.
            prop_assert!(text.starts_with(&joined) && text[joined.len()..].trim().is_empty());
        }
    }
}
