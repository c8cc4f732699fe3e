//! Tables as text: an expression is written on one line if it fits, which prettyplease does only for short ones.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, FieldValue, Member};

/// Maximum width of a line that can be broken: that of comments in this tree. Table entries are read as rows.
const WIDTH: usize = 140;
const INDENT: &str = "    ";

/// Returns an expression that begins after `taken` columns of a line.
pub(super) fn expression(expression: &Expr, taken: usize) -> String {
    let mut text = String::new();
    write(expression, 0, taken, &mut text);
    text
}

/// Returns an expression on one line.
pub(super) fn line(expression: &Expr) -> String {
    one_line(expression)
}

/// Writes an expression, on one line if it fits after the `taken` columns.
fn write(expression: &Expr, indent: usize, taken: usize, out: &mut String) {
    let line = one_line(expression);
    // A comma may follow.
    if taken + line.chars().count() < WIDTH {
        out.push_str(&line);
        return;
    }
    let mut inner = |prefix: &str, value: &Expr| {
        out.push_str(prefix);
        write(value, indent, taken + prefix.chars().count(), out);
    };
    match expression {
        Expr::Reference(reference) => inner("&", &reference.expr),
        // A call with one argument adds no level.
        Expr::Call(call) if call.args.len() == 1 => {
            inner(&format!("{}(", one_line(&call.func)), &call.args[0]);
            out.push(')');
        }
        Expr::Call(call) => {
            let parts = call.args.iter().map(|argument| (String::new(), argument));
            broken(&format!("{}(", one_line(&call.func)), parts, ")", indent, out);
        }
        Expr::Array(array) => {
            let parts = array.elems.iter().map(|element| (String::new(), element));
            broken("[", parts, "]", indent, out);
        }
        Expr::Struct(literal) => {
            let fields = literal.fields.iter();
            let fields = fields.map(|field| (format!("{}: ", member(&field.member)), &field.expr));
            let rest = literal.rest.iter().map(|rest| ("..".to_owned(), &**rest));
            let path = tokens(literal.path.to_token_stream());
            broken(&format!("{path} {{"), fields.chain(rest), "}", indent, out);
        }
        _ => out.push_str(&line),
    }
}

/// Writes parts on a line each. Not even a comma may follow `..base`.
fn broken<'e>(
    open: &str,
    parts: impl Iterator<Item = (String, &'e Expr)>,
    close: &str,
    indent: usize,
    out: &mut String,
) {
    out.push_str(open);
    for (prefix, part) in parts {
        let start = INDENT.repeat(indent + 1) + &prefix;
        out.push('\n');
        out.push_str(&start);
        write(part, indent + 1, start.chars().count(), out);
        if prefix != ".." {
            out.push(',');
        }
    }
    out.push_str(&format!("\n{}{close}", INDENT.repeat(indent)));
}

fn one_line(expression: &Expr) -> String {
    let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
    match expression {
        Expr::Reference(reference) => format!("&{}", one_line(&reference.expr)),
        Expr::Array(array) => format!("[{}]", list(&mut array.elems.iter().map(one_line))),
        Expr::Tuple(tuple) => format!("({})", list(&mut tuple.elems.iter().map(one_line))),
        Expr::Call(call) => {
            let arguments = list(&mut call.args.iter().map(one_line));
            format!("{}({arguments})", one_line(&call.func))
        }
        Expr::MethodCall(call) => {
            let arguments = list(&mut call.args.iter().map(one_line));
            format!("{}.{}({arguments})", one_line(&call.receiver), call.method)
        }
        Expr::Struct(literal) => {
            let field = |field: &FieldValue| format!("{}: {}", member(&field.member), one_line(&field.expr));
            let rest = literal.rest.iter().map(|rest| format!("..{}", one_line(rest)));
            let parts = list(&mut literal.fields.iter().map(field).chain(rest));
            let path = tokens(literal.path.to_token_stream());
            if parts.is_empty() { format!("{path} {{}}") } else { format!("{path} {{ {parts} }}") }
        }
        Expr::Await(future) => format!("{}.await", one_line(&future.base)),
        Expr::Closure(closure) => {
            let inputs = list(&mut closure.inputs.iter().map(|input| tokens(input.to_token_stream())));
            format!("|{inputs}| {}", one_line(&closure.body))
        }
        other => tokens(other.to_token_stream()),
    }
}

fn member(member: &Member) -> String {
    tokens(member.to_token_stream())
}

/// Returns the tokens of paths, literals and macros without spaces between them.
fn tokens(tokens: TokenStream) -> String {
    let token = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let inner = self::tokens(group.stream());
            match group.delimiter() {
                proc_macro2::Delimiter::Parenthesis => format!("({inner})"),
                proc_macro2::Delimiter::Bracket => format!("[{inner}]"),
                proc_macro2::Delimiter::Brace => format!("{{{inner}}}"),
                proc_macro2::Delimiter::None => inner,
            }
        }
        other => other.to_string(),
    };
    tokens.into_iter().map(token).collect()
}
