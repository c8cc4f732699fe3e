//! Tests of the index as its callers use it.

mod any_text;
mod crash;
mod damage;
mod model;
mod nearness;
mod ranking;
mod source;
