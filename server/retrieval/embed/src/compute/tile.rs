//! The tile of a product, and its sums in portable code.

/// Rows of a tile.
pub(super) const TILE_ROWS: usize = 12;
/// Columns of a tile; also the width of an attention head.
pub(super) const TILE_COLUMNS: usize = 32;

/// A tile's share of the rows: for each step of the sum, one value of each row.
pub(super) type RowSteps = [[f32; TILE_ROWS]];
/// A tile's share of the matrix: for each step of the sum, one value of each column.
pub(super) type ColumnSteps = [[f32; TILE_COLUMNS]];
/// The sums of a tile.
pub(super) type Tile = [[f32; TILE_COLUMNS]; TILE_ROWS];

/// Computes the sums four rows and eight columns at a time, which fit into the registers of any processor.
pub(super) fn portable(rows: &RowSteps, columns: &ColumnSteps, tile: &mut Tile) {
    const HEIGHT: usize = 4;
    const WIDTH: usize = 8;
    for row in (0..TILE_ROWS).step_by(HEIGHT) {
        for column in (0..TILE_COLUMNS).step_by(WIDTH) {
            let mut sums = [[0.0f32; WIDTH]; HEIGHT];
            for (rows, columns) in rows.iter().zip(columns) {
                add_products(&mut sums, &rows[row..row + HEIGHT], &columns[column..column + WIDTH]);
            }
            for (tile, sums) in tile[row..].iter_mut().zip(&sums) {
                tile[column..column + WIDTH].copy_from_slice(sums);
            }
        }
    }
}

/// Adds the product of each row's value and each column's to their sum.
#[inline(always)]
fn add_products<const WIDTH: usize>(sums: &mut [[f32; WIDTH]], rows: &[f32], columns: &[f32]) {
    for (sums, row) in sums.iter_mut().zip(rows) {
        for (sum, column) in sums.iter_mut().zip(columns) {
            *sum += row * column;
        }
    }
}
