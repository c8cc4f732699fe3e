//! Vectors in 8 bits a value, and the nearest of many.
//!
//! Searching compares the query with each vector. That needs no structure that has to be built, kept up to date or repaired,
//! always finds the nearest, and takes filters before the ranking.
//!
//! | module | does |
//! |---|---|
//! | `quantized` | a vector in 8 bits a value |
//! | `dot` | products of vectors, for the processor at hand |
//! | `top` | the best of many |
//! | `x86`, `neon` | the product in AVX-512, AVX2 and NEON |

mod dot;
#[cfg(target_arch = "aarch64")]
mod neon;
mod quantized;
mod top;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use self::{
    dot::Query,
    quantized::{Quantized, cosine},
    top::{Match, nearest, nearest_of},
};
