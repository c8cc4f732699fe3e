//! A method says facts that gates can look at, and no others.

use tabellion_runtime::{ReadCx, spec::Fact};

fn says(cx: &ReadCx<'_>) {
    cx.fact(Fact::Plan, "these are known");
    cx.fact("plane", "this is misspelt");
}

fn main() {}
