//! An implementation can't construct a receipt or a staged change.

use tabellion_runtime::{Change, CommitId, Content, Receipt, Staged};

fn main() {
    let receipt = Receipt { commit: CommitId::new("made up") };
    let change = Change::one("note", Content::Delete, "delete", receipt.commit().to_string());
    let _: Staged<()> = Staged { change, details: Default::default(), respond: Box::new(|_| ()) };
}
