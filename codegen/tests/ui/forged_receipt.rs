//! A receipt can't be made by anybody but the runtime, and neither can a staged change.

use tabellion_schemas::{Change, Content, Receipt, Staged};

fn main() {
    let receipt = Receipt { commit: "made up".into() };
    let change = Change {
        path: "note".into(),
        content: Content::Delete,
        operation: "delete",
        summary: receipt.commit().into(),
    };
    let _ = Staged { change, respond: Box::new(|_| ()) };
    let _ = Receipt::new("made up".into());
}
