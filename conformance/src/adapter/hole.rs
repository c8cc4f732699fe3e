//! Holes of templates.

/// Source of a hole's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hole {
    /// `{/a/b}`: the value at this pointer in the request.
    Request(String),
    /// `{library_name}`: the name of the library's folder.
    LibraryName,
    /// `{library}`: the library's root.
    Library,
    /// `{absolute}`: the document's absolute path.
    Absolute,
    /// `{dirname}`: the document's folder, relative to the library; empty for one at the top.
    Dirname,
    /// `{basename}`: the document's name in its folder.
    Basename,
    /// `{old}`: a text that occurs once in the document and that the call replaces.
    Old,
    /// `{new}`: the replacement for `{old}`.
    New,
    /// `{content}`: the whole new content of the document.
    Content,
    /// `{old_start_line}`: the first line of `{old}`, from 1.
    OldStartLine,
    /// `{old_end_line}`: the last line of `{old}`, from 1.
    OldEndLine,
    /// `{old_sha256}`: SHA-256 of `{old}`, in hexadecimal.
    OldSha256,
    /// `{sha256}`: SHA-256 of the document, in hexadecimal.
    Sha256,
    /// `{git_blob}`: id of the document as a blob of git.
    GitBlob,
    /// `{size}`: the document's bytes.
    Size,
    /// `{mtime}`: when the document was last modified, in seconds since 1970.
    Mtime,
    /// `{mtime_ms}`: the same in milliseconds.
    MtimeMs,
    /// `{next}`: where the next page begins.
    Next,
    /// A value that the call's `before` takes.
    Taken(String),
}

/// Holes with names.
pub(super) const NAMED: [(&str, Hole); 17] = [
    ("library", Hole::Library),
    ("library_name", Hole::LibraryName),
    ("absolute", Hole::Absolute),
    ("dirname", Hole::Dirname),
    ("basename", Hole::Basename),
    ("old", Hole::Old),
    ("new", Hole::New),
    ("content", Hole::Content),
    ("old_start_line", Hole::OldStartLine),
    ("old_end_line", Hole::OldEndLine),
    ("old_sha256", Hole::OldSha256),
    ("sha256", Hole::Sha256),
    ("git_blob", Hole::GitBlob),
    ("size", Hole::Size),
    ("mtime", Hole::Mtime),
    ("mtime_ms", Hole::MtimeMs),
    ("next", Hole::Next),
];
