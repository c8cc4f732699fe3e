//! The rules of a run, with their queries joined: a tree is walked once for all rules, not once for each.

use std::sync::{Arc, OnceLock};

use tabellion_syntax::{Language, tree_sitter::Query};

use crate::rule::{Finder, Rule, Selector};

/// Maximum number of selectors in one query. Each is bounded when it is read, and so is their sum.
const MAX_JOINED: usize = 16;

/// Rules to run.
pub(crate) struct Plan<'run> {
    pub(crate) rules: &'run [Arc<Rule>],
    /// By language, in the order of [`Language::ALL`]; made for the first file of the language.
    queries: Vec<OnceLock<Vec<Joined<'run>>>>,
}

/// Selectors of one language as one query.
pub(crate) struct Joined<'run> {
    pub(crate) query: Query,
    /// For each pattern of `query`, the position of its selector in `parts`.
    pub(crate) owners: Vec<usize>,
    pub(crate) parts: Vec<(&'run Rule, &'run Selector)>,
}

impl<'run> Plan<'run> {
    pub(crate) fn new(rules: &'run [Arc<Rule>]) -> Self {
        let queries = Language::ALL.iter().map(|_| OnceLock::new()).collect();
        Self { rules, queries }
    }

    /// Returns the queries of the rules for a language.
    pub(crate) fn queries(&self, language: Language) -> &[Joined<'run>] {
        let at = Language::ALL.iter().position(|each| *each == language);
        let known = at.and_then(|at| self.queries.get(at));
        known.map_or(&[], |known| known.get_or_init(|| self.join(language)))
    }

    fn join(&self, language: Language) -> Vec<Joined<'run>> {
        let selectors_of = |rule: &'run Arc<Rule>| match &rule.finder {
            Finder::Selectors(selectors) => selectors.as_slice(),
            _ => &[],
        };
        let all = self
            .rules
            .iter()
            .flat_map(|rule| selectors_of(rule).iter().map(move |selector| (&**rule, selector)));
        let parts: Vec<_> = all.filter(|(_, selector)| selector.language == language).collect();
        parts.chunks(MAX_JOINED).map(|parts| Joined::new(language, parts)).collect()
    }
}

impl<'run> Joined<'run> {
    fn new(language: Language, parts: &[(&'run Rule, &'run Selector)]) -> Self {
        let texts: Vec<&str> = parts.iter().map(|(_, selector)| &*selector.pattern).collect();
        // A pattern may end with a comment, which ends with its line.
        let query = Query::new(&language.grammar(), &texts.join("\n"))
            .expect("queries that were read one by one are a query together");
        let owners = parts.iter().enumerate();
        let owners = owners.flat_map(|(at, (_, selector))| std::iter::repeat_n(at, selector.patterns));
        Self { query, owners: owners.collect(), parts: parts.to_vec() }
    }
}
