//! The model: opening its weights, and embedding texts in batches.

use std::{
    io::{self, BufReader, Read},
    ops::ControlFlow,
    path::Path,
};

use sha2::{Digest as _, Sha256};

use crate::{
    Cancelled, ModelError,
    compute::Level,
    encoder::{Encoder, MINILM, Scratch},
    tokenizer::tokenize,
    weights::{self, WeightsError},
};

/// Number of values of a vector.
pub const DIMENSIONS: usize = 384;

/// The embedding of a text: a vector of length 1. The product of two vectors is the cosine of their angle.
pub type Vector = [f32; DIMENSIONS];

/// Tokens of a text that count; later ones do not change the vector. The model's own limit (`sentence_bert_config.json`): it
/// was trained on shorter texts, and its other positions were never trained for sentences.
pub const MAX_TOKENS: usize = 256;

/// SHA-256 of the model's weights.
pub(crate) const WEIGHTS_SHA256: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";

/// Tokens of a batch: enough that reading the weights once for each batch costs little, and few enough that the batch stays in the
/// cache.
const BATCH_TOKENS: usize = 1024;

/// Progress of [`Model::embed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Texts embedded.
    pub done: usize,
    /// Texts in all.
    pub total: usize,
}

/// all-MiniLM-L6-v2 in memory, 91 MB.
pub struct Model {
    encoder: Encoder,
    level: Level,
}

impl Model {
    /// Reads the weights, a file in the safetensors format, and compares their SHA-256. Takes some 0.1 s.
    ///
    /// # Errors
    /// If the file can't be read, or is not the model's.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let file =
            tabellion_platform::open_regular(path).map_err(io::Error::from).map_err(ModelError::io(path))?;
        let length = file.metadata().map_err(ModelError::io(path))?.len();
        let damaged = |problem: String| ModelError::Damaged { path: path.to_owned(), problem };
        let mut reader = BufReader::new(Hashing { source: file, hash: Sha256::new() });
        let mut tensors = match weights::read(&mut reader, length, &MINILM.tensors()) {
            Ok(tensors) => tensors,
            Err(WeightsError::Damaged(problem)) => return Err(damaged(problem)),
            Err(WeightsError::Io(source)) => return Err(ModelError::io(path)(source)),
        };
        // Bytes that were appended after the length was read.
        io::copy(&mut reader, &mut io::sink()).map_err(ModelError::io(path))?;
        let found = hex(&reader.into_inner().hash.finalize());
        if found != WEIGHTS_SHA256 {
            return Err(damaged(format!("its SHA-256 is {found}, and {WEIGHTS_SHA256} is needed")));
        }
        Ok(Self { encoder: Encoder::new(MINILM, &mut tensors), level: Level::fastest() })
    }

    /// Returns the identity of everything that vectors depend on: weights, vocabulary, and the cutting and averaging of
    /// texts. Vectors are comparable only if they were made with equal fingerprints.
    pub const fn fingerprint() -> &'static str {
        "all-MiniLM-L6-v2 53aa5117 wordpiece 256 mean 1"
    }

    /// Embeds one text, such as a query.
    pub fn embed_one(&self, text: &str) -> Vector {
        let tokens = tokenize(text, MAX_TOKENS);
        self.encode(&[tokens], &mut Scratch::default())[0]
    }

    /// Embeds texts, and returns a vector for each, in their order. Calls `progress` before the first batch and after each, every
    /// tenth of a second or so; [`ControlFlow::Break`] ends the work.
    ///
    /// # Errors
    /// If `progress` asked to stop.
    pub fn embed(
        &self,
        texts: &[&str],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<Vector>, Cancelled> {
        let total = texts.len();
        let (mut vectors, mut scratch) = (Vec::with_capacity(total), Scratch::default());
        loop {
            if progress(Progress { done: vectors.len(), total }).is_break() {
                return Err(Cancelled);
            }
            let batch = next_batch(&texts[vectors.len()..]);
            if batch.is_empty() {
                return Ok(vectors);
            }
            vectors.extend(self.encode(&batch, &mut scratch));
        }
    }

    fn encode(&self, tokens: &[Vec<u32>], scratch: &mut Scratch) -> Vec<Vector> {
        let tokens: Vec<&[u32]> = tokens.iter().map(Vec::as_slice).collect();
        let values = self.encoder.encode(self.level, &tokens, scratch);
        let (vectors, rest) = values.as_chunks();
        debug_assert!(rest.is_empty(), "whole vectors");
        vectors.to_vec()
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = &self.level;
        f.debug_struct("Model").field("level", level).finish_non_exhaustive()
    }
}

/// Returns the tokens of the first texts, as many as a batch has.
fn next_batch(texts: &[&str]) -> Vec<Vec<u32>> {
    let (mut batch, mut count) = (Vec::new(), 0);
    for text in texts {
        if count + MAX_TOKENS > BATCH_TOKENS {
            break;
        }
        let tokens = tokenize(text, MAX_TOKENS);
        count += tokens.len();
        batch.push(tokens);
    }
    batch
}

/// Hashes the bytes that are read through it.
struct Hashing<R> {
    source: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

/// Returns the bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
