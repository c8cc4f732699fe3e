//! The libraries to serve, and their paths over HTTP.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{self, PathBuf},
};

use tabellion_platform::home;

/// The path of MCP over HTTP.
const MCP: &str = "/mcp";

/// A library's folder, and its name over HTTP, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: Option<String>,
    /// Its folder.
    pub folder: PathBuf,
}

impl Named {
    /// Parses `DIR` or `NAME=DIR`. A folder whose own name has that form is written `./NAME=DIR`.
    ///
    /// # Errors
    /// If a library can't have the name, or the folder begins with `~`, and that can't be replaced by the home folder.
    pub fn parse(text: OsString) -> Result<Self, String> {
        let parts = text.to_str().and_then(|text| text.split_once('='));
        let (name, folder) = match parts.filter(|(name, _)| !name.contains(path::is_separator)) {
            Some((name, folder)) => {
                check_name(name).map_err(|error| {
                    format!("{error}; if `{name}={folder}` is a folder, write `./{name}={folder}`")
                })?;
                (Some(name.into()), folder.into())
            }
            None => (None, text.into()),
        };
        Ok(Self { name, folder: home::expanded(folder)? })
    }

    /// Returns the path over HTTP.
    pub fn path(&self) -> String {
        path(self.name.as_deref())
    }
}

/// Returns the path over HTTP of the library of this name. Without a name, it is that of the unnamed library, and of rows.
pub fn path(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{MCP}/{name}"),
        None => MCP.into(),
    }
}

/// Refuses a name that a library can't have. The characters of a name need no escape in a URL.
///
/// # Errors
/// If the name is not valid.
pub fn check_name(name: &str) -> Result<(), String> {
    let all = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if (1..=64).contains(&name.len()) && name.bytes().all(all) {
        return Ok(());
    }
    Err(format!(
        "`{name}` can't be the name of a library, which has 1 to 64 characters: lower-case letters, digits, `-` and `_`"
    ))
}

/// Refuses libraries with equal paths, and names that have no effect. Rows, if there are any, are served next to the unnamed library.
pub fn check(
    libraries: &[Named],
    are_rows_served: bool,
    over_http: bool,
    on_stdio: bool,
) -> Result<(), String> {
    let mut paths = BTreeSet::new();
    for library in libraries {
        if !over_http && library.name.is_some() {
            return Err("library names are for HTTP; add `--http`, or omit `NAME=`".into());
        }
        if !paths.insert(library.path()) {
            return Err(match &library.name {
                Some(name) => format!("two libraries are called `{name}`; give each a name of its own"),
                None => "of several libraries, all but one need a name: `--library NAME=DIR`, with `--http`"
                    .into(),
            });
        }
    }
    if on_stdio && libraries.len() > 1 {
        return Err(
            "standard input and output serve one library; omit `--stdio`, or serve one library".into()
        );
    }
    if on_stdio && are_rows_served && libraries.iter().any(|library| library.name.is_some()) {
        return Err(
            "standard input and output serve rows beside a library that has no name; omit `NAME=`, or `--stdio`"
                .into(),
        );
    }
    if libraries.iter().any(|library| library.folder == OsStr::new("")) {
        return Err("the folder of a library has no name".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Named {
        Named::parse(text.into()).unwrap()
    }

    #[test]
    fn a_library_may_have_a_name() {
        for (text, name, folder, path) in [
            ("notes", None, "notes", "/mcp"),
            ("a=notes", Some("a"), "notes", "/mcp/a"),
            ("a-1_b=/x=y", Some("a-1_b"), "/x=y", "/mcp/a-1_b"),
            ("./a=notes", None, "./a=notes", "/mcp"),
            ("./A=notes", None, "./A=notes", "/mcp"),
            ("a/b=notes", None, "a/b=notes", "/mcp"),
        ] {
            let found = named(text);
            assert_eq!((found.name.as_deref(), found.folder.to_str()), (name, Some(folder)));
            assert_eq!(found.path(), path);
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", "A", "a b", "a.b", "\u{fc}", &"a".repeat(65)] {
            let text = format!("{name}=notes");
            let error = Named::parse(text.clone().into()).unwrap_err();
            assert!(error.ends_with(&format!("write `./{text}`")), "{error}");
        }
    }

    #[test]
    fn libraries_with_equal_paths_are_refused() {
        for (texts, rows, over_http, on_stdio, fine) in [
            (&["a"][..], false, false, true, true),
            (&["a"], false, true, true, true),
            (&["a=x"], false, true, true, true),
            (&["a=x"], false, false, true, false),
            (&["a", "b=x"], false, true, false, true),
            (&["a", "b=x"], false, true, true, false),
            (&["a", "b"], false, true, false, false),
            (&["a=x", "a=y"], false, true, false, false),
            (&["a=x", "b=x"], false, true, false, true),
            (&["a="], false, true, false, false),
            (&[], true, false, true, true),
            (&["a"], true, true, true, true),
            (&["a=x", "b=y"], true, true, false, true),
            (&["a=x"], true, true, true, false),
        ] {
            let libraries: Vec<_> = texts.iter().copied().map(named).collect();
            let found = check(&libraries, rows, over_http, on_stdio);
            assert_eq!(found.is_ok(), fine, "{texts:?}, {rows}: {found:?}");
        }
    }
}
