//! The MDX mask: a text of the same length in which MDX syntax is replaced by spaces.
//!
//! Parsing the mask as CommonMark finds the headings of an MDX file, even if an MDX parser would reject the file. The mask
//! hides `import` and `export` statements, lines that consist of JSX tags, comments (`{/* … */}`) that begin a line, and
//! fenced code. (MDX has no indented code, so a fence counts at any indentation, where CommonMark would see text.)

/// The construct that the previous line left open.
enum OpenConstruct {
    /// None: the previous line was blank or masked, or this is the first line.
    Nothing,
    /// Running text, which no statement can interrupt.
    Text,
    /// Fenced code, which ends at a fence of the same character that is at least as long.
    Fence { mark: u8, length: usize },
    /// A JSX tag of several lines, which ends with a line that ends with `>`.
    Tag,
    /// A comment of several lines, which ends with the line that has `*/`.
    Comment,
    /// An `import` or `export`, which ends at a blank line.
    Statement,
}

/// Returns the mask of an MDX text without front matter. `body` has no lone `\r`.
pub(super) fn mask(body: &str) -> String {
    let last_tag_end = last_line(body, |line| line.trim_end().ends_with('>'));
    let last_comment_end = last_line(body, |line| line.contains("*/"));
    let mut masked = String::with_capacity(body.len());
    let mut open = OpenConstruct::Nothing;
    for line in body.split_inclusive('\n') {
        let position = masked.len();
        let (hidden, after) = read(line, &open, position < last_tag_end, position < last_comment_end);
        if hidden {
            masked.extend(line.bytes().map(
                |byte| {
                    if matches!(byte, b'\n' | b'\r') { byte.into() } else { ' ' }
                },
            ));
        } else {
            masked.push_str(line);
        }
        open = after;
    }
    masked
}

/// Returns the start of the last line that can end a construct of several lines. What opens after it never closes and so
/// is text: one stray `<` must not hide the rest of a file.
fn last_line(body: &str, can_end: impl Fn(&str) -> bool) -> usize {
    let mut start = 0;
    let mut last = 0;
    for line in body.split_inclusive('\n') {
        if can_end(line) {
            last = start;
        }
        start += line.len();
    }
    last
}

/// Returns true if the mask hides the line, and the construct that the line leaves open.
fn read(
    line: &str,
    open: &OpenConstruct,
    tag_may_close: bool,
    comment_may_close: bool,
) -> (bool, OpenConstruct) {
    let text = line.trim();
    match *open {
        OpenConstruct::Fence { mark, length } => match fence(text) {
            Some((other, run, "")) if other == mark && run >= length => (true, OpenConstruct::Nothing),
            _ => (true, OpenConstruct::Fence { mark, length }),
        },
        OpenConstruct::Tag => {
            (true, if text.ends_with('>') { OpenConstruct::Nothing } else { OpenConstruct::Tag })
        }
        OpenConstruct::Comment => {
            (true, if text.contains("*/") { OpenConstruct::Nothing } else { OpenConstruct::Comment })
        }
        OpenConstruct::Statement if !text.is_empty() => (true, OpenConstruct::Statement),
        OpenConstruct::Nothing | OpenConstruct::Text | OpenConstruct::Statement => {
            if let Some((mark, length, _)) = fence(after_list_markers(text)) {
                return (true, OpenConstruct::Fence { mark, length });
            }
            if opens_tag(text) && text.ends_with('>') {
                return (true, OpenConstruct::Nothing);
            }
            if opens_tag(text) && !text.contains('>') && tag_may_close {
                return (true, OpenConstruct::Tag);
            }
            if text.starts_with("{/*") && text.ends_with("*/}") {
                return (true, OpenConstruct::Nothing);
            }
            if text.starts_with("{/*") && !text.contains("*/") && comment_may_close {
                return (true, OpenConstruct::Comment);
            }
            let statement = line.starts_with("import ") || line.starts_with("export ");
            if statement && !matches!(open, OpenConstruct::Text) {
                return (true, OpenConstruct::Statement);
            }
            (false, if text.is_empty() { OpenConstruct::Nothing } else { OpenConstruct::Text })
        }
    }
}

/// Parses a code fence: its character, its length, and its info string.
fn fence(text: &str) -> Option<(u8, usize, &str)> {
    let mark = *text.as_bytes().first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let length = text.bytes().take_while(|&byte| byte == mark).count();
    let info = text[length..].trim();
    let inline_code = mark == b'`' && info.contains('`');
    (length >= 3 && !inline_code).then_some((mark, length, info))
}

/// Strips leading list markers: a fence may follow one on the same line.
fn after_list_markers(mut text: &str) -> &str {
    loop {
        let unnumbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let marker = if unnumbered.len() < text.len() { &['.', ')'][..] } else { &['-', '*', '+'][..] };
        match unnumbered.strip_prefix(marker).and_then(|rest| rest.strip_prefix(' ')) {
            Some(rest) => text = rest.trim_start(),
            None => return text,
        }
    }
}

/// Returns true if the line starts with a JSX tag: opening, closing or a fragment. `<https://…>` is a link.
fn opens_tag(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('<') else {
        return false;
    };
    inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '>')
        && !inside.starts_with("http")
}
