//! Compares token ids and vectors with those of the reference implementation, `testdata/reference.py`.

use std::ops::ControlFlow;

use serde::Deserialize;

use crate::{
    Cancelled, DIMENSIONS, MAX_TOKENS, Model, Progress, Vector, default_folder, tokenizer::tokenize,
    weights_in,
};

const TEXTS: &str = include_str!("../../testdata/texts.jsonl");
const VECTORS: &[u8] = include_bytes!("../../testdata/vectors.i16");

#[derive(Deserialize)]
struct Row {
    text: String,
    ids: Vec<u32>,
}

fn rows() -> Vec<Row> {
    TEXTS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the vectors of the first texts.
fn vectors() -> Vec<Vec<f64>> {
    let value = |bytes: &[u8]| f64::from(i16::from_le_bytes(bytes.try_into().unwrap())) / 32767.0;
    let vector = |bytes: &[u8]| bytes.chunks(2).map(value).collect();
    VECTORS.chunks(2 * DIMENSIONS).map(vector).collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn wide(vector: &Vector) -> Vec<f64> {
    vector.iter().copied().map(f64::from).collect()
}

/// Returns the model if it is installed; otherwise prints that the test is skipped.
fn model() -> Option<Model> {
    let weights = weights_in(&default_folder()?);
    if !weights.exists() {
        eprintln!("SKIPPED: the model is not installed in `{}`", weights.display());
        return None;
    }
    Some(Model::open(&weights).unwrap())
}

#[test]
fn tokens_are_those_of_the_reference() {
    for Row { text, ids } in rows() {
        assert_eq!(tokenize(&text, MAX_TOKENS), ids, "{text:?}");
    }
}

#[test]
fn names_of_special_tokens_are_ordinary_characters() {
    let tokens = tokenize("[SEP] [CLS]", MAX_TOKENS);
    // [CLS] [ sep ] [ cl ##s ] [SEP]
    assert_eq!(tokens, [101, 1031, 19802, 1033, 1031, 18856, 2015, 1033, 102]);
}

#[test]
fn at_least_200_texts_have_reference_vectors() {
    assert!(vectors().len() >= 200 && vectors().len() <= rows().len());
    let unit = |vector: &Vec<f64>| (cosine(vector, vector) - 1.0).abs() < 1e-9;
    assert!(vectors().iter().all(unit));
}

#[test]
fn vectors_are_those_of_the_reference() {
    let Some(model) = model() else { return };
    let rows = rows();
    let expected = vectors();
    let texts: Vec<&str> = rows.iter().map(|row| &*row.text).take(expected.len()).collect();
    let mut calls = Vec::new();
    let found = model.embed(&texts, &mut |progress| {
        calls.push(progress);
        ControlFlow::Continue(())
    });
    let found = found.unwrap();
    for ((text, found), expected) in texts.iter().zip(&found).zip(&expected) {
        let cosine = cosine(&wide(found), expected);
        assert!(cosine >= 0.999_999, "{cosine} of {text:?}");
    }
    let total = texts.len();
    assert_eq!(calls[0], Progress { done: 0, total });
    assert_eq!(*calls.last().unwrap(), Progress { done: total, total });
    assert!(calls.is_sorted_by(|a, b| a.done < b.done), "{calls:?}");

    // Other texts in the call make no significant difference.
    for (text, found) in texts.iter().zip(&found).step_by(7) {
        let alone = model.embed_one(text);
        assert!(cosine(&wide(&alone), &wide(found)) > 0.999_999_9, "{text:?}");
    }

    // Cancelling takes effect before the first batch, and after any.
    for calls_wanted in [1, 3] {
        let mut calls = 0;
        let cancelled = model.embed(&texts, &mut |_| {
            calls += 1;
            if calls == calls_wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((cancelled, calls), (Err(Cancelled), calls_wanted));
    }
    assert_eq!(model.embed(&[], &mut |_| ControlFlow::Continue(())), Ok(Vec::new()));
}
