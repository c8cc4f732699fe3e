//! Posting lists, and what else a row has, as bytes. A text of a list is stored as its distance to the one before it.

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
