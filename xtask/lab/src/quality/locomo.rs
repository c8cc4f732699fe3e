//! LoCoMo: conversations over months, remembered by the server as an agent would have it remember them.
//!
//! Each conversation is a project, each of its turns an observation of its session, and each question is a search in the project.
//! Everything goes through the program over standard input and output, not through a library. With `--sessions`, a session is one long
//! observation.

use std::{collections::HashMap, path::Path, time::Instant};

use serde::Deserialize;
use serde_json::json;

use super::{
    agent::Agent,
    data::{Query, lines},
    options::{LIMIT, Options},
    report::Run,
};
use xtask::Outcome;

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

/// Stores the turns of the conversations in `folder`, and searches for each question.
pub(super) fn run(folder: &Path, options: &Options) -> Outcome<Run> {
    let mut conversations: Vec<Conversation> = lines(&folder.join("conversations.jsonl"))?;
    conversations.truncate(options.parts.unwrap_or(usize::MAX));
    let questions: Vec<Question> = lines(&folder.join("queries.jsonl"))?;
    let is_there = |question: &Question| conversations.iter().any(|it| it.id == question.conversation);
    let (projects, queries): (Vec<_>, Vec<_>) =
        questions.into_iter().filter(is_there).map(|question| question.split(options.sessions)).unzip();

    let mut agent = Agent::start(options, "locomo", None)?;
    let begun = Instant::now();
    let mut turns = Turns { are_joined: options.sessions, ..Turns::default() };
    for conversation in &conversations {
        turns.store(&mut agent, conversation)?;
    }
    let mut run = Run::new(queries, turns.count);
    agent.settle(&turns.last_session)?;
    run.by_meaning = agent.has_model();
    run.indexing = begun.elapsed();
    let mut projects = projects.iter();
    run.search(|query| {
        let project = projects.next().map(String::as_str).unwrap_or_default();
        let filters = [format!("project:{project}")];
        let request =
            json!({ "resource": "memory", "query": query.text, "limit": LIMIT, "filters": filters });
        agent.recall(request, &turns.by_observation)
    })?;
    agent.close()?;
    Ok(run)
}

impl Question {
    /// Returns the conversation that the question is about, and the query: with the turns that answer it, or the sessions.
    fn split(self, by_session: bool) -> (String, Query) {
        let session = |turn: String| turn.split(':').next().unwrap_or_default().to_owned();
        let relevant = self.evidence.into_iter();
        let query = Query {
            id: self.id,
            text: self.query,
            category: self.category,
            relevant: relevant.map(|turn| if by_session { session(turn) } else { turn }).collect(),
            has_sessions: !by_session,
            ..Query::default()
        };
        (self.conversation, query)
    }
}

/// The turns, or sessions, that were stored.
#[derive(Default)]
struct Turns {
    /// True if each observation is a session.
    are_joined: bool,
    /// Ids of turns by the id of their observation. Equal turns are one observation, which has the id of the first.
    by_observation: HashMap<String, String>,
    last_session: String,
    count: usize,
}

impl Turns {
    fn store(&mut self, agent: &mut Agent, conversation: &Conversation) -> Outcome {
        let project = &conversation.id;
        agent.add_project(project)?;
        for session in &conversation.sessions {
            self.last_session = format!("{project}/{}", session.id);
            let turns = session.turns.iter().map(|turn| (turn.dia_id.clone(), turn.content()));
            let mut texts: Vec<_> = turns.collect();
            if self.are_joined {
                let lines: Vec<_> = texts.into_iter().map(|(_, content)| content).collect();
                texts = vec![(session.id.clone(), lines.join("\n"))];
            }
            for (name, text) in texts {
                // The session's time: a server in use then would have recorded it, but here it records the present.
                let tags = [session.time.as_str()];
                let id = agent.remember(project, &self.last_session, &tags, &text)?;
                self.by_observation.entry(id).or_insert(name);
                self.count += 1;
            }
        }
        Ok(())
    }
}

impl Turn {
    fn content(&self) -> String {
        let said = format!("{}: {}", self.speaker, self.text);
        match &self.caption {
            Some(caption) => format!("{said} [{caption}]"),
            None => said,
        }
    }
}
