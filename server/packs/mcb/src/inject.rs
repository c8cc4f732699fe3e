//! Contexts for a model: the most useful entries that fit into a budget of tokens.

use std::{collections::BTreeMap, ops::ControlFlow};

use tabellion_contracts::mcb::{
    InjectRequest, InjectedContext, MemoryInjectObservationRequest, MemoryInjectSessionRequest,
};
use tabellion_runtime::rows::{Order, RowError};
use tabellion_vcs::Workspaces;

use super::{
    call::Call,
    entries::{Entry, Kind, Selection},
    index::{MemoryIndex, MemoryQuery},
    lists,
    values::folded,
    vcs,
    walk::Walk,
};

/// Number of the best matches, and of the newest entries, that are ranked.
const MAX_CANDIDATES: u64 = 500;
/// Characters that count as one token.
const CHARS_PER_TOKEN: usize = 4;
/// Weights of a query's match, of shared tags and of age; those that are not asked for do not count.
const OF_QUERY: f64 = 0.6;
const OF_TAGS: f64 = 0.25;
const OF_AGE: f64 = 0.15;
/// Age at which an entry is worth half of a new one, in seconds: 30 days.
const HALF_LIFE: f64 = 30.0 * 24.0 * 3600.0;

/// Makes contexts for one call.
pub(super) struct Inject<'m> {
    pub(super) call: Call<'m>,
    pub(super) index: &'m dyn MemoryIndex,
    pub(super) workspaces: &'m Workspaces,
}

/// Request for a context.
pub(super) struct ContextQuery {
    /// The entries that it can contain. It has no tags.
    pub(super) selection: Selection,
    pub(super) query: Option<String>,
    /// Tags that entries should share.
    pub(super) tags: Vec<String>,
    pub(super) limit: u64,
    pub(super) max_tokens: u64,
}

impl ContextQuery {
    pub(super) fn new(kind: Kind, req: InjectRequest) -> Self {
        Self {
            selection: Selection::in_place(kind, [req.project_id, req.repo_id, req.session_id]),
            query: req.query,
            tags: req.tags.unwrap_or_default(),
            limit: req.limit,
            max_tokens: req.max_tokens,
        }
    }
}

impl From<MemoryInjectObservationRequest> for ContextQuery {
    fn from(req: MemoryInjectObservationRequest) -> Self {
        let types = req.observation_types.unwrap_or_default();
        Self {
            selection: Selection {
                observation_types: types.iter().map(|word| folded(word)).collect(),
                ..Selection::in_place(Kind::Observation, [req.project_id, req.repo_id, req.session_id])
            },
            query: req.query,
            tags: req.tags.unwrap_or_default(),
            limit: req.limit,
            max_tokens: req.max_tokens,
        }
    }
}

impl From<MemoryInjectSessionRequest> for ContextQuery {
    fn from(req: MemoryInjectSessionRequest) -> Self {
        Self {
            selection: Selection::in_place(Kind::Session, [req.project_id, req.repo_id, req.session_id]),
            query: req.query,
            tags: vec![],
            limit: req.limit,
            max_tokens: req.max_tokens,
        }
    }
}

impl Inject<'_> {
    /// Returns the context.
    ///
    /// # Errors
    /// If entries can't be read.
    pub(super) async fn run(self, asked: ContextQuery) -> Result<InjectedContext, RowError> {
        let candidates = self.candidates(&asked).await?;
        let now = self.call.now();
        let ranked = rank(candidates, asked.query.is_some(), &asked.tags, now);
        let packed = pack(&ranked, asked.limit, asked.max_tokens);
        let repository = self.call.provenance.text("repo_path");
        Ok(InjectedContext {
            observation_count: packed.ids.len() as i64,
            observation_ids: packed.ids,
            estimated_tokens: tokens(&packed.context) as i64,
            context: packed.context,
            truncated: packed.truncated,
            vcs_context: repository.and_then(|path| vcs::context(path, self.workspaces)),
        })
    }

    /// Returns the candidates with the scores of their matches: with a query, entries that match or share a tag; without one, the
    /// newest.
    async fn candidates(&self, asked: &ContextQuery) -> Result<Vec<(Entry, f64)>, RowError> {
        let mut found = BTreeMap::new();
        if let Some(text) = &asked.query {
            let query = MemoryQuery::new(&self.call, &asked.selection, text.clone(), MAX_CANDIDATES);
            let hits = self.index.search(&query).await?;
            for (entry, score) in lists::read(&self.call, &asked.selection, hits).await? {
                found.insert(entry.id.clone(), (entry, score));
            }
        }
        if asked.query.is_none() || !asked.tags.is_empty() {
            let walk = Walk {
                call: &self.call,
                selection: &asked.selection,
                from: None,
                order: Order::Down,
                wanted: MAX_CANDIDATES,
            };
            let mut left = MAX_CANDIDATES;
            let take = |entry: Entry| {
                if asked.query.is_none() || shared(&entry, &asked.tags) > 0 {
                    found.entry(entry.id.clone()).or_insert((entry, 0.0));
                }
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            walk.run(take).await?;
        }
        Ok(found.into_values().collect())
    }
}

fn shared(entry: &Entry, tags: &[String]) -> usize {
    tags.iter().filter(|tag| entry.has_tag(tag)).count()
}

/// Orders entries by usefulness: by their match of the query, shared tags and age, as far as each is asked for. Among equals the newest
/// is first.
pub(super) fn rank(candidates: Vec<(Entry, f64)>, has_query: bool, tags: &[String], now: i64) -> Vec<Entry> {
    let worth = |entry: &Entry, score: f64| {
        let age = now.saturating_sub(entry.at.time).max(0) as f64;
        let mut worth = OF_AGE * 0.5_f64.powf(age / HALF_LIFE);
        if has_query {
            worth += OF_QUERY * score;
        }
        if !tags.is_empty() {
            worth += OF_TAGS * shared(entry, tags) as f64 / tags.len() as f64;
        }
        worth
    };
    let mut ranked: Vec<_> =
        candidates.into_iter().map(|(entry, score)| (worth(&entry, score), entry)).collect();
    ranked.sort_by(|(worth, entry), (other_worth, other)| {
        other_worth.total_cmp(worth).then(other.at.cmp(&entry.at))
    });
    ranked.into_iter().map(|(_, entry)| entry).collect()
}

/// A context, and the ids of its entries.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Packed {
    pub(super) ids: Vec<String>,
    pub(super) context: String,
    /// True if an entry was left out: it did not fit, or the limit was reached.
    pub(super) truncated: bool,
}

/// Takes whole entries while they fit, and skips those that do not.
pub(super) fn pack(ranked: &[Entry], limit: u64, max_tokens: u64) -> Packed {
    let mut packed = Packed::default();
    let mut room =
        usize::try_from(max_tokens).map_or(usize::MAX, |tokens| tokens.saturating_mul(CHARS_PER_TOKEN));
    for entry in ranked {
        if packed.ids.len() as u64 >= limit {
            packed.truncated = true;
            break;
        }
        let text = format!("[{}] {}: {}\n\n", entry.word.to_uppercase(), entry.id, entry.content);
        match room.checked_sub(text.chars().count()) {
            Some(left) => {
                room = left;
                packed.ids.push(entry.id.clone());
                packed.context += &text;
            }
            None => packed.truncated = true,
        }
    }
    packed
}

/// Estimates the number of tokens of a text.
pub(super) fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARS_PER_TOKEN)
}
