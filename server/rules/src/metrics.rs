//! Metrics of a file and of its functions.
//!
//! - *Cyclomatic* (McCabe 1976): one, and one for each decision.
//! - *Cognitive* (G. A. Campbell, "Cognitive Complexity", SonarSource): control structures count one and one for each structure around
//!   them; `else`, jumps to labels, sequences of like logical operators and recursion count one.
//! - *Maintainability index* (Coleman and Oman): 171 − 5.2 ln V − 0.23 C − 16.2 ln L, clamped to 0–100, with Halstead's volume V, the
//!   cyclomatic number C and the lines of code L.
//!
//! A function inside a function belongs to it, one level deeper, as in that paper. So each decision of a file is in exactly one function,
//! and a file's numbers are the sums of its functions'. Decisions outside of all functions belong to a function `<module>`.
//!
//! The roles of nodes are data, in `grammar`. `halstead` computes the volume; `signature` finds names and parameters.

use std::collections::HashMap;

use crate::{
    flat::{FlatTree, Index},
    grammar::{Declared, HEAD_FIELDS, Kinds, Roles},
    halstead, signature,
};

/// The name for code outside of all functions.
pub(crate) const MODULE: &str = "<module>";

/// The metrics of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionMetrics {
    /// Its name; `<anonymous>` if it has none, `<module>` for code outside of functions.
    pub name: String,
    /// Its first line, from 1.
    pub line: usize,
    /// Its last line.
    pub end_line: usize,
    /// McCabe's number.
    pub cyclomatic: u32,
    /// Cognitive complexity.
    pub cognitive: u32,
    /// Lines that hold code: neither blank nor comments alone.
    pub sloc: usize,
    /// Its parameters, `self` among them.
    pub parameters: usize,
    /// Maximum nesting of control structures in it.
    pub nesting: u32,
    /// Maintainability index, 0 to 100.
    pub maintainability_index: f64,
    pub(crate) index: Index,
}

/// The metrics of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileMetrics {
    /// The sum of the functions' cyclomatic numbers.
    pub cyclomatic: u32,
    /// The sum of the functions' cognitive complexity.
    pub cognitive: u32,
    /// Maintainability index of the whole file, 0 to 100.
    pub maintainability_index: f64,
    /// Lines of the file that hold code.
    pub sloc: usize,
    /// The functions, in the order of the text, but those that could not be parsed.
    pub functions: Vec<FunctionMetrics>,
    /// The first line that could not be parsed.
    pub unparsed: Option<usize>,
}

pub(crate) fn measure(tree: &FlatTree<'_>, kinds: &'static Kinds) -> FileMetrics {
    let mut count = Count::new(tree, kinds);
    for index in 0..tree.nodes.len() {
        count.visit(index);
    }
    count.add_sequences();
    let code = code_lines(tree);
    let mut functions: Vec<FunctionMetrics> = Vec::new();
    for (number, function) in count.functions.iter().enumerate() {
        if number == 0 && function.decisions == 0 && function.cognitive == 0 {
            continue;
        }
        // Such a function may seem to include the text after it, up to the end of the file.
        if number == 0 || !tree.nodes[function.index].is_broken {
            functions.push(function.finish(tree, &code));
        }
    }
    // Below the last node of a chain of broken ones is the first part that could not be parsed.
    let broken = |index: usize| tree.children(index).find(|&child| tree.nodes[child].is_broken);
    let start = tree.nodes.first().filter(|root| root.is_broken).map(|_| 0);
    let unparsed = std::iter::successors(start, |&index| broken(index)).last();
    let cyclomatic = functions.iter().map(|function| function.cyclomatic).sum();
    let sloc = code.iter().filter(|&&is_code| is_code).count();
    FileMetrics {
        cyclomatic,
        cognitive: functions.iter().map(|function| function.cognitive).sum(),
        maintainability_index: maintainability(halstead::volume(tree, 0), cyclomatic, sloc),
        sloc,
        functions,
        unparsed: unparsed.map(|index| tree.nodes[index].lines.0),
    }
}

/// Returns the maintainability index; 100 for an empty text.
pub(crate) fn maintainability(volume: f64, cyclomatic: u32, sloc: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 lines")]
    let lines = sloc.max(1) as f64;
    let index = 171.0 - 5.2 * volume.max(1.0).ln() - 0.23 * f64::from(cyclomatic) - 16.2 * lines.ln();
    index.clamp(0.0, 100.0)
}

/// The counts of a function so far.
struct Function {
    name: String,
    index: Index,
    is_method: bool,
    decisions: u32,
    cognitive: u32,
    nesting: u32,
    parameters: usize,
    recurses: bool,
}

