//! Tests that any text is a valid query, and finds the document that contains it.

use proptest::prelude::*;

use super::source::{Bench, document};
use crate::{Search, words::words};

/// Twenty scripts, and the operators of other search engines.
const TEXTS: [&str; 58] = [
    "The quick brown fox",
    "Съешь же ещё этих мягких французских булок",
    "Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία",
    "نص حكيم له سر قاطع وذو شأن عظيم",
    "דג סקרן שט לו בים זך",
    "ऋषियों को सताने वाले दुष्ट राक्षसों",
    "আমি কাঁচ খেতে পারি",
    "நான் கண்ணாடி சாப்பிடுவேன்",
    "నేను గాజు తినగలను",
    "ನಾನು ಗಾಜನ್ನು ತಿನ್ನಬಲ್ಲೆ",
    "ഞാൻ ഗ്ലാസ് കഴിക്കും",
    "ਮੈਂ ਗਲਾਸ ਖਾ ਸਕਦਾ ਹਾਂ",
    "હું કાચ ખાઈ શકું છું",
    "මට වීදුරු කන්න පුළුවන්",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "ຂ້ອຍກິນແກ້ວໄດ້",
    "ខ្ញុំអាចញ៉ាំកញ្ចក់បាន",
    "ကျွန်တော် မှန်စားနိုင်တယ်",
    "ཤེལ་སྒོ་ཟ་ནས་ང་ན་གི་མ་རེད",
    "天地玄黃宇宙洪荒",
    "いろはにほへと ちりぬるを",
    "키스의 고유조건은 입술끼리 만나야",
    "მინას ვჭამ და არა მტკივა",
    "Կրնամ ապակի ուտել",
    "ከሰማይ ማን ያድርሰኝ",
    "ᎠᏂᏔᎵ ᏣᎳᎩ",
    "ᐊᓕᒍᖅ ᓂᕆᔭᕌᖓᒃᑯ",
    "𐌼𐌰𐌲 𐌲𐌻𐌴𐍃 𐌹̈𐍄𐌰𐌽",
    "pack my box 🚀 with 🦀",
    "error AND warning",
    "error OR warning",
    "NOT found",
    "NEAR(foo bar, 5)",
    "title:foo",
    "-excluded +included",
    "{a b}: c",
    "^start",
    "wild* card?",
    "\"quoted phrase\"",
    "\"unbalanced",
    "it's 'quoted' ''twice''",
    "(((",
    "a AND",
    "OR",
    "; DROP TABLE document; --",
    "%_LIKE_%",
    "\\ backslash \\\\",
    "nul\0inside",
    "tab\tand\r\nnewline",
    "$1 ?1 :name @name",
    "[brackets] {braces} <angles>",
    "http://example.com/a?b=c&d=e#f",
    "C:\\Windows\\System32",
    "1 + 1 = 2",
    "3.14159e-10",
    "\u{feff}bom \u{202e}rtl",
    "é e\u{301} ｅ",
    "ﷺ ㎏ ½",
];

#[test]
fn each_text_finds_its_document() {
    let documents = TEXTS.iter().enumerate();
    let bench = Bench::with_documents(documents.map(|(at, text)| document(&at.to_string(), text)));
    for (at, text) in TEXTS.iter().enumerate() {
        let found = bench.find(text);
        if words(text).is_empty() {
            assert!(found.is_empty(), "{text:?}");
        } else {
            assert!(found.contains(&at.to_string()), "{text:?}: {found:?}");
            // Each word alone finds it too.
            for word in text.split_whitespace().filter(|word| !words(word).is_empty()) {
                assert!(bench.find(word).contains(&at.to_string()), "{word:?} of {text:?}");
            }
        }
    }
}

#[test]
fn a_text_that_is_no_word_finds_nothing() {
    let bench = Bench::with_documents(TEXTS.iter().map(|text| document(text, text)));
    for query in ["", " ", "\0", "\"\"", "* *", "(((", "…", "\u{200b}", "--"] {
        assert!(bench.find(query).is_empty(), "{query:?}");
    }
}

#[test]
fn queries_of_function_words_alone_are_answered() {
    let bench =
        Bench::with_documents([document("a", "To be or not to be"), document("b", "that is the question")]);
    assert_eq!(bench.find("to be or not to be"), ["a"]);
    // In addition to other words, they don't count.
    assert_eq!(bench.find("what is not the question"), ["b"]);
}

#[test]
fn parts_and_wholes_of_identifiers_find_each_other() {
    let bench = Bench::with_documents([
        document("a", "fn parseHTTPHeader()"),
        document("b", "parse the document"),
        document("c", "parse_http_header"),
    ]);
    assert_eq!(bench.find("HTTP headers"), ["c", "a"]);
    assert_eq!(bench.find("parseHttpHeader").len(), 3);
    assert_eq!(bench.find("parse").len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_texts_are_answered_and_find_themselves(texts in prop::collection::vec(any::<String>(), 1..8)) {
        let documents = texts.iter().enumerate().map(|(at, text)| document(&at.to_string(), text));
        let bench = Bench::with_documents(documents);
        for (at, text) in texts.iter().enumerate() {
            let hits = bench.index.search_as_is(0, &Search::new(text.as_str(), 10)).unwrap();
            prop_assert!(hits.hits.iter().any(|hit| hit.id == at.to_string()) != words(text).is_empty());
        }
    }
}
