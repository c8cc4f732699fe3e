//! Checks of arguments: the server accepts arguments that the contract's schemas accept, and others change nothing.

mod inputs;
mod library;
mod oddities;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[inputs::VALID, inputs::INVALID, oddities::CHECK];
