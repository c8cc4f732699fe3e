//! A syntax tree as a list of its nodes in order, each with its parent: lookups around a place need no descent from the root, and a deeply
//! nested file needs no deep stack.

use std::{cmp::Reverse, ops::Range};

use tabellion_syntax::tree_sitter::{Node, Tree};

use crate::grammar::{Grammar, Roles};

/// The number of a node in its list.
pub(crate) type Index = usize;

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Flat {
    pub(crate) kind: &'static str,
    pub(crate) field: Option<&'static str>,
    pub(crate) named: bool,
    pub(crate) roles: Roles,
    pub(crate) parent: Option<u32>,
    /// The sibling before it.
    previous: Option<u32>,
    /// One more than the number of the last node below this one.
    pub(crate) end: u32,
    pub(crate) bytes: Range<usize>,
    /// First and last line, from 1.
    pub(crate) lines: (usize, usize),
    /// True if a part of it could not be parsed.
    pub(crate) is_broken: bool,
    id: usize,
}

/// The nodes of a tree, parents before children and in the order of the text.
#[derive(Debug)]
pub(crate) struct FlatTree<'source> {
    pub(crate) source: &'source str,
    pub(crate) nodes: Vec<Flat>,
}

impl<'source> FlatTree<'source> {
    pub(crate) fn new(tree: &Tree, grammar: &'static Grammar, source: &'source str) -> Self {
        let mut nodes: Vec<Flat> = Vec::with_capacity(source.len() / 3);
        let mut open: Vec<u32> = Vec::new();
        let mut previous = None;
        let mut cursor = tree.walk();
        loop {
            let node = cursor.node();
            nodes.push(Flat {
                kind: grammar.kind(node.kind_id()),
                field: cursor.field_id().and_then(|field| grammar.field(field)),
                named: node.is_named(),
                roles: grammar.roles(node.kind_id()),
                parent: open.last().copied(),
                previous,
                end: 0,
                bytes: node.byte_range(),
                lines: (node.start_position().row + 1, last_row(node) + 1),
                is_broken: node.has_error(),
                id: node.id(),
            });
            let index = u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX);
            if cursor.goto_first_child() {
                open.push(index);
                previous = None;
                continue;
            }
            nodes[index as usize].end = index + 1;
            previous = Some(index);
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Self { source, nodes };
                }
                let closed = open.pop().expect("the cursor goes up to a node that it went down from");
                nodes[closed as usize].end = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
                previous = Some(closed);
            }
        }
    }

    /// Returns the number of a node of the tree.
    pub(crate) fn index_of(&self, node: Node<'_>) -> Option<Index> {
        let Range { start, end } = node.byte_range();
        let place = |flat: &Flat| (flat.bytes.start, Reverse(flat.bytes.end));
        // An empty rule's only child can share its id: the outer node, which comes first, is meant.
        let find = |first: usize, is_near: &dyn Fn(&Flat) -> bool| {
            let mut near = self.nodes[first..].iter().take_while(|flat| is_near(flat));
            near.position(|flat| flat.id == node.id()).map(|after| first + after)
        };
        let first = self.nodes.partition_point(|flat| place(flat) < (start, Reverse(end)));
        // Empty nodes before others are out of this order.
        find(first, &|flat| flat.bytes == (start..end)).or_else(|| {
            let first = self.nodes.partition_point(|flat| flat.bytes.start < start);
            find(first, &|flat| flat.bytes.start == start)
        })
    }

    pub(crate) fn text(&self, index: Index) -> &'source str {
        self.source.get(self.nodes[index].bytes.clone()).unwrap_or_default()
    }

    pub(crate) fn parent(&self, index: Index) -> Option<Index> {
        self.nodes[index].parent.map(|parent| parent as usize)
    }

    /// Returns the nodes above a node, the nearest first.
    pub(crate) fn ancestors(&self, index: Index) -> impl Iterator<Item = Index> {
        std::iter::successors(self.parent(index), |&index| self.parent(index))
    }

    /// Returns the named siblings before a node, the nearest first.
    pub(crate) fn named_before(&self, index: Index) -> impl Iterator<Item = Index> {
        let previous = |index: Index| self.nodes[index].previous.map(|previous| previous as usize);
        std::iter::successors(previous(index), move |&index| previous(index))
            .filter(|&index| self.nodes[index].named)
    }

    /// Returns the children of a node.
    pub(crate) fn children(&self, index: Index) -> impl Iterator<Item = Index> {
        let end = self.nodes[index].end as usize;
        let first = Some(index + 1).filter(|&first| first < end);
        std::iter::successors(first, move |&child| {
            Some(self.nodes[child].end as usize).filter(|&next| next < end)
        })
    }

    pub(crate) fn named_children(&self, index: Index) -> impl Iterator<Item = Index> {
        self.children(index).filter(|&child| self.nodes[child].named)
    }

    /// Returns the child of a field.
    pub(crate) fn field(&self, index: Index, field: &str) -> Option<Index> {
        self.children(index).find(|&child| self.nodes[child].field == Some(field))
    }

    /// Returns the innermost node that holds the byte.
    pub(crate) fn at_byte(&self, byte: usize) -> Index {
        let after = self.nodes.partition_point(|node| node.bytes.start <= byte);
        let mut index = after.saturating_sub(1);
        while !self.nodes[index].bytes.contains(&byte) {
            match self.parent(index) {
                Some(parent) => index = parent,
                None => break,
            }
        }
        index
    }
}

/// A node whose text ends with a line feed ends on the line before.
fn last_row(node: Node<'_>) -> usize {
    let (start, end) = (node.start_position(), node.end_position());
    if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row }
}
