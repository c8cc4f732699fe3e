//! The texts that a search considers.

/// A set of texts, by number: all, until it is restricted.
#[derive(Debug)]
pub struct Candidates {
    /// Number of all texts.
    texts: usize,
    /// A bit for each text; `None` for all.
    passing: Option<Vec<u64>>,
}

impl Candidates {
    /// Returns the set of all texts, of which there are `texts`.
    pub fn all(texts: usize) -> Self {
        Self { texts, passing: None }
    }

    /// Returns true unless the set was restricted.
    pub fn is_all(&self) -> bool {
        self.passing.is_none()
    }

    /// Returns true if the set has the text.
    #[inline]
    pub fn contains(&self, text: u32) -> bool {
        self.passing.as_ref().is_none_or(|passing| {
            let word = passing.get(text as usize / 64).copied().unwrap_or(0);
            word >> (text % 64) & 1 == 1
        })
    }

    /// Leaves the texts that are among `passing`. Numbers beyond the last text are ignored.
    pub fn restrict(&mut self, passing: impl Iterator<Item = u32>) {
        let mut words = vec![0_u64; self.texts.div_ceil(64)];
        for text in passing {
            if let Some(word) = words.get_mut(text as usize / 64) {
                *word |= 1 << (text % 64);
            }
        }
        for (word, before) in words.iter_mut().zip(self.passing.iter().flatten()) {
            *word &= before;
        }
        self.passing = Some(words);
    }
}
