//! Tokens and keys, good and bad ones.

pub(crate) mod authority;
mod keys;
mod resource;
mod signatures;
mod sources;
mod tokens;

use super::{jwks::KeySet, jws::Token, *};
