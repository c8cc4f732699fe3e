//! rmcp's transport over lines. It answers every invalid line itself, and forwards only messages that rmcp can process.

use std::{io, sync::Arc};

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientNotification, ClientRequest, GetExtensions as _, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::io::{AsyncRead, AsyncWrite};

use tabellion_gateway::{Slot, WeakSlot};

use super::{
    ending::{Ending, ServeError},
    in_flight::InFlight,
    lines::{Line, Lines, MAX_LENGTH},
    message::{self, Incoming},
    output::Output,
};

/// One client, over a stream of lines in each direction.
pub(super) struct LineTransport<R, W> {
    lines: Lines<R>,
    output: Arc<Output<W>>,
    in_flight: Arc<InFlight>,
    ending: Arc<Ending>,
    /// The slot of the next request.
    slot: Option<Slot>,
    /// An unanswered `initialize`: later messages belong to the session that it opens.
    opening: Option<WeakSlot>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(reader: R, writer: W, in_flight: Arc<InFlight>, ending: Arc<Ending>) -> Self {
        Self {
            lines: Lines::new(reader),
            output: Arc::new(Output::new(writer, ending.clone())),
            in_flight,
            ending,
            slot: None,
            opening: None,
        }
    }

    /// Returns the next message for rmcp. Cancel safe.
    async fn next(&mut self) -> io::Result<Option<RxJsonRpcMessage<RoleServer>>> {
        loop {
            if let Some(slot) = &self.opening {
                self.in_flight.released(slot).await;
                self.opening = None;
            }
            let slot = match &self.slot {
                Some(slot) => slot.clone(),
                None => self.slot.insert(self.in_flight.slot().await).clone(),
            };
            let incoming = match self.lines.next().await? {
                None => return Ok(None),
                Some(Line::Whole(line)) => message::read(line),
                Some(Line::TooLong(id)) => {
                    message::refuse(id, &format!("a line is longer than {MAX_LENGTH} bytes"))
                }
            };
            match incoming {
                Incoming::Nothing => {}
                Incoming::Notification(notification) => {
                    self.note(&notification);
                    return Ok(Some(JsonRpcMessage::notification(notification)));
                }
                Incoming::Reply(id, Ok(result)) => return Ok(Some(JsonRpcMessage::response(*result, id))),
                Incoming::Reply(id, Err(error)) => return Ok(Some(JsonRpcMessage::error(error, Some(id)))),
                Incoming::Request(id, request) if self.in_flight.admit(&id, &slot) => {
                    self.slot = None;
                    return Ok(Some(self.accept(id, *request, slot)));
                }
                Incoming::Request(id, _) => {
                    let error =
                        ErrorData::invalid_request("a request with this `id` is still being answered", None);
                    self.refuse(Some(id), error, slot);
                }
                Incoming::Refused(id, error) => self.refuse(id, error, slot),
            }
        }
    }

    fn accept(
        &mut self,
        id: RequestId,
        mut request: ClientRequest,
        slot: Slot,
    ) -> RxJsonRpcMessage<RoleServer> {
        if matches!(request, ClientRequest::InitializeRequest(_)) {
            self.opening = Some(Arc::downgrade(&slot));
        }
        // rmcp passes the extensions to the handler, which drops them when it has finished, also after a cancellation.
        request.extensions_mut().insert(slot);
        request.extensions_mut().insert(self.ending.clone());
        JsonRpcMessage::request(request, id)
    }

    /// rmcp drops the reply to a cancelled request, so `send` will not see it.
    fn note(&self, notification: &ClientNotification) {
        if let ClientNotification::CancelledNotification(cancelled) = notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.in_flight.settle(id);
        }
    }

    /// Answers without rmcp, which would mistake the reply for that to a request in flight with the same id.
    fn refuse(&mut self, id: Option<RequestId>, error: ErrorData, slot: Slot) {
        self.slot = None;
        let output = self.output.clone();
        tokio::spawn(async move {
            // A failed write has already ended the service.
            let _ = output.write(&JsonRpcMessage::error(error, id)).await;
            drop(slot);
        });
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let slot = answered.and_then(|id| self.in_flight.settle(id));
        let (output, in_flight) = (self.output.clone(), self.in_flight.clone());
        async move {
            let sent = output.write(&message).await;
            in_flight.release(slot);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let ending = self.ending.clone();
        let message = tokio::select! {
            biased;
            () = ending.asked() => Ok(None),
            message = self.next() => message,
        };
        match message {
            Ok(Some(message)) => return Some(message),
            Ok(None) => ending.ask(),
            Err(error) => ending.fail(ServeError::Read(error)),
        }
        None
    }

    /// Has no effect: refusals may still be in progress. The streams are closed when their last user drops them.
    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
