//! Weights from a file in the safetensors format: eight bytes with the header's length, a JSON header, the tensors' values.
//!
//! The whole header is compared with the expected one before any value is read, so a damaged file is an error that names the
//! first difference. Bytes of values can be checked only by the file's hash, which is the caller's part.

use std::{
    collections::HashMap,
    io::{self, Read},
};

use serde_json::Value;

/// Maximum bytes of a header; the model's has 12 KB.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 16;

/// A tensor that is expected: its name and shape. Its values are `f32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
}

/// Reason why a file's weights were refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WeightsError {
    /// The file is not as expected.
    #[error("{0}")]
    Damaged(String),
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn damaged<T>(problem: impl Into<String>) -> Result<T, WeightsError> {
    Err(WeightsError::Damaged(problem.into()))
}

/// Tensors by name.
#[derive(Debug)]
pub(crate) struct Tensors(HashMap<String, Vec<f32>>);

impl Tensors {
    /// Removes and returns the tensor's values, in the order of rows.
    ///
    /// # Panics
    /// If the tensor was not expected when the file was read, or was taken before.
    pub(crate) fn take(&mut self, name: &str) -> Vec<f32> {
        let values = self.0.remove(name);
        values.unwrap_or_else(|| panic!("tensor `{name}` is expected when weights are read"))
    }
}

/// A tensor's place in the file, from the header's end on.
struct TensorRange {
    name: String,
    start: u64,
    end: u64,
    /// True for an unexpected tensor: its bytes are skipped.
    is_extra: bool,
}

/// Reads the tensors that are expected; `length` is that of the file.
///
/// # Errors
/// If the file can't be read, or does not have exactly the expected tensors. Other tensors, which older tools add, are skipped.
pub(crate) fn read(mut file: impl Read, length: u64, expected: &[Expected]) -> Result<Tensors, WeightsError> {
    let mut prefix = [0; 8];
    fill(&mut file, &mut prefix)?;
    let header_length = u64::from_le_bytes(prefix);
    if header_length > MAX_HEADER_BYTES || header_length > length.saturating_sub(8) {
        return damaged(format!("its header claims to have {header_length} bytes"));
    }
    let mut header = vec![0; header_length as usize];
    fill(&mut file, &mut header)?;
    let header: Value = match serde_json::from_slice(&header) {
        Ok(header) => header,
        Err(error) => return damaged(format!("its header is not JSON: {error}")),
    };
    let places = places(&header, length - 8 - header_length, expected)?;
    let mut tensors = HashMap::new();
    for place in places {
        let bytes = place.end - place.start;
        if place.is_extra {
            skip(&mut file, bytes)?;
        } else {
            tensors.insert(place.name, values(&mut file, bytes as usize / 4)?);
        }
    }
    Ok(Tensors(tensors))
}

/// Compares the header with the expected tensors, and returns all tensors in the order of the file. They cover it without gaps.
fn places(header: &Value, length: u64, expected: &[Expected]) -> Result<Vec<TensorRange>, WeightsError> {
    let Some(header) = header.as_object() else {
        return damaged("its header is no JSON object");
    };
    let mut places = Vec::new();
    for (name, tensor) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let offsets = tensor.get("data_offsets").and_then(Value::as_array);
        let offsets = offsets.and_then(|offsets| match &offsets[..] {
            [start, end] => Some((start.as_u64()?, end.as_u64()?)),
            _ => None,
        });
        let Some((start, end)) = offsets.filter(|(start, end)| start <= end && *end <= length) else {
            return damaged(format!("tensor `{name}` lies outside of the file"));
        };
        let wanted = expected.iter().find(|expected| expected.name == *name);
        if let Some(wanted) = wanted {
            compare(tensor, end - start, wanted)?;
        }
        places.push(TensorRange { name: name.clone(), start, end, is_extra: wanted.is_none() });
    }
    if let Some(missing) = expected.iter().find(|expected| !header.contains_key(&expected.name)) {
        return damaged(format!("it has no tensor `{}`", missing.name));
    }
    places.sort_by_key(|place| (place.start, place.end));
    let mut at = 0;
    for place in &places {
        if place.start != at {
            return damaged(format!(
                "tensor `{}` begins at byte {} rather than {at}",
                place.name, place.start
            ));
        }
        at = place.end;
    }
    if at != length {
        return damaged(format!("its tensors end at byte {at} of {length}"));
    }
    Ok(places)
}

/// Compares a tensor's type, shape and size with the expected ones.
fn compare(tensor: &Value, bytes: u64, wanted: &Expected) -> Result<(), WeightsError> {
    let Expected { name, shape } = wanted;
    let found = &tensor["dtype"];
    if found != "F32" {
        return damaged(format!("tensor `{name}` has values of type {found} rather than \"F32\""));
    }
    let found = &tensor["shape"];
    if *found != Value::from(shape.clone()) {
        return damaged(format!("tensor `{name}` has the shape {found} rather than {shape:?}"));
    }
    let size = 4 * shape.iter().product::<usize>() as u64;
    if bytes != size {
        return damaged(format!("tensor `{name}` has {bytes} bytes rather than {size}"));
    }
    Ok(())
}

/// Fills `bytes` exactly.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> Result<(), WeightsError> {
    match file.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
        done => Ok(done?),
    }
}

fn skip(file: &mut impl Read, bytes: u64) -> Result<(), WeightsError> {
    let skipped = io::copy(&mut file.take(bytes), &mut io::sink())?;
    if skipped == bytes { Ok(()) } else { damaged("it is cut off") }
}

/// Reads `count` values, in blocks.
fn values(file: &mut impl Read, count: usize) -> Result<Vec<f32>, WeightsError> {
    let mut values = Vec::with_capacity(count);
    let mut block = vec![0; BLOCK_BYTES];
    while values.len() < count {
        let bytes = BLOCK_BYTES.min(4 * (count - values.len()));
        fill(file, &mut block[..bytes])?;
        let (quads, _) = block[..bytes].as_chunks();
        values.extend(quads.iter().map(|&quad| f32::from_le_bytes(quad)));
    }
    Ok(values)
}
