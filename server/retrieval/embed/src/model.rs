//! The model: opening its weights, and embedding texts in batches.

use std::{
    io::{self, BufReader, Read},
    ops::{ControlFlow, Range},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
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
    threads: usize,
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
        Ok(Self { encoder: Encoder::new(MINILM, &mut tensors), level: Level::fastest(), threads: 1 })
    }

    /// Makes [`embed`](Self::embed) use `threads` threads; the default is one. A batch never uses more than one.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
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

    /// Embeds texts, and returns a vector for each, in their order. Calls `progress` on this thread before the first batch and after
    /// each, every tenth of a second or so; [`ControlFlow::Break`] ends the work.
    ///
    /// # Errors
    /// If `progress` asked to stop.
    pub fn embed(
        &self,
        texts: &[&str],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<Vector>, Cancelled> {
        let mut vectors = vec![[0.0; DIMENSIONS]; texts.len()];
        let mut done = 0;
        let total = texts.len();
        let mut advance = |range: Range<usize>, batch: &[Vector]| {
            vectors[range].copy_from_slice(batch);
            done += batch.len();
            progress(Progress { done, total })
        };
        let mut finished = advance(0..0, &[]);
        if finished.is_continue() {
            let batches = Batches { texts, at: 0 };
            finished = if self.threads > 1 {
                self.embed_in_threads(batches, &mut advance)
            } else {
                let mut scratch = Scratch::default();
                let mut batches = batches;
                batches.try_for_each(|(range, tokens)| advance(range, &self.encode(&tokens, &mut scratch)))
            };
        }
        match finished {
            ControlFlow::Continue(()) => Ok(vectors),
            ControlFlow::Break(()) => Err(Cancelled),
        }
    }

    /// Embeds the batches in threads, and passes each to `advance` on this one.
    fn embed_in_threads(&self, batches: Batches<'_>, advance: &mut Advance<'_>) -> ControlFlow<()> {
        let batches = Mutex::new(batches);
        let is_cancelled = AtomicBool::new(false);
        let next = || batches.lock().expect("cutting a batch does not panic").next();
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..self.threads {
                let (sender, next, is_cancelled) = (sender.clone(), &next, &is_cancelled);
                scope.spawn(move || {
                    let mut scratch = Scratch::default();
                    while !is_cancelled.load(Ordering::Relaxed)
                        && let Some((range, tokens)) = next()
                    {
                        // The receiver is dropped once the work is cancelled.
                        let _ = sender.send((range, self.encode(&tokens, &mut scratch)));
                    }
                });
            }
            drop(sender);
            let done = receiver.iter().try_for_each(|(range, batch)| advance(range, &batch));
            is_cancelled.store(done.is_break(), Ordering::Relaxed);
            done
        })
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

/// A function that takes the vectors of a batch, the texts at a range.
type Advance<'a> = dyn FnMut(Range<usize>, &[Vector]) -> ControlFlow<()> + 'a;

/// Cuts texts into batches, and tokenizes these.
struct Batches<'a> {
    texts: &'a [&'a str],
    at: usize,
}

impl Iterator for Batches<'_> {
    type Item = (Range<usize>, Vec<Vec<u32>>);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.at;
        let (mut batch, mut count) = (Vec::new(), 0);
        while count + MAX_TOKENS <= BATCH_TOKENS
            && let Some(text) = self.texts.get(self.at)
        {
            let tokens = tokenize(text, MAX_TOKENS);
            count += tokens.len();
            batch.push(tokens);
            self.at += 1;
        }
        (!batch.is_empty()).then_some((first..self.at, batch))
    }
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
