//! Notifications for an open page: that its data changed, without the data.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use futures_util::stream;
use hyper::{
    StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{Page, data::Source, form::Fields, sign_in::Visitor, views};

/// Interval at which a source's state is polled.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of the comments that keep the connection open.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// The stream of one page.
struct Watch {
    page: Arc<Page>,
    source: Arc<dyn Source>,
    visitor: Visitor,
    /// The proposal that the page shows, and its revision.
    shown: Option<(String, String)>,
    state: String,
    closing: tokio::sync::watch::Receiver<bool>,
}

impl Page {
    /// Returns the event stream for the page that the query names: `?id=ID&revision=REVISION` for a proposal, or an empty query.
    pub(crate) fn events(self: &Arc<Self>, visitor: &Visitor, segments: &[&str], query: &Fields) -> Response {
        let name = segments.first().and_then(|first| first.strip_prefix('@'));
        let source =
            self.sources.iter().find(|source| source.name() == name && source.may(&visitor.person).see());
        let Some(source) = source else {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        };
        let shown = query.get("id").zip(query.get("revision"));
        let watch = Watch {
            page: self.clone(),
            source: source.clone(),
            visitor: visitor.clone(),
            shown: shown.map(|(id, revision)| (id.to_owned(), revision.to_owned())),
            state: query.get("state").unwrap_or_default().to_owned(),
            closing: self.closing.subscribe(),
        };
        let events = stream::unfold(watch, |mut watch| async move {
            let text = watch.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), watch))
        });
        let mut response = Response::new(Body::from_stream(events));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response
    }
}

impl Watch {
    /// Returns the next event or comment; `None` if the server shuts down, or the sign-in has ended.
    async fn next(&mut self) -> Option<String> {
        let begun = Instant::now();
        loop {
            tokio::select! {
                () = sleep(LOOK_INTERVAL) => {}
                _ = self.closing.wait_for(|is_closing| *is_closing) => return None,
            }
            self.page.sign_ins.doorkeeper().by_id(&self.visitor.person.id)?;
            let source = self.source.clone();
            let state = tokio::task::spawn_blocking(move || source.state()).await.ok()?;
            if state != self.state {
                self.state = state;
                if let Some(news) = self.news().await {
                    return Some(format!("event: news\ndata: {news}\n\n"));
                }
            }
            if begun.elapsed() > COMMENT_INTERVAL {
                return Some(": still here\n\n".into());
            }
        }
    }

    async fn news(&mut self) -> Option<serde_json::Value> {
        let Some((id, revision)) = self.shown.clone() else {
            return Some(json!({ "text": "Something has changed.", "href": "" }));
        };
        let (source, person) = (self.source.clone(), self.visitor.person.clone());
        let asked = id.clone();
        let now = tokio::task::spawn_blocking(move || source.revision(&person, &asked)).await.ok()?;
        let href = views::below(&*self.source, &format!("review/{id}"));
        match now {
            Ok(now) if now == revision => None,
            Ok(now) => {
                self.shown = Some((id, now));
                Some(
                    json!({ "text": "The proposal or its note has changed since this page was shown.", "href": href, "moved": true }),
                )
            }
            Err(problem) => Some(json!({ "text": problem.sentence(), "href": href, "moved": true })),
        }
    }
}
