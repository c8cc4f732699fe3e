//! Texts with the frequencies of words of real texts.

/// Number of different words. Their frequencies follow their ranks.
const WORDS: usize = 20_000;

/// A source of texts, the same ones in each run.
pub(super) struct Texts(u64);

impl Texts {
    /// Returns the texts that follow from `seed`.
    pub(super) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number below 1.
    fn next(&mut self) -> f64 {
        // Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a word: the nth most frequent occurs about 1/n times as often as the first, as in real texts.
    fn word(&mut self) -> String {
        let rank = (WORDS as f64).powf(self.next());
        let mut rank = rank as usize;
        let mut word = String::new();
        while rank > 0 {
            word.push_str(["ba", "ke", "di", "lo", "mu", "ra", "se", "ti", "no", "pu"][rank % 10]);
            rank /= 10;
        }
        word
    }

    /// Returns `count` words.
    pub(super) fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}
