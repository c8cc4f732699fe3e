//! Measures the time of a search for the nearest of many vectors.
//!
//! ```text
//! cargo run --release -p tabellion-embed --example nearest -- [COUNT]
//! ```

use std::{env, error::Error, hint::black_box, time::Instant};

use tabellion_embed::{DIMENSIONS, Quantized, nearest};

fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = env::args().nth(1).map_or(Ok(1_100_000), |count| count.parse())?;
    let mut state = 1_u64;
    let vectors: Vec<u8> = (0..count * DIMENSIONS)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let query = Quantized::from_bytes(vectors[..DIMENSIONS].try_into()?);
    for (what, share) in [("all", 1), ("every tenth, by a predicate", 10)] {
        let mut times: Vec<f64> = (0..20)
            .map(|_| {
                let begun = Instant::now();
                black_box(nearest(&query, &vectors, 100, |index| index % share == 0));
                begun.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{what} of {count}: {:.1} ms (best), {:.1} ms (median)", times[0], times[10]);
    }
    Ok(())
}
