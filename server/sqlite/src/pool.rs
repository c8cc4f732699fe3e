//! Connections that readers share.

use std::ops::{Deref, DerefMut};

use parking_lot::Mutex;
use rusqlite::Connection;

/// Connections that wait for the next reader.
#[derive(Debug)]
pub struct Pool {
    max_idle: usize,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<Connection>,
    /// Number of times that the pool was cleared.
    generation: u64,
}

/// A connection from a pool.
#[derive(Debug)]
pub struct Pooled {
    connection: Connection,
    generation: u64,
}

impl Pool {
    /// Returns an empty pool, which keeps at most `max_idle` connections.
    pub const fn new(max_idle: usize) -> Self {
        let idle = Idle { connections: Vec::new(), generation: 0 };
        Self { max_idle, idle: Mutex::new(idle) }
    }

    /// Takes a connection, or opens one with `connect`. Dropped, it is closed.
    ///
    /// # Errors
    /// Those of `connect`.
    pub fn take<E>(&self, connect: impl FnOnce() -> Result<Connection, E>) -> Result<Pooled, E> {
        let (idle, generation) = {
            let mut idle = self.idle.lock();
            (idle.connections.pop(), idle.generation)
        };
        let connection = idle.map_or_else(connect, Ok)?;
        Ok(Pooled { connection, generation })
    }

    /// Keeps a connection for the next reader, unless the pool is full or was cleared since it was taken.
    pub fn put(&self, pooled: Pooled) {
        let mut idle = self.idle.lock();
        if idle.generation == pooled.generation && idle.connections.len() < self.max_idle {
            idle.connections.push(pooled.connection);
        }
    }

    /// Closes all connections, those in use when they are put back.
    pub fn clear(&self) {
        let old = {
            let mut idle = self.idle.lock();
            idle.generation += 1;
            std::mem::take(&mut idle.connections)
        };
        drop(old);
    }

    /// Runs `read` on one snapshot of the file.
    ///
    /// # Errors
    /// Those of `connect` and `read`, and of SQLite.
    pub fn read<T, E: From<rusqlite::Error>>(
        &self,
        connect: impl FnOnce() -> Result<Connection, E>,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let pooled = self.take(connect)?;
        pooled.execute_batch("BEGIN")?;
        let outcome = read(&pooled);
        if pooled.execute_batch("ROLLBACK").is_ok() {
            self.put(pooled);
        }
        outcome
    }
}

impl Deref for Pooled {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}
