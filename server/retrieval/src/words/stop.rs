//! Words that reveal little of a text's subject: articles, pronouns, auxiliaries, question words.
//!
//! They are indexed, but searched only if a query has no other word.

/// Returns true for a folded English stop word; apostrophes are left out.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// In alphabetical order.
#[rustfmt::skip]
const STOP_WORDS: [&str; 164] = [
    "a", "about", "above", "after", "again", "against", "all", "am", "an", "and", "any", "are", "arent", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "cannot", "cant", "could",
    "couldnt", "did", "didnt", "do", "does", "doesnt", "doing", "dont", "down", "during", "each", "either", "else", "ever",
    "every", "few", "for", "from", "further", "had", "hadnt", "has", "hasnt", "have", "havent", "having", "he", "her",
    "here", "hers", "herself", "hes", "him", "himself", "his", "how", "i", "if", "im", "in", "into", "is", "isnt", "it",
    "its", "itself", "ive", "just", "me", "might", "more", "most", "much", "must", "my", "myself", "no", "nor", "not", "of",
    "off", "on", "once", "only", "or", "other", "ought", "our", "ours", "ourselves", "out", "over", "own", "same", "shall",
    "shant", "she", "shes", "should", "shouldnt", "so", "some", "such", "than", "that", "thats", "the", "their", "theirs",
    "them", "themselves", "then", "there", "theres", "these", "they", "theyre", "this", "those", "through", "to", "too",
    "under", "until", "up", "us", "very", "was", "wasnt", "we", "were", "werent", "weve", "what", "whats", "when", "where",
    "which", "while", "who", "whom", "why", "will", "with", "wont", "would", "wouldnt", "you", "youll", "your", "youre",
    "yours", "yourself", "yourselves", "youve",
];

#[cfg(test)]
mod tests {
    use super::STOP_WORDS;

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted_by(|a, b| a < b));
    }
}
