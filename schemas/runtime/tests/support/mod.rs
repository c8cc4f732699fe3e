//! Code that several test binaries share.

#![allow(dead_code, reason = "each uses a part of it")]

pub(crate) mod origin;
