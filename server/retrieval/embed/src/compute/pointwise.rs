//! The steps between the products: GELU, softmax and layer normalisation.
//!
//! The bodies are plain loops without branches, which the compiler vectorises; each is compiled once for each level.

use super::Level;

/// Defines a function that runs a body compiled for the level's instructions.
macro_rules! for_levels {
    ($(#[$doc:meta])* $name:ident, $body:ident, ($($argument:ident: $type:ty),*)) => {
        $(#[$doc])*
        pub(crate) fn $name(level: Level, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $type),*) {
                $body::<true>($($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx2,fma")]
            fn avx512($($argument: $type),*) {
                $body::<true>($($argument),*);
            }
            match level {
                Level::Portable => $body::<false>($($argument),*),
                // SAFETY: there is a value of this level only if the processor has its instructions (`Level::available`).
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { avx512($($argument),*) },
                #[cfg(target_arch = "aarch64")]
                Level::Neon => $body::<true>($($argument),*),
            }
        }
    };
}

for_levels! {
    /// Replaces each value by its GELU, `x × Φ(x)`.
    gelu, gelu_body, (values: &mut [f32])
}

for_levels! {
    /// Replaces the row by its softmax, after multiplication with `factor`.
    softmax, softmax_body, (row: &mut [f32], factor: f32)
}

for_levels! {
    /// Normalises each row of `weight.len()` values to mean 0 and variance 1, then multiplies by `weight` and adds `bias`.
    normalize_layer, normalize_body, (rows: &mut [f32], weight: &[f32], bias: &[f32])
}

/// Lanes of the sums, so that they are vectorised.
const LANES: usize = 16;

/// `a × b + c`, with one rounding if the processor has an instruction for it.
#[inline(always)]
fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Evaluates a polynomial; coefficients from the highest power down.
#[inline(always)]
fn polynomial<const FMA: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = 0.0;
    for coefficient in coefficients {
        value = fused::<FMA>(value, x, coefficient);
    }
    value
}

/// Returns e to the power `x` with a relative error below 3e-7; `x` is cut to [-87, 88].
///
/// e^x = 2^k × e^r, where |r| ≤ ln 2 / 2 and e^r is its Taylor polynomial of degree 7.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    /// ln 2 in two parts: the first has zeros at its end, so its product with a small integer is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// Adding and subtracting it rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let k = fused::<FMA>(x, std::f32::consts::LOG2_E, ROUND) - ROUND;
    let r = fused::<FMA>(-k, LN_2[1], fused::<FMA>(-k, LN_2[0], x));
    let power = polynomial::<FMA, 8>(
        r,
        [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0],
    );
    // The sum has the exponent, biased by 127, in its low bits.
    let exponent = ((k + (8_388_608.0 + 127.0)).to_bits() & 0xff) << 23;
    f32::from_bits(exponent) * power
}

/// GELU with the error function of Abramowitz and Stegun, 7.1.26, whose error is below 1.5e-7.
#[inline(always)]
fn gelu_body<const FMA: bool>(values: &mut [f32]) {
    for value in values {
        let z = *value * std::f32::consts::FRAC_1_SQRT_2;
        let t = 1.0 / fused::<FMA>(0.327_591_1, z.abs(), 1.0);
        let series =
            polynomial::<FMA, 6>(t, [1.061_405_4, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6, 0.0]);
        let erf = (1.0 - series * exp::<FMA>(-z * z)).copysign(z);
        *value *= fused::<FMA>(0.5, erf, 0.5);
    }
}

#[inline(always)]
fn softmax_body<const FMA: bool>(row: &mut [f32], factor: f32) {
    let largest = fold(row, f32::NEG_INFINITY, |a, b| if a > b { a } else { b });
    for value in row.iter_mut() {
        *value = exp::<FMA>((*value - largest) * factor);
    }
    let sum = fold(row, 0.0, |a, b| a + b);
    let share = 1.0 / sum;
    for value in row {
        *value *= share;
    }
}

#[inline(always)]
fn normalize_body<const FMA: bool>(rows: &mut [f32], weight: &[f32], bias: &[f32]) {
    /// Keeps the divisor of a row of equal values from being zero; the model's own value.
    const EPSILON: f32 = 1e-12;
    let width = weight.len();
    let bias = &bias[..width];
    for row in rows.chunks_exact_mut(width) {
        let mean = fold(row, 0.0, |a, b| a + b) / width as f32;
        for value in row.iter_mut() {
            *value -= mean;
        }
        let mut squares = [0.0; LANES];
        let chunks = row.chunks_exact(LANES);
        let rest: f32 = chunks.remainder().iter().map(|value| value * value).sum();
        for chunk in chunks {
            for (sum, value) in squares.iter_mut().zip(chunk) {
                *sum = fused::<FMA>(*value, *value, *sum);
            }
        }
        let variance = (squares.iter().sum::<f32>() + rest) / width as f32;
        let factor = 1.0 / (variance + EPSILON).sqrt();
        for ((value, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
            *value = fused::<FMA>(*value * factor, *weight, *bias);
        }
    }
}

/// Folds the values in [`LANES`] lanes, then the lanes.
#[inline(always)]
fn fold(values: &[f32], start: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, *value);
        }
    }
    let lanes = lanes.into_iter().fold(start, &combine);
    rest.iter().copied().fold(lanes, &combine)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that each level's results are within `tolerance` of those of the definition.
    fn check(
        input: &[f32],
        tolerance: f64,
        computed: impl Fn(Level, &mut [f32]),
        defined: impl Fn(&[f64]) -> Vec<f64>,
    ) {
        let wide: Vec<f64> = input.iter().copied().map(f64::from).collect();
        let expected = defined(&wide);
        for level in Level::available() {
            let mut values = input.to_vec();
            computed(level, &mut values);
            for ((at, found), expected) in values.iter().enumerate().zip(&expected) {
                let error = (f64::from(*found) - expected).abs();
                assert!(error <= tolerance, "{level:?} of {}: {found}, {expected}", input[at]);
            }
        }
    }

    /// Values from -12 to 12.
    fn ramp(count: usize) -> Vec<f32> {
        (0..count).map(|i| i as f32 / count as f32 * 24.0 - 12.0).collect()
    }

    /// The error function, by its series and, for large values, its continued fraction.
    fn erf(x: f64) -> f64 {
        if x.abs() > 4.0 {
            return x.signum();
        }
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    #[test]
    fn gelu_is_that_of_the_definition() {
        let defined = |values: &[f64]| {
            let gelu = |x: &f64| x * 0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2));
            values.iter().map(gelu).collect()
        };
        check(&ramp(10_007), 1e-6, gelu, defined);
    }

    #[test]
    fn softmax_is_that_of_the_definition() {
        let defined = |values: &[f64]| {
            let powers: Vec<f64> = values.iter().map(|x| (x * 0.25).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.iter().map(|power| power / sum).collect()
        };
        for count in [1, 2, 15, 16, 17, 33, 256] {
            check(&ramp(count), 1e-6, |level, values| softmax(level, values, 0.25), defined);
        }
    }

    #[test]
    fn layers_are_normalized_as_defined() {
        for width in [1, 5, 16, 37, 384] {
            let weight: Vec<f32> = (0..width).map(|i| 1.0 + i as f32 * 0.01).collect();
            let bias: Vec<f32> = (0..width).map(|i| i as f32 * 0.1).collect();
            let defined = |values: &[f64]| {
                let row = |row: &[f64]| {
                    let mean = row.iter().sum::<f64>() / width as f64;
                    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / width as f64;
                    let factor = 1.0 / (variance + 1e-12).sqrt();
                    let scaled = row.iter().map(|x| (x - mean) * factor);
                    let shifted = scaled.zip(&weight).zip(&bias);
                    let shifted = shifted.map(|((x, w), b)| x * f64::from(*w) + f64::from(*b));
                    shifted.collect::<Vec<f64>>()
                };
                values.chunks(width).flat_map(row).collect()
            };
            let computed = |level, values: &mut [f32]| normalize_layer(level, values, &weight, &bias);
            check(&ramp(width * 3), 2e-5, computed, defined);
        }
    }

    #[test]
    fn exp_is_close_to_the_standard_librarys() {
        for x in ramp(4_001).into_iter().map(|x| x * 7.2) {
            let (found, expected) = (f64::from(exp::<true>(x)), f64::from(x).exp());
            assert!(((found - expected) / expected).abs() < 3e-7, "e^{x}: {found}, {expected}");
        }
    }
}
