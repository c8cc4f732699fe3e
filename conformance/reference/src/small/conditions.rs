//! Calls that are made once for each idempotency key, and only while the notice has the expected content.

use std::{collections::HashMap, fs, path::Path};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tabellion_runtime::context::{BASE, COMMIT, IDEMPOTENCY_KEY, IF_BASE};

use super::{
    Answer, Call, ContractServer, Library, Refusal,
    bulletin::{Bulletin, error},
};

/// Arguments and answers of calls, by their keys.
#[derive(Default)]
pub(super) struct Calls(HashMap<String, (Value, Answer)>);

/// A board whose calls can have conditions.
pub(super) struct Conditional<'a> {
    board: Bulletin,
    library: Library,
    calls: &'a mut Calls,
}

impl<'a> Conditional<'a> {
    pub(super) fn new(board: Bulletin, root: &Path, calls: &'a mut Calls) -> Self {
        Self { board, library: Library(root.to_owned()), calls }
    }

    /// Returns the id of a notice's content; null if there is no notice.
    fn base(&self, path: &str) -> Value {
        let content = fs::read(self.library.0.join(path));
        content.map_or(Value::Null, |content| HEXLOWER.encode(&Sha256::digest(content)).into())
    }

    fn conflict(reason: &str, message: &str) -> Answer {
        error("INVALID", -32602, message, json!({ "reason": reason }), &[])
    }
}

impl ContractServer for Conditional<'_> {
    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal> {
        let Call { operation, arguments, meta, .. } = *call;
        let key = meta[IDEMPOTENCY_KEY].as_str().filter(|_| operation != "read_notice");
        if let Some((made, answer)) = key.and_then(|key| self.calls.0.get(key)) {
            if made == arguments {
                return Ok(answer.clone());
            }
            return Ok(Self::conflict("key_reused", "this key is of another call"));
        }
        let path = self.board.written(operation, arguments);
        let base = meta.get(IF_BASE).filter(|_| operation != "read_notice");
        let is_known = self.board.unknown(operation).is_none();
        if is_known && base.is_some_and(|base| *base != self.base(&path)) {
            return Ok(Self::conflict("conflict", "the notice is not what the call says"));
        }
        let before = self.library.head()?;
        let mut answer = self.board.call(call)?;
        if let Answer::Noted { meta, .. } = &mut answer {
            let (head, base) = (self.library.head()?, self.base(&path));
            if head != before {
                meta[COMMIT] = head.into();
            }
            if base.is_string() {
                meta[BASE] = base;
            }
            if let Some(key) = key {
                self.calls.0.insert(key.to_owned(), (arguments.clone(), answer.clone()));
            }
        }
        Ok(answer)
    }
}
