//! The encoder: BERT's layers over the tokens of several texts at once, then the mean of each text's tokens, of length 1.
//!
//! Texts are not padded: their tokens follow one another in one array, and only attention processes them text by text.

use crate::{
    compute::{Level, Packed, PackedRows, Rows, Sink, gelu, normalize_layer, product, softmax},
    weights::{Expected, Tensors},
};

/// Width of an attention head, which is that of a tile.
const HEAD: usize = 32;

/// Sizes of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Architecture {
    /// Values of a token, and of the text's vector.
    pub(crate) hidden: usize,
    /// Values of a token between the two products of a layer's second half.
    pub(crate) inner: usize,
    /// Number of layers.
    pub(crate) layers: usize,
    /// Number of tokens in the vocabulary.
    pub(crate) vocabulary: usize,
    /// Largest number of tokens of a text.
    pub(crate) positions: usize,
}

/// Sizes of all-MiniLM-L6-v2.
pub(crate) const MINILM: Architecture = Architecture {
    hidden: 384,
    inner: 1536,
    layers: 6,
    vocabulary: crate::tokenizer::VOCABULARY_SIZE,
    positions: 512,
};

impl Architecture {
    /// Returns the tensors of a model.
    pub(crate) fn tensors(&self) -> Vec<Expected> {
        let Self { hidden, inner, .. } = *self;
        let mut all = Vec::new();
        let mut add = |name: String, shape: &[usize]| {
            let shape = shape.to_vec();
            all.push(Expected { name, shape });
        };
        let tables = [("word", self.vocabulary), ("position", self.positions), ("token_type", 2)];
        for (table, rows) in tables {
            add(format!("embeddings.{table}_embeddings.weight"), &[rows, hidden]);
        }
        let mut norms = vec!["embeddings.LayerNorm".to_owned()];
        let mut products = Vec::new();
        for layer in 0..self.layers {
            let layer = format!("encoder.layer.{layer}");
            for part in ["self.query", "self.key", "self.value", "output.dense"] {
                products.push((format!("{layer}.attention.{part}"), hidden, hidden));
            }
            products.push((format!("{layer}.intermediate.dense"), inner, hidden));
            products.push((format!("{layer}.output.dense"), hidden, inner));
            norms.push(format!("{layer}.attention.output.LayerNorm"));
            norms.push(format!("{layer}.output.LayerNorm"));
        }
        for (name, rows, columns) in products {
            add(format!("{name}.weight"), &[rows, columns]);
            add(format!("{name}.bias"), &[rows]);
        }
        for name in norms {
            add(format!("{name}.weight"), &[hidden]);
            add(format!("{name}.bias"), &[hidden]);
        }
        all
    }
}

/// A product with weights, then the sum with a bias.
struct Linear {
    weights: Packed,
    bias: Vec<f32>,
}

impl Linear {
    /// Takes several products of the same rows as one, whose columns are adjacent.
    fn take(tensors: &mut Tensors, width: usize, names: &[String]) -> Self {
        let mut take = |part: &str| -> Vec<f32> {
            let tensors = names.iter().flat_map(|name| tensors.take(&format!("{name}.{part}")));
            tensors.collect()
        };
        let weights = Packed::transposed(Rows::new(&take("weight"), width));
        let bias = take("bias");
        Self { weights, bias }
    }

    fn run(&self, level: Level, rows: &PackedRows, values: &mut [f32], adds: bool) {
        let mut sink =
            Sink { values, start: 0, stride: self.weights.columns(), bias: Some(&self.bias), adds };
        product(level, rows, &self.weights, &mut sink);
    }
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    fn take(tensors: &mut Tensors, name: &str) -> Self {
        let weight = tensors.take(&format!("{name}.weight"));
        let bias = tensors.take(&format!("{name}.bias"));
        Self { weight, bias }
    }

    fn run(&self, level: Level, rows: &mut [f32]) {
        normalize_layer(level, rows, &self.weight, &self.bias);
    }
}

struct Layer {
    /// Queries, keys and values.
    attention: Linear,
    attended: Linear,
    attention_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
}

