//! Halstead's volume: the number of operators and operands in a text, times the bits needed to tell them apart.
//!
//! Operands are names and literals, a string being one. Operators are all other tokens except separators and closing brackets; opening
//! brackets count.

use std::collections::HashSet;

use crate::{
    flat::{FlatTree, Index},
    grammar::Roles,
};

const UNCOUNTED: [&str; 5] = [")", "]", "}", ",", ";"];

/// Returns the volume of a node and its descendants.
pub(crate) fn volume(tree: &FlatTree<'_>, root: Index) -> f64 {
    let mut distinct: HashSet<(bool, &str)> = HashSet::new();
    let mut total = 0_u32;
    let mut index = root;
    let end = tree.nodes[root].end as usize;
    while index < end {
        let node = &tree.nodes[index];
        let is_leaf = node.end as usize == index + 1 || node.roles.has(Roles::STRING);
        let is_comment = node.roles.has(Roles::COMMENT);
        if is_leaf && !is_comment {
            let text = tree.text(index).trim();
            if !text.is_empty() && (node.named || !UNCOUNTED.contains(&text)) {
                distinct.insert((node.named, text));
                total += 1;
            }
        }
        index = if is_leaf || is_comment { node.end as usize } else { index + 1 };
    }
    let vocabulary = u32::try_from(distinct.len()).unwrap_or(u32::MAX).max(1);
    f64::from(total) * f64::from(vocabulary).log2()
}
