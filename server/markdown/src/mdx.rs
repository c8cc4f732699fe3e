//! The MDX mask: a text of the same length in which MDX's additions to Markdown are blank.
//!
//! Parsing the mask as CommonMark finds the headings of an MDX file, even of an invalid one that an MDX parser would refuse.
//! Masked are `import` and `export` statements, lines of only JSX tags, and fenced code (MDX has no indented code, so a fence
//! is valid at any depth, unlike in CommonMark).

/// What the previous line left open.
enum Open {
    /// Nothing: the previous line was blank, masked, or the start of the text.
    Nothing,
    /// Running text, which no statement can interrupt.
    Text,
    /// Fenced code, up to a fence of the same character that is at least as long.
    Fence { mark: u8, length: usize },
    /// A JSX tag of several lines, up to a line that ends with `>`.
    Tag,
    /// An `import` or `export`, up to a blank line.
    Statement,
}

/// Returns the mask of an MDX text without front matter. One pass; `body` has no lone `\r`.
pub(super) fn mask(body: &str) -> String {
    let last_tag_end = last_tag_end(body);
    let mut masked = String::with_capacity(body.len());
    let mut open = Open::Nothing;
    for line in body.split_inclusive('\n') {
        let position = masked.len();
        let (hidden, after) = read(line, &open, position < last_tag_end);
        if hidden {
            masked.extend(line.bytes().map(|byte| {
                if matches!(byte, b'\n' | b'\r') {
                    byte.into()
                } else {
                    ' '
                }
            }));
        } else {
            masked.push_str(line);
        }
        open = after;
    }
    masked
}

/// Returns the start of the last line that can end a multi-line tag. A tag that opens after it never closes, so it is not a
/// tag: one stray `<` must not hide the rest of a file.
fn last_tag_end(body: &str) -> usize {
    let mut start = 0;
    let mut last = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end().ends_with('>') {
            last = start;
        }
        start += line.len();
    }
    last
}

/// Returns whether to mask the line, and what it leaves open.
fn read(line: &str, open: &Open, tag_may_close: bool) -> (bool, Open) {
    let text = line.trim();
    match *open {
        Open::Fence { mark, length } => match fence(text) {
            Some((other, run, "")) if other == mark && run >= length => (true, Open::Nothing),
            _ => (true, Open::Fence { mark, length }),
        },
        Open::Tag => (
            true,
            if text.ends_with('>') {
                Open::Nothing
            } else {
                Open::Tag
            },
        ),
        Open::Statement if !text.is_empty() => (true, Open::Statement),
        Open::Nothing | Open::Text | Open::Statement => {
            if let Some((mark, length, _)) = fence(after_list_markers(text)) {
                return (true, Open::Fence { mark, length });
            }
            if opens_tag(text) && text.ends_with('>') {
                return (true, Open::Nothing);
            }
            if opens_tag(text) && !text.contains('>') && tag_may_close {
                return (true, Open::Tag);
            }
            let statement = line.starts_with("import ") || line.starts_with("export ");
            if statement && !matches!(open, Open::Text) {
                return (true, Open::Statement);
            }
            (
                false,
                if text.is_empty() {
                    Open::Nothing
                } else {
                    Open::Text
                },
            )
        }
    }
}

/// Parses a code fence: its character, its length, and the rest of the line.
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

/// Returns the line without leading list markers, after which a fence may open.
fn after_list_markers(mut text: &str) -> &str {
    loop {
        let unnumbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let marker = if unnumbered.len() < text.len() {
            &['.', ')'][..]
        } else {
            &['-', '*', '+'][..]
        };
        match unnumbered
            .strip_prefix(marker)
            .and_then(|rest| rest.strip_prefix(' '))
        {
            Some(rest) => text = rest.trim_start(),
            None => return text,
        }
    }
}

/// Returns true if the line starts with a JSX tag (opening, closing, or a fragment's); `<https://…>` is a link.
fn opens_tag(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('<') else {
        return false;
    };
    inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '>')
        && !inside.starts_with("http")
}
