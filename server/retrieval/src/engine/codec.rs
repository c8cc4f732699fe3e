//! Posting lists and other columns as bytes. A list stores each text as its distance to the one before.

use std::iter;

/// Appends a number, seven bits a byte, the lowest first.
pub fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the front; `None` if there is none.
#[inline]
pub fn pull_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Appends the number of the bytes, then the bytes.
pub fn push_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    push_number(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// Takes bytes, encoded by [`push_bytes`], from the front.
pub fn pull_bytes<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(pull_number(from)?).ok()?;
    from.split_off(..length)
}

/// Appends an entry to a posting list: the distance to the text before it, and the term's occurrences if these are not 1.
pub fn push_entry(entries: &mut Vec<u8>, distance: u32, count: u32) {
    push_number(entries, u64::from(distance) << 1 | u64::from(count != 1));
    if count != 1 {
        push_number(entries, u64::from(count));
    }
}

/// Returns the entries of a posting list: number of the text, occurrences of the term. `first` is the number that the first distance
/// is added to. Bytes that are not an entry are `None`, and the end.
pub fn entries(mut bytes: &[u8], first: u32) -> impl Iterator<Item = Option<(u32, u32)>> {
    let mut last = first;
    iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let entry = pull_entry(&mut bytes, last);
        match entry {
            Some((number, _)) => last = number,
            None => bytes = &[],
        }
        Some(entry)
    })
}

#[inline]
fn pull_entry(bytes: &mut &[u8], last: u32) -> Option<(u32, u32)> {
    let step = pull_number(bytes)?;
    let number = last.checked_add(u32::try_from(step >> 1).ok()?)?;
    let count = if step & 1 == 1 { pull_number(bytes)? } else { 1 };
    Some((number, u32::try_from(count).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{entries, push_entry};

    #[test]
    fn a_list_that_is_cut_off_has_the_entries_before() {
        let list = [(3, 1), (4, 200), (70_000, 1), (70_001, 70_000), (u32::MAX, 2)];
        let (mut bytes, mut ends, mut last) = (vec![], vec![0], 0);
        for (number, count) in list {
            push_entry(&mut bytes, number - last, count);
            ends.push(bytes.len());
            last = number;
        }
        for end in 0..=bytes.len() {
            let whole = ends.partition_point(|of_entry| *of_entry <= end) - 1;
            let mut expected: Vec<_> = list[..whole].iter().copied().map(Some).collect();
            expected.extend((ends[whole] != end).then_some(None));
            assert_eq!(entries(&bytes[..end], 0).collect::<Vec<_>>(), expected, "{end}");
        }
        // The sum is no number of a text.
        bytes.push(2);
        assert_eq!(entries(&bytes, 0).last(), Some(None));
    }
}
