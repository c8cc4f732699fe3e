use proptest::prelude::*;

use super::*;

/// Returns the ranges in short: `old+length/new+length`.
fn ranges(old: &str, new: &str) -> String {
    let show = |range: &LineRange| {
        format!("{}+{}/{}+{}", range.old.start, range.old.len(), range.new.start, range.new.len())
    };
    let ranges = line_ranges(old.as_bytes(), new.as_bytes());
    ranges.iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn ranges_are_the_lines_that_differ() {
    for (old, new, expected) in [
        ("", "", ""),
        ("a\nb\n", "a\nb\n", ""),
        ("", "a\nb\n", "0+0/0+2"),
        ("a\nb\n", "", "0+2/0+0"),
        ("a\nb\nc\n", "a\nx\nc\n", "1+1/1+1"),
        ("a\nb\nc\n", "a\nc\n", "1+1/1+0"),
        ("a\nc\n", "a\nb\nc\n", "1+0/1+1"),
        ("a\nb\nc\nd\n", "x\nb\nc\ny\n", "0+1/0+1 3+1/3+1"),
        ("a", "a\n", "0+1/0+1"),
        ("a\r\n", "a\n", "0+1/0+1"),
    ] {
        assert_eq!(ranges(old, new), expected, "{old:?} {new:?}");
    }
}

#[test]
fn lines_are_counted_with_and_without_a_line_end() {
    for (text, expected) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
        assert_eq!(count(b"", text.as_bytes()), (expected, 0), "{text:?}");
        assert_eq!(count(text.as_bytes(), b""), (0, expected), "{text:?}");
    }
}

/// Returns the length of a shortest edit by the textbook's table.
fn shortest(old: &[String], new: &[String]) -> usize {
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (i, one) in old.iter().enumerate() {
        for (j, other) in new.iter().enumerate() {
            common[i + 1][j + 1] =
                if one == other { common[i][j] + 1 } else { common[i][j + 1].max(common[i + 1][j]) };
        }
    }
    old.len() + new.len() - 2 * common[old.len()][new.len()]
}

proptest! {
    #[test]
    fn an_edit_makes_the_new_text_of_the_old_one(
        old in proptest::collection::vec(0..9_u8, 0..80),
        new in proptest::collection::vec(0..9_u8, 0..80),
    ) {
        let lines = |numbers: &[u8]| numbers.iter().map(|number| format!("{number}\n")).collect::<Vec<_>>();
        let (old, new) = (lines(&old), lines(&new));
        let ranges = line_ranges(old.concat().as_bytes(), new.concat().as_bytes());
        let (mut made, mut at) = (Vec::new(), 0);
        for range in &ranges {
            made.extend_from_slice(&old[at..range.old.start]);
            made.extend_from_slice(&new[range.new.clone()]);
            at = range.old.end;
        }
        made.extend_from_slice(&old[at..]);
        prop_assert_eq!(&made, &new);
        let (additions, deletions) = count(old.concat().as_bytes(), new.concat().as_bytes());
        let sizes: (usize, usize) = ranges.iter().fold((0, 0), |sum, range| (sum.0 + range.new.len(), sum.1 + range.old.len()));
        prop_assert_eq!((additions as usize, deletions as usize), sizes);
    }

    /// Without very frequent lines, no line is removed that a shortest edit could keep.
    #[test]
    fn an_edit_is_a_shortest_one(
        old in proptest::collection::vec(0..60_u8, 0..40),
        new in proptest::collection::vec(0..60_u8, 0..40),
    ) {
        let mut old: Vec<_> = old.iter().map(|number| format!("{number}\n")).collect();
        let mut new: Vec<_> = new.iter().map(|number| format!("{number}\n")).collect();
        for lines in [&mut old, &mut new] {
            let mut seen = std::collections::HashMap::new();
            lines.retain(|line| {
                let count = seen.entry(line.clone()).or_insert(0);
                *count += 1;
                *count < 3
            });
        }
        let (additions, deletions) = count(old.concat().as_bytes(), new.concat().as_bytes());
        prop_assert_eq!((additions + deletions) as usize, shortest(&old, &new));
    }
}
