//! Permissions of keys and tokens.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use tabellion_gateway::Access;
use tabellion_runtime::spec::ScopeWord;

/// A permission, written `read`, `write` or `review` with `[:CONTRACT][@LIBRARY]`; without a contract or a library it covers all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope {
    word: ScopeWord,
    contract: Option<String>,
    library: Option<String>,
}

/// The error of a text that is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a scope; write `read`, `write` or `review`, then `:CONTRACT` for one contract, then `@LIBRARY` for one library"
)]
pub struct ScopeError(String);

impl Scope {
    /// Returns true if the scope includes a permission in the library of this name.
    pub(super) fn covers(&self, library: &str) -> bool {
        self.library.as_deref().is_none_or(|name| name == library)
    }

    /// Returns true if the scope permits `access` to the contract of this id.
    pub(super) fn allows(&self, contract: &str, access: Access) -> bool {
        let needed = match access {
            Access::Read => ScopeWord::Read,
            Access::Write => ScopeWord::Write,
        };
        self.names_contract(contract) && self.word.includes(needed)
    }

    /// Returns true if the scope covers the contract of this id.
    pub(super) fn names_contract(&self, contract: &str) -> bool {
        self.contract.as_deref().is_none_or(|name| name == contract)
    }

    /// Returns the permission.
    pub fn word(&self) -> ScopeWord {
        self.word
    }

    /// Returns the contract and the library that the scope names.
    pub fn names(&self) -> (Option<&str>, Option<&str>) {
        (self.contract.as_deref(), self.library.as_deref())
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let (rest, library) = match text.split_once('@') {
            Some((rest, library)) => (rest, Some(library)),
            None => (text, None),
        };
        let (word_text, contract) = match rest.split_once(':') {
            Some((word, contract)) => (word, Some(contract)),
            None => (rest, None),
        };
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let all_named = [contract, library].into_iter().flatten().all(is_name);
        let mut words = ScopeWord::ALL.iter().copied();
        let word = words.find(|word| word.to_string() == word_text);
        match word.filter(|_| all_named) {
            Some(word) => {
                Ok(Self { word, contract: contract.map(str::to_owned), library: library.map(str::to_owned) })
            }
            None => Err(ScopeError(text.into())),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = ScopeError;

    fn try_from(text: String) -> Result<Self, ScopeError> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.word)?;
        if let Some(contract) = &self.contract {
            write!(f, ":{contract}")?;
        }
        if let Some(library) = &self.library {
            write!(f, "@{library}")?;
        }
        Ok(())
    }
}
