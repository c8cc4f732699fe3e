//! Timelines: the entries before and after an anchor.

use std::ops::ControlFlow;

use tabellion_contracts::mcb::{
    MemoryTimelineObservationRequest, MemoryTimelineSessionRequest, Timeline, TimelineEntry, TimelineRequest,
};
use tabellion_runtime::rows::{Order, RowError};

use super::{
    call::Call,
    entries::{At, Entry, Kind, Selection},
    index::{MemoryIndex, MemoryQuery},
    values::{folded, text},
    walk::Walk,
};

/// Request for a timeline.
pub(super) struct TimelineQuery {
    /// The neighbours.
    pub(super) selection: Selection,
    pub(super) anchor: Anchor,
    pub(super) before: u64,
    pub(super) after: u64,
    /// Maximum distance of neighbours from the anchor, in seconds.
    pub(super) window: Option<u64>,
}

/// The entry at the centre of a timeline.
pub(super) enum Anchor {
    /// The one with this id, or of the run with this id.
    Id(String),
    /// The best match.
    Query(String),
}

impl Anchor {
    /// The contract requires exactly one of the two.
    fn new(id: Option<String>, query: Option<String>) -> Self {
        match id {
            Some(id) => Self::Id(id),
            None => Self::Query(query.unwrap_or_default()),
        }
    }
}

impl TimelineQuery {
    pub(super) fn new(kind: Kind, req: TimelineRequest) -> Self {
        Self {
            selection: Selection {
                tags: req.tags.unwrap_or_default(),
                ..Selection::in_place(kind, [req.project_id, req.repo_id, req.session_id])
            },
            anchor: Anchor::new(req.anchor_id, req.query),
            before: req.depth_before,
            after: req.depth_after,
            window: req.window_secs,
        }
    }
}

impl From<MemoryTimelineObservationRequest> for TimelineQuery {
    fn from(req: MemoryTimelineObservationRequest) -> Self {
        let types = req.observation_types.unwrap_or_default();
        Self {
            selection: Selection {
                tags: req.tags.unwrap_or_default(),
                observation_types: types.iter().map(|word| folded(word)).collect(),
                ..Selection::in_place(Kind::Observation, [req.project_id, req.repo_id, req.session_id])
            },
            anchor: Anchor::new(req.anchor_id, req.query),
            before: req.depth_before,
            after: req.depth_after,
            window: req.window_secs,
        }
    }
}

impl From<MemoryTimelineSessionRequest> for TimelineQuery {
    fn from(req: MemoryTimelineSessionRequest) -> Self {
        Self {
            selection: Selection::in_place(Kind::Session, [req.project_id, req.repo_id, req.session_id]),
            anchor: Anchor::new(req.anchor_id, req.query),
            before: req.depth_before,
            after: req.depth_after,
            window: req.window_secs,
        }
    }
}

/// Returns the anchor with its neighbours, oldest first.
///
/// # Errors
/// If there is no such anchor.
pub(super) async fn timeline(
    call: &Call<'_>,
    index: &dyn MemoryIndex,
    asked: TimelineQuery,
) -> Result<Timeline, RowError> {
    let anchor = find(call, index, asked.selection.kind, &asked.anchor).await?;
    let mut sides =
        [Side::new(anchor.at, asked.before, asked.window), Side::new(anchor.at, asked.after, asked.window)];
    for (side, order) in sides.iter_mut().zip([Order::Down, Order::Up]) {
        let walk =
            Walk { call, selection: &asked.selection, from: Some(anchor.at), order, wanted: side.depth };
        if side.depth > 0 {
            walk.run(|entry| side.offer(entry)).await?;
        }
    }
    let [before, after] = sides.map(|side| side.neighbours);
    let first = -(before.len() as i64);
    let anchor_id = anchor.id.clone();
    let all = before.into_iter().rev().chain([anchor]).chain(after);
    let timeline: Vec<_> = (first..)
        .zip(all)
        .map(|(offset, entry)| TimelineEntry {
            observation_id: entry.id,
            content: entry.content,
            observation_type: entry.word,
            created_at: entry.at.time,
            seq: entry.at.seq,
            offset,
        })
        .collect();
    Ok(Timeline { anchor_id, count: timeline.len() as i64, timeline })
}

/// Returns the anchor of the timeline. The filters apply only to its neighbours.
async fn find(
    call: &Call<'_>,
    index: &dyn MemoryIndex,
    kind: Kind,
    anchor: &Anchor,
) -> Result<Entry, RowError> {
    let all = Selection::new(kind);
    let (id, named) = match anchor {
        Anchor::Id(id) => {
            // A run has an id besides that of its observation.
            let run = call.get(kind.noun(), id).await?;
            let observation = run.and_then(|run| text(&run, "observation_id").map(String::from));
            (Some(observation.unwrap_or_else(|| id.clone())), id)
        }
        Anchor::Query(text) => {
            let query = MemoryQuery::new(call, &all, text.clone(), 1);
            let best = index.search(&query).await?.hits.pop();
            (best.map(|hit| hit.id), text)
        }
    };
    if let Some(id) = id
        && let Some(row) = call.get(kind.entity(), &id).await?
    {
        let entry = kind.entry(&row);
        if all.passes(&entry) {
            return Ok(entry);
        }
    }
    Err(RowError::NotFound {
        entity: kind.noun(),
        key: match anchor {
            Anchor::Id(_) => format!("`{}`", named.escape_debug()),
            Anchor::Query(_) => format!("that matches `{}`", named.escape_debug()),
        },
    })
}

/// The neighbours on one side of the anchor, nearest first.
#[derive(Debug)]
struct Side {
    anchor: At,
    depth: u64,
    window: Option<u64>,
    neighbours: Vec<Entry>,
}

impl Side {
    fn new(anchor: At, depth: u64, window: Option<u64>) -> Self {
        Self { anchor, depth, window, neighbours: vec![] }
    }

    /// Takes the next entry away from the anchor if it is near enough; breaks if there is no room for more.
    fn offer(&mut self, entry: Entry) -> ControlFlow<()> {
        let distance = entry.at.time.abs_diff(self.anchor.time);
        if self.window.is_some_and(|window| distance > window) {
            return ControlFlow::Break(());
        }
        self.neighbours.push(entry);
        if self.neighbours.len() as u64 >= self.depth {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
