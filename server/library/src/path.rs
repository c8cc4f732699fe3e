//! Names of files and folders in the library, checked once at the edge.
//!
//! [`LibraryPath`] is a file, usually Markdown; [`LibraryDir`] is a folder. A value is safe: it never leads outside of the library,
//! nor to a file of git's. The content on disk under a name (a symbolic link, a pipe, none) is the business of [`crate::root`].
//!
//! There are two classes of rules. A text that breaks a rule of the first is never a path. Rules of the second keep names portable:
//! Windows, macOS or git would store or show such a name differently. They apply only to names to be created
//! ([`LibraryPath::check_new`]), so existing files are never hidden because of their names.

use std::fmt::{self, Write};
use std::path::Path;

use gix::validate::path::component;
use tabellion_platform::{MAX_NAME_BYTES, NAMES_ARE_LITERAL};
use tabellion_runtime::text::{composed, is_invisible};

/// Extensions of Markdown files, compared ignoring ASCII case, because `README.MD` is Markdown to its author and to every
/// renderer.
pub const MARKDOWN_EXTENSIONS: [&str; 3] = ["md", "markdown", "mdx"];

/// Size limit of a new segment in bytes: the limit of common file systems.
pub const MAX_SEGMENT_BYTES: usize = 255;

/// Size limit of a path in bytes: Linux's `PATH_MAX` is 4096 including a closing NUL.
pub const MAX_PATH_BYTES: usize = 4095;

/// Upper bound of the segments of a path.
pub const MAX_DEPTH: usize = 255;

/// Upper bound of the characters of a refused path in an error.
const SHOWN_CHARS: usize = 120;

/// The path of a file, relative to the library's root, `/`-separated, with the exact spelling of its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryPath(String);

/// The path of a folder, relative to the library's root; the root itself is the empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryDir(String);

impl LibraryPath {
    /// Parses the path of a Markdown file. A leading `-` is an ordinary character.
    ///
    /// # Errors
    ///
    /// [`PathError`] if `text` is not the canonical spelling of a Markdown file inside the library.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check_path(text, Leaf::Markdown).map_err(|fault| PathError::new(text, fault))?;
        Ok(Self(text.to_owned()))
    }

    /// Parses the path of any file, including hidden ones, for contracts that select the files they serve themselves.
    ///
    /// # Errors
    ///
    /// [`PathError`] if `text` is not the canonical spelling of a file inside the library.
    pub fn of_any_file(text: &str) -> Result<Self, PathError> {
        check_path(text, Leaf::File).map_err(|fault| PathError::new(text, fault))?;
        Ok(Self(text.to_owned()))
    }

    /// Parses the path of any file that can be in a commit of another machine, including git's own settings files, which no call changes.
    pub(crate) fn of_entry(text: &str) -> Result<Self, PathError> {
        let leaf = if SETTINGS.contains(&split_leaf(text).1) { Leaf::Settings } else { Leaf::File };
        check_path(text, leaf).map_err(|fault| PathError::new(text, fault))?;
        Ok(Self(text.to_owned()))
    }

    /// Checks that a file can be created at this path, where the first `existing` folders of it exist already.
    ///
    /// # Errors
    ///
    /// [`PathError`] if a name to be created is not portable.
    pub fn check_new(&self, existing: usize) -> Result<(), PathError> {
        self.components()
            .skip(existing)
            .try_for_each(check_portable)
            .map_err(|fault| PathError::new(&self.0, fault))
    }

    /// Returns the path as text, for instance `notes/plan.md`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path for the operating system, relative to the library's root.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Returns the last segment.
    pub fn file_name(&self) -> &str {
        split_leaf(&self.0).1
    }

    /// Returns the folder of the file.
    pub fn parent(&self) -> LibraryDir {
        LibraryDir(split_leaf(&self.0).0.to_owned())
    }

    /// Returns the segments, the file name last.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl LibraryDir {
    /// The library's root.
    pub const ROOT: LibraryDir = LibraryDir(String::new());

    /// Parses the path of a folder: `""` and `"."` are the root, and one trailing `/` is tolerated.
    ///
    /// # Errors
    ///
    /// [`PathError`] if `text` is not a folder inside the library.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() || text == "." {
            return Ok(Self::ROOT);
        }
        let folder = text.strip_suffix('/').filter(|folder| !folder.is_empty()).unwrap_or(text);
        check_path(folder, Leaf::Folder).map_err(|fault| PathError::new(text, fault))?;
        Ok(Self(folder.to_owned()))
    }

    /// Returns the path as text without a trailing `/`; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for the library's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the last segment; empty for the root.
    pub fn file_name(&self) -> &str {
        split_leaf(&self.0).1
    }

    /// Returns the folders down to this one, from the top: `a`, `a/b` for `a/b`. None for the root.
    pub fn ancestors(&self) -> impl Iterator<Item = LibraryDir> {
        let ends =
            self.0.match_indices('/').map(|(at, _)| at).chain((!self.is_root()).then_some(self.0.len()));
        ends.map(|end| LibraryDir(self.0[..end].to_owned()))
    }

    /// Returns the Markdown file `name` in this folder.
    ///
    /// # Errors
    ///
    /// [`PathError`] as for [`LibraryPath::parse`]; only `name` is checked.
    pub fn file(&self, name: &str) -> Result<LibraryPath, PathError> {
        self.child(name, Leaf::Markdown).map(LibraryPath)
    }

    /// Returns the folder `name` in this folder.
    ///
    /// # Errors
    ///
    /// [`PathError`] as for [`LibraryDir::parse`]; only `name` is checked.
    pub fn folder(&self, name: &str) -> Result<LibraryDir, PathError> {
        self.child(name, Leaf::Folder).map(LibraryDir)
    }

    fn child(&self, name: &str, leaf: Leaf) -> Result<String, PathError> {
        let joined = if self.is_root() { name.to_owned() } else { format!("{}/{name}", self.0) };
        let checked = if name.contains('/') {
            Err(PathFault::Segment)
        } else {
            check_segment(name, leaf)
                .and_then(|()| leaf.check(name))
                .and_then(|()| check_relative(&joined))
                .and_then(|()| check_size(&joined))
        };
        match checked {
            Ok(()) => Ok(joined),
            Err(fault) => Err(PathError::new(&joined, fault)),
        }
    }
}

