//! Tabellion: a server for Markdown libraries in git that AI agents and people edit together, and for rows that agents keep.
//!
//! This crate lists the packs, which are contracts with their implementations, and contains the command line; [`tabellion_serve::Server`]
//! serves other contracts in the same way. The rest is in these crates, lowest first:
//!
//! | crate | is for |
//! |---|---|
//! | [`tabellion_platform`] | differences between operating systems |
//! | [`tabellion_markdown`] | sections, edits, previews: pure functions from text to text |
//! | [`tabellion_library`] | paths, git, the transaction, the log, listing and search; the only one that writes below a library's root |
//! | `tabellion_records` | rows in SQLite, their log, and its upkeep |
//! | `tabellion_calls` | executions, sessions and shared limits, next to a library |
//! | [`tabellion_gateway`] | calls of contracts, whatever protocol they come over |
//! | [`tabellion_pack`] | the form of a pack, and lists of them; `tabellion_documents`, `tabellion_mcb` and `tabellion_brainforge` are packs |
//! | `tabellion_mcp` | contracts over MCP: stdio, and the messages of Streamable HTTP |
//! | `tabellion_page` | a page in the browser |
//! | `tabellion_rest` | contracts over REST |
//! | [`tabellion_clients`] | configuration files of MCP clients |
//! | [`tabellion_http`] | sockets, limits, API keys, access tokens, TLS |
//! | [`tabellion_upkeep`] | the place of rows, their upkeep, `doctor`, the output of commands |
//! | [`tabellion_serve`] | opening libraries and rows, and serving contracts over them |
//! | [`tabellion_terminal`] | commands for people: log, review, undo, call |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]
// Printing macros panic on a closed stream; `console` does not. Standard output is reserved for the protocol.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod cli;
mod demo;
mod packs;

pub use packs::PACKS;
