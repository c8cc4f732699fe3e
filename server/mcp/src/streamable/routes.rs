//! Routes the server's messages: to the stream of the request they relate to, or to the session's own stream.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use hyper::body::Bytes;
use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{
        ClientRequest, GetExtensions as _, GetMeta as _, JsonRpcMessage, ProgressToken, RequestId,
        ServerNotification, ServerRequest,
    },
    service::{OriginatingRequestId, TxJsonRpcMessage},
};

use super::stream::Stream;

/// Upper bound of ended streams that can be resumed.
const MAX_ENDED: usize = 16;

/// The streams of one conversation.
#[derive(Debug)]
pub(super) struct Routes {
    /// Stream of messages that relate to no request.
    own: Arc<Stream>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// True if there is only one request, to which all messages relate.
    single: bool,
    /// Number of the newest stream.
    last: u64,
    unanswered: HashMap<RequestId, Route>,
    progress: HashMap<ProgressToken, RequestId>,
    /// Streams of the server's own requests, which it may cancel.
    asked: VecDeque<(RequestId, Arc<Stream>)>,
    ended: VecDeque<(u64, Arc<Stream>)>,
}

#[derive(Debug)]
struct Route {
    /// Number of the stream.
    number: u64,
    stream: Arc<Stream>,
    progress: Option<ProgressToken>,
}

impl Routes {
    /// Creates the routes of a session, or of a single request.
    pub(super) fn new(single: bool) -> Self {
        let table = Table { single, ..Table::default() };
        Self { own: Arc::default(), table: Mutex::new(table) }
    }

    /// Opens a stream for the request `id`, unless an unanswered request has the same id. Numbers start at 1.
    pub(super) fn open(&self, id: &RequestId, request: &ClientRequest) -> Option<(u64, Arc<Stream>)> {
        let mut table = self.table.lock();
        if table.unanswered.contains_key(id) {
            return None;
        }
        table.last += 1;
        let progress = request.get_meta().get_progress_token();
        if let Some(token) = &progress {
            table.progress.insert(token.clone(), id.clone());
        }
        let (number, stream) = (table.last, Arc::<Stream>::default());
        let route = Route { number, stream: stream.clone(), progress };
        table.unanswered.insert(id.clone(), route);
        Some((number, stream))
    }

    /// Ends the stream of the request `id`, which gets no answer. Returns false if there is none.
    pub(super) fn close(&self, id: &RequestId) -> bool {
        let route = self.table.lock().take(id);
        if let Some(route) = &route {
            route.stream.end();
        }
        route.is_some()
    }

    /// Ends all streams.
    pub(super) fn close_all(&self) {
        let unanswered = std::mem::take(&mut self.table.lock().unanswered);
        unanswered.values().for_each(|route| route.stream.end());
        self.own.end();
    }

    /// Returns the stream with this number if it can be resumed.
    pub(super) fn resume(&self, number: u64) -> Option<Arc<Stream>> {
        if number == 0 {
            return Some(self.own.clone());
        }
        let table = self.table.lock();
        let mut unanswered = table.unanswered.values();
        let open = unanswered.find(|route| route.number == number).map(|route| &route.stream);
        let mut ended = table.ended.iter();
        let found = open.or_else(|| ended.find(|(it, _)| *it == number).map(|(_, stream)| stream));
        found.filter(|stream| stream.is_kept()).cloned()
    }

    /// Returns true if a request or reader is waiting.
    pub(super) fn are_in_use(&self) -> bool {
        self.own.has_reader() || !self.table.lock().unanswered.is_empty()
    }

    /// Sends a message to its stream. Returns true if it was an answer.
    pub(super) fn send(&self, message: &TxJsonRpcMessage<RoleServer>) -> serde_json::Result<bool> {
        let text = Bytes::from(serde_json::to_vec(message)?);
        let (id, code) = match message {
            JsonRpcMessage::Response(response) => (&response.id, None),
            JsonRpcMessage::Error(error) => match &error.id {
                Some(id) => (id, Some(error.error.code.0)),
                None => return Ok(false),
            },
            JsonRpcMessage::Request(request) => {
                self.table.lock().stream_of_request(&self.own, &request.id, &request.request).say(text);
                return Ok(false);
            }
            JsonRpcMessage::Notification(notification) => {
                self.table.lock().stream_of_notification(&self.own, &notification.notification).say(text);
                return Ok(false);
            }
        };
        let mut table = self.table.lock();
        let Some(route) = table.take(id) else {
            return Ok(false);
        };
        route.stream.answer(text, code);
        if route.stream.is_kept() {
            table.ended.push_back((route.number, route.stream));
            if table.ended.len() > MAX_ENDED {
                table.ended.pop_front();
            }
        }
        Ok(true)
    }
}

impl Table {
    fn take(&mut self, id: &RequestId) -> Option<Route> {
        let route = self.unanswered.remove(id)?;
        if let Some(token) = &route.progress
            && self.progress.get(token) == Some(id)
        {
            self.progress.remove(token);
        }
        self.asked.retain(|(_, stream)| !Arc::ptr_eq(stream, &route.stream));
        Some(route)
    }

    fn stream(&self, id: &RequestId) -> Option<&Arc<Stream>> {
        self.unanswered.get(id).map(|route| &route.stream)
    }

    /// Returns the stream of a server's request: that of the client's request that caused it.
    fn stream_of_request(
        &mut self,
        own: &Arc<Stream>,
        id: &RequestId,
        request: &ServerRequest,
    ) -> Arc<Stream> {
        let cause = request.extensions().get::<OriginatingRequestId>();
        let stream = cause.and_then(|cause| self.stream(&cause.0)).unwrap_or(own);
        let stream = stream.clone();
        self.asked.push_back((id.clone(), stream.clone()));
        stream
    }

    fn stream_of_notification(&self, own: &Arc<Stream>, notification: &ServerNotification) -> Arc<Stream> {
        let stream = match notification {
            ServerNotification::ProgressNotification(progress) => {
                let id = self.progress.get(&progress.params.progress_token);
                id.and_then(|id| self.stream(id))
            }
            ServerNotification::CancelledNotification(cancelled) => {
                let id = cancelled.params.request_id.as_ref();
                let mut asked = self.asked.iter();
                asked.find(|(asked, _)| Some(asked) == id).map(|(_, stream)| stream)
            }
            _ => None,
        };
        let stream = stream.or_else(|| {
            let mut all = self.unanswered.values().filter(|_| self.single);
            all.next().map(|route| &route.stream)
        });
        stream.unwrap_or(own).clone()
    }
}
