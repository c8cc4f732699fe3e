//! The output of a command: text with or without colours, through a pager on a terminal, or JSON.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

pub use tabellion_runtime::text::visible;

use crate::{console, pager};

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// On a terminal, unless the environment variable `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of a command's output.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// JSON for programs instead of text.
    pub json: bool,
    /// When to use colours.
    pub colour: When,
    /// True if a pager may be used.
    pub pager: bool,
}

/// Style of the subject of a line: a commit, an id, a path.
pub const TITLE: Style = AnsiColor::Yellow.on_default();
/// Style of names.
pub const NAME: Style = AnsiColor::Cyan.on_default();
/// Style of labels and states.
pub const STRONG: Style = Style::new().bold();
/// Style of details.
pub const FAINT: Style = Style::new().dimmed();
/// Style of additions, and of good states.
pub const ADDED: Style = AnsiColor::Green.on_default();
/// Style of removals, and of bad states.
pub const REMOVED: Style = AnsiColor::Red.on_default();
/// Style of warnings.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Size at which a page is full.
const MAX_BYTES: usize = 64 << 20;

/// A text for a person, built up and then shown at once.
pub struct Page {
    shown: Vec<u8>,
    colour: bool,
    /// True if control characters are escaped. They could control a terminal; for a program they are part of a document.
    visible: bool,
    pager: bool,
}

impl Page {
    /// Creates an empty page.
    pub fn new(output: Output) -> Self {
        let on_terminal = console::answers_a_terminal();
        Self {
            shown: vec![],
            colour: match output.colour {
                When::Auto => console::answers_in_colour(),
                When::Always => true,
                When::Never => false,
            },
            visible: on_terminal,
            pager: on_terminal && output.pager,
        }
    }

    /// Creates an empty page for a terminal other than standard output's.
    pub fn on_terminal(output: Output) -> Self {
        Self { visible: true, ..Self::new(output) }
    }

    /// Returns the text.
    pub fn into_text(self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Returns true if the page has no text.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns true if the page has more text than a person would read.
    pub fn is_full(&self) -> bool {
        self.shown.len() > MAX_BYTES
    }

    /// Adds a part of a line in a style. Line breaks are escaped: a value can't imitate the program's lines.
    pub fn put(&mut self, style: Style, text: &str) -> &mut Self {
        self.text(style, &text.replace('\n', "\\n").replace('\r', "\\r"))
    }

    /// Adds a text of any number of lines in a style.
    pub fn text(&mut self, style: Style, text: &str) -> &mut Self {
        let text = if self.visible { visible(text) } else { text.to_owned() };
        self.bytes(style, text.as_bytes())
    }

    fn bytes(&mut self, style: Style, bytes: &[u8]) -> &mut Self {
        let style = if self.colour { style } else { Style::new() };
        // A style ends with its line, so that a pager can show any part.
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if at > 0 {
                self.shown.push(b'\n');
            }
            if !line.is_empty() {
                // Writing to a vector can't fail.
                let _ = write!(self.shown, "{style}");
                self.shown.extend(line);
                let _ = write!(self.shown, "{style:#}");
            }
        }
        self
    }

    /// Adds a line of plain text.
    pub fn line(&mut self, text: &str) -> &mut Self {
        self.put(Style::new(), text).text(Style::new(), "\n")
    }

    /// Adds a unified diff in colours. Bytes that are not UTF-8 are replaced on a terminal, and added as they are elsewhere.
    pub fn diff(&mut self, diff: impl AsRef<[u8]>) -> &mut Self {
        let mut in_hunk = false;
        for line in diff.as_ref().split_inclusive(|byte| *byte == b'\n') {
            let header = !in_hunk || diff_header(line);
            in_hunk = in_hunk || line.starts_with(b"@@");
            let style = match line.first() {
                Some(b'@') => NAME,
                Some(b'+' | b'-') if header => STRONG,
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                Some(b'\\') => FAINT,
                _ => Style::new(),
            };
            if self.visible {
                self.text(style, &String::from_utf8_lossy(line));
            } else {
                self.bytes(style, line);
            }
        }
        self
    }

    /// Adds a text, in colours if it is a diff.
    pub fn diff_or_text(&mut self, text: &str) -> &mut Self {
        if diff_header(text.as_bytes()) { self.diff(text) } else { self.text(Style::new(), text) }
    }

    /// Shows the page.
    ///
    /// # Errors
    /// If standard output can't be written.
    pub fn show(self) -> io::Result<()> {
        if self.pager && pager::show(&self.shown) {
            return Ok(());
        }
        console::answer(&self.shown)
    }
}

/// Returns true if a line that begins with `--- ` names a file of ours.
fn diff_header(line: &[u8]) -> bool {
    [&b"--- a/"[..], b"--- /dev/null", b"--- \"a/"].iter().any(|start| line.starts_with(start))
}

/// Shows a JSON document on one line.
///
/// # Errors
/// If standard output can't be written.
pub fn json(value: &Value) -> io::Result<()> {
    console::answer(format!("{}\n", tabellion_runtime::text::visible_json(value)).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_colours_of_its_lines() {
        let mut page = Page { shown: vec![], colour: true, visible: true, pager: false };
        page.diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- rule\n+new\n same\n");
        for (line, style) in [
            ("--- a/x", STRONG),
            ("+++ b/x", STRONG),
            ("@@ -1 +1 @@", NAME),
            ("--- rule", REMOVED),
            ("+new", ADDED),
        ] {
            let shown = String::from_utf8_lossy(&page.shown);
            assert!(shown.contains(&format!("{style}{line}{style:#}\n")), "{line}: {shown:?}");
        }
        assert!(page.shown.ends_with(b"\n same\n"));
    }

    #[test]
    fn a_value_does_not_look_like_lines_of_ours() {
        let mut page = Page { shown: vec![], colour: false, visible: false, pager: false };
        page.put(NAME, "Locks\nffff  Second\r").line(": a\nb").text(FAINT, "c\nd");
        assert_eq!(page.into_text(), "Locks\\nffff  Second\\r: a\\nb\nc\nd");
    }
}
