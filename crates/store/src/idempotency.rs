//! Stored responses of requests with an idempotency key.

use std::collections::BTreeMap;

use kinora_domain::{Timestamp, WorkspaceId};

use crate::key_rotation::{SealedColumn, WithoutKey};
use crate::keyring::Keyring;
use crate::prune::BATCH_MAX;
use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

/// The idempotency key of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    /// Its workspace; equal keys of two workspaces are different.
    pub workspace: WorkspaceId,
    /// SHA-256 of the key.
    pub hash: [u8; 32],
}

/// A stored response.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// SHA-256 of the request and its caller.
    pub fingerprint: [u8; 32],
    /// The status.
    pub status: u16,
    /// The body. It may contain secrets, so `Debug` omits it and the store seals it.
    pub body: Vec<u8>,
}

/// Omits the body.
impl std::fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

impl StoredResponse {
    /// How long a response is stored (C-24), in microseconds.
    pub const RETENTION_US: i64 = 24 * 60 * 60 * Timestamp::SECOND;
    /// The most bytes of sealed bodies stored per workspace. D-0070.
    pub const BYTES_PER_WORKSPACE_MAX: i64 = 2 << 30;
}

statements! {
    FIND = "SELECT fingerprint, status, body FROM kept_answer WHERE workspace_id = $1 AND key_hash = $2 AND created_at > $3";
    INSERT = "INSERT INTO kept_answer (workspace_id, key_hash, fingerprint, status, body, created_at) VALUES ($1, $2, $3, $4, $5, $6)";
    DELETE = "DELETE FROM kept_answer WHERE workspace_id = $1 AND key_hash = $2 AND created_at <= $3
        RETURNING workspace_id, CAST(length(body) AS BIGINT) AS size";
    SWEEP = "DELETE FROM kept_answer WHERE (workspace_id, key_hash) IN (
        SELECT workspace_id, key_hash FROM kept_answer WHERE created_at <= $1 LIMIT $2)
        RETURNING workspace_id, CAST(length(body) AS BIGINT) AS size";
    COUNT = "UPDATE workspace SET kept_answer_bytes = kept_answer_bytes + $2
        WHERE id = $1 AND kept_answer_bytes + $2 <= $3";
    NEXT_SEAL = "SELECT substr(body, 1, 11) AS seal FROM kept_answer WHERE substr(body, 1, 11) > $1
        ORDER BY substr(body, 1, 11) LIMIT 1";
    OF_SEAL = "SELECT workspace_id, key_hash, body AS sealed FROM kept_answer
        WHERE substr(body, 1, 11) = $1 AND (workspace_id, key_hash) > ($2, $3) ORDER BY workspace_id, key_hash LIMIT $4";
    SET_BODY = "UPDATE kept_answer SET body = $1 WHERE body = $2 AND workspace_id = $3 AND key_hash = $4";
    DROP_SEAL = "DELETE FROM kept_answer WHERE (workspace_id, key_hash) IN (
        SELECT workspace_id, key_hash FROM kept_answer WHERE substr(body, 1, 11) = $1 LIMIT $2)
        RETURNING workspace_id, CAST(length(body) AS BIGINT) AS size";
}

/// The secret column that a new key reseals. A response that cannot be opened would block the next same
/// request.
pub(crate) const BODIES: SealedColumn = SealedColumn {
    what: "answers",
    next_seal: NEXT_SEAL,
    page: OF_SEAL,
    update: SET_BODY,
    start_key: || values!["", &[][..]],
    read: |row| {
        let key = IdempotencyKey { workspace: row.id("workspace_id")?, hash: row.bytes("key_hash")? };
        Ok((values![key.workspace, &key.hash[..]], owner(key)))
    },
    without_key: WithoutKey::Drop(DROP_SEAL),
};

impl Store {
    /// The stored response of this request, if it is at most 24 hours old.
    pub async fn stored_response(
        &self,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<StoredResponse>, Error> {
        find(&mut self.reader().await?, &self.shared().keyring, key, now).await
    }
}

impl Tx {
    /// The stored response of this request, if it is at most 24 hours old.
    pub async fn stored_response(
        &mut self,
        key: IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<StoredResponse>, Error> {
        find(&mut self.session, &self.shared.keyring, key, now).await
    }

    /// Stores a response for 24 hours and replaces an expired one. `false`, and nothing stored, when the
    /// quota of the workspace is full. A response that has not expired is an error: the caller must look
    /// for it in the same transaction first.
    pub async fn store_response(
        &mut self,
        key: IdempotencyKey,
        response: &StoredResponse,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let before = now.plus_micros(-StoredResponse::RETENTION_US);
        let old =
            self.session.execute_returning(DELETE, values![key.workspace, &key.hash[..], before]).await?;
        subtract_sizes(&mut self.session, &old).await?;
        let body = self.shared.keyring.seal(&response.body, &owner(key), self.shared.random.as_ref());
        let size = i64::try_from(body.len()).unwrap_or(i64::MAX);
        let max = StoredResponse::BYTES_PER_WORKSPACE_MAX;
        if self.session.execute(COUNT, values![key.workspace, size, max]).await? == 0 {
            return Ok(false);
        }
        let mut values = values![key.workspace, &key.hash[..], &response.fingerprint[..]];
        values.extend(values![i64::from(response.status), body, now]);
        self.session.execute(INSERT, values).await?;
        Ok(true)
    }

    /// Removes a batch of expired responses and returns their number.
    pub(crate) async fn sweep_responses(&mut self, now: Timestamp) -> Result<u64, Error> {
        let before = now.plus_micros(-StoredResponse::RETENTION_US);
        let rows = self.session.execute_returning(SWEEP, values![before, BATCH_MAX]).await?;
        subtract_sizes(&mut self.session, &rows).await?;
        Ok(rows.len() as u64)
    }
}

async fn find(
    session: &mut Session,
    keyring: &Keyring,
    key: IdempotencyKey,
    now: Timestamp,
) -> Result<Option<StoredResponse>, Error> {
    let after = now.plus_micros(-StoredResponse::RETENTION_US);
    let row = session.first(FIND, values![key.workspace, &key.hash[..], after]).await?;
    let read = |row: Row| {
        Ok(StoredResponse {
            fingerprint: row.bytes("fingerprint")?,
            status: row.number("status")?,
            body: keyring.open(&row.text("body")?, &owner(key))?,
        })
    };
    row.map(read).transpose()
}

/// Subtracts removed rows from the sizes of their workspaces.
pub(crate) async fn subtract_sizes(session: &mut Session, rows: &[Row]) -> Result<(), Error> {
    let mut sizes: BTreeMap<WorkspaceId, i64> = BTreeMap::new();
    for row in rows {
        *sizes.entry(row.id("workspace_id")?).or_default() += row.int("size")?;
    }
    for (workspace, size) in sizes {
        session.execute(COUNT, values![workspace, -size, i64::MAX]).await?;
    }
    Ok(())
}

/// The owner that a response is sealed for.
fn owner(key: IdempotencyKey) -> String {
    let hash: String = key.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("answer:{}:{hash}", key.workspace)
}
