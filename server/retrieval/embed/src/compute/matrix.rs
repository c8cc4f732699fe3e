//! Products of rows with packed matrices.
//!
//! A product is cut into tiles of 12 rows and 32 columns, whose sums stay in registers. Both factors are packed so that a tile
//! reads them in one stream each: weights once, when the model is opened, and rows once for each product.

use super::{
    Level,
    tile::{self, ColumnSteps, RowSteps, TILE_COLUMNS, TILE_ROWS, Tile},
};

/// Bytes of weights that stay in the second-level cache while rows are processed.
const CACHED_BYTES: usize = 384 * 1024;

/// The bias of columns without one.
const NO_BIAS: [f32; TILE_COLUMNS] = [0.0; TILE_COLUMNS];

/// Rows within a slice: row `i` is the `width` values from `start + i × stride` on.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) start: usize,
    pub(crate) stride: usize,
    pub(crate) width: usize,
    pub(crate) count: usize,
}

impl<'a> Rows<'a> {
    /// Takes the slice as rows of `width` values each.
    pub(crate) fn new(values: &'a [f32], width: usize) -> Self {
        Self { values, start: 0, stride: width, width, count: values.len() / width }
    }

    fn row(&self, at: usize) -> &'a [f32] {
        &self.values[self.start + at * self.stride..][..self.width]
    }
}

/// A matrix that rows are multiplied with, as panels of [`TILE_COLUMNS`] columns; the last panel is filled up with zeros.
#[derive(Default)]
pub(crate) struct Packed {
    steps: Vec<[f32; TILE_COLUMNS]>,
    depth: usize,
    columns: usize,
}

impl Packed {
    /// Packs a matrix whose column `i` is row `i` of `rows`, as weights are stored and as keys are in attention.
    pub(crate) fn transposed(rows: Rows<'_>) -> Self {
        let mut packed = Self::default();
        packed.set_transposed(rows);
        packed
    }

    /// Does the same in place.
    pub(crate) fn set_transposed(&mut self, rows: Rows<'_>) {
        self.reset(rows.width, rows.count);
        if rows.width == 0 {
            return;
        }
        for (panel, first) in self.steps.chunks_exact_mut(rows.width).zip((0..).step_by(TILE_COLUMNS)) {
            for column in 0..TILE_COLUMNS.min(rows.count - first) {
                for (step, &value) in panel.iter_mut().zip(rows.row(first + column)) {
                    step[column] = value;
                }
            }
        }
    }

    /// Packs a matrix of [`TILE_COLUMNS`] columns that has the rows given, such as the values in attention.
    pub(crate) fn set_rows(&mut self, rows: Rows<'_>) {
        assert_eq!(rows.width, TILE_COLUMNS, "one panel");
        self.reset(rows.count, TILE_COLUMNS);
        for (at, step) in self.steps.iter_mut().enumerate() {
            step.copy_from_slice(rows.row(at));
        }
    }

    fn reset(&mut self, depth: usize, columns: usize) {
        (self.depth, self.columns) = (depth, columns);
        self.steps.clear();
        let panels = columns.div_ceil(TILE_COLUMNS);
        self.steps.resize(panels * depth, [0.0; TILE_COLUMNS]);
    }

    /// Number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }
}

/// Rows in blocks of [`TILE_ROWS`]; the last block is filled up with zeros.
#[derive(Default)]
pub(crate) struct PackedRows {
    steps: Vec<[f32; TILE_ROWS]>,
    depth: usize,
    count: usize,
}

impl PackedRows {
    /// Packs the rows.
    pub(crate) fn set(&mut self, rows: Rows<'_>) {
        (self.depth, self.count) = (rows.width, rows.count);
        let blocks = rows.count.div_ceil(TILE_ROWS);
        self.steps.resize(blocks * rows.width, [0.0; TILE_ROWS]);
        if rows.width == 0 {
            return;
        }
        for (block, first) in self.steps.chunks_exact_mut(rows.width).zip((0..).step_by(TILE_ROWS)) {
            let held = TILE_ROWS.min(rows.count - first);
            let sources: [&[f32]; TILE_ROWS] =
                std::array::from_fn(|row| if row < held { rows.row(first + row) } else { &[] });
            if held == TILE_ROWS {
                let sources = sources.map(|source| &source[..block.len()]);
                for (at, step) in block.iter_mut().enumerate() {
                    *step = std::array::from_fn(|row| sources[row][at]);
                }
            } else {
                for (at, step) in block.iter_mut().enumerate() {
                    *step = std::array::from_fn(|row| sources[row].get(at).copied().unwrap_or(0.0));
                }
            }
        }
    }
}

