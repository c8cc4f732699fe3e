//! Dates in questions, compared with the times of documents.
//!
//! A question such as "What did we decide in May 2023?" names a time that the texts of that time do not mention. Each document
//! has the calendar units of its time (UTC) as terms, and so has a question for each date in it.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike as _};

/// English names of months, in order; the first three letters are enough.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Words after which the name of a month is recognized even in lower case, such as "may" and "march".
const BEFORE_MONTHS: [&str; 9] = ["in", "of", "since", "until", "during", "last", "early", "late", "mid"];

/// Returns the calendar units of a time: year, month of the year, month, day of the year.
pub(crate) fn units_of(time: i64) -> Vec<String> {
    let Some(time) = DateTime::from_timestamp(time, 0) else {
        return vec![];
    };
    let (month, day) = (time.month(), time.day());
    let mut units = BTreeSet::new();
    add(&mut units, Some(time.year()), Some(month), Some(day));
    units.into_iter().collect()
}

/// Adds the known units of a date, from the year to the day.
fn add(units: &mut BTreeSet<String>, year: Option<i32>, month: Option<u32>, day: Option<u32>) {
    units.extend(year.map(|year| format!("{year}")));
    units.extend(month.map(|month| format!("--{month:02}")));
    if let Some((year, month)) = year.zip(month) {
        units.insert(format!("{year}-{month:02}"));
    }
    if let Some((month, day)) = month.zip(day) {
        units.insert(format!("--{month:02}-{day:02}"));
    }
}

/// Returns the calendar units that a question names: `May 2023`, `June 26, 2023`, `26 June`, `2023-06-26`, `2023`.
pub(crate) fn dates_in(question: &str) -> BTreeSet<String> {
    let mut units = BTreeSet::new();
    let tokens: Vec<&str> = question
        .split(|char: char| !char.is_ascii_alphanumeric() && char != '-')
        .filter(|token| !token.is_empty())
        .collect();
    for (at, token) in tokens.iter().enumerate() {
        let after = |distance: usize| tokens.get(at + distance).copied();
        let before = at.checked_sub(1).map(|at| tokens[at]);
        if let Some((year, month, day)) = numeric(token) {
            add(&mut units, Some(year), month, day);
        } else if let Some(month) = month(token, before, after(1)) {
            let day = after(1).and_then(day).or_else(|| before.and_then(day));
            let year = [after(1), after(2)].into_iter().flatten().find_map(year);
            add(&mut units, year, Some(month), day);
        }
    }
    units
}

/// Reads `2023`, `2023-06` and `2023-06-26`.
fn numeric(token: &str) -> Option<(i32, Option<u32>, Option<u32>)> {
    let mut parts = token.split('-');
    let year = parts.next().and_then(year)?;
    let month = parts.next().map(|part| part.parse().ok().filter(|month| (1..=12).contains(month)));
    let day = parts.next().map(day);
    match (month, day, parts.next()) {
        (Some(None), ..) | (_, Some(None), _) | (.., Some(_)) => None,
        (month, day, None) => Some((year, month.flatten(), day.flatten())),
    }
}

fn year(token: &str) -> Option<i32> {
    let year = token.parse().ok().filter(|_| token.len() == 4);
    year.filter(|year| (1900..2100).contains(year))
}

/// Reads `26` and `26th`.
fn day(token: &str) -> Option<u32> {
    let digits = token.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let is_plain = matches!(&token[digits.len()..], "" | "st" | "nd" | "rd" | "th");
    let day = digits.parse().ok().filter(|_| is_plain && digits.len() < 3);
    day.filter(|day| (1..=31).contains(day))
}

/// Reads the name of a month, if it is capitalized, next to a number, or after a preposition.
fn month(token: &str, before: Option<&str>, after: Option<&str>) -> Option<u32> {
    let lower = token.to_ascii_lowercase();
    let is_name = |month: &&str| {
        **month == *lower
            || (lower.len() == 3 && month.starts_with(&lower))
            || lower == "sept" && *month == "september"
    };
    let at = MONTHS.iter().position(is_name)?;
    let is_number = |token: &str| day(token).or(year(token).map(|_| 1)).is_some();
    let is_date = token.starts_with(|char: char| char.is_ascii_uppercase())
        || after.is_some_and(is_number)
        || before.is_some_and(|before| {
            is_number(before) || BEFORE_MONTHS.contains(&&*before.to_ascii_lowercase())
        });
    is_date.then(|| u32::try_from(at).unwrap_or(0) + 1)
}

#[cfg(test)]
mod tests {
    use super::{dates_in, units_of};

    #[test]
    fn questions_name_dates() {
        for (question, units) in [
            ("What did we decide in May 2023?", "--05 2023 2023-05"),
            ("the tests of June 26, 2023", "--06 --06-26 2023 2023-06"),
            ("26th of june", "--06"),
            ("on 3 sept", "--09 --09-03"),
            ("logs of 2023-06-26", "--06 --06-26 2023 2023-06"),
            ("since 2023-06", "--06 2023 2023-06"),
            ("in march", "--03"),
            ("2019 and 2021", "2019 2021"),
            ("what may have failed", ""),
            ("march on", ""),
            ("port 8080, 12 mar-2, 2023-13, 2023-06-26-1", ""),
            ("marches, mayor, 20231", ""),
            ("", ""),
        ] {
            let found: Vec<_> = dates_in(question).into_iter().collect();
            assert_eq!(found.join(" "), units, "{question}");
        }
    }

    #[test]
    fn documents_have_the_units_of_their_time() {
        assert_eq!(units_of(1_687_737_600), ["--06", "--06-26", "2023", "2023-06"]);
        assert_eq!(units_of(-1), ["--12", "--12-31", "1969", "1969-12"]);
        assert_eq!(units_of(i64::MAX), Vec::<String>::new());
    }
}
