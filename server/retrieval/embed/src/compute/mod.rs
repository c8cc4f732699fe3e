//! Arithmetic over rows of `f32`: products with packed matrices, and the steps between them, by the widest instructions of the
//! processor that runs the program.
//!
//! | module | does |
//! |---|---|
//! | `matrix` | packed matrices, and products with them, tile by tile |
//! | `pointwise` | GELU, softmax, layer normalisation |
//! | `tile` | the tile, in portable code |
//! | `x86`, `neon` | the tile in AVX-512, AVX2 and NEON; the only unsafe code |

mod matrix;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pointwise;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use self::{
    matrix::{Packed, PackedRows, Rows, Sink, product},
    pointwise::{gelu, normalize_layer, softmax},
};

/// Instruction set to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Instructions that every processor of the target has.
    Portable,
    /// AVX2 with fused multiplication and addition.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// Returns all levels that this processor has, the fastest last.
    pub(crate) fn available() -> Vec<Self> {
        #[allow(unused_mut, reason = "other targets have no further level")]
        let mut levels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                levels.push(Self::Avx2);
                if is_x86_feature_detected!("avx512f") {
                    levels.push(Self::Avx512);
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Self::Neon);
        }
        levels
    }

    /// Returns the fastest level that this processor has.
    pub(crate) fn fastest() -> Self {
        *Self::available().last().expect("the portable level at least")
    }
}
