//! Figures of a ranking: the part of the relevant among the first 5 and 10, and nDCG@10 with binary gain.

use std::collections::BTreeSet;

use super::data::Query;

/// Figures of one query, or means over several.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measures {
    /// Sessions, each at the first of its turns that is found; `None` in collections without sessions.
    sessions: Option<Ranking>,
    documents: Ranking,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Ranking {
    recall_5: f64,
    recall_10: f64,
    ndcg_10: f64,
}

impl Ranking {
    fn new(found: &[&str], relevant: &BTreeSet<&str>) -> Self {
        let recall = |cut: usize| {
            let hits = found.iter().take(cut).filter(|id| relevant.contains(*id)).count();
            hits as f64 / relevant.len().max(1) as f64
        };
        let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
        let places = found.iter().take(10).enumerate();
        let gained: f64 = places.filter(|(_, id)| relevant.contains(*id)).map(|(rank, _)| gain(rank)).sum();
        let ideal: f64 = (0..relevant.len().min(10)).map(gain).sum();
        Self {
            recall_5: recall(5),
            recall_10: recall(10),
            ndcg_10: if ideal > 0.0 { gained / ideal } else { 0.0 },
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            recall_5: self.recall_5 + other.recall_5,
            recall_10: self.recall_10 + other.recall_10,
            ndcg_10: self.ndcg_10 + other.ndcg_10,
        }
    }

    fn over(self, count: f64) -> Self {
        Self {
            recall_5: self.recall_5 / count,
            recall_10: self.recall_10 / count,
            ndcg_10: self.ndcg_10 / count,
        }
    }

    fn row(self) -> String {
        format!("{:>9.4} {:>9.4} {:>9.4}", self.recall_5, self.recall_10, self.ndcg_10)
    }
}

impl Measures {
    pub(super) fn new(query: &Query, found: &[String]) -> Self {
        let (found, relevant) = query.judged(found);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        let relevant: BTreeSet<&str> = relevant.iter().map(String::as_str).collect();
        let sessions = query.has_sessions.then(|| {
            let mut seen = BTreeSet::new();
            let sessions = found.iter().map(|id| session(id)).filter(|id| seen.insert(*id));
            let relevant = relevant.iter().map(|id| session(id)).collect();
            Ranking::new(&sessions.collect::<Vec<_>>(), &relevant)
        });
        Self { sessions, documents: Ranking::new(&found, &relevant) }
    }

    pub(super) fn header(&self) -> String {
        let columns = |of: &str| format!("{:>9} {:>9} {:>9}", format!("{of}@5"), "@10", "nDCG@10");
        match self.sessions {
            Some(_) => format!("{}  {}", columns("sessions"), columns("turns")),
            None => columns("found"),
        }
    }

    pub(super) fn row(&self) -> String {
        match self.sessions {
            Some(sessions) => format!("{}  {}", sessions.row(), self.documents.row()),
            None => self.documents.row(),
        }
    }
}

/// Returns the means; with sessions if the first has them.
pub(super) fn mean(rows: &[&Measures]) -> Measures {
    let sum = |of: fn(&Measures) -> Option<Ranking>| {
        let rankings = rows.iter().filter_map(|row| of(row));
        rankings.fold(Ranking::default(), Ranking::plus).over(rows.len().max(1) as f64)
    };
    Measures {
        sessions: rows.first().and_then(|row| row.sessions).map(|_| sum(|row| row.sessions)),
        documents: sum(|row| Some(row.documents)),
    }
}

/// Returns the session of a turn: the part before the colon.
fn session(turn: &str) -> &str {
    turn.split(':').next().unwrap_or(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found, relevant, and the expected figures for documents and sessions, as trec_eval gives them.
    #[test]
    fn rankings_are_measured() {
        for (found, relevant, documents, sessions) in [
            ("a:1 b:1", "a:1", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
            ("b:1 a:1", "a:1", [1.0, 1.0, 0.6309], [1.0, 1.0, 0.6309]),
            ("b:1 a:2 b:2 a:1", "a:1 c:1", [0.5, 0.5, 0.2641], [0.5, 0.5, 0.3869]),
            ("b:1 b:2 b:3 b:4 b:5 a:1", "a:1", [0.0, 1.0, 0.3562], [1.0, 1.0, 0.6309]),
            ("", "a:1", [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ] {
            let query = Query {
                relevant: relevant.split_whitespace().map(String::from).collect(),
                has_sessions: true,
                ..Query::default()
            };
            let ids: Vec<String> = found.split_whitespace().map(String::from).collect();
            let measures = Measures::new(&query, &ids);
            for (ranking, expected) in [(Some(measures.documents), documents), (measures.sessions, sessions)]
            {
                let ranking = ranking.expect("sessions");
                let figures = [ranking.recall_5, ranking.recall_10, ranking.ndcg_10];
                for (figure, expected) in figures.iter().zip(expected) {
                    assert!((figure - expected).abs() < 0.0001, "{found}: {figures:?}");
                }
            }
        }
    }
}
