//! Damaged files are errors that name the first difference, and never a panic.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::random::{TINY, file, values, with_header};
use crate::{
    Model, ModelError,
    weights::{self, Expected, WeightsError},
};

fn one(name: &str, shape: &[usize]) -> Expected {
    Expected { name: name.into(), shape: shape.to_vec() }
}

fn read(bytes: &[u8], expected: &[Expected]) -> Result<(), WeightsError> {
    weights::read(bytes, bytes.len() as u64, expected).map(drop)
}

#[test]
fn each_difference_is_named() {
    let expected = [one("a", &[2, 3]), one("b", &[4])];
    let tensor = |dtype: &str, shape: Value, offsets: Value| json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
    let a = || tensor("F32", json!([2, 3]), json!([0, 24]));
    let b = || tensor("F32", json!([4]), json!([24, 40]));
    let b_at = |offsets: Value| tensor("F32", json!([4]), offsets);
    let huge = json!([u64::MAX - 8, u64::MAX]);
    for (header, values, problem) in [
        (json!({"a": a()}), 24, "it has no tensor `b`"),
        (json!([]), 0, "its header is no JSON object"),
        (json!({"a": a(), "b": b()}), 39, "tensor `b` lies outside of the file"),
        (json!({"a": a(), "b": b_at(huge)}), 40, "tensor `b` lies outside of the file"),
        (json!({"a": a(), "b": b_at(json!([40, 24]))}), 40, "tensor `b` lies outside of the file"),
        (json!({"a": a(), "b": b_at(json!([-1, 15]))}), 40, "tensor `b` lies outside of the file"),
        (json!({"a": a(), "b": b_at(json!("24"))}), 40, "tensor `b` lies outside of the file"),
        (json!({"a": a(), "b": 1}), 40, "tensor `b` lies outside of the file"),
        (json!({"a": a(), "b": b_at(json!([25, 41]))}), 41, "tensor `b` begins at byte 25 rather than 24"),
        (json!({"a": a(), "b": b_at(json!([20, 36]))}), 36, "tensor `b` begins at byte 20 rather than 24"),
        (json!({"a": a(), "b": b_at(json!([24, 36]))}), 36, "tensor `b` has 12 bytes rather than 16"),
        (json!({"a": a(), "b": b()}), 41, "its tensors end at byte 40 of 41"),
        (
            json!({"a": tensor("F16", json!([2, 3]), json!([0, 24])), "b": b()}),
            40,
            "tensor `a` has values of type \"F16\" rather than \"F32\"",
        ),
        (
            json!({"a": tensor("F32", json!([3, 2]), json!([0, 24])), "b": b()}),
            40,
            "tensor `a` has the shape [3,2] rather than [2, 3]",
        ),
    ] {
        let bytes = with_header(&header.to_string(), &vec![0; values]);
        let found = read(&bytes, &expected).unwrap_err().to_string();
        assert_eq!(found, problem, "{header}");
    }
    for (bytes, problem) in [
        (&b""[..], "it is cut off"),
        (b"1234567", "it is cut off"),
        (&u64::MAX.to_le_bytes(), "its header claims to have 18446744073709551615 bytes"),
        (&1u64.to_le_bytes(), "its header claims to have 1 bytes"),
    ] {
        assert_eq!(read(bytes, &expected).unwrap_err().to_string(), problem);
    }
}

#[test]
fn other_tensors_and_the_order_of_the_header_do_not_matter() {
    let header = json!({
        "__metadata__": {"format": "pt"},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [12, 20]},
        "ids": {"dtype": "I64", "shape": [1], "data_offsets": [4, 12]},
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
    });
    let numbers: Vec<u8> = [1.0f32, 0.0, 0.0, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let bytes = with_header(&header.to_string(), &numbers);
    let expected = [one("a", &[1]), one("b", &[2])];
    let mut tensors = weights::read(&*bytes, bytes.len() as u64, &expected).unwrap();
    assert_eq!((tensors.take("a"), tensors.take("b")), (vec![1.0], vec![2.0, 3.0]));
}

#[test]
fn a_model_is_opened_only_if_its_hash_is_the_pinned_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    assert!(matches!(Model::open(&path), Err(ModelError::Missing { .. })));
    fs::write(&path, b"too short").unwrap();
    assert!(matches!(Model::open(&path), Err(ModelError::Damaged { .. })));
    // The right tensors, with other values.
    let expected = crate::encoder::MINILM.tensors();
    let zeros: Vec<Vec<f32>> = expected.iter().map(|it| vec![0.0; it.shape.iter().product()]).collect();
    fs::write(&path, file(&expected, &zeros)).unwrap();
    let error = Model::open(&path).unwrap_err().to_string();
    assert!(error.contains("its SHA-256 is") && error.contains("tabellion model install"), "{error}");
}

proptest! {
    #[test]
    fn truncations_are_errors(cut in any::<prop::sample::Index>()) {
        let expected = TINY.tensors();
        let bytes = file(&expected, &values(&expected));
        let cut = cut.index(bytes.len());
        prop_assert!(read(&bytes[..cut], &expected).is_err());
        // A file that shrinks while it is read.
        prop_assert!(weights::read(&bytes[..cut], bytes.len() as u64, &expected).is_err());
    }

    #[test]
    fn flipped_bits_and_inserted_bytes_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..6),
        inserted in prop::collection::vec(any::<u8>(), 0..9),
        at in any::<prop::sample::Index>(),
        only_header in any::<bool>(),
    ) {
        let expected = TINY.tensors();
        let mut bytes = file(&expected, &values(&expected));
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let damaged = if only_header { header } else { bytes.len() };
        for (index, bit) in flips {
            bytes[index.index(damaged)] ^= 1 << bit;
        }
        let at = at.index(damaged);
        bytes.splice(at..at, inserted);
        // Flips in values can't be detected here; the file's hash detects them.
        let _ = read(&bytes, &expected);
    }
}
