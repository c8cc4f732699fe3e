//! Health of a database, for its operator.

use std::sync::Arc;

use tabellion_runtime::Failure;

use super::{
    address::Address,
    connection::{Mode, Pool},
};

/// Health of a database, for its operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Version of the server.
    pub version: String,
    /// True if others can't read the traffic: the connection is encrypted, or does not leave this machine.
    pub is_private: bool,
    /// The standbys that a commit waits for, as the server's setting names them; empty if there are none.
    pub synchronous_standbys: String,
    /// Number of hosts that the address names.
    pub hosts: usize,
    /// Number of connections that are open, and the maximum for users.
    pub connections: (u64, u64),
    /// Seconds since the oldest open transaction began.
    pub oldest_transaction: u64,
    /// Names of incomplete indexes in Tabellion's schemas.
    pub invalid_indexes: Vec<String>,
    /// True if the user can create schemas.
    pub can_create: bool,
}

/// Queries the health of a database.
///
/// # Errors
/// If it can't be reached, or is unfit to keep rows.
pub fn health(address: &Address) -> Result<Health, Failure> {
    let (pool, hosts) = (Pool::new(address, "public")?, address.config.get_hosts().len());
    let (of_pool, is_local) = (Arc::clone(&pool), address.is_local);
    pool.wait(async move {
        of_pool.check_pooler().await?;
        let sql = "SELECT current_setting('server_version'); \
            SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false); \
            SELECT current_setting('synchronous_standby_names'); \
            SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'; \
            SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int; \
            SELECT coalesce(max(extract(epoch FROM now() - xact_start)), 0)::bigint FROM pg_stat_activity; \
            SELECT has_database_privilege(current_database(), 'CREATE'); \
            SELECT coalesce(string_agg(indexrelid::regclass::text, ' '), '') FROM pg_index \
                JOIN pg_class ON pg_class.oid = indexrelid \
                WHERE NOT indisvalid AND relnamespace::regnamespace::text LIKE 'tabellion\\_%'";
        let (lease, found) = of_pool.begin(Mode::Reads, sql).await?;
        lease.end("ROLLBACK").await;
        let text = |at: usize| found.get(at).cloned().unwrap_or_default();
        let number = |at: usize| text(at).parse().unwrap_or_default();
        Ok(Health {
            version: text(0),
            is_private: is_local || text(1) == "t",
            synchronous_standbys: text(2),
            hosts,
            connections: (number(3), number(4)),
            oldest_transaction: number(5),
            can_create: text(6) == "t",
            invalid_indexes: text(7).split_whitespace().map(String::from).collect(),
        })
    })
}
