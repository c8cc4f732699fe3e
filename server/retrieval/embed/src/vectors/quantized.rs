//! Vectors in 8 bits a value.

use crate::{DIMENSIONS, Vector};

/// Values beyond it are cut off. Few of the model's are: see the figures in the README.
const LIMIT: f32 = 0.25;
/// The value of [`LIMIT`] after scaling.
const MAX: f32 = 127.0;

/// A vector with 8 bits a value, in the same scale for all vectors: products of two are integers, the same on every processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantized(pub(super) [i8; DIMENSIONS]);

impl Quantized {
    /// Bytes of a vector.
    pub const BYTES: usize = DIMENSIONS;

    /// Rounds a vector of length 1.
    pub fn new(vector: &Vector) -> Self {
        // Conversion to an integer cuts off larger values, and makes NaN zero.
        Self(vector.map(|value| (value * (MAX / LIMIT)).round().clamp(-MAX, MAX) as i8))
    }

    /// Makes a vector from its bytes; any bytes are valid.
    pub fn from_bytes(bytes: &[u8; DIMENSIONS]) -> Self {
        Self(bytes.map(|byte| byte as i8))
    }

    /// Returns the bytes, to be stored one vector after another.
    pub fn to_bytes(&self) -> [u8; DIMENSIONS] {
        self.0.map(|value| value as u8)
    }
}

/// Returns the cosine of two quantized vectors from their product, from -1 to 1.
pub fn cosine(dot: i32) -> f32 {
    let unit = MAX / LIMIT;
    (dot as f32 / (unit * unit)).clamp(-1.0, 1.0)
}
