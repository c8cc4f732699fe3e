//! Validates names of documents and folders before any file is opened.
//!
//! Refuses to create names that Windows, macOS or git would interpret differently, on every system; existing files keep them.
//! [`super::folder`] handles the files under a name.

use tabellion_runtime::{Failure, FailureKind};
use unicode_normalization::is_nfc;

use super::mutant::{Mutant, is};

const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Refuses an invalid path of a document.
pub(super) fn check(path: &str) -> Result<(), Failure> {
    check_folder(path)?;
    if is_markdown(path) {
        return Ok(());
    }
    Err(refused(path, "does not end in .md, .markdown or .mdx"))
}

/// Refuses an invalid path of a folder; the root is the empty string.
pub(super) fn check_folder(path: &str) -> Result<(), Failure> {
    if path.len() > 4095 || path.split('/').count() > 255 {
        return Err(refused(&path[..path.floor_char_boundary(100)], "is too long"));
    }
    for segment in path.split('/') {
        check_segment(segment).map_err(|why| refused(path, why))?;
    }
    Ok(())
}

/// Returns true if a file of this name is a document.
pub(super) fn is_markdown(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".md", ".markdown", ".mdx"].iter().any(|end| lower.ends_with(end))
}

/// Refuses a path whose first missing segment, or one below it, some systems could not store. The first `existing` segments
/// exist.
pub(super) fn check_new(path: &str, existing: usize) -> Result<(), Failure> {
    path.split('/')
        .skip(existing)
        .try_for_each(|segment| check_portable(segment).map_err(|why| refused(path, why)))
}

/// Checks a segment that may exist.
pub(super) fn check_segment(segment: &str) -> Result<(), &'static str> {
    let is_any_name = is(Mutant::AnyName) && !segment.is_empty() && !segment.starts_with('.');
    if is_any_name || is(Mutant::WritesDotGit) && segment.to_ascii_lowercase().contains("git") {
        return Ok(());
    }
    // Some systems ignore invisible characters.
    let visible: String = segment.chars().filter(|c| !is_invisible(*c)).collect();
    if segment.is_empty() || segment == "." || segment == ".." {
        Err("has an empty segment or one of dots")
    } else if segment.len() > 255 {
        Err("has a segment of more than 255 bytes")
    } else if segment.chars().any(|c| c.is_control() || matches!(c, '\\' | '\u{2028}' | '\u{2029}')) {
        Err("has a character that separates folders or lines")
    } else if visible.to_ascii_lowercase().starts_with("git~") {
        Err("has a name reserved for git")
    } else if visible.is_empty() || visible.starts_with('.') {
        Err("has a hidden segment")
    } else if is(Mutant::HidesOddNames) {
        check_portable(segment)
    } else {
        Ok(())
    }
}

/// Checks a segment that is to be created.
fn check_portable(segment: &str) -> Result<(), &'static str> {
    if is(Mutant::AnyName) {
        return Ok(());
    }
    let stem = segment.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    let is_port = port.is_some_and(|number| {
        let mut digits = number.chars();
        matches!(digits.next(), Some('0'..='9' | '¹' | '²' | '³')) && digits.next().is_none()
    });
    if segment.chars().any(|c| "<>:\"|?*".contains(c)) {
        Err("has a character that some systems cannot store")
    } else if segment.chars().any(is_invisible) {
        Err("has an invisible character")
    } else if segment.ends_with(['.', ' ']) {
        Err("has a segment that ends in a dot or a space")
    } else if DEVICES.contains(&stem.as_str()) || ["conin$", "conout$"].contains(&stem.as_str()) || is_port {
        Err("has the name of a device")
    } else if !is_nfc(segment) {
        Err("is not in Unicode's composed form (NFC)")
    } else {
        Ok(())
    }
}

/// Returns true for zero-width characters and bidirectional controls.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn refused(path: &str, why: &str) -> Failure {
    let message = format!("path `{}` {why}; choose another name", path.escape_debug());
    Failure::new(FailureKind::Invalid, message)
}
