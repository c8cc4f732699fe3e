//! Valid and invalid tokens and keys.

pub(crate) mod authority;
mod keys;
mod resource;
mod signatures;
mod sources;
mod tokens;

use super::{jwks::KeySet, token::Token, *};
