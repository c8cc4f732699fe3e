use super::*;

fn score_of(old: &Content, new: &Content) -> u64 {
    let size = |content: &Content| content.bytes().len() as u64;
    score((&Pieces::from_content(old), size(old)), (&Pieces::from_content(new), size(new)))
}

fn text(text: &str) -> Content {
    Content::Text(text.as_bytes().to_vec())
}

#[test]
fn a_score_is_the_part_of_the_larger_file_that_both_have() {
    let long = "0123456789".repeat(20);
    let end = format!("{}.", &long[..199]);
    for (old, new, expected) in [
        ("a\nb\n", "a\nb\n", MAX_SCORE),
        ("a\nb\n", "b\na\n", MAX_SCORE),
        ("a\nb\n", "a\nc\n", MAX_SCORE / 2),
        ("a\nb", "a\nb\n", MAX_SCORE / 2),
        ("a\n", "a\na\n", MAX_SCORE / 2),
        ("a\na\n", "a\n", MAX_SCORE / 2),
        ("a\n", "b\n", 0),
        ("", "a\n", 0),
        ("a\n", "", 0),
        // Three pieces of 64 bytes, and a rest of 8.
        (&long, &end, MAX_SCORE * 192 / 200),
    ] {
        assert_eq!(score_of(&text(old), &text(new)), expected, "{old:?} {new:?}");
    }
}

#[test]
fn in_text_alone_a_line_end_of_two_characters_is_one_of_one() {
    let (one, two) = ("a\nb\n", "a\r\nb\r\n");
    assert_eq!(score_of(&text(one), &text(two)), MAX_SCORE * 4 / 6);
    let binary = |text: &str| Content::Binary(text.as_bytes().to_vec());
    assert_eq!(score_of(&binary(one), &binary(two)), 0);
    assert_eq!(score_of(&text("a\rb\n"), &text("a\rb\n")), MAX_SCORE);
}

#[test]
fn sizes_alone_can_tell_that_files_are_not_similar() {
    for (one, other, expected) in
        [(100, 50, true), (50, 100, true), (100, 49, false), (0, 0, true), (0, 1, false)]
    {
        assert_eq!(sizes_permit(one, other, MAX_SCORE / 2), expected, "{one} {other}");
    }
}