/// For messages: invisible characters are escaped. [`LibraryPath::as_str`] is the path itself.
impl fmt::Display for LibraryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_visibly(&self.0, f)
    }
}

/// For messages: the root is `.`, and invisible characters are escaped. [`LibraryDir::as_str`] is the path itself.
impl fmt::Display for LibraryDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_visibly(if self.is_root() { "." } else { &self.0 }, f)
    }
}

fn write_visibly(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (c, is_disguise) in with_disguises(text) {
        if is_disguise {
            write!(f, "{}", c.escape_unicode())?;
        } else {
            f.write_char(c)?;
        }
    }
    Ok(())
}

/// Returns true if `name` ends in one of [`MARKDOWN_EXTENSIONS`].
pub fn is_markdown(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| MARKDOWN_EXTENSIONS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// A path that the library refuses, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("path `{path}` {fault}")]
pub struct PathError {
    /// The path as given, with control and invisible characters escaped, cut after 120 characters.
    pub path: String,
    /// The broken rule.
    pub fault: PathFault,
}

impl PathError {
    fn new(path: &str, fault: PathFault) -> Self {
        let mut escaped = path.escape_debug();
        let mut shown: String = escaped.by_ref().take(SHOWN_CHARS).collect();
        if escaped.next().is_some() {
            shown.push('…');
        }
        Self { path: shown, fault }
    }

    /// Returns the stable name of the broken rule, for programs.
    pub fn rule(&self) -> &'static str {
        self.fault.rule()
    }
}

