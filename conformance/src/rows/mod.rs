//! The suite's view of rows: requests of the operations on entities, values of their fields, and a model of the rows.
//!
//! All of it follows from a contract's `RowsSpec` alone; no code is shared with the engine of any server.
//!
//! | module | is for |
//! |---|---|
//! | [`requests`] | the operations and their arguments |
//! | [`values`] | values that fields can have, and such that they can't |
//! | [`model`] | the result of a call on the rows, or the reason why it must be refused |
//! | [`made`] | values that the server makes, which the model learns |
//! | [`client`] | a client that creates rows with all that they need |

pub mod client;
pub mod made;
pub mod model;
pub mod requests;
pub mod values;

pub use self::{client::RowsClient, model::Model, requests::Request};
