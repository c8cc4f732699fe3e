//! Summaries of sessions. All are kept; the newest one of a session is read.

use tabellion_contracts::mcb::{StoredSummary, Summary};
use tabellion_runtime::{
    Failure, FailureKind, ReadCx, Row, Rows, Staged, WriteCx,
    rows::{Filter, Order, RowError},
};

use super::{
    bound::fall_back_to_session,
    call::{Call, entity, stage},
    values::{fall_back, invalid, join, picked, required, text, texts, typed, without_nulls},
};

/// Name of the entity.
pub(super) const SESSION_SUMMARY: &str = "session_summary";

/// The lists of a summary, and their titles in its text.
const PARTS: [(&str, &str); 4] = [
    ("topics", "Topics"),
    ("decisions", "Decisions"),
    ("next_steps", "Next steps"),
    ("key_files", "Key files"),
];

pub(super) async fn store(
    cx: &WriteCx<'_, Rows>,
    data: Row,
    session: Option<String>,
    project: Option<String>,
    repo: Option<String>,
) -> Result<Staged<StoredSummary, Rows>, RowError> {
    let call = Call::from_context(cx);
    let mut data = without_nulls(data);
    join(&mut data, "session_id", session)?;
    join(&mut data, "project_id", project)?;
    join(&mut data, "repo_id", repo)?;
    if let Some(session) = text(&data, "session_id").map(String::from) {
        fall_back_to_session(&call, &mut data, &session).await?;
    }
    fall_back(&mut data, "project_id", &call.provenance);
    if text(&data, "project_id").is_none() {
        let message = "`project_id` is missing; give it as an argument, the id of the project of the session";
        return Err(invalid("missing", "/project_id", message));
    }
    let mut provenance = call.provenance.to_value();
    if let Some(repo) = data.shift_remove("repo_id") {
        provenance["repo_id"] = repo;
    }
    data.insert("provenance".into(), provenance);
    let mut plan = call.plan();
    let row = plan.create(entity(SESSION_SUMMARY)?, data).await?;
    let answer = StoredSummary {
        summary_id: required(&row, "id")?.into(),
        session_id: required(&row, "session_id")?.into(),
    };
    stage(cx, plan, "create", (SESSION_SUMMARY, &row), answer)
}

/// Returns the row of the newest summary of a session, restricted to one project if that is given.
pub(super) async fn newest_row(
    call: &Call<'_>,
    session: &str,
    project: Option<String>,
) -> Result<Option<Row>, RowError> {
    let mut filters = vec![Filter::is("session_id", session)];
    filters.extend(project.map(|project| Filter::is("project_id", project)));
    let order = vec![("created_at", Order::Down), ("seq", Order::Down)];
    Ok(call.select(SESSION_SUMMARY, filters, order, 1).await?.pop())
}

/// Returns the newest summary of a session, restricted to one project if that is given.
pub(super) async fn newest(
    cx: &ReadCx<'_, Rows>,
    session: String,
    project: Option<String>,
) -> Result<Summary, RowError> {
    let row = newest_row(&Call::from_context(cx), &session, project).await?;
    let row = row.ok_or_else(|| {
        let message = format!(
            "the session `{}` has no summary; `summarize` with `data` stores one",
            session.escape_debug()
        );
        Failure::new(FailureKind::NotFound, message).with("rule", "not_found")
    })?;
    let fields = ["session_id", "topics", "decisions", "next_steps", "key_files", "created_at", "seq"];
    let mut answer = picked(&row, &fields);
    answer.insert("summary_id".into(), row["id"].clone());
    typed(answer)
}

/// Returns a summary as one text: a line for each non-empty list.
pub(super) fn content(row: &Row) -> String {
    let lines = PARTS.iter().filter_map(|(field, name)| {
        let items = texts(row, field);
        (!items.is_empty()).then(|| format!("{name}: {}", items.join("; ")))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the topics as one text.
pub(super) fn topics(row: &Row) -> String {
    texts(row, "topics").join("; ")
}
