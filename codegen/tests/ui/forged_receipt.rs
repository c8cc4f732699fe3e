//! Nobody but the runtime makes a receipt or a staged change.

use tabellion_runtime::{Change, Content, Receipt, Staged};

fn main() {
    let receipt = Receipt { commit: "made up".into() };
    let change = Change {
        path: "note".into(),
        content: Content::Delete,
        operation: "delete",
        summary: receipt.commit().into(),
    };
    let _ = Staged { change, details: Default::default(), respond: Box::new(|_| ()) };
}
