//! An implementation can't obtain a receipt.

use tabellion_runtime::{CommitId, Receipt};

fn main() {
    let _ = Receipt::new(CommitId::new("made up"));
}
