//! Checks of arguments: the server accepts what the contract's schemas accept, and other arguments change nothing.

mod inputs;
mod library;
mod oddities;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[inputs::VALID, inputs::INVALID, oddities::CHECK];
