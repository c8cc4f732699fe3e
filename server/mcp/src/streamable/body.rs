//! Response bodies: one message, or a stream of events.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::stream::{self, Stream, StreamExt as _};
use hyper::body::{Bytes, Frame, SizeHint};

use super::stream::{Event, Reader};
use tabellion_gateway::Grant;

/// Interval of keep-alive comments on a silent stream, so that proxies keep it open, and of checks that its reader's grant is
/// still valid.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Delay before a client reconnects to a broken stream, in milliseconds.
const RETRY_MS: u64 = 1000;

/// The body of a response.
pub struct Body(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// Returns a body of these bytes.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// Returns the messages of `reader` as events. With a `name`, each event has an id from which a client can resume the
    /// stream. If it `begins_empty`, the first event has the id of the last message that was read before, and no message. Once `grant` is no
    /// longer valid, only the answer to a request made before is sent. `held` is dropped after the last event, or with the body.
    pub(super) fn events<T: Send + 'static>(
        reader: Reader,
        name: Option<u64>,
        begins_empty: bool,
        grant: Option<Arc<dyn Grant>>,
        held: T,
    ) -> Self {
        let at = reader.position();
        let first = name
            .filter(|_| begins_empty)
            .map(|name| Bytes::from(format!("id: {name}-{at}\nretry: {RETRY_MS}\ndata:\n\n")));
        let begin = (reader, grant, held);
        let rest = stream::unfold(begin, move |(mut reader, grant, held)| async move {
            let next = tokio::time::timeout(KEEP_ALIVE_INTERVAL, reader.next()).await;
            let stands = grant.as_ref().is_none_or(|grant| grant.is_valid());
            let text = match next {
                Ok(Some(event)) if stands || event.is_answer => written(name, &event),
                Err(_) if stands => Bytes::from_static(b": alive\n"),
                _ => return None,
            };
            Some((text, (reader, grant, held)))
        });
        Self(Kind::Events(Box::pin(stream::iter(first).chain(rest))))
    }
}

/// Returns the event's bytes on the wire.
fn written(name: Option<u64>, event: &Event) -> Bytes {
    let mut text = Vec::with_capacity(event.message.len() + 32);
    if let Some(name) = name {
        text.extend_from_slice(format!("id: {name}-{}\n", event.number).as_bytes());
    }
    text.extend_from_slice(b"data: ");
    text.extend_from_slice(&event.message);
    text.extend_from_slice(b"\n\n");
    text.into()
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take()),
            Kind::Events(events) => events.as_mut().poll_next(cx),
        };
        bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            Kind::Events(_) => f.write_str("Events"),
        }
    }
}
