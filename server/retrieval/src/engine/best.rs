//! The best of many.

use std::cmp::Ordering;

/// Leaves the first `count` of `found` in this order, which has no equal ones, and sorts them.
pub fn keep_best<T>(found: &mut Vec<T>, count: usize, order: impl Fn(&T, &T) -> Ordering) {
    if count < found.len() {
        found.select_nth_unstable_by(count, &order);
        found.truncate(count);
    }
    found.sort_unstable_by(order);
}
