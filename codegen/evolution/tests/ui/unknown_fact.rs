//! A method can add only the facts that gates use.

use tabellion_runtime::{ReadCx, spec::Fact};

fn says(cx: &ReadCx<'_>) {
    cx.fact(Fact::Plan, "these are known");
    cx.fact("plane", "this is misspelt");
}

fn main() {}
