//! The body of a request, received within limits.

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{
    StatusCode,
    body::{Body as _, Bytes},
};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Limits;
use tabellion_mcp::streamable::Refusal;

/// Receives bodies within a limit on their total size.
#[derive(Debug)]
pub(super) struct Uploads {
    /// One permit per KiB.
    room: Semaphore,
    limits: Limits,
}

impl Uploads {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            room: Semaphore::new(limits.bodies >> 10),
            limits,
        }
    }

    /// Receives a whole body. The permit holds its share of the limit until it is dropped.
    ///
    /// # Errors
    /// 413 if it is too long, 408 if it takes too long, 503 if all bodies together exceed the limit.
    pub(super) async fn receive(&self, body: Body) -> Result<(Bytes, SemaphorePermit<'_>), Refusal> {
        let received = tokio::time::timeout(self.limits.upload, self.whole(body)).await;
        received.unwrap_or_else(|_| {
            let why = format!("the body took longer than {:?}", self.limits.upload);
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, why))
        })
    }

    async fn whole(&self, mut body: Body) -> Result<(Bytes, SemaphorePermit<'_>), Refusal> {
        if body.size_hint().lower() > self.limits.body as u64 {
            return Err(self.too_long());
        }
        let mut room = self.room_for(0)?;
        let (mut whole, mut held) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let why = format!("the body broke off: {error}");
                Refusal::new(StatusCode::BAD_REQUEST, why)
            })?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if whole.len() + data.len() > self.limits.body {
                return Err(self.too_long());
            }
            whole.extend_from_slice(&data);
            let needed = whole.len().div_ceil(1 << 10);
            room.merge(self.room_for(needed - held)?);
            held = needed;
        }
        Ok((whole.into(), room))
    }

    fn room_for(&self, kibibytes: usize) -> Result<SemaphorePermit<'_>, Refusal> {
        // `kibibytes` is at most the size of one body, which fits into `u32`.
        let room = self.room.try_acquire_many(kibibytes as u32);
        room.map_err(|_| Refusal::busy("too much is being received at once; try again"))
    }

    fn too_long(&self) -> Refusal {
        let why = format!("a body has at most {} bytes", self.limits.body);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    }
}
