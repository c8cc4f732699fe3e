//! Measures the number of texts a second that the model embeds.
//!
//! ```text
//! cargo run --release -p tabellion-embed --example embed -- WEIGHTS TEXTS
//! ```
//!
//! TEXTS has a text per line.

#![allow(clippy::disallowed_methods, reason = "the person at the terminal names the file")]

use std::{env, error::Error, fs, ops::ControlFlow, path::Path, time::Instant};

use tabellion_embed::Model;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [weights, texts] = &arguments[..] else {
        return Err("usage: embed WEIGHTS TEXTS".into());
    };
    let begun = Instant::now();
    let model = Model::open(Path::new(weights))?;
    println!("opened in {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
    let texts = fs::read_to_string(texts)?;
    let texts: Vec<&str> = texts.lines().collect();
    let begun = Instant::now();
    model.embed(&texts, &mut |_| ControlFlow::Continue(()))?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("{} texts in {seconds:.2} s: {:.1} texts/s", texts.len(), texts.len() as f64 / seconds);
    let mut times: Vec<f64> = (0..50)
        .map(|_| {
            let begun = Instant::now();
            model.embed_one("how do I configure image optimization");
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("a query: {:.1} ms (median), {:.1} ms (best)", times[25], times[0]);
    Ok(())
}
