//! The product in NEON.

use std::arch::aarch64::{
    vaddq_s32, vaddvq_s32, vdupq_n_s32, vget_high_s8, vget_low_s8, vld1q_s8, vmull_s8, vpadalq_s16,
};

use crate::DIMENSIONS;

/// Multiplies to 16 bits, and adds pairs to sums of 32 bits.
#[target_feature(enable = "neon")]
pub(super) fn dot(query: &[i8; DIMENSIONS], vector: &[u8; DIMENSIONS]) -> i32 {
    const { assert!(DIMENSIONS.is_multiple_of(16)) };
    let mut sums = [vdupq_n_s32(0); 2];
    for (query, vector) in query.chunks_exact(16).zip(vector.chunks_exact(16)) {
        // SAFETY: both slices have 16 bytes.
        let (query, vector) = unsafe { (vld1q_s8(query.as_ptr()), vld1q_s8(vector.as_ptr().cast())) };
        // Two products of -128 by -128 exceed 16 bits, so each half is added separately.
        sums[0] = vpadalq_s16(sums[0], vmull_s8(vget_low_s8(query), vget_low_s8(vector)));
        sums[1] = vpadalq_s16(sums[1], vmull_s8(vget_high_s8(query), vget_high_s8(vector)));
    }
    vaddvq_s32(vaddq_s32(sums[0], sums[1]))
}
