//! The open connections: their limits, for all clients and for one address, and the connections that are closed for new ones.
//!
//! A connection without a whole request costs its client nothing, so it is not kept at the cost of others: at the limit, a new
//! connection replaces such a connection, of the address with the most of them.

use std::{
    collections::HashMap,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::Body;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Limits;
use crate::rates;

/// The open connections.
#[derive(Debug)]
pub(super) struct Slots {
    limits: Limits,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Number of events, as a clock.
    now: u64,
    open: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    network: Arc<str>,
    /// Start of the idle time, as a number of events; `None` while a request is being answered.
    idle_since: Option<u64>,
    /// Notifies the connection that it must close.
    gives_way: Arc<Notify>,
}

impl Slots {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, table: Mutex::default() })
    }

    /// Returns a slot for a connection from `address`; `None` if all slots, or all of that address, are in use.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let network = rates::address(address);
        let mut table = self.table.lock();
        if self.limits.counts(address) {
            let of_network = |connection: &&Connection| connection.network == network;
            if table.open.values().filter(of_network).count() >= self.limits.connections.div_ceil(2) {
                table.make_room(Some(&network))?;
            }
        }
        if table.open.len() >= self.limits.connections {
            table.make_room(None)?;
        }
        let (id, gives_way) = (table.tick(), Arc::new(Notify::new()));
        let connection = Connection { network, idle_since: Some(id), gives_way: Arc::clone(&gives_way) };
        table.open.insert(id, connection);
        Some(Slot { id, gives_way, slots: Arc::clone(self) })
    }
}

impl Table {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Closes an idle connection: the one that has been idle longest, of `network` or of the network with the most idle connections.
    fn make_room(&mut self, network: Option<&Arc<str>>) -> Option<()> {
        let mut idle: HashMap<&Arc<str>, Vec<(u64, u64)>> = HashMap::new();
        for (id, connection) in &self.open {
            if let Some(since) = connection.idle_since {
                idle.entry(&connection.network).or_default().push((since, *id));
            }
        }
        let of_network = match network {
            Some(network) => idle.remove(network),
            None => idle.into_values().max_by_key(Vec::len),
        };
        let (_, longest) = of_network?.into_iter().min()?;
        self.open.remove(&longest)?.gives_way.notify_one();
        Some(())
    }
}

/// A connection's slot, freed when it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    id: u64,
    gives_way: Arc<Notify>,
    slots: Arc<Slots>,
}

impl Slot {
    /// Waits until the connection must close for a new one.
    pub(super) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }

    fn set_answering(&self, is_answering: bool) {
        let mut table = self.slots.table.lock();
        let now = table.tick();
        if let Some(connection) = table.open.get_mut(&self.id) {
            connection.idle_since = (!is_answering).then_some(now);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.table.lock().open.remove(&self.id);
    }
}

/// The body of a request, whose end marks the slot as answering, or of an answer, whose end marks it as idle.
struct Watched {
    body: Body,
    is_request: bool,
    slot: Arc<Slot>,
}

/// Returns the body of a request, whose end marks the slot as answering.
pub(super) fn arriving(body: Body, slot: Arc<Slot>) -> Body {
    if body.is_end_stream() {
        slot.set_answering(true);
    }
    let is_request = true;
    Body::new(Watched { body, is_request, slot })
}

/// Returns the body of an answer, whose end marks the slot as idle.
pub(super) fn leaving(body: Body, slot: Arc<Slot>) -> Body {
    let is_request = false;
    Body::new(Watched { body, is_request, slot })
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if self.is_request && frame.is_ready() && self.body.is_end_stream() {
            self.slot.set_answering(true);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.is_request {
            self.slot.set_answering(false);
        }
    }
}
