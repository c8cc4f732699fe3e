//! The shortest edit between two sequences of lines, after Myers ("An O(ND) Difference Algorithm and Its Variations", 1986, section
//! 4b): the middle of a shortest edit splits the sequences, and each half is a separate problem.
//!
//! If the shortest edit is too expensive to find, a good one is used instead. The limits that decide on this, and on the choice, affect
//! the number of differing lines; they are those of git, so the numbers are git's too.

/// Equal lines in a row that make a promising path.
const LONG_RUN: i32 = 20;

/// Cost from which a promising path is good enough.
const PROMISING_COST: i32 = 256;

/// Number of lines that a promising path has advanced by, for each unit of cost.
const PROMISING_ADVANCE: i32 = 4;

/// Lower bound of the cost at which the search ends with the longest path so far.
const MIN_MAX_COST: i32 = 256;

/// Returns twice the power of two near the root of `n`, which is how git estimates roots: 2 to the number of digits in base 4.
pub(super) fn rough_root(n: usize) -> usize {
    1 << (usize::BITS - n.leading_zeros()).div_ceil(2)
}

/// Calls `removed` and `added` with each index of `old` and `new` that is not in the edit's common sequence.
pub(super) fn edit(old: &[u32], new: &[u32], removed: impl FnMut(usize), added: impl FnMut(usize)) {
    let diagonals = old.len() + new.len() + 3;
    let mut edit = Edit {
        old,
        new,
        removed,
        added,
        forward: vec![0; diagonals + 1],
        backward: vec![0; diagonals + 1],
        zero: as_i32(new.len()) + 1,
        max_cost: as_i32(rough_root(diagonals)).max(MIN_MAX_COST),
    };
    let all = Area { old_start: 0, old_end: as_i32(old.len()), new_start: 0, new_end: as_i32(new.len()) };
    edit.area(all, Effort::Bounded);
}

/// Files with more lines than this don't fit into their size limit.
fn as_i32(number: usize) -> i32 {
    i32::try_from(number).expect("a file has less than 2^31 lines")
}

/// Limit of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    Bounded,
    /// Without limit, for an area that is known to have a cheap edit.
    Full,
}

/// A part of both sequences.
#[derive(Debug, Clone, Copy)]
struct Area {
    old_start: i32,
    old_end: i32,
    new_start: i32,
    new_end: i32,
}

/// A point on the path of an edit, and the efforts for the parts before and after it.
struct Split {
    old: i32,
    new: i32,
    before: Effort,
    after: Effort,
}

/// The furthest points on each diagonal in one direction, of those that have been reached.
#[derive(Debug, Clone, Copy)]
struct Reached {
    middle: i32,
    lowest: i32,
    highest: i32,
}

impl Reached {
    fn new(middle: i32) -> Self {
        Self { middle, lowest: middle, highest: middle }
    }

    fn has(&self, diagonal: i32) -> bool {
        (self.lowest..=self.highest).contains(&diagonal)
    }

    /// Returns every other diagonal from the highest one, those that the last step reached.
    fn diagonals(&self) -> impl Iterator<Item = i32> + use<> {
        let lowest = self.lowest;
        std::iter::successors(Some(self.highest), |diagonal| Some(diagonal - 2))
            .take_while(move |at| *at >= lowest)
    }
}

/// State of the search. A diagonal contains the points whose index in `old` exceeds that in `new` by the same number.
struct Edit<'l, R, A> {
    old: &'l [u32],
    new: &'l [u32],
    removed: R,
    added: A,
    /// By diagonal, the index in `old` of the furthest point from the start.
    forward: Vec<i32>,
    /// Likewise from the end.
    backward: Vec<i32>,
    /// Index of diagonal 0 in both.
    zero: i32,
    max_cost: i32,
}

