//! Blank lines, which prettyplease does not insert: between items, and between members of traits and impls.

use quote::{format_ident, quote};
use syn::{Arm, Expr, File, Item, ItemImpl, ItemStatic, visit_mut::VisitMut};

use super::tables;

/// Returns the items with blank lines between them.
pub(super) fn file(files: &[File]) -> String {
    let mut text = String::new();
    for file in files {
        if !file.attrs.is_empty() {
            let head = File { items: vec![], ..file.clone() };
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
        Item::Impl(methods) => spaced(&with_rows(methods.clone())),
        Item::Trait(_) | Item::Mod(_) => spaced(&unparsed(item.clone())),
        _ => unparsed(item.clone()),
    }
}

fn unparsed(item: Item) -> String {
    prettyplease::unparse(&File { frontmatter: None, shebang: None, attrs: vec![], items: vec![item] })
}

/// Returns a static, with its value in wide lines.
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

/// Returns an `impl` with each awaiting arm of a `match` on one line.
fn with_rows(methods: ItemImpl) -> String {
    struct Rows(Vec<String>);

    impl Rows {
        fn placeholder(i: usize) -> String {
            format!("row_{i}_of_match")
        }
    }

    impl VisitMut for Rows {
        fn visit_arm_mut(&mut self, arm: &mut Arm) {
            if let Expr::Await(_) = &*arm.body {
                let name = format_ident!("{}", Self::placeholder(self.0.len()));
                self.0.push(tables::line(&arm.body));
                *arm.body = syn::parse2(quote!(#name)).expect("a name is an expression");
            }
        }
    }

    let (mut methods, mut rows) = (methods, Rows(vec![]));
    rows.visit_item_impl_mut(&mut methods);
    let mut text = unparsed(Item::Impl(methods));
    for (i, row) in rows.0.iter().enumerate() {
        text = text.replacen(&Rows::placeholder(i), row, 1);
    }
    text
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
