//! The tile in NEON.

use std::arch::aarch64::{float32x4_t, vdupq_n_f32, vfmaq_n_f32, vld1q_f32, vst1q_f32};

use super::tile::{ColumnSteps, RowSteps, TILE_COLUMNS, TILE_ROWS, Tile};

/// Computes six rows and sixteen columns at a time: 24 of the 32 registers.
#[target_feature(enable = "neon")]
pub(super) fn tile(rows: &RowSteps, columns: &ColumnSteps, tile: &mut Tile) {
    const HEIGHT: usize = 6;
    const WIDTH: usize = 16;
    for row in (0..TILE_ROWS).step_by(HEIGHT) {
        for column in (0..TILE_COLUMNS).step_by(WIDTH) {
            let mut sums: [[float32x4_t; 4]; HEIGHT] = [[vdupq_n_f32(0.0); 4]; HEIGHT];
            for (rows, columns) in rows.iter().zip(columns) {
                let (rows, columns) = (&rows[row..row + HEIGHT], &columns[column..column + WIDTH]);
                let first = columns.as_ptr();
                // SAFETY: `columns` has 16 values, and these read four each from 0, 4, 8 and 12 on.
                let columns: [float32x4_t; 4] =
                    std::array::from_fn(|quarter| unsafe { vld1q_f32(first.add(4 * quarter)) });
                for (sums, &row) in sums.iter_mut().zip(rows) {
                    *sums = std::array::from_fn(|quarter| vfmaq_n_f32(sums[quarter], columns[quarter], row));
                }
            }
            for (tile, sums) in tile[row..row + HEIGHT].iter_mut().zip(sums) {
                for (quarter, sum) in tile[column..column + WIDTH].chunks_exact_mut(4).zip(sums) {
                    // SAFETY: `quarter` has four values.
                    unsafe { vst1q_f32(quarter.as_mut_ptr(), sum) };
                }
            }
        }
    }
}