impl<R: FnMut(usize), A: FnMut(usize)> Edit<'_, R, A> {
    fn equal(&self, old: i32, new: i32) -> bool {
        self.old[old as usize] == self.new[new as usize]
    }

    fn forward(&mut self, diagonal: i32) -> &mut i32 {
        &mut self.forward[(self.zero + diagonal) as usize]
    }

    fn backward(&mut self, diagonal: i32) -> &mut i32 {
        &mut self.backward[(self.zero + diagonal) as usize]
    }

    fn area(&mut self, mut area: Area, mut effort: Effort) {
        loop {
            while area.old_start < area.old_end
                && area.new_start < area.new_end
                && self.equal(area.old_start, area.new_start)
            {
                area.old_start += 1;
                area.new_start += 1;
            }
            while area.old_start < area.old_end
                && area.new_start < area.new_end
                && self.equal(area.old_end - 1, area.new_end - 1)
            {
                area.old_end -= 1;
                area.new_end -= 1;
            }
            if area.old_start == area.old_end {
                (area.new_start..area.new_end).for_each(|at| (self.added)(at as usize));
                return;
            }
            if area.new_start == area.new_end {
                (area.old_start..area.old_end).for_each(|at| (self.removed)(at as usize));
                return;
            }
            let split = self.split(area, effort);
            let before = Area { old_end: split.old, new_end: split.new, ..area };
            self.area(before, split.before);
            area.old_start = split.old;
            area.new_start = split.new;
            effort = split.after;
        }
    }

    /// Searches from both ends of an area, one unit of cost after the other, until the paths meet or the search ends early.
    fn split(&mut self, area: Area, effort: Effort) -> Split {
        let mut ahead = Reached::new(area.old_start - area.new_start);
        let mut back = Reached::new(area.old_end - area.new_end);
        let is_odd = (ahead.middle - back.middle) % 2 != 0;
        *self.forward(ahead.middle) = area.old_start;
        *self.backward(back.middle) = area.old_end;
        for cost in 1.. {
            let mut long_run = false;
            if let Some(met) = self.step_ahead(area, &mut ahead, is_odd.then_some(back), &mut long_run) {
                return met;
            }
            if let Some(met) = self.step_back(area, &mut back, (!is_odd).then_some(ahead), &mut long_run) {
                return met;
            }
            if effort == Effort::Full {
                continue;
            }
            if long_run && cost > PROMISING_COST {
                if let Some(split) = self.promising_ahead(area, ahead, cost) {
                    return split;
                }
                if let Some(split) = self.promising_back(area, back, cost) {
                    return split;
                }
            }
            if cost >= self.max_cost {
                return self.furthest(area, ahead, back);
            }
        }
        unreachable!("the paths meet at a cost of all lines")
    }

    /// Extends the paths from the start by one edit. Returns the point at which one meets `back`.
    fn step_ahead(
        &mut self,
        area: Area,
        reached: &mut Reached,
        back: Option<Reached>,
        long_run: &mut bool,
    ) -> Option<Split> {
        // No path comes from beyond the area's border; at the border, the range shrinks instead, since the parity alternates.
        if reached.lowest > area.old_start - area.new_end {
            reached.lowest -= 1;
            *self.forward(reached.lowest - 1) = -1;
        } else {
            reached.lowest += 1;
        }
        if reached.highest < area.old_end - area.new_start {
            reached.highest += 1;
            *self.forward(reached.highest + 1) = -1;
        } else {
            reached.highest -= 1;
        }
        for diagonal in reached.diagonals() {
            let after_removal = *self.forward(diagonal - 1);
            let after_addition = *self.forward(diagonal + 1);
            let start = if after_removal >= after_addition { after_removal + 1 } else { after_addition };
            let mut at = start;
            while at < area.old_end && at - diagonal < area.new_end && self.equal(at, at - diagonal) {
                at += 1;
            }
            *long_run |= at - start > LONG_RUN;
            *self.forward(diagonal) = at;
            if back.is_some_and(|back| back.has(diagonal)) && *self.backward(diagonal) <= at {
                return Some(met(at, diagonal));
            }
        }
        None
    }

    /// Extends the paths from the end by one edit. Returns the point at which one meets `ahead`.
    fn step_back(
        &mut self,
        area: Area,
        reached: &mut Reached,
        ahead: Option<Reached>,
        long_run: &mut bool,
    ) -> Option<Split> {
        if reached.lowest > area.old_start - area.new_end {
            reached.lowest -= 1;
            *self.backward(reached.lowest - 1) = i32::MAX;
        } else {
            reached.lowest += 1;
        }
        if reached.highest < area.old_end - area.new_start {
            reached.highest += 1;
            *self.backward(reached.highest + 1) = i32::MAX;
        } else {
            reached.highest -= 1;
        }
        for diagonal in reached.diagonals() {
            let before_addition = *self.backward(diagonal - 1);
            let before_removal = *self.backward(diagonal + 1);
            let start = if before_addition < before_removal { before_addition } else { before_removal - 1 };
            let mut at = start;
            while at > area.old_start
                && at - diagonal > area.new_start
                && self.equal(at - 1, at - diagonal - 1)
            {
                at -= 1;
            }
            *long_run |= start - at > LONG_RUN;
            *self.backward(diagonal) = at;
            if ahead.is_some_and(|ahead| ahead.has(diagonal)) && at <= *self.forward(diagonal) {
                return Some(met(at, diagonal));
            }
        }
        None
    }

    /// Returns the end of the path from the start that has advanced most for its distance from the middle, if it ends in a long run.
    fn promising_ahead(&mut self, area: Area, reached: Reached, cost: i32) -> Option<Split> {
        let mut best: Option<(i32, i32, i32)> = None;
        for diagonal in reached.diagonals() {
            let old = *self.forward(diagonal);
            let new = old - diagonal;
            let advance = old - area.old_start + new - area.new_start;
            let value = advance - (diagonal - reached.middle).abs();
            let is_better = value > PROMISING_ADVANCE * cost && best.is_none_or(|(most, ..)| value > most);
            let is_inside = (area.old_start + LONG_RUN..area.old_end).contains(&old)
                && (area.new_start + LONG_RUN..area.new_end).contains(&new);
            if is_better && is_inside && (1..=LONG_RUN).all(|back| self.equal(old - back, new - back)) {
                best = Some((value, old, new));
            }
        }
        best.map(|(_, old, new)| Split { old, new, before: Effort::Full, after: Effort::Bounded })
    }

    /// As [`Self::promising_ahead`], from the end.
    fn promising_back(&mut self, area: Area, reached: Reached, cost: i32) -> Option<Split> {
        let mut best: Option<(i32, i32, i32)> = None;
        for diagonal in reached.diagonals() {
            let old = *self.backward(diagonal);
            let new = old - diagonal;
            // A path without a predecessor has no position.
            if old > area.old_end {
                continue;
            }
            let advance = area.old_end - old + area.new_end - new;
            let value = advance - (diagonal - reached.middle).abs();
            let is_better = value > PROMISING_ADVANCE * cost && best.is_none_or(|(most, ..)| value > most);
            let is_inside = (area.old_start + 1..=area.old_end - LONG_RUN).contains(&old)
                && (area.new_start + 1..=area.new_end - LONG_RUN).contains(&new);
            if is_better && is_inside && (0..LONG_RUN).all(|ahead| self.equal(old + ahead, new + ahead)) {
                best = Some((value, old, new));
            }
        }
        best.map(|(_, old, new)| Split { old, new, before: Effort::Bounded, after: Effort::Full })
    }

    /// Returns the end of the longest path from either end.
    fn furthest(&mut self, area: Area, ahead: Reached, back: Reached) -> Split {
        let (mut most, mut most_old) = (-1, -1);
        for diagonal in ahead.diagonals() {
            let old = (*self.forward(diagonal)).min(area.old_end).min(area.new_end + diagonal);
            let sum = old + old - diagonal;
            if sum > most {
                (most, most_old) = (sum, old);
            }
        }
        let (mut least, mut least_old) = (i32::MAX, i32::MAX);
        for diagonal in back.diagonals() {
            let old = (*self.backward(diagonal)).max(area.old_start).max(area.new_start + diagonal);
            // Saturates for a path without a predecessor.
            let sum = old.saturating_add(old.saturating_sub(diagonal));
            if sum < least {
                (least, least_old) = (sum, old);
            }
        }
        let from_end = area.old_end + area.new_end - least;
        if from_end < most - (area.old_start + area.new_start) {
            return Split {
                old: most_old,
                new: most - most_old,
                before: Effort::Full,
                after: Effort::Bounded,
            };
        }
        Split { old: least_old, new: least - least_old, before: Effort::Bounded, after: Effort::Full }
    }
}

/// Returns the point of a diagonal where the paths meet: it is on a shortest edit.
fn met(old: i32, diagonal: i32) -> Split {
    Split { old, new: old - diagonal, before: Effort::Full, after: Effort::Full }
}
