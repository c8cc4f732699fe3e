//! The MDX mask: a text of the same length in which MDX syntax is replaced by spaces.
//!
//! Parsing the mask as CommonMark finds the headings of an MDX file, even if an MDX parser would reject the file. The mask
//! hides `import` and `export` statements, lines that consist of JSX tags, expressions that begin a line (also comments, `{/* … */}`),
//! and fenced code. (MDX has no indented code, so a fence counts at any indentation, where CommonMark would see text.)

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
    /// An expression in braces, which ends with the line that closes the last of them.
    Expression(Script),
    /// An `import` or `export`, which ends at a blank line outside of brackets, templates and comments. `closes` is true if a later
    /// line is known to close all of these.
    Statement { script: Script, closes: bool },
}

/// Returns the mask of an MDX text without front matter. `body` has no lone `\r`.
pub(super) fn mask(body: &str) -> String {
    let mut reader = Reader { last_tag_end: last_tag_end(body), scripts_close: true };
    let mut masked = String::with_capacity(body.len());
    let mut open = OpenConstruct::Nothing;
    for line in body.split_inclusive('\n') {
        let (hidden, after) = reader.read(line, open, masked.len(), &body[masked.len() + line.len()..]);
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

/// Returns the start of the last line that can end a tag of several lines. A `<` after it never closes and so is no tag:
/// one stray `<` must not hide the rest of a file.
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

struct Reader {
    /// See [`last_tag_end`].
    last_tag_end: usize,
    /// False after the first script that is open at the end of the file: it is text, and so is any other that a line leaves open.
    scripts_close: bool,
}

impl Reader {
    /// Returns true if the mask hides the line, which starts at `position`, and the construct that it leaves open. `rest` follows it.
    fn read(
        &mut self,
        line: &str,
        open: OpenConstruct,
        position: usize,
        rest: &str,
    ) -> (bool, OpenConstruct) {
        let text = line.trim();
        match open {
            OpenConstruct::Fence { mark, length } => match fence(text) {
                Some((other, run, "")) if other == mark && run >= length => (true, OpenConstruct::Nothing),
                _ => (true, open),
            },
            OpenConstruct::Tag => {
                (true, if text.ends_with('>') { OpenConstruct::Nothing } else { OpenConstruct::Tag })
            }
            OpenConstruct::Expression(script) => {
                let script = script.after(line);
                let is_open = script.is_open();
                (true, if is_open { OpenConstruct::Expression(script) } else { OpenConstruct::Nothing })
            }
            OpenConstruct::Statement { script, closes }
                if !text.is_empty() || (script.is_open() && (closes || self.closes(script, rest))) =>
            {
                let script = script.after(line);
                // Only a blank line asks if it closes.
                let closes = script.is_open() && (closes || text.is_empty());
                (true, OpenConstruct::Statement { script, closes })
            }
            _ => self.begin(line, text, open, position, rest),
        }
    }

    /// Reads a line in which a construct may begin.
    fn begin(
        &mut self,
        line: &str,
        text: &str,
        open: OpenConstruct,
        position: usize,
        rest: &str,
    ) -> (bool, OpenConstruct) {
        if let Some((mark, length, _)) = fence(after_list_markers(text)) {
            return (true, OpenConstruct::Fence { mark, length });
        }
        if opens_tag(text) && text.ends_with('>') {
            return (true, OpenConstruct::Nothing);
        }
        if opens_tag(text) && !text.contains('>') && position < self.last_tag_end {
            return (true, OpenConstruct::Tag);
        }
        let script = Script::default().after(line);
        if text.starts_with('{') {
            if !script.is_open() && text.ends_with('}') {
                return (true, OpenConstruct::Nothing);
            }
            if script.is_open() && self.closes(script, rest) {
                return (true, OpenConstruct::Expression(script));
            }
        }
        let statement = line.starts_with("import ") || line.starts_with("export ");
        if statement && !matches!(open, OpenConstruct::Text) {
            return (true, OpenConstruct::Statement { script, closes: false });
        }
        (false, if text.is_empty() { OpenConstruct::Nothing } else { OpenConstruct::Text })
    }

    /// Returns true if the lines of `rest` close an open script.
    fn closes(&mut self, mut script: Script, rest: &str) -> bool {
        let mut lines = rest.split_inclusive('\n');
        self.scripts_close = self.scripts_close
            && lines.any(|line| {
                script = script.after(line);
                !script.is_open()
            });
        self.scripts_close
    }
}

/// The place in a script: what is open at the end of a line.
#[derive(Clone, Copy, Default)]
struct Script {
    /// Number of open brackets of any kind.
    depth: usize,
    /// The text or comment that is open.
    within: Option<Within>,
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    /// A text, which ends with this mark. Only a template continues on the next line.
    Text(u8),
    Comment,
}

impl Script {
    /// Returns the place after a further line.
    fn after(mut self, line: &str) -> Self {
        let mut bytes = line.bytes().peekable();
        while let Some(byte) = bytes.next() {
            let next = bytes.peek().copied();
            match (self.within, byte) {
                (Some(Within::Comment), b'*') if next == Some(b'/') => self.within = None,
                (Some(Within::Text(_)), b'\\') => {
                    bytes.next();
                }
                (Some(Within::Text(mark)), _) if byte == mark => self.within = None,
                (Some(_), _) => {}
                (None, b'/') if next == Some(b'*') => self.within = Some(Within::Comment),
                (None, b'/') if next == Some(b'/') => break,
                (None, b'\'' | b'"' | b'`') => self.within = Some(Within::Text(byte)),
                (None, b'{' | b'[' | b'(') => self.depth += 1,
                (None, b'}' | b']' | b')') => self.depth = self.depth.saturating_sub(1),
                (None, _) => {}
            }
        }
        self.within = self.within.filter(|within| matches!(within, Within::Comment | Within::Text(b'`')));
        self
    }

    fn is_open(&self) -> bool {
        self.depth > 0 || self.within.is_some()
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