impl Function {
    fn finish(&self, tree: &FlatTree<'_>, code: &[bool]) -> FunctionMetrics {
        let (line, end_line) = tree.nodes[self.index].lines;
        // The root begins where its first token does.
        let lines = code.get(line - 1..end_line.min(code.len())).unwrap_or_default();
        let sloc = lines.iter().filter(|&&is_code| is_code).count();
        let cyclomatic = self.decisions + 1;
        FunctionMetrics {
            name: self.name.clone(),
            line,
            end_line,
            cyclomatic,
            cognitive: self.cognitive + u32::from(self.recurses),
            sloc,
            parameters: self.parameters,
            nesting: self.nesting,
            maintainability_index: maintainability(halstead::volume(tree, self.index), cyclomatic, sloc),
            index: self.index,
        }
    }
}

/// The position of a node: its function and its depth.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    function: usize,
    /// Levels of nesting as cognitive complexity counts them.
    depth: u32,
    /// Control structures alone.
    structures: u32,
}

struct Count<'tree> {
    tree: &'tree FlatTree<'tree>,
    kinds: &'static Kinds,
    /// The first is for code outside of all functions.
    functions: Vec<Function>,
    /// For each node, its place and the place inside of it.
    places: Vec<(Position, Position)>,
    /// For each logical expression, the outermost one that it is an operand of.
    sequences: HashMap<Index, Index>,
    operators: HashMap<Index, Vec<(usize, &'tree str)>>,
    /// Parents of which one arm is counted.
    chosen: std::collections::HashSet<Index>,
}

impl<'tree> Count<'tree> {
    fn new(tree: &'tree FlatTree<'tree>, kinds: &'static Kinds) -> Self {
        let module = Function {
            name: MODULE.to_owned(),
            index: 0,
            is_method: false,
            decisions: 0,
            cognitive: 0,
            nesting: 0,
            parameters: 0,
            recurses: false,
        };
        Self {
            tree,
            kinds,
            functions: vec![module],
            places: Vec::with_capacity(tree.nodes.len()),
            sequences: HashMap::new(),
            operators: HashMap::new(),
            chosen: std::collections::HashSet::new(),
        }
    }

    fn visit(&mut self, index: Index) {
        let node = &self.tree.nodes[index];
        let (roles, parent) = (node.roles, self.tree.parent(index));
        let parent_roles = parent.map(|parent| self.tree.nodes[parent].roles).unwrap_or_default();
        let is_head = parent_roles.has(Roles::STRUCTURE)
            && (roles.has(Roles::HEAD) || node.field.is_some_and(|field| HEAD_FIELDS.contains(&field)));
        let outer = match parent {
            None => Position::default(),
            Some(parent) if is_head => self.places[parent].0,
            Some(parent) => self.places[parent].1,
        };
        let mut inner = outer;
        let is_alternative = node.field == Some("alternative") && parent_roles.has(Roles::IF);
        let continues = roles.has(Roles::IF) && (is_alternative || parent_roles.has(Roles::ELSE));
        if roles.has(Roles::FUNCTION) && self.tree.field(index, "body").is_some() {
            inner = self.enter_function(index, outer);
        } else if roles.has(Roles::STRUCTURE) {
            if continues {
                self.add(outer, 1);
            } else {
                self.add(outer, 1 + outer.depth);
                inner = Position { depth: outer.depth + 1, structures: outer.structures + 1, ..outer };
                let nesting = &mut self.functions[outer.function].nesting;
                *nesting = inner.structures.max(*nesting);
            }
        } else if roles.has(Roles::ELSE) {
            let has_if =
                self.tree.named_children(index).any(|child| self.tree.nodes[child].roles.has(Roles::IF));
            self.add(outer, u32::from(!has_if));
        } else if is_alternative {
            self.add(outer, 1);
        }
        self.places.push((outer, inner));
        self.count_decisions(index, outer);
        self.count_jumps_and_calls(index, outer);
    }

    fn add(&mut self, place: Position, cognitive: u32) {
        self.functions[place.function].cognitive += cognitive;
    }

    /// Returns the place inside of a function.
    fn enter_function(&mut self, index: Index, outer: Position) -> Position {
        let node = &self.tree.nodes[index];
        let around = &self.functions[outer.function];
        let may_be_declared = match self.kinds.declared {
            Declared::None => false,
            Declared::Named => !node.roles.has(Roles::LAMBDA),
            Declared::All => true,
        };
        let in_declaration = may_be_declared && outer.function != 0 && self.only_declares(around.index);
        if outer.function != 0 && !in_declaration {
            return Position { depth: outer.depth + 1, ..outer };
        }
        self.functions.push(Function {
            name: signature::name(self.tree, index),
            index,
            is_method: signature::is_method(self.tree, index),
            decisions: 0,
            cognitive: 0,
            nesting: 0,
            parameters: signature::parameters(self.tree, index),
            recurses: false,
        });
        Position { function: self.functions.len() - 1, ..Position::default() }
    }

