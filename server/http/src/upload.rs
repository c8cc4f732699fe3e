//! The body of a request, received within limits.

use std::{collections::HashMap, sync::Arc};

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::{
    StatusCode,
    body::{Body as _, Bytes},
};
use parking_lot::Mutex;

use super::Limits;
use tabellion_rest::Refusal;

/// Receives bodies within a limit on their total size, and a share of it for each caller.
#[derive(Debug)]
pub(super) struct Uploads {
    held: Mutex<Held>,
    limits: Limits,
}

/// Sizes of the bodies in memory, in bytes.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    by_caller: HashMap<Arc<str>, usize>,
}

/// A caller's share of the limit, returned when it is dropped.
#[derive(Debug)]
pub(super) struct Room<'u> {
    uploads: &'u Uploads,
    caller: Arc<str>,
    bytes: usize,
}

impl Room<'_> {
    fn grow(&mut self, by: usize) -> Result<(), Refusal> {
        let Limits { body, bodies, .. } = self.uploads.limits;
        // One body always fits into the share.
        let share = body.max(bodies / 2);
        let mut held = self.uploads.held.lock();
        let of_caller = held.by_caller.get(&self.caller).copied().unwrap_or_default();
        if held.all + by > bodies {
            return Err(Refusal::busy("too much is being received at once; try again"));
        }
        if of_caller + by > share {
            return Err(Refusal::busy("too much is being received from you at once; try again"));
        }
        held.all += by;
        held.by_caller.insert(Arc::clone(&self.caller), of_caller + by);
        self.bytes += by;
        Ok(())
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut held = self.uploads.held.lock();
        held.all -= self.bytes;
        if let Some(of_caller) = held.by_caller.get_mut(&self.caller) {
            *of_caller -= self.bytes;
            if *of_caller == 0 {
                held.by_caller.remove(&self.caller);
            }
        }
    }
}

impl Uploads {
    pub(super) fn new(limits: Limits) -> Self {
        Self { held: Mutex::default(), limits }
    }

    /// Receives a whole body of `caller`, with its share of the limit.
    ///
    /// # Errors
    /// 413 if it is too long, 408 if it takes too long, 503 if all bodies together, or the caller's, exceed the limit.
    pub(super) async fn receive(&self, body: Body, caller: &Arc<str>) -> Result<(Bytes, Room<'_>), Refusal> {
        let received = tokio::time::timeout(self.limits.upload, self.whole(body, caller)).await;
        received.unwrap_or_else(|_| {
            let why = format!("the body took longer than {:?}", self.limits.upload);
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, why))
        })
    }

    async fn whole(&self, mut body: Body, caller: &Arc<str>) -> Result<(Bytes, Room<'_>), Refusal> {
        if body.size_hint().lower() > self.limits.body as u64 {
            return Err(self.too_long());
        }
        let mut room = Room { uploads: self, caller: Arc::clone(caller), bytes: 0 };
        let mut whole = Vec::new();
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
            room.grow(data.len())?;
            whole.extend_from_slice(&data);
        }
        Ok((whole.into(), room))
    }

    fn too_long(&self) -> Refusal {
        let why = format!("a body has at most {} bytes", self.limits.body);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    }
}