/// The rules for paths. Each message suggests a correction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// The path is empty.
    #[error("is empty; name a Markdown file, such as `notes/plan.md`")]
    Empty,
    /// More than [`MAX_PATH_BYTES`], [`MAX_DEPTH`], or for a new segment [`MAX_SEGMENT_BYTES`].
    #[error("is too long: {size} {unit}, at most {limit}")]
    TooLong {
        /// The actual size.
        size: usize,
        /// The unit of the sizes.
        unit: &'static str,
        /// The permitted size.
        limit: usize,
    },
    /// It starts at the root of a file system or a network share.
    #[error("is absolute; give it relative to the library's root, such as `notes/plan.md`")]
    Absolute,
    /// It starts with a letter and a colon, as a drive does.
    #[error(
        "begins with `{0}:`, which is a drive on Windows; give it relative to the library's root, and rename a file or folder that is \
         called so"
    )]
    Drive(char),
    /// It has a backslash.
    #[error("has a backslash; separate folders with `/`")]
    Backslash,
    /// It has a `..` segment.
    #[error("climbs with `..`; spell the path out from the library's root")]
    Climbs,
    /// It has an empty or `.` segment.
    #[error("has an empty or `.` segment; remove it, and end without `/`")]
    Segment,
    /// It has a control character, a line separator or NUL.
    #[error("has the control character {}; remove it", .0.escape_unicode())]
    Control(char),
    /// It has a character that cannot be seen or that turns the text around.
    #[error("has the invisible character {}; remove it", .0.escape_unicode())]
    Invisible(char),
    /// It has one of `<>:"|?*`, which Windows gives another meaning.
    #[error("has the character `{0}`, which not every system can store; choose another")]
    Character(char),
    /// A segment ends in a dot or a space, which Windows drops.
    #[error("has a segment that ends in a dot or space; remove it")]
    Trailing,
    /// A segment has only dots, spaces and invisible characters.
    #[error("has a segment of dots, spaces or invisible characters alone; choose another name")]
    Blank,
    /// A segment is the name of a device on Windows, with or without an extension.
    #[error("has the segment `{0}`, which is a device on Windows; choose another name")]
    ReservedName(String),
    /// A segment is git's own, in any disguise.
    #[error("has the segment `{}`, which belongs to git; choose another name", .0.escape_debug())]
    Git(String),
    /// A segment starts with a dot.
    #[error(
        "has a segment that starts with a dot: hidden files and folders are no part of the library; choose another name"
    )]
    Hidden,
    /// A segment is not in Unicode's composed form (given here), so it would be a look-alike twin of the composed one.
    #[error("has a segment that is not in Unicode's composed form (NFC); write it `{0}`")]
    NotComposed(String),
    /// It does not end in one of [`MARKDOWN_EXTENSIONS`].
    #[error("is not a Markdown file; end its name in `.md`, `.markdown` or `.mdx`")]
    Extension,
}

impl PathFault {
    /// Returns the stable name of the rule.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Empty => "path_empty",
            Self::TooLong { .. } => "path_too_long",
            Self::Absolute | Self::Drive(_) => "path_absolute",
            Self::Backslash => "path_backslash",
            Self::Climbs => "path_climbs",
            Self::Segment => "path_segment",
            Self::Control(_) => "path_control",
            Self::Invisible(_) => "path_invisible",
            Self::Character(_) => "path_character",
            Self::Trailing | Self::Blank => "path_trailing",
            Self::ReservedName(_) => "path_reserved_name",
            Self::Git(_) => "path_git",
            Self::Hidden => "path_hidden",
            Self::NotComposed(_) => "path_not_composed",
            Self::Extension => "path_extension",
        }
    }
}

/// Files of git's that are part of a commit.
const SETTINGS: [&str; 3] = [".gitattributes", ".gitignore", ".gitmodules"];

/// Kind of the last segment.
#[derive(Clone, Copy)]
enum Leaf {
    /// One of [`SETTINGS`].
    Settings,
    Markdown,
    File,
    Folder,
}

impl Leaf {
    fn check(self, name: &str) -> Result<(), PathFault> {
        match self {
            Leaf::Markdown if !is_markdown(name) => Err(PathFault::Extension),
            _ => Ok(()),
        }
    }
}