/// A model in memory.
pub(crate) struct Encoder {
    architecture: Architecture,
    /// A row per token of the vocabulary.
    words: Vec<f32>,
    /// A row per position, with that of the only token type added.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

/// Buffers that one thread reuses.
#[derive(Default)]
pub(crate) struct Scratch {
    rows: PackedRows,
    hidden: Vec<f32>,
    attention: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    scores: Vec<f32>,
    keys: Packed,
    values: Packed,
}

impl Encoder {
    /// Takes the tensors that [`Architecture::tensors`] lists.
    pub(crate) fn new(architecture: Architecture, tensors: &mut Tensors) -> Self {
        let Architecture { hidden, inner, .. } = architecture;
        assert_eq!(hidden % HEAD, 0, "whole heads");
        let mut positions = tensors.take("embeddings.position_embeddings.weight");
        let types = tensors.take("embeddings.token_type_embeddings.weight");
        for row in positions.chunks_exact_mut(hidden) {
            add(row, &types[..hidden]);
        }
        let layer = |layer: usize| {
            let layer = format!("encoder.layer.{layer}");
            let attention = ["query", "key", "value"].map(|part| format!("{layer}.attention.self.{part}"));
            Layer {
                attention: Linear::take(tensors, hidden, &attention),
                attended: Linear::take(tensors, hidden, &[format!("{layer}.attention.output.dense")]),
                attention_norm: Norm::take(tensors, &format!("{layer}.attention.output.LayerNorm")),
                inner: Linear::take(tensors, hidden, &[format!("{layer}.intermediate.dense")]),
                outer: Linear::take(tensors, inner, &[format!("{layer}.output.dense")]),
                norm: Norm::take(tensors, &format!("{layer}.output.LayerNorm")),
            }
        };
        Self {
            layers: (0..architecture.layers).map(layer).collect(),
            words: tensors.take("embeddings.word_embeddings.weight"),
            norm: Norm::take(tensors, "embeddings.LayerNorm"),
            positions,
            architecture,
        }
    }

    /// Returns the vectors of the texts, given as token ids, one after another.
    ///
    /// # Panics
    /// If a token is not in the vocabulary, or a text has more tokens than there are positions.
    pub(crate) fn encode(&self, level: Level, texts: &[&[u32]], scratch: &mut Scratch) -> Vec<f32> {
        let width = self.architecture.hidden;
        let tokens: usize = texts.iter().map(|text| text.len()).sum();
        let hidden = &mut scratch.hidden;
        hidden.clear();
        for text in texts {
            for (&token, position) in text.iter().zip(self.positions.chunks_exact(width).take(text.len())) {
                let word = &self.words[token as usize * width..][..width];
                hidden.extend(word.iter().zip(position).map(|(word, position)| word + position));
            }
        }
        assert_eq!(hidden.len(), tokens * width, "a position for each token");
        self.norm.run(level, hidden);
        scratch.attention.resize(tokens * 3 * width, 0.0);
        scratch.context.resize(tokens * width, 0.0);
        scratch.inner.resize(tokens * self.architecture.inner, 0.0);
        for layer in &self.layers {
            layer.run(level, width, texts, scratch);
        }
        let mut vectors = Vec::with_capacity(texts.len() * width);
        let mut rows = scratch.hidden.chunks_exact(width);
        for text in texts {
            let mut vector = vec![0.0; width];
            for row in rows.by_ref().take(text.len()) {
                add(&mut vector, row);
            }
            normalize(&mut vector);
            vectors.append(&mut vector);
        }
        vectors
    }
}

impl Layer {
    fn run(&self, level: Level, width: usize, texts: &[&[u32]], scratch: &mut Scratch) {
        scratch.rows.set(Rows::new(&scratch.hidden, width));
        self.attention.run(level, &scratch.rows, &mut scratch.attention, false);
        let mut first = 0;
        for text in texts {
            for head in 0..width / HEAD {
                attend(level, (first, text.len()), (head, width), scratch);
            }
            first += text.len();
        }
        scratch.rows.set(Rows::new(&scratch.context, width));
        self.attended.run(level, &scratch.rows, &mut scratch.hidden, true);
        self.attention_norm.run(level, &mut scratch.hidden);

        scratch.rows.set(Rows::new(&scratch.hidden, width));
        self.inner.run(level, &scratch.rows, &mut scratch.inner, false);
        gelu(level, &mut scratch.inner);
        scratch.rows.set(Rows::new(&scratch.inner, self.inner.weights.columns()));
        self.outer.run(level, &scratch.rows, &mut scratch.hidden, true);
        self.norm.run(level, &mut scratch.hidden);
    }
}

/// Computes the output of one head for one text, `count` tokens from `first` on.
fn attend(
    level: Level,
    (first, count): (usize, usize),
    (head, width): (usize, usize),
    scratch: &mut Scratch,
) {
    let part = |part: usize| Rows {
        values: &scratch.attention,
        start: first * 3 * width + part * width + head * HEAD,
        stride: 3 * width,
        width: HEAD,
        count,
    };
    scratch.rows.set(part(0));
    scratch.keys.set_transposed(part(1));
    scratch.values.set_rows(part(2));
    scratch.scores.resize(count * count, 0.0);
    let mut scores = Sink { values: &mut scratch.scores, start: 0, stride: count, bias: None, adds: false };
    product(level, &scratch.rows, &scratch.keys, &mut scores);
    for row in scratch.scores.chunks_exact_mut(count) {
        softmax(level, row, 1.0 / (HEAD as f32).sqrt());
    }
    scratch.rows.set(Rows::new(&scratch.scores, count));
    let mut context = Sink {
        values: &mut scratch.context,
        start: first * width + head * HEAD,
        stride: width,
        bias: None,
        adds: false,
    };
    product(level, &scratch.rows, &scratch.values, &mut context);
}

fn add(target: &mut [f32], values: &[f32]) {
    for (target, value) in target.iter_mut().zip(values) {
        *target += value;
    }
}

/// Scales the vector to length 1. A vector of zeros stays as it is.
fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}
