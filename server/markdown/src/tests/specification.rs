//! The examples of the CommonMark specification: the outline has the headings of the reference HTML.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::outline;

/// The one example that differs: the text between its first two `---` is front matter.
const FRONT_MATTER: &str = "---\nFoo\n---\nBar\n---\nBaz\n";

#[test]
fn headings_agree_with_the_specification() {
    let Some(path) = data("commonmark-spec.txt") else {
        eprintln!(
            "shared/data/commonmark-spec.txt is missing (TABELLION_DATA names its folder): nothing was compared"
        );
        return;
    };
    let text = fs::read_to_string(&path).expect("the specification is text");
    let examples = examples(&text);
    assert!(examples.len() > 600, "{} has {} examples only", path.display(), examples.len());
    for (markdown, html) in examples {
        if markdown == FRONT_MATTER {
            continue;
        }
        let outline = outline(&markdown);
        let sections = outline.sections().iter();
        let headings: Vec<_> =
            sections.map(|section| (section.level, section.text.trim().to_owned())).collect();
        assert_eq!(headings, top_level_headings(&html), "headings of {markdown:?}, which is {html:?}");
    }
}

/// Returns the path of a real data file: below `TABELLION_DATA`, else in `shared/data` next to a folder above this crate.
pub(super) fn data(name: &str) -> Option<PathBuf> {
    let folder = match env::var_os("TABELLION_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
            above.map(|folder| folder.join("shared/data")).find(|folder| folder.is_dir())?
        }
    };
    Some(folder.join(name)).filter(|path| path.is_file())
}

/// Returns each example's Markdown and HTML.
fn examples(specification: &str) -> Vec<(String, String)> {
    let fence = "`".repeat(32);
    let opening = format!("\n{fence} example\n");
    let closing = format!("{fence}\n");
    let written =
        specification.split(opening.as_str()).skip(1).filter_map(|rest| rest.split(closing.as_str()).next());
    written
        .filter_map(|example| {
            example.strip_prefix(".\n").map(|html| ("", html)).or(example.split_once("\n.\n"))
        })
        .map(|(markdown, html)| (format!("{markdown}\n").replace('→', "\t"), html.replace('→', "\t")))
        .collect()
}

/// Returns level and text of the headings of an HTML text outside quotes and lists.
fn top_level_headings(html: &str) -> Vec<(u8, String)> {
    let mut headings: Vec<(u8, String)> = vec![];
    let (mut depth, mut inside) = (0, false);
    for part in html.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        match tag {
            "blockquote" | "ul" | "ol" => depth += 1,
            "/blockquote" | "/ul" | "/ol" => depth -= 1,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if depth == 0 => {
                inside = true;
                headings.push((tag.as_bytes()[1] - b'0', String::new()));
            }
            "/h1" | "/h2" | "/h3" | "/h4" | "/h5" | "/h6" => inside = false,
            _ if tag.starts_with("ol start") => depth += 1,
            _ => {}
        }
        if inside && let Some((_, heading)) = headings.last_mut() {
            heading.push_str(&unescaped(text));
        }
    }
    headings.into_iter().map(|(level, text)| (level, text.trim().to_owned())).collect()
}

fn unescaped(html: &str) -> String {
    let text = html.replace('\n', " ").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&")
}
