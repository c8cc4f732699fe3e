use tabellion_runtime::spec::{Next, OnDelete, Reference, TextRule};

use super::*;
use crate::rows::client;

const KINDS: &[FieldType] = &[
    FieldType::Id,
    FieldType::Ref(Reference { to: "x", on_delete: OnDelete::Restrict, same: &[], acyclic: false }),
    FieldType::Text { min: 1, max: 20 },
    FieldType::Text { min: 30, max: usize::MAX },
    FieldType::Integer { min: 0, max: 3 },
    FieldType::Integer { min: i64::MIN, max: i64::MAX },
    FieldType::Number,
    FieldType::Boolean,
    FieldType::Enum(&["open", "closed"]),
    FieldType::Time,
    FieldType::Json,
    FieldType::List { max: 3, max_chars: 5 },
    FieldType::Next(Next { within: &[], strict: true }),
];

#[test]
fn values_are_what_they_are_said_to_be() {
    let mut dice = fastrand::Rng::with_seed(1);
    for kind in KINDS {
        let field = FieldSpec::new("f", *kind);
        for number in 0..20 {
            let plain = plain(&field, number);
            assert!(is_valid(&field, &plain), "{kind:?}: {plain}");
            let random = random(&field, &mut dice);
            assert!(is_valid(&field, &random), "{kind:?}: {random}");
        }
        let wrong = wrong(&field);
        assert!(wrong.len() > 1, "{kind:?}");
        for (what, value) in wrong {
            assert!(!is_valid(&field, &value), "{kind:?}: {what}");
        }
    }
}
#[test]
fn values_keep_the_rules_of_texts_and_times() {
    use TextRule::{Email, JsonObject, JsonTexts, JsonValue, MaxBytes, NotBlank, Pattern};
    let text = FieldType::Text { min: 1, max: usize::MAX };
    let mut dice = fastrand::Rng::with_seed(1);
    let of = |rules: &'static [TextRule]| FieldSpec { text: rules, ..FieldSpec::new("f", text) };
    let at = |range| FieldSpec { range: Some(range), ..FieldSpec::new("f", FieldType::Time) };
    for (field, good, bad) in [
        (of(&[NotBlank]), json!(" é "), json!(" \n")),
        (of(&[MaxBytes(4)]), json!("éé"), json!("ééa")),
        (of(&[Pattern("^[0-9a-f]{7,64}$")]), json!("0123456"), json!("0123456g")),
        (of(&[Email]), json!("a.b@localhost"), json!("a b@c.d")),
        (of(&[JsonValue]), json!(" 1 "), json!("1 2")),
        (of(&[JsonObject]), json!("{\"a\":[]}"), json!("1")),
        (of(&[JsonTexts]), json!("[\"a\"]"), json!("[\"a\",1]")),
        (at(Range::AfterNow), json!(FUTURE), json!(client::now())),
        (at(Range::UntilNow), json!(PAST), json!(client::now() + 100)),
        (FieldSpec { loose: true, ..FieldSpec::new("f", KINDS[1]) }, json!("a b/ü"), json!("")),
        (
            FieldSpec { pascal_case: true, ..FieldSpec::new("f", FieldType::Enum(&["in_progress", "open"])) },
            json!("InProgress"),
            json!("In_progress"),
        ),
    ] {
        assert!(is_valid(&field, &good), "{field:?} {good}");
        assert!(!is_valid(&field, &bad), "{field:?} {bad}");
        for number in 0..20 {
            for value in [plain(&field, number), random(&field, &mut dice)] {
                assert!(is_valid(&field, &value), "{field:?} {value}");
            }
        }
        assert!(wrong(&field).len() > 2, "{field:?}");
    }
}

#[test]
fn a_slug_has_letters_and_digits_alone() {
    for (text, expected) in [
        ("My name!", "my-name"),
        ("  --A__b 1é2", "a-b-1e2"),
        ("Über ß", "uber"),
        ("日本", ""),
        (&"ab".repeat(40), &"ab".repeat(40)[..63]),
        (&format!("{}- x", "a".repeat(62)), &"a".repeat(62)),
    ] {
        assert_eq!(slug(text), expected);
    }
}
