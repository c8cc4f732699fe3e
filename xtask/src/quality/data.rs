//! Reading the collections: JSON lines and tab-separated labels.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use chrono::NaiveDateTime;
use serde::{Deserialize, de::DeserializeOwned};
use tabellion_retrieval::{Document, Text};

use super::in_part;
use crate::Outcome;

/// Texts, and queries with the documents that answer them.
pub(super) struct Collection {
    pub(super) documents: Vec<Document>,
    pub(super) queries: Vec<Query>,
}

pub(super) struct Query {
    pub(super) id: String,
    pub(super) text: String,
    /// For reports; empty if there are none.
    pub(super) category: String,
    /// The part of the collection that is searched.
    pub(super) part: Option<String>,
    /// Ids that are right.
    pub(super) relevant: BTreeSet<String>,
    /// True if an id has its session before a colon, which is judged too.
    pub(super) has_sessions: bool,
}

#[derive(Deserialize)]
struct Conversation {
    id: String,
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    time: String,
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    dia_id: String,
    speaker: String,
    text: String,
    caption: Option<String>,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    conversation: String,
    query: String,
    category: String,
    evidence: Vec<String>,
}

#[derive(Deserialize)]
struct Abstract {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Claim {
    id: String,
    query: String,
}

/// Reads conversations: each turn is a document as an agent would store it, and each session a group.
pub(super) fn conversations(folder: &Path) -> Outcome<Collection> {
    let mut documents = vec![];
    for conversation in lines::<Conversation>(&folder.join("conversations.jsonl"))? {
        for session in conversation.sessions {
            let time = NaiveDateTime::parse_from_str(&session.time, "%I:%M %p on %d %B, %Y")?;
            for (seq, turn) in (0..).zip(session.turns) {
                let mut text = format!("{}: {}", turn.speaker, turn.text);
                if let Some(caption) = &turn.caption {
                    text = format!("{text} [{caption}]");
                }
                let document = Document {
                    texts: vec![Text::plain(text)],
                    group: Some(format!("{}/{}", conversation.id, session.id)),
                    time: Some(time.and_utc().timestamp()),
                    seq,
                    ..Document::default()
                };
                documents.push(in_part(&conversation.id, &turn.dia_id, document));
            }
        }
    }
    let queries = lines::<Question>(&folder.join("queries.jsonl"))?;
    let queries = queries.into_iter().map(|question| Query {
        id: question.id,
        text: question.query,
        category: question.category,
        part: Some(question.conversation),
        relevant: question.evidence.into_iter().collect(),
        has_sessions: true,
    });
    let queries = queries.collect();
    Ok(Collection { documents, queries })
}

/// Reads a collection of titles and texts; a title counts twice.
pub(super) fn abstracts(folder: &Path) -> Outcome<Collection> {
    let documents = lines::<Abstract>(&folder.join("corpus.jsonl"))?;
    let documents = documents.into_iter().map(|row| Document {
        id: row.id,
        texts: vec![Text::weighted(row.title, 2), Text::plain(row.text)],
        ..Document::default()
    });
    let labels = fs::read_to_string(folder.join("qrels.tsv"))?;
    let mut relevant: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for line in labels.lines().skip(1) {
        let [query, document, grade] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("a label in `{}` has not three columns: {line}", folder.display()).into());
        };
        if grade != "0" {
            relevant.entry(query).or_default().insert(document.into());
        }
    }
    let queries = lines::<Claim>(&folder.join("queries.jsonl"))?;
    let queries = queries.into_iter().map(|claim| Query {
        relevant: relevant.get(&*claim.id).cloned().unwrap_or_default(),
        id: claim.id,
        text: claim.query,
        category: String::new(),
        part: None,
        has_sessions: false,
    });
    let (documents, queries) = (documents.collect(), queries.collect());
    Ok(Collection { documents, queries })
}

fn lines<T: DeserializeOwned>(path: &Path) -> Outcome<Vec<T>> {
    let text = fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let rows = (1..).zip(text.lines()).map(|(number, line)| {
        serde_json::from_str(line).map_err(|error| format!("`{}`:{number}: {error}", path.display()).into())
    });
    rows.collect()
}
