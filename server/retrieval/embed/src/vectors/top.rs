//! The vectors nearest to a query.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    dot::Query,
    quantized::{Quantized, cosine},
};
use crate::DIMENSIONS;

/// A vector that is near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Its number among the vectors.
    pub index: usize,
    /// Its product with the query.
    pub dot: i32,
}

impl Match {
    /// Returns the cosine of its angle with the query.
    pub fn cosine(&self) -> f32 {
        cosine(self.dot)
    }
}

/// Returns the `count` vectors nearest to the query, the nearest first, and of those equally near the one with the lowest number.
///
/// `vectors` are the bytes of vectors one after another, such as a column of a database or a file in memory; an incomplete vector at
/// the end is ignored. Only vectors for whose number `accepts` returns true are compared.
pub fn nearest(
    query: &Quantized,
    vectors: &[u8],
    count: usize,
    mut accepts: impl FnMut(usize) -> bool,
) -> Vec<Match> {
    let all = 0..vectors.len() / DIMENSIONS;
    nearest_of(query, vectors, count, all.filter(|index| accepts(*index)))
}

/// Does the same for the vectors with the given numbers, each of which should occur once. Numbers beyond the last vector are ignored.
pub fn nearest_of(
    query: &Quantized,
    vectors: &[u8],
    count: usize,
    candidates: impl IntoIterator<Item = usize>,
) -> Vec<Match> {
    let query = Query::new(query);
    let (vectors, _) = vectors.as_chunks::<DIMENSIONS>();
    let mut best = Best::new(count);
    for index in candidates {
        if let Some(vector) = vectors.get(index) {
            let dot = query.dot(vector);
            best.offer(Match { index, dot });
        }
    }
    best.sorted()
}

/// The best so far.
struct Best {
    count: usize,
    /// The worst on top.
    heap: BinaryHeap<Reverse<(i32, Reverse<usize>)>>,
    /// Products below it are not among the best.
    worst: i32,
}

impl Best {
    fn new(count: usize) -> Self {
        Self { count, heap: BinaryHeap::new(), worst: i32::MIN }
    }

    #[inline]
    fn offer(&mut self, Match { index, dot }: Match) {
        if dot >= self.worst {
            self.insert((dot, Reverse(index)));
        }
    }

    fn insert(&mut self, new: (i32, Reverse<usize>)) {
        self.heap.push(Reverse(new));
        if self.heap.len() > self.count {
            self.heap.pop();
        }
        if self.heap.len() == self.count {
            self.worst = self.heap.peek().map_or(i32::MAX, |Reverse((dot, _))| *dot);
        }
    }

    fn sorted(self) -> Vec<Match> {
        let sorted = self.heap.into_sorted_vec();
        let pairs = sorted.into_iter().map(|Reverse(pair)| pair);
        pairs.map(|(dot, Reverse(index))| Match { index, dot }).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by sorting all.
    fn sorted(
        query: &Quantized,
        vectors: &[u8],
        count: usize,
        accepts: impl Fn(usize) -> bool,
    ) -> Vec<Match> {
        let vectors = vectors.chunks_exact(DIMENSIONS).enumerate();
        let mut all: Vec<Match> = vectors
            .filter(|(index, _)| accepts(*index))
            .map(|(index, vector)| {
                let dot = query.dot(&Quantized::from_bytes(vector.try_into().unwrap()));
                Match { index, dot }
            })
            .collect();
        all.sort_by_key(|found| (Reverse(found.dot), found.index));
        all.truncate(count);
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn the_nearest_are_the_first_of_all_sorted(
            // Few different vectors, so that there are ties.
            kinds in prop::collection::vec(0..6u8, 0..60),
            (query, count) in (0..6u8, 0..70usize),
            mask in any::<u64>(),
            rest in 0..DIMENSIONS,
        ) {
            let vector = |kind: u8| -> Vec<u8> { (0..DIMENSIONS).map(|i| (i as u8).wrapping_mul(kind).wrapping_mul(31)).collect() };
            let mut vectors: Vec<u8> = kinds.iter().flat_map(|&kind| vector(kind)).collect();
            vectors.extend(vec![7; rest]);
            let query = Quantized::from_bytes(&vector(query).try_into().unwrap());
            let accepts = |index: usize| mask >> (index % 64) & 1 == 1;
            let expected = sorted(&query, &vectors, count, accepts);
            prop_assert_eq!(&nearest(&query, &vectors, count, accepts), &expected);
            let candidates = (0..100).rev().filter(|&index| accepts(index));
            prop_assert_eq!(&nearest_of(&query, &vectors, count, candidates), &expected);
        }
    }

    #[test]
    fn rounding_and_cosines_are_as_documented() {
        let mut vector = [0.0; DIMENSIONS];
        for (index, value) in [(0, 0.25), (1, -0.25), (2, 0.9), (3, -0.9), (4, 0.001), (5, f32::NAN)] {
            vector[index] = value;
        }
        let quantized = Quantized::new(&vector);
        let [first @ .., _] = &quantized.to_bytes()[..7] else { panic!() };
        assert_eq!(first, [127, 129, 127, 129, 1, 0]);
        assert_eq!(Quantized::from_bytes(&quantized.to_bytes()), quantized);
        let even = [1.0 / (DIMENSIONS as f32).sqrt(); DIMENSIONS];
        let (a, b) = (Quantized::new(&even), Quantized::new(&even.map(|value| -value)));
        assert!((cosine(a.dot(&a)) - 1.0).abs() < 0.01, "{}", cosine(a.dot(&a)));
        assert!((cosine(a.dot(&b)) + 1.0).abs() < 0.01, "{}", cosine(a.dot(&b)));
        assert_eq!(a.dot(&Quantized::new(&[0.0; DIMENSIONS])), 0);
    }
}
