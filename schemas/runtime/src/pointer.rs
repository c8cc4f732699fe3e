//! JSON pointers (RFC 6901).

/// Returns `pointer` extended by one token.
pub fn push(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}

/// Returns the tokens of `pointer`, unescaped.
pub fn tokens(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(unescape)
}

/// Returns the pointer to the parent and the last token, unescaped; `None` for the pointer to the whole value.
pub fn split_last(pointer: &str) -> Option<(&str, String)> {
    let (parent, last) = pointer.rsplit_once('/')?;
    Some((parent, unescape(last)))
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_ones_that_were_pushed() {
        for names in [&[][..], &["a"], &["", "a/b", "~", "~1", "é~0/"]] {
            let pointer = names.iter().fold(String::new(), |pointer, name| push(&pointer, name));
            assert_eq!(tokens(&pointer).collect::<Vec<_>>(), names, "{pointer}");
            let last = split_last(&pointer).map(|(_, last)| last);
            assert_eq!(last.as_deref(), names.last().copied(), "{pointer}");
        }
    }
}
