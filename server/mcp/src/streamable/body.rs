//! The bodies of responses: something whole, or events as they come.

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
use crate::access::Grant;

/// How often a line is sent over a stream on which there is nothing to say, so that nobody on the way takes it for dead;
/// and how often it is looked whether its reader may still read it.
const ALIVE: Duration = Duration::from_secs(15);
/// After how many milliseconds a client shall ask again for a stream that broke.
const RETRY_MS: u64 = 1000;

/// The body of a response.
pub struct Body(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// These bytes.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// What `reader` reads, as events. Where they have a `name`, a client can ask for them again from any one of them
    /// on. Who may no longer do anything, as `grant` says, is told no more but an answer to what they asked when they
    /// could. `held` is dropped when the last one was sent, or nobody wants it any more.
    pub(super) fn events<T: Send + 'static>(
        reader: Reader,
        name: Option<u64>,
        grant: Option<Arc<dyn Grant>>,
        held: T,
    ) -> Self {
        let first = name.map(|name| Bytes::from(format!("id: {name}-0\nretry: {RETRY_MS}\ndata:\n\n")));
        let begin = (reader, grant, held);
        let rest = stream::unfold(begin, move |(mut reader, grant, held)| async move {
            let next = tokio::time::timeout(ALIVE, reader.next()).await;
            let stands = grant.as_ref().is_none_or(|grant| grant.is_valid());
            let text = match next {
                Ok(Some(event)) if stands || event.is_answer => written(name, &event),
                Err(_) if stands => Bytes::from_static(b": alive\n\n"),
                _ => return None,
            };
            Some((text, (reader, grant, held)))
        });
        Self(Kind::Events(Box::pin(stream::iter(first).chain(rest))))
    }
}

/// An event as it is sent.
fn written(name: Option<u64>, event: &Event) -> Bytes {
    let mut text = Vec::with_capacity(event.message.len() + 32);
    if let Some(name) = name {
        text.extend_from_slice(format!("id: {name}-{}\n", event.place).as_bytes());
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
