//! The tile in AVX2 and AVX-512.

use std::arch::x86_64::{
    __m256, __m512, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
};

use super::tile::{ColumnSteps, RowSteps, TILE_COLUMNS, TILE_ROWS, Tile};

/// Computes all sums at once: 24 of the 32 registers.
#[target_feature(enable = "avx512f")]
pub(super) fn tile_avx512(rows: &RowSteps, columns: &ColumnSteps, tile: &mut Tile) {
    let mut sums: [[__m512; 2]; TILE_ROWS] = [[_mm512_setzero_ps(); 2]; TILE_ROWS];
    for (rows, columns) in rows.iter().zip(columns) {
        // SAFETY: `columns` has 32 values, and these read the first and the second 16.
        let columns = unsafe {
            let first = columns.as_ptr();
            [_mm512_loadu_ps(first), _mm512_loadu_ps(first.add(16))]
        };
        for (sums, &row) in sums.iter_mut().zip(rows) {
            let row = _mm512_set1_ps(row);
            sums[0] = _mm512_fmadd_ps(row, columns[0], sums[0]);
            sums[1] = _mm512_fmadd_ps(row, columns[1], sums[1]);
        }
    }
    for (tile, sums) in tile.iter_mut().zip(sums) {
        let first = tile.as_mut_ptr();
        // SAFETY: `tile` has 32 values, and these write the first and the second 16.
        unsafe {
            _mm512_storeu_ps(first, sums[0]);
            _mm512_storeu_ps(first.add(16), sums[1]);
        }
    }
}

/// Computes six rows and sixteen columns at a time: 12 of the 16 registers.
#[target_feature(enable = "avx2,fma")]
pub(super) fn tile_avx2(rows: &RowSteps, columns: &ColumnSteps, tile: &mut Tile) {
    const HEIGHT: usize = 6;
    const WIDTH: usize = 16;
    for row in (0..TILE_ROWS).step_by(HEIGHT) {
        for column in (0..TILE_COLUMNS).step_by(WIDTH) {
            let mut sums: [[__m256; 2]; HEIGHT] = [[_mm256_setzero_ps(); 2]; HEIGHT];
            for (rows, columns) in rows.iter().zip(columns) {
                let (rows, columns) = (&rows[row..row + HEIGHT], &columns[column..column + WIDTH]);
                // SAFETY: `columns` has 16 values, and these read the first and the second 8.
                let columns = unsafe {
                    let first = columns.as_ptr();
                    [_mm256_loadu_ps(first), _mm256_loadu_ps(first.add(8))]
                };
                for (sums, &row) in sums.iter_mut().zip(rows) {
                    let row = _mm256_set1_ps(row);
                    sums[0] = _mm256_fmadd_ps(row, columns[0], sums[0]);
                    sums[1] = _mm256_fmadd_ps(row, columns[1], sums[1]);
                }
            }
            for (tile, sums) in tile[row..row + HEIGHT].iter_mut().zip(sums) {
                let first = tile[column..column + WIDTH].as_mut_ptr();
                // SAFETY: the slice has 16 values, and these write the first and the second 8.
                unsafe {
                    _mm256_storeu_ps(first, sums[0]);
                    _mm256_storeu_ps(first.add(8), sums[1]);
                }
            }
        }
    }
}
