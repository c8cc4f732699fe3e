use super::words;

/// The terms of a text; stop words in brackets.
fn cut(text: &str) -> String {
    let words = words(text);
    let shown = words
        .iter()
        .map(|word| if word.is_stop_word { format!("[{}]", word.term) } else { word.term.clone() });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn identifiers_are_kept_whole_and_cut_into_parts() {
    for (text, terms) in [
        ("parseHTTPHeader", "parsehttphead pars http header"),
        ("snake_case_name", "snakecasenam snake case name"),
        ("kebab-case", "kebabcas kebab case"),
        ("SCREAMING_SNAKE", "screamingsnak scream snake"),
        ("__init__", "init"),
        ("utf8 sha256sum", "utf8 utf 8 sha256sum sha 256 sum"),
        ("src/words/mod.rs", "src word mod rs mod.rs"),
        ("std::io::Error", "std io error"),
        ("v1.2.3", "v1 v 1 2 3 v1.2.3"),
        ("a-b- -c --flag", "ab [a] b c flag"),
        ("getX2Y", "getx2y get x 2 y"),
        ("éléphantRose", "elephantros eleph rose"),
        ("C++ & C# (g++)", "c c g c++ c# g++"),
        ("(C++17), C++/F#, .NET.", "c 17 c f net c++ c++ f# .net"),
        ("Node.js's ASP.NET 3.14", "node js asp net 3 14 node.js asp.net 3.14"),
        ("a#b #tag 'x' ... ..y z. a+b + # .", "[a] b tag x y z [a] b"),
        ("i++; ++i; a+++b; C#.NET", "[i] [i] [a] b c net i++ a++ c# .net"),
    ] {
        assert_eq!(cut(text), terms, "{text}");
    }
}

#[test]
fn english_words_are_reduced_to_stems() {
    for (text, terms) in [
        ("running runs ran", "run run run"),
        ("bought, buying", "buy buy"),
        ("Children's parties", "child parti"),
        ("don't won't", "[dont] [wont]"),
        ("Ann’s ANN'S", "ann ann"),
        ("L'application, l’utilisateur", "applic lapplic utilisateur lutilisateur"),
        ("dell'utente d'HTTPServer", "utent dellutent dhttpserver d http server"),
        ("O'Brien can't", "obrien o brien [cant]"),
        ("rock 'n' roll 'quoted'", "rock n roll quot"),
        ("the of and", "[the] [of] [and]"),
        ("did she go?", "[did] [she] go"),
    ] {
        assert_eq!(cut(text), terms, "{text}");
    }
}

#[test]
fn spellings_are_folded() {
    for (first, second) in [
        ("Café", "CAFE\u{301}"),
        ("Straße", "STRASSE"),
        ("Ｔｅｘｔ", "text"),
        ("ﬁsh", "fish"),
        ("Ørsted Łódź", "orsted lodz"),
        ("İstanbul ılık", "istanbul ilik"),
        ("ΟΔΟΣ", "οδός"),
        ("Ёлка", "елка"),
        ("مَرْحَبًا", "مرحبا"),
        ("שָׁלוֹם", "שלום"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
        ("soft\u{ad}hyphen", "softhyphen"),
        ("👍🏽", "👍"),
        ("ＨＴＴＰServer", "HTTPServer"),
    ] {
        assert_eq!(cut(first), cut(second), "{first}");
    }
    // Letters that readers distinguish stay distinct.
    for (first, second) in [("か", "が"), ("कल", "काल"), ("ก่า", "กา"), ("и", "н")] {
        assert_ne!(cut(first), cut(second));
    }
}

#[test]
fn scripts_without_blanks_are_cut_into_pairs() {
    for (text, terms) in [
        ("猫", "猫"),
        ("猫が好き", "猫 猫が が好 好 好き"),
        ("東京タワー", "東 東京 京 京タ タワ ワー"),
        ("ภาษา", "ภา าษ ษา"),
        ("한국어", "한국 국어"),
        ("책을 읽었다", "책 책을 읽었 었다"),
        ("집에서", "집 집에 에서"),
        ("Rust入门", "rust 入 入门 门"),
        ("第3章", "第 3 章"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
    ] {
        assert_eq!(cut(text), terms, "{text}");
    }
}

#[test]
fn punctuation_and_control_characters_are_no_words() {
    for text in [
        "",
        " \t\n",
        "\0\0",
        "\"'`*()[]{}^~!?.,;:|&-_+=<>/\\@#$%",
        "…—–«»",
        "\u{200d}\u{fe0f}",
        "''''",
        "_-_-",
    ] {
        assert_eq!(cut(text), "", "{text:?}");
    }
    assert_eq!(cut("a\0b"), "[a] b");
    assert_eq!(cut("ship it 🚀!"), "ship [it] 🚀");
}

#[test]
fn long_words_are_cut_alike_in_texts_and_queries() {
    let long = "x".repeat(5000);
    assert_eq!(cut(&long), "x".repeat(64));
    assert_eq!(cut(&"é".repeat(300)), "e".repeat(64));
}
