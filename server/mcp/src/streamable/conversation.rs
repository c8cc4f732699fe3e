//! rmcp's transport where every message comes by a request of its own.

use std::{io, sync::Arc};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest,
        GetExtensions as _, JsonRpcMessage, RequestId,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage, serve_directly},
    transport::Transport,
};
use tokio::sync::mpsc;

use super::{routes::Routes, stream::Stream};
use crate::{
    adapter::{Adapter, Provenance},
    ending::Ending,
    in_flight::Slot,
};

/// How many messages of a client may wait for rmcp to take them.
const MOST_WAITING: usize = 64;

/// One client's side of a service of its own: a session's, or that of one request.
#[derive(Debug)]
pub(super) struct Conversation {
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    routes: Arc<Routes>,
    ending: Arc<Ending>,
}

/// What comes with a request.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Its place among those in flight.
    pub(super) slot: Slot,
    pub(super) provenance: Provenance,
}

struct Posts {
    inbox: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    routes: Arc<Routes>,
    ending: Arc<Ending>,
    /// Whether there is nothing more to come when the first request has its answer.
    single: bool,
}

impl Conversation {
    /// Begins a session, which ends with `all` at the latest.
    pub(super) fn session(adapter: Adapter, all: &Arc<Ending>) -> Self {
        Self::begin(adapter, all, false)
    }

    /// Begins a conversation of one request.
    pub(super) fn single(adapter: Adapter, all: &Arc<Ending>) -> Self {
        Self::begin(adapter, all, true)
    }

    fn begin(adapter: Adapter, all: &Arc<Ending>, single: bool) -> Self {
        let (inbox, messages) = mpsc::channel(MOST_WAITING);
        let routes = Arc::new(Routes::new(single));
        let ending = Arc::new(Ending::within(all.clone()));
        let posts = Posts {
            inbox: messages,
            routes: routes.clone(),
            ending: ending.clone(),
            single,
        };
        let (service, left) = (serve_directly(adapter, posts, None), routes.clone());
        tokio::spawn(async move {
            if let Err(error) = service.waiting().await {
                tracing::error!(%error, "the service loop broke down");
            }
            left.close_all();
        });
        Self {
            inbox,
            routes,
            ending,
        }
    }

    /// Hands a request on. Its stream, and the stream's number.
    ///
    /// # Errors
    /// When a request of this id is being answered.
    pub(super) async fn request(
        &self,
        id: &RequestId,
        mut request: ClientRequest,
        arrival: Arrival,
    ) -> Result<(u64, Arc<Stream>), ErrorData> {
        let (number, stream) = self.routes.open(id, &request).ok_or_else(|| {
            ErrorData::invalid_request("a request with this `id` is still being answered", None)
        })?;
        let extensions = request.extensions_mut();
        // rmcp hands them to the handler, which drops them when it is done, also after a cancellation.
        extensions.insert(arrival.slot);
        extensions.insert(arrival.provenance);
        extensions.insert(self.ending.clone());
        if !self.hand_on(JsonRpcMessage::request(request, id.clone())).await {
            self.routes.close(id);
        }
        Ok((number, stream))
    }

    /// Hands something else on; false where the conversation is over.
    pub(super) async fn hand_on(&self, message: RxJsonRpcMessage<RoleServer>) -> bool {
        if let JsonRpcMessage::Notification(note) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &note.notification
            && let Some(id) = &cancelled.params.request_id
        {
            // rmcp drops the answer, so that it won't come by.
            self.routes.close(id);
        }
        self.inbox.send(message).await.is_ok()
    }

    /// Nobody waits for the answer to the request `id` any more.
    pub(super) fn hang_up(&self, id: &RequestId) {
        if !self.routes.close(id) {
            return;
        }
        let params = CancelledNotificationParam::new(Some(id.clone()), Some("the client hung up".into()));
        let note = CancelledNotification::new(params);
        // Of a conversation with one request, the inbox has room for a second message.
        let _ = self.inbox.try_send(JsonRpcMessage::notification(note.into()));
        self.ending.ask();
    }

    /// Ends it. Calls in flight are finished.
    pub(super) fn end(&self) {
        self.ending.ask();
    }

    pub(super) fn is_over(&self) -> bool {
        self.inbox.is_closed()
    }

    pub(super) fn routes(&self) -> &Routes {
        &self.routes
    }
}

impl Transport<RoleServer> for Posts {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let sent = self.routes.send(&message);
        if self.single && matches!(sent, Ok(true)) {
            self.ending.ask();
        }
        std::future::ready(sent.map(drop).map_err(io::Error::from))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        tokio::select! {
            biased;
            message = self.inbox.recv() => message,
            () = self.ending.asked() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
