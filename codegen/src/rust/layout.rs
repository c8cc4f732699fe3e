//! Blank lines, which prettyplease does not insert: between items, and between members of traits and impls.

use syn::{File, Item, ItemStatic};

use super::tables;

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
    match item {
        Item::Static(table) => self::table(table),
        Item::Trait(_) | Item::Impl(_) | Item::Mod(_) => spaced(&unparsed(item.clone())),
        _ => unparsed(item.clone()),
    }
}

fn unparsed(item: Item) -> String {
    prettyplease::unparse(&File {
        frontmatter: None,
        shebang: None,
        attrs: vec![],
        items: vec![item],
    })
}

/// Returns a static, its value in wide lines.
fn table(table: &ItemStatic) -> String {
    const VALUE: &str = "()";
    let head = unparsed(Item::Static(ItemStatic {
        expr: syn::parse_str::<Box<_>>(VALUE).expect("it is an expression"),
        ..table.clone()
    }));
    let head = head.trim_end().trim_end_matches(';').trim_end_matches(VALUE);
    let taken = head.lines().last().unwrap_or_default().chars().count();
    format!("{head}{};\n", tables::expression(&table.expr, taken))
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
