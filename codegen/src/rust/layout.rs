//! Blank lines, which prettyplease does not insert: between items, and between members of traits and impls.

use syn::{File, Item};

/// Returns the items with blank lines between them.
pub(super) fn file(files: &[File]) -> String {
    let mut text = String::new();
    for file in files {
        if !file.attrs.is_empty() {
            let head = File {
                items: vec![],
                ..file.clone()
            };
            text += &prettyplease::unparse(&head);
        }
        let mut after_import = false;
        for item in &file.items {
            let import = matches!(item, Item::Use(_));
            if !(after_import && import) {
                text.push('\n');
            }
            after_import = import;
            text += &self::item(item);
        }
    }
    text
}

fn item(item: &Item) -> String {
    let text = prettyplease::unparse(&File {
        frontmatter: None,
        shebang: None,
        attrs: vec![],
        items: vec![item.clone()],
    });
    match item {
        Item::Trait(_) | Item::Impl(_) | Item::Mod(_) => spaced(&text),
        _ => text,
    }
}

/// Inserts blank lines between members.
fn spaced(text: &str) -> String {
    let mut spaced = String::new();
    let mut ended = false;
    for line in text.lines() {
        let member = line
            .strip_prefix("    ")
            .is_some_and(|rest| !rest.starts_with([' ', '}', ')', ']']) && !rest.starts_with("type "));
        if ended && member {
            spaced.push('\n');
        }
        spaced.push_str(line);
        spaced.push('\n');
        ended = member_ends(line);
    }
    spaced
}

fn member_ends(line: &str) -> bool {
    if line.trim_start().starts_with("///") {
        return false;
    }
    line == "    }" || (line.starts_with("    ") && line.ends_with(';')) || line.ends_with("\"#;")
}
