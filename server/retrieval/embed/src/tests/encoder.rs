//! Compares the encoder with the definition of BERT, in `f64`, on small models with random weights.

use std::collections::HashMap;

use proptest::prelude::*;

use super::random::{TINY, file, values};
use crate::{
    compute::Level,
    encoder::{Encoder, Scratch},
    weights,
};

type Matrix = Vec<Vec<f64>>;

/// The model by its definition.
struct Defined(HashMap<String, Vec<f32>>);

impl Defined {
    fn rows(&self, name: &str, width: usize) -> Matrix {
        let row = |row: &[f32]| row.iter().copied().map(f64::from).collect();
        self.0[name].chunks(width).map(row).collect()
    }

    fn linear(&self, name: &str, input: &Matrix) -> Matrix {
        let weights = self.rows(&format!("{name}.weight"), input[0].len());
        let bias = &self.rows(&format!("{name}.bias"), weights.len())[0];
        let output = |row: &Vec<f64>| {
            let outputs = weights.iter().zip(bias);
            outputs.map(|(weights, bias)| dot(weights, row) + bias).collect()
        };
        input.iter().map(output).collect()
    }

    fn normalized(&self, name: &str, input: &Matrix, more: &Matrix) -> Matrix {
        let width = input[0].len();
        let weight = &self.rows(&format!("{name}.weight"), width)[0];
        let bias = &self.rows(&format!("{name}.bias"), width)[0];
        let normalized = |(row, more): (&Vec<f64>, &Vec<f64>)| {
            let row: Vec<f64> = row.iter().zip(more).map(|(a, b)| a + b).collect();
            let mean = row.iter().sum::<f64>() / width as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
            let values = row.iter().zip(weight).zip(bias);
            values.map(|((x, w), b)| (x - mean) / (variance + 1e-12).sqrt() * w + b).collect()
        };
        input.iter().zip(more).map(normalized).collect()
    }

    fn vector(&self, tokens: &[u32]) -> Vec<f64> {
        let width = TINY.hidden;
        let [words, positions, types] = ["word", "position", "token_type"]
            .map(|it| self.rows(&format!("embeddings.{it}_embeddings.weight"), width));
        let of_words: Matrix = tokens.iter().map(|&token| words[token as usize].clone()).collect();
        let of_places = positions.iter().map(|row| row.iter().zip(&types[0]).map(|(a, b)| a + b).collect());
        let mut hidden =
            self.normalized("embeddings.LayerNorm", &of_words, &of_places.take(tokens.len()).collect());
        for layer in 0..TINY.layers {
            let layer = format!("encoder.layer.{layer}");
            let [queries, keys, values] = ["query", "key", "value"]
                .map(|it| self.linear(&format!("{layer}.attention.self.{it}"), &hidden));
            let mut context = vec![vec![0.0; width]; tokens.len()];
            for head in (0..width).step_by(32) {
                let part = |row: &[f64]| row[head..head + 32].to_vec();
                for (context, query) in context.iter_mut().zip(&queries) {
                    let score = |key: &Vec<f64>| (dot(&part(query), &part(key)) / 32f64.sqrt()).exp();
                    let scores: Vec<f64> = keys.iter().map(score).collect();
                    let sum: f64 = scores.iter().sum();
                    for (score, value) in scores.iter().zip(&values) {
                        let sums = context[head..head + 32].iter_mut().zip(part(value));
                        sums.for_each(|(context, value)| *context += score / sum * value);
                    }
                }
            }
            let attended = self.linear(&format!("{layer}.attention.output.dense"), &context);
            hidden = self.normalized(&format!("{layer}.attention.output.LayerNorm"), &hidden, &attended);
            let mut inner = self.linear(&format!("{layer}.intermediate.dense"), &hidden);
            inner.iter_mut().flatten().for_each(|x| *x = *x * 0.5 * (1.0 + erf(*x / 2f64.sqrt())));
            let outer = self.linear(&format!("{layer}.output.dense"), &inner);
            hidden = self.normalized(&format!("{layer}.output.LayerNorm"), &hidden, &outer);
        }
        let sum: Vec<f64> = (0..width).map(|at| hidden.iter().map(|row| row[at]).sum()).collect();
        let length = dot(&sum, &sum).sqrt();
        sum.iter().map(|x| x / length).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The error function by its series, for the small values that occur here.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..150 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn vectors_of_every_level_are_those_of_the_definition(
        texts in prop::collection::vec(prop::collection::vec(0..TINY.vocabulary as u32, 1..TINY.positions), 1..5),
    ) {
        let expected = TINY.tensors();
        let values = values(&expected);
        let bytes = file(&expected, &values);
        let mut tensors = weights::read(&*bytes, bytes.len() as u64, &expected).unwrap();
        let encoder = Encoder::new(TINY, &mut tensors);
        let names = expected.into_iter().map(|tensor| tensor.name);
        let defined = Defined(names.zip(values).collect());
        let slices: Vec<&[u32]> = texts.iter().map(Vec::as_slice).collect();
        let mut scratch = Scratch::default();
        for level in Level::available() {
            let found = encoder.encode(level, &slices, &mut scratch);
            prop_assert_eq!(found.len(), texts.len() * TINY.hidden);
            for (vector, text) in found.chunks(TINY.hidden).zip(&texts) {
                let vector: Vec<f64> = vector.iter().copied().map(f64::from).collect();
                let cosine = dot(&vector, &defined.vector(text));
                prop_assert!((cosine - 1.0).abs() < 1e-5, "{level:?}: {cosine}");
            }
        }
    }
}