/// Destination of a product's values: row `i` begins at `start + i × stride`.
pub(crate) struct Sink<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) start: usize,
    pub(crate) stride: usize,
    /// Added to each row.
    pub(crate) bias: Option<&'a [f32]>,
    /// True if the product is added to the rows' values; false if it replaces them.
    pub(crate) adds: bool,
}

/// Multiplies the rows with the matrix.
///
/// # Panics
/// If the rows are not as wide as the matrix is deep, or the sink is too small.
pub(crate) fn product(level: Level, rows: &PackedRows, matrix: &Packed, sink: &mut Sink<'_>) {
    assert_eq!(rows.depth, matrix.depth, "rows as wide as the matrix is deep");
    let depth = rows.depth;
    if depth == 0 {
        return;
    }
    let panel_bytes = depth * TILE_COLUMNS * size_of::<f32>();
    let panels_cached = (CACHED_BYTES / panel_bytes).max(1);
    let mut tile = [[0.0; TILE_COLUMNS]; TILE_ROWS];
    for (group, panels) in matrix.steps.chunks(panels_cached * depth).enumerate() {
        for (block, row_steps) in rows.steps.chunks_exact(depth).enumerate() {
            for (panel, column_steps) in panels.chunks_exact(depth).enumerate() {
                compute(level, row_steps, column_steps, &mut tile);
                let column = (group * panels_cached + panel) * TILE_COLUMNS;
                let row = block * TILE_ROWS;
                let size = (rows.count - row, matrix.columns - column);
                sink.store(&tile, (row, column), size);
            }
        }
    }
}

impl Sink<'_> {
    /// Stores the tile's first `rows` rows and `columns` columns at (`row`, `column`).
    #[inline]
    fn store(&mut self, tile: &Tile, (row, column): (usize, usize), (rows, columns): (usize, usize)) {
        let columns = columns.min(TILE_COLUMNS);
        let bias = self.bias.map_or(&NO_BIAS[..columns], |bias| &bias[column..][..columns]);
        for (at, sums) in tile.iter().enumerate().take(rows) {
            let target = &mut self.values[self.start + (row + at) * self.stride + column..][..columns];
            let sums = sums.iter().zip(bias).map(|(sum, bias)| sum + bias);
            if self.adds {
                target.iter_mut().zip(sums).for_each(|(target, sum)| *target += sum);
            } else {
                target.iter_mut().zip(sums).for_each(|(target, sum)| *target = sum);
            }
        }
    }
}

/// Computes the tile's sums.
#[inline]
fn compute(level: Level, rows: &RowSteps, columns: &ColumnSteps, tile: &mut Tile) {
    match level {
        Level::Portable => tile::portable(rows, columns, tile),
        // SAFETY: there is a value of this level only if the processor has its instructions (`Level::available`).
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { super::x86::tile_avx2(rows, columns, tile) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { super::x86::tile_avx512(rows, columns, tile) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Level::Neon => unsafe { super::neon::tile(rows, columns, tile) },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The product as it is defined, in `f64`.
    fn naive(rows: &[f32], matrix: &[f32], depth: usize) -> Vec<f64> {
        let dot = |row: &[f32], column: &[f32]| {
            let products = row.iter().zip(column).map(|(a, b)| f64::from(*a) * f64::from(*b));
            products.sum::<f64>()
        };
        rows.chunks(depth).flat_map(|row| matrix.chunks(depth).map(move |column| dot(row, column))).collect()
    }

    proptest! {
        #[test]
        fn products_of_every_level_are_those_of_the_definition(
            (count, depth, columns) in (1usize..30, 1usize..70, 1usize..80),
            seed in any::<u32>(),
        ) {
            let value = |i: usize| ((i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32 / 8_388_608.0 - 1.0;
            let rows: Vec<f32> = (0..count * depth).map(value).collect();
            let matrix: Vec<f32> = (1_000_000..1_000_000 + columns * depth).map(value).collect();
            let bias: Vec<f32> = (0..columns).map(|i| i as f32).collect();
            let expected = naive(&rows, &matrix, depth);
            let (mut packed_rows, packed) = (PackedRows::default(), Packed::transposed(Rows::new(&matrix, depth)));
            packed_rows.set(Rows::new(&rows, depth));
            for level in Level::available() {
                let mut values = vec![1.0; count * columns];
                let mut sink = Sink { values: &mut values, start: 0, stride: columns, bias: Some(&bias), adds: true };
                product(level, &packed_rows, &packed, &mut sink);
                for (at, (found, expected)) in values.iter().zip(&expected).enumerate() {
                    let expected = expected + 1.0 + bias[at % columns] as f64;
                    prop_assert!((f64::from(*found) - expected).abs() < 1e-4, "{level:?} at {at}: {found}, {expected}");
                }
            }
        }
    }
}
