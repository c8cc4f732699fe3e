//! Programs in files whose names don't show their language: scripts of pages, cells of notebooks, and files that name their interpreter.

use std::{borrow::Cow, iter, path::Path, sync::LazyLock};

use regex::Regex;

use crate::Language;

/// Extensions of pages, with the names of their languages.
const PAGES: &[(&str, &str)] = &[("vue", "vue"), ("svelte", "svelte"), ("html", "html"), ("htm", "html")];

/// Returns the name of a page's language; `None` for other files.
pub(crate) fn page_language(path: &str) -> Option<&'static str> {
    let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    PAGES.iter().find(|(of_page, _)| *of_page == extension).map(|(_, language)| *language)
}

/// Returns true if a file is a page with scripts, by its name.
pub fn is_page(path: &str) -> bool {
    page_language(path).is_some()
}

/// Returns true if a file is a Jupyter notebook, by its name. Its language is taken for Python.
pub(crate) fn is_notebook(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".ipynb")
}

/// Returns a file's text as its reader knows it. Of a Jupyter notebook, this is the code of its cells, with other cells as comments and
/// nothing of the outputs; each line has its number in the file.
pub fn readable(path: &str, source: String) -> String {
    let (mut is_code, mut is_inside) = (false, false);
    let line = |line: &str| {
        let line = line.trim().trim_end_matches(',');
        if let Some(kind) = line.strip_prefix("\"cell_type\":") {
            is_code = kind.contains("code");
        }
        let quoted = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
        let text = quoted.filter(|_| is_inside).map(unescaped);
        is_inside = line == "\"source\": [" || (is_inside && line != "]");
        let mark = if is_code { "" } else { "# " };
        text.map_or("\n".to_owned(), |text| format!("{mark}{text}\n"))
    };
    let text: String = if is_notebook(path) { source.lines().map(line).collect() } else { String::new() };
    if text.trim().is_empty() { source } else { text }
}

/// Returns the text of a string in JSON, without line breaks.
fn unescaped(quoted: &str) -> String {
    let mut chars = quoted.chars();
    let next = || match chars.next()? {
        '\\' => Some(match chars.next()? {
            'n' | 'r' => String::new(),
            't' => "\t".to_owned(),
            'u' => {
                let digits: String = chars.by_ref().take(4).collect();
                u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).map_or(digits, String::from)
            }
            char => char.to_string(),
        }),
        char => Some(char.to_string()),
    };
    iter::from_fn(next).collect()
}

/// Returns true if a file may have a program, by its name: it is in a language that is parsed, or may be a script.
pub fn may_be_program(path: &str) -> bool {
    is_page(path) || Language::of_path(path).is_some() || Path::new(path).extension().is_none()
}

/// Returns the program in a file, and its language: the scripts of a page, with blanks for everything else, or the file. Its language is shown by
/// its name or its first line (`#!/usr/bin/env python3`). A notebook's text is [`readable`].
pub fn program<'s>(path: &str, source: &'s str) -> Option<(Language, Cow<'s, str>)> {
    if is_page(path) {
        let (language, text) = scripts(source);
        return Some((language, text.into()));
    }
    let language = if is_notebook(path) { Some(Language::Python) } else { Language::of_path(path) };
    let language = language.or_else(|| Language::of_name(interpreted(path, source)?))?;
    Some((language, source.into()))
}

/// Returns the name of the language that a file without an extension names in its first line.
pub(crate) fn interpreted<'s>(path: &str, source: &'s str) -> Option<&'s str> {
    let line = source.lines().next()?.strip_prefix("#!").filter(|_| Path::new(path).extension().is_none())?;
    let mut words = line.split(['/', ' ', '\t']).filter(|word| !word.is_empty() && !word.starts_with('-'));
    let interpreter = words.find(|word| !matches!(*word, "usr" | "local" | "opt" | "bin" | "env"))?;
    Some(match interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" => "shell",
        "node" => "javascript",
        "deno" | "bun" | "ts-node" | "tsx" => "typescript",
        "pwsh" => "powershell",
        "Rscript" => "r",
        other => other,
    })
}

/// Returns the scripts of a page, with blanks for everything else, and their language.
fn scripts(page: &str) -> (Language, String) {
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?is)<script((?:\s(?:"[^"]*"|'[^']*'|[^>"'])*)?)>(.*?)</script"#)
            .expect("a valid pattern")
    });
    static LANGUAGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\blang=["']?(\w+)"#).expect("a valid pattern"));
    let mut language = Language::JavaScript;
    let blank = |byte| if byte == b'\n' { byte } else { b' ' };
    let mut text: Vec<u8> = page.bytes().map(blank).collect();
    for script in SCRIPT.captures_iter(page) {
        let (attributes, body) = (&script[1], script.get(2).expect("a group of the pattern").range());
        // Other types are data and templates.
        if attributes.contains("type=") && !["script", "module"].iter().any(|of| attributes.contains(of)) {
            continue;
        }
        let named =
            LANGUAGE.captures(attributes).and_then(|named| Language::of_path(format!("a.{}", &named[1])));
        language = named.unwrap_or(language);
        text[body.clone()].copy_from_slice(&page.as_bytes()[body]);
    }
    (language, String::from_utf8(text).expect("whole scripts between ASCII"))
}
