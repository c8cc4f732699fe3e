//! Models of any size with random weights, as files.

use serde_json::{Map, json};

use crate::{encoder::Architecture, weights::Expected};

/// A model that is small enough to be damaged thousands of times.
pub(super) const TINY: Architecture =
    Architecture { hidden: 64, inner: 96, layers: 2, vocabulary: 50, positions: 40 };

/// Returns value `index` of the random sequence `seed`, from -1 to 1.
pub(super) fn value(seed: usize, index: usize) -> f32 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (seed as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as f32 / 8_388_608.0 - 1.0
}

/// Returns the tensors' values, in the order of `expected`.
pub(super) fn values(expected: &[Expected]) -> Vec<Vec<f32>> {
    let values = |(seed, tensor): (usize, &Expected)| {
        let count = tensor.shape.iter().product();
        (0..count).map(|index| value(seed, index) * 0.3).collect()
    };
    expected.iter().enumerate().map(values).collect()
}

/// Returns a file with these tensors.
pub(super) fn file(expected: &[Expected], values: &[Vec<f32>]) -> Vec<u8> {
    let mut header = Map::new();
    header.insert("__metadata__".into(), json!({"format": "pt"}));
    let mut bytes = Vec::new();
    for (tensor, values) in expected.iter().zip(values) {
        let start = bytes.len();
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let place = json!({"dtype": "F32", "shape": tensor.shape, "data_offsets": [start, bytes.len()]});
        header.insert(tensor.name.clone(), place);
    }
    with_header(&json!(header).to_string(), &bytes)
}

/// Returns a file with this header and these bytes of values.
pub(super) fn with_header(header: &str, values: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), values].concat()
}
