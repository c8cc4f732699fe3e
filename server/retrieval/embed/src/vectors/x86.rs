//! The product in AVX2, and in AVX-512 with VNNI.

use std::arch::x86_64::{
    _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm_loadu_si128, _mm256_add_epi32,
    _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_madd_epi16, _mm256_setzero_si256,
    _mm512_add_epi32, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi32,
    _mm512_setzero_si512, _mm512_xor_si512,
};

use crate::DIMENSIONS;

/// Widens both to 16 bits, multiplies, and adds pairs to sums of 32 bits.
#[target_feature(enable = "avx2")]
pub(super) fn dot_avx2(query: &[i8; DIMENSIONS], vector: &[u8; DIMENSIONS]) -> i32 {
    const { assert!(DIMENSIONS.is_multiple_of(32)) };
    let mut sums = [_mm256_setzero_si256(); 2];
    for (query, vector) in query.chunks_exact(32).zip(vector.chunks_exact(32)) {
        for (half, sum) in sums.iter_mut().enumerate() {
            // SAFETY: both slices have 32 bytes, and these read the first or the second 16.
            let (query, vector) = unsafe {
                let (query, vector) = (query.as_ptr().add(16 * half), vector.as_ptr().add(16 * half));
                (_mm_loadu_si128(query.cast()), _mm_loadu_si128(vector.cast()))
            };
            let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(query), _mm256_cvtepi8_epi16(vector));
            *sum = _mm256_add_epi32(*sum, products);
        }
    }
    let sum = _mm256_add_epi32(sums[0], sums[1]);
    let halves = [_mm256_extracti128_si256::<0>(sum), _mm256_extracti128_si256::<1>(sum)];
    let sum = _mm_add_epi32(halves[0], halves[1]);
    let sum = _mm_hadd_epi32(sum, sum);
    let sum = _mm_hadd_epi32(sum, sum);
    _mm_cvtsi128_si32(sum)
}

/// Multiplies bytes directly. The instruction requires one unsigned factor, so 128 is added to each value of the vector; `sum`,
/// that of the query's values, corrects the product for it.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn dot_avx512_vnni(query: &[i8; DIMENSIONS], sum: i32, vector: &[u8; DIMENSIONS]) -> i32 {
    const { assert!(DIMENSIONS.is_multiple_of(64)) };
    let sign = _mm512_set1_epi32(0x8080_8080_u32 as i32);
    let mut sums = [_mm512_setzero_si512(); 2];
    for (at, (query, vector)) in query.chunks_exact(64).zip(vector.chunks_exact(64)).enumerate() {
        // SAFETY: both slices have 64 bytes.
        let (query, vector) = unsafe {
            (_mm512_loadu_si512(query.as_ptr().cast()), _mm512_loadu_si512(vector.as_ptr().cast()))
        };
        let sum = &mut sums[at % 2];
        *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(vector, sign), query);
    }
    let sum_of_all = _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]));
    sum_of_all - 128 * sum
}