fn split_leaf(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn check_path(path: &str, leaf: Leaf) -> Result<(), PathFault> {
    if path.is_empty() {
        return Err(PathFault::Empty);
    }
    check_relative(path)?;
    if path.contains('\\') {
        return Err(PathFault::Backslash);
    }
    check_size(path)?;
    path.split('/').try_for_each(|segment| check_segment(segment, leaf))?;
    leaf.check(split_leaf(path).1)
}

fn check_relative(path: &str) -> Result<(), PathFault> {
    match path.as_bytes() {
        [b'/', ..] | [b'\\', b'\\', ..] => Err(PathFault::Absolute),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => Err(PathFault::Drive(char::from(*letter))),
        _ => Ok(()),
    }
}

fn check_size(path: &str) -> Result<(), PathFault> {
    let at_most = |size: usize, unit, limit| {
        if size > limit { Err(PathFault::TooLong { size, unit, limit }) } else { Ok(()) }
    };
    at_most(path.len(), "bytes", MAX_PATH_BYTES)?;
    at_most(path.bytes().filter(|byte| *byte == b'/').count() + 1, "segments", MAX_DEPTH)
}

/// Checks the rules for every segment.
fn check_segment(segment: &str, leaf: Leaf) -> Result<(), PathFault> {
    match segment {
        ".." => return Err(PathFault::Climbs),
        "" | "." => return Err(PathFault::Segment),
        _ => {}
    }
    if matches!(leaf, Leaf::Settings) && SETTINGS.contains(&segment) {
        return Ok(());
    }
    check_segment_size(segment, MAX_NAME_BYTES)?;
    // With `Symlink`, gix also finds disguised spellings of `.gitmodules`.
    let judged = component(segment.into(), Some(component::Mode::Symlink), component::Options::default());
    if is_git_name(segment)
        || matches!(judged, Err(component::Error::DotGitDir | component::Error::SymlinkedGitModules))
    {
        return Err(PathFault::Git(segment.to_owned()));
    }
    for c in segment.chars() {
        if is_control(c) {
            return Err(PathFault::Control(c));
        }
        if c == '\\' {
            return Err(PathFault::Backslash);
        }
    }
    // A system may ignore invisible characters, and Windows drops dots and spaces at the end.
    let mut visible = segment.chars().filter(|c| !is_invisible(*c)).peekable();
    if visible.peek() == Some(&'.') && !matches!(leaf, Leaf::File | Leaf::Settings) {
        return Err(PathFault::Hidden);
    }
    if visible.all(|c| matches!(c, '.' | ' ')) {
        return Err(PathFault::Blank);
    }
    if NAMES_ARE_LITERAL { Ok(()) } else { check_windows(segment) }
}

fn check_segment_size(segment: &str, limit: usize) -> Result<(), PathFault> {
    if segment.len() > limit {
        return Err(PathFault::TooLong { size: segment.len(), unit: "bytes in one segment", limit });
    }
    Ok(())
}

/// Checks the rules for segments to be created.
fn check_portable(segment: &str) -> Result<(), PathFault> {
    check_segment_size(segment, MAX_SEGMENT_BYTES)?;
    if let Some((c, _)) = with_disguises(segment).find(|(_, is_disguise)| *is_disguise) {
        return Err(PathFault::Invisible(c));
    }
    check_windows(segment)?;
    let composed = composed(segment);
    if composed == segment { Ok(()) } else { Err(PathFault::NotComposed(composed.into_owned())) }
}

/// Checks that Windows can store a segment under this name.
fn check_windows(segment: &str) -> Result<(), PathFault> {
    if let Some(c) = segment.chars().find(|c| matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*')) {
        return Err(PathFault::Character(c));
    }
    let judged = component(segment.into(), None, component::Options::default());
    if is_superscript_device(segment) || matches!(judged, Err(component::Error::WindowsReservedName)) {
        return Err(PathFault::ReservedName(segment.to_owned()));
    }
    if segment.ends_with(['.', ' ']) {
        return Err(PathFault::Trailing);
    }
    Ok(())
}

fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns true for git's special files, and for the short names that NTFS would give them.
fn is_git_name(segment: &str) -> bool {
    const NAMES: [&str; 5] = [".gitattributes", ".gitmodules", ".gitignore", ".mailmap", ".lfsconfig"];
    // As in git's `verify_dotfile` and `is_ntfs_dot_*`; the last of each pair is NTFS's fallback hash.
    const SHORT: [&str; 7] = ["gitatt", "gi7d29", "gitign", "gi250a", "mailma", "maba30", "lfscon"];
    NAMES.iter().any(|name| segment.eq_ignore_ascii_case(name))
        || segment.split_once('~').is_some_and(|(stem, number)| {
            SHORT.iter().any(|short| stem.eq_ignore_ascii_case(short))
                && number.starts_with(|c: char| c.is_ascii_digit())
        })
}

/// Returns true for `COM¹` and the like, which Windows reserves and git does not know.
fn is_superscript_device(segment: &str) -> bool {
    let stem = segment.split_once('.').map_or(segment, |(stem, _)| stem).trim_end_matches(' ');
    stem.strip_suffix(['¹', '²', '³'])
        .is_some_and(|device| device.eq_ignore_ascii_case("com") || device.eq_ignore_ascii_case("lpt"))
}

/// Returns the characters of `text`, each with a flag that is true if it is invisible and not part of an emoji.
fn with_disguises(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = None;
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let c = rest.next()?;
        let is_disguise = is_invisible(c) && !joins_emoji(before, c, rest.clone().next());
        before = Some(c);
        Some((c, is_disguise))
    })
}

/// Returns true if the invisible `c` is part of an emoji: `U+FE0F` after a sign (❤️, 1️⃣), or a joiner between two (👩‍💻). Next to a
/// letter it is a disguise, which the rule refuses.
fn joins_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    let (Some(before), after) = (before, after.unwrap_or(' ')) else {
        return false;
    };
    match c {
        '\u{fe0f}' => before.is_ascii_digit() || is_pictograph(before),
        '\u{200d}' => (before == '\u{fe0f}' || is_pictograph(before)) && is_pictograph(after),
        _ => false,
    }
}

/// Returns true for the blocks of emoji, without their letters.
fn is_pictograph(c: char) -> bool {
    matches!(c, '©' | '®' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
        && !c.is_alphabetic()
        && !is_invisible(c)
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
