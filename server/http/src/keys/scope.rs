//! What a key is good for.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use tabellion_mcp::Access;

/// `ACCESS[:CONTRACT][@LIBRARY]`: what is allowed, in one contract or in all, in one library or in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope {
    access: Access,
    contract: Option<String>,
    library: Option<String>,
}

/// A text that is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no scope; write `read` or `write`, then `:CONTRACT` for one contract, then `@LIBRARY` for one library"
)]
pub struct BadScope(String);

impl Scope {
    /// Whether it is good for anything in the library of this name.
    pub(super) fn is_at(&self, library: &str) -> bool {
        self.library.as_deref().is_none_or(|own| own == library)
    }

    /// Whether it is good for this in the contract of that id.
    pub(super) fn allows(&self, contract: &str, access: Access) -> bool {
        self.access >= access && self.contract.as_deref().is_none_or(|own| own == contract)
    }

    /// The contract and the library that it names, where it does.
    pub fn names(&self) -> (Option<&str>, Option<&str>) {
        (self.contract.as_deref(), self.library.as_deref())
    }
}

impl FromStr for Scope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, BadScope> {
        let (rest, library) = match text.split_once('@') {
            Some((rest, library)) => (rest, Some(library)),
            None => (text, None),
        };
        let (access, contract) = match rest.split_once(':') {
            Some((access, contract)) => (access, Some(contract)),
            None => (rest, None),
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let all_named = [contract, library].into_iter().flatten().all(is_name);
        let access = [Access::Read, Access::Write]
            .into_iter()
            .find(|it| it.as_str() == access);
        match access.filter(|_| all_named) {
            Some(access) => Ok(Self {
                access,
                contract: contract.map(str::to_owned),
                library: library.map(str::to_owned),
            }),
            None => Err(BadScope(text.into())),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = BadScope;

    fn try_from(text: String) -> Result<Self, BadScope> {
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
        f.write_str(self.access.as_str())?;
        if let Some(contract) = &self.contract {
            write!(f, ":{contract}")?;
        }
        if let Some(library) = &self.library {
            write!(f, "@{library}")?;
        }
        Ok(())
    }
}
