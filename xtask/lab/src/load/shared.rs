//! The documents that callers name.

/// Number of documents to read.
pub(super) const DOCUMENTS: usize = 100;

/// Approximate size of each in bytes.
pub(super) const DOCUMENT_BYTES: usize = 3000;

/// The document to which all callers add.
pub(super) const SHARED: &str = "shared.md";

/// A document larger than a client's buffers.
pub(super) const LARGE: &str = "large.md";

pub(super) const LARGE_BYTES: usize = 8 << 20;
