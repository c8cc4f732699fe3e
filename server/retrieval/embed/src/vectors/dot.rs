//! Products of a query with stored vectors. Sums of integers are exact, so every level has the same result.

use super::quantized::Quantized;
use crate::DIMENSIONS;

/// Instruction set to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Instructions that every processor of the target has.
    Portable,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// Returns all levels that this processor has, the fastest last.
    pub(super) fn available() -> Vec<Self> {
        #[allow(unused_mut, reason = "other targets have no further level")]
        let mut levels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
                levels.push(Self::Avx512Vnni);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Self::Neon);
        }
        levels
    }
}

impl Quantized {
    /// Returns the product with a different vector; [`cosine`](super::cosine) converts it.
    pub fn dot(&self, other: &Self) -> i32 {
        Query::new(self).dot(&other.to_bytes())
    }
}

/// A query, ready to be multiplied with many vectors.
#[derive(Debug, Clone)]
pub struct Query {
    level: Level,
    values: [i8; DIMENSIONS],
    /// The sum of the values.
    #[cfg(target_arch = "x86_64")]
    sum: i32,
}

impl Query {
    /// Chooses the instructions for the processor at hand.
    pub fn new(query: &Quantized) -> Self {
        let fastest = Level::available().pop();
        Self::with_level(fastest.expect("the portable level at least"), query)
    }

    /// Makes a query for a level of [`Level::available`].
    pub(super) fn with_level(level: Level, query: &Quantized) -> Self {
        Self {
            level,
            values: query.0,
            #[cfg(target_arch = "x86_64")]
            sum: query.0.iter().map(|&value| i32::from(value)).sum(),
        }
    }

    /// Returns the product with a vector, given as its bytes; [`cosine`](crate::cosine) converts it.
    #[inline]
    pub fn dot(&self, vector: &[u8; DIMENSIONS]) -> i32 {
        match self.level {
            Level::Portable => portable(&self.values, vector),
            // SAFETY: there is a query of this level only if the processor has its instructions (`Level::available`).
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { super::x86::dot_avx2(&self.values, vector) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Vnni => unsafe { super::x86::dot_avx512_vnni(&self.values, self.sum, vector) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Level::Neon => unsafe { super::neon::dot(&self.values, vector) },
        }
    }
}

fn portable(query: &[i8; DIMENSIONS], vector: &[u8; DIMENSIONS]) -> i32 {
    let products = query.iter().zip(vector);
    products.map(|(&a, &b)| i32::from(a) * i32::from(b as i8)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(a: &[u8; DIMENSIONS], b: &[u8; DIMENSIONS]) {
        let query = Quantized::from_bytes(a);
        let pairs = a.iter().zip(b);
        let expected: i64 = pairs.map(|(&a, &b)| i64::from(a as i8) * i64::from(b as i8)).sum();
        for level in Level::available() {
            assert_eq!(i64::from(Query::with_level(level, &query).dot(b)), expected, "{level:?}");
        }
        assert_eq!(i64::from(query.dot(&Quantized::from_bytes(b))), expected);
    }

    #[test]
    fn products_of_extremes_are_exact() {
        let extremes = [0, 1, 127, 128, 129, 255];
        for a in extremes {
            for b in extremes {
                check(&[a; DIMENSIONS], &[b; DIMENSIONS]);
            }
        }
    }

    proptest! {
        #[test]
        fn products_of_every_level_are_equal(
            a in prop::collection::vec(any::<u8>(), DIMENSIONS),
            b in prop::collection::vec(any::<u8>(), DIMENSIONS),
        ) {
            check(&a.try_into().unwrap(), &b.try_into().unwrap());
        }
    }
}