    /// Returns true if a function has no control structure of its own.
    fn only_declares(&self, function: Index) -> bool {
        let end = self.tree.nodes[function].end as usize;
        let mut index = function + 1;
        while index < end {
            let node = &self.tree.nodes[index];
            if node.roles.has(Roles::STRUCTURE) {
                return false;
            }
            index = if node.roles.has(Roles::FUNCTION) { node.end as usize } else { index + 1 };
        }
        true
    }

    fn count_decisions(&mut self, index: Index, place: Position) {
        let node = &self.tree.nodes[index];
        let Some(parent) = self.tree.parent(index) else {
            return;
        };
        let parent_node = &self.tree.nodes[parent];
        let decides = if node.named {
            let is_later_arm = node.roles.has(Roles::ARM) && !self.chosen.insert(parent);
            node.roles.has(Roles::DECISION) || is_later_arm
        } else if parent_node.roles.has(Roles::LOGICAL) && self.kinds.logical.contains(&node.kind) {
            let sequence = self.sequence_of(parent);
            self.operators.entry(sequence).or_default().push((node.bytes.start, node.kind));
            true
        } else {
            let is_token = self.kinds.decision_tokens.contains(&(parent_node.kind, node.kind));
            is_token && !self.is_default(parent)
        };
        self.functions[place.function].decisions += u32::from(decides);
    }

    /// Returns true if a branch is the default: `case _`.
    fn is_default(&self, branch: Index) -> bool {
        let mut children = self.tree.named_children(branch);
        let is_wildcard = children.next().is_some_and(|pattern| self.tree.text(pattern) == "_");
        is_wildcard && self.tree.field(branch, "guard").is_none()
    }

    /// Returns the outermost logical expression that has this one as an operand, at any depth and through any parentheses.
    fn sequence_of(&mut self, expression: Index) -> Index {
        if let Some(&sequence) = self.sequences.get(&expression) {
            return sequence;
        }
        let mut ancestors = self.tree.ancestors(expression);
        let around = ancestors.find(|&index| !self.tree.nodes[index].roles.has(Roles::PARENTHESES));
        // A parent's operator follows its first operand, so the parent may not have a sequence yet.
        let mut sequence = expression;
        let mut path = vec![expression];
        let mut next = around;
        while let Some(index) = next.filter(|&index| self.is_logical(index)) {
            if let Some(&known) = self.sequences.get(&index) {
                sequence = known;
                break;
            }
            sequence = index;
            path.push(index);
            let mut ancestors = self.tree.ancestors(index);
            next = ancestors.find(|&index| !self.tree.nodes[index].roles.has(Roles::PARENTHESES));
        }
        self.sequences.extend(path.into_iter().map(|index| (index, sequence)));
        sequence
    }

    fn is_logical(&self, index: Index) -> bool {
        let is_operator = |child: Index| self.kinds.logical.contains(&self.tree.nodes[child].kind);
        self.tree.nodes[index].roles.has(Roles::LOGICAL) && self.tree.children(index).any(is_operator)
    }

    /// Adds one for each run of like operators. `??` is left out, as in the paper.
    fn add_sequences(&mut self) {
        for (sequence, mut operators) in std::mem::take(&mut self.operators) {
            operators.retain(|(_, operator)| *operator != "??");
            operators.sort_unstable();
            let mut names: Vec<&str> = operators.into_iter().map(|(_, operator)| operator).collect();
            names.dedup();
            let place = self.places[sequence].0;
            self.add(place, u32::try_from(names.len()).unwrap_or(u32::MAX));
        }
    }

    fn count_jumps_and_calls(&mut self, index: Index, place: Position) {
        let roles = self.tree.nodes[index].roles;
        let names_label =
            || self.tree.named_children(index).any(|child| self.tree.nodes[child].roles.has(Roles::LABEL));
        if roles.has(Roles::GOTO) || (roles.has(Roles::JUMP) && names_label()) {
            self.add(place, 1);
        }
        if place.function != 0 && roles.has(Roles::CALL) {
            let function = &mut self.functions[place.function];
            function.recurses |= signature::calls(self.tree, index, &function.name, function.is_method);
        }
    }
}

/// Returns a flag for each line of the file: true if it holds code.
fn code_lines(tree: &FlatTree<'_>) -> Vec<bool> {
    let mut code = vec![false; tree.source.lines().count()];
    let mut index = 0;
    while index < tree.nodes.len() {
        let node = &tree.nodes[index];
        let is_leaf = node.end as usize == index + 1 || node.roles.has(Roles::STRING);
        let is_skipped = node.roles.has(Roles::COMMENT) || signature::is_docstring(tree, index);
        if is_leaf && !is_skipped && !tree.text(index).trim().is_empty() {
            let (first, last) = node.lines;
            let last = last.min(code.len());
            code.get_mut(first - 1..last).into_iter().flatten().for_each(|line| *line = true);
        }
        index = if is_leaf || is_skipped { node.end as usize } else { index + 1 };
    }
    code
}
