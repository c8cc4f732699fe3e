//! rmcp's transport in which every message arrives in a separate HTTP request.

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
use tabellion_gateway::{RequestOrigin, Slot};
use tokio_util::sync::CancellationToken;

use crate::{adapter::Adapter, ending::Ending};

/// Upper bound of a client's messages that wait for rmcp.
const INBOX_CAPACITY: usize = 64;

/// A service and its transport: of a session, or of a single request.
#[derive(Debug)]
pub(super) struct Conversation {
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    routes: Arc<Routes>,
    ending: Arc<Ending>,
}

/// The context of a received message.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Its slot among the requests in flight.
    pub(super) slot: Slot,
    pub(super) origin: RequestOrigin,
}

struct Posts {
    inbox: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    routes: Arc<Routes>,
    ending: Arc<Ending>,
    /// True if the conversation ends with the answer to its first request.
    single: bool,
}

impl Conversation {
    /// Starts a session, which ends with `all` at the latest.
    pub(super) fn session(adapter: Adapter, all: &CancellationToken) -> Self {
        Self::begin(adapter, all, false)
    }

    /// Starts a conversation of one request.
    pub(super) fn single(adapter: Adapter, all: &CancellationToken) -> Self {
        Self::begin(adapter, all, true)
    }

    fn begin(adapter: Adapter, all: &CancellationToken, single: bool) -> Self {
        let (inbox, messages) = mpsc::channel(INBOX_CAPACITY);
        let routes = Arc::new(Routes::new(single));
        let ending = Arc::new(Ending::within(all));
        let posts = Posts { inbox: messages, routes: routes.clone(), ending: ending.clone(), single };
        let (service, left) = (serve_directly(adapter, posts, None), routes.clone());
        tokio::spawn(async move {
            if let Err(error) = service.waiting().await {
                tracing::error!(%error, "the service loop broke down");
            }
            left.close_all();
        });
        Self { inbox, routes, ending }
    }

    /// Forwards a request. Returns its stream and the stream's number.
    ///
    /// # Errors
    /// If a request with this id is still being answered.
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
        // rmcp passes the extensions to the handler, which drops them when it has finished, also after a cancellation.
        extensions.insert(arrival.slot);
        extensions.insert(arrival.origin);
        extensions.insert(self.ending.clone());
        if !self.hand_on(JsonRpcMessage::request(request, id.clone())).await {
            self.routes.close(id);
        }
        Ok((number, stream))
    }

    /// Forwards another message. Returns false if the conversation has ended.
    pub(super) async fn hand_on(&self, message: RxJsonRpcMessage<RoleServer>) -> bool {
        if let JsonRpcMessage::Notification(note) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &note.notification
            && let Some(id) = &cancelled.params.request_id
        {
            // rmcp drops the answer to a cancelled request, so `send` will not see it.
            self.routes.close(id);
        }
        self.inbox.send(message).await.is_ok()
    }

    /// Cancels the request `id`, because its client disconnected.
    pub(super) fn hang_up(&self, id: &RequestId) {
        if !self.routes.close(id) {
            return;
        }
        let params = CancelledNotificationParam::new(Some(id.clone()), Some("the client hung up".into()));
        let note = CancelledNotification::new(params);
        // The inbox of a single request has room for a second message.
        let _ = self.inbox.try_send(JsonRpcMessage::notification(note.into()));
        self.ending.ask();
    }

    /// Ends the conversation after the calls in flight.
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
