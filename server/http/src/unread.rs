//! Request bodies that a handler did not read.
//!
//! A rejected request leaves its body on the connection. hyper closes such a connection without announcing it, and a client
//! that sends its next request there gets no answer. So the rest of a short body is read before the answer is sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use tokio::sync::oneshot;

/// Maximum size of the unread rest that is read, in bytes.
const MAX_REST: usize = 64 << 10;
/// Time limit for the arrival of the rest.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// Receives a body back from the handler.
pub(super) struct Unread(oneshot::Receiver<Body>);

impl Unread {
    /// Returns the body for the handler, and the receiver of its unread rest.
    pub(super) fn watch(body: Body) -> (Body, Self) {
        let (sender, receiver) = oneshot::channel();
        let returned = ReturnedOnDrop { body: Some(body), sender: Some(sender) };
        (Body::new(returned), Self(receiver))
    }

    /// Reads the rest of a body that the handler has dropped, within limits.
    pub(super) async fn drain(mut self) {
        let Ok(mut body) = self.0.try_recv() else { return };
        let rest = async {
            let mut size = 0;
            while let Some(Ok(frame)) = body.frame().await {
                size += frame.data_ref().map_or(0, Bytes::len);
                if size > MAX_REST {
                    break;
                }
            }
        };
        drop(tokio::time::timeout(REST_TIMEOUT, rest).await);
    }
}

/// A body that is sent back when it is dropped before its end.
struct ReturnedOnDrop {
    body: Option<Body>,
    sender: Option<oneshot::Sender<Body>>,
}

impl HttpBody for ReturnedOnDrop {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for ReturnedOnDrop {
    fn drop(&mut self) {
        if let (Some(body), Some(sender)) = (self.body.take(), self.sender.take())
            && !body.is_end_stream()
        {
            // The receiver is gone if the connection was closed.
            let _ = sender.send(body);
        }
    }
}
