//! Answers to requests that named an idempotency key, kept for those who ask again.

use std::collections::BTreeMap;

use kinora_domain::{Timestamp, WorkspaceId};

use crate::keyring::Keyring;
use crate::prune::BATCH_MAX;
use crate::reseal::{SealedColumn, WithoutKey};
use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

/// A request, as its client names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// Whose it is: equal keys of others are others.
    pub workspace: WorkspaceId,
    /// SHA-256 of the key.
    pub hash: [u8; 32],
}

/// What was answered.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// SHA-256 of what was asked, and by whom.
    pub fingerprint: [u8; 32],
    /// The status.
    pub status: u16,
    /// The body. It may hold secrets, so `Debug` does not show it, and it is sealed where it is kept.
    pub body: Vec<u8>,
}

/// Without the body.
impl std::fmt::Debug for KeptAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}

impl KeptAnswer {
    /// How long it is kept (C-24).
    pub const KEPT_FOR_US: i64 = 24 * 60 * 60 * Timestamp::SECOND;
    /// Bytes of sealed bodies that are kept of a workspace, at most. D-0070.
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

/// All answers, for a new key. One that cannot be opened would be in the way of the next to the same request.
pub(crate) const BODIES: SealedColumn = SealedColumn {
    what: "answers",
    next_seal: NEXT_SEAL,
    page: OF_SEAL,
    set: SET_BODY,
    first: || values!["", &[][..]],
    read: |row| {
        let key = RequestKey { workspace: row.id("workspace_id")?, hash: row.bytes("key_hash")? };
        Ok((values![key.workspace, &key.hash[..]], owner(key)))
    },
    without_key: WithoutKey::Drop(DROP_SEAL),
};

impl Store {
    /// What was answered to this request within the last 24 hours.
    pub async fn kept_answer(&self, key: RequestKey, now: Timestamp) -> Result<Option<KeptAnswer>, Error> {
        find(&mut self.reader().await?, &self.common().keyring, key, now).await
    }
}

impl Tx {
    /// What was answered to this request within the last 24 hours.
    pub async fn kept_answer(
        &mut self,
        key: RequestKey,
        now: Timestamp,
    ) -> Result<Option<KeptAnswer>, Error> {
        find(&mut self.session, &self.common.keyring, key, now).await
    }

    /// Keeps an answer for 24 hours in place of one that is too old. `false`, and nothing is kept, when the
    /// workspace has no room left. One that still counts stays, and is an error: whoever keeps an answer has
    /// looked for one in the same transaction.
    pub async fn keep_answer(
        &mut self,
        key: RequestKey,
        answer: &KeptAnswer,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let before = now.plus_micros(-KeptAnswer::KEPT_FOR_US);
        let old = self.session.change(DELETE, values![key.workspace, &key.hash[..], before]).await?;
        count_out(&mut self.session, &old).await?;
        let body = self.common.keyring.seal(&answer.body, &owner(key), self.common.random.as_ref());
        let size = i64::try_from(body.len()).unwrap_or(i64::MAX);
        let max = KeptAnswer::BYTES_PER_WORKSPACE_MAX;
        if self.session.execute(COUNT, values![key.workspace, size, max]).await? == 0 {
            return Ok(false);
        }
        let mut values = values![key.workspace, &key.hash[..], &answer.fingerprint[..]];
        values.extend(values![i64::from(answer.status), body, now]);
        self.session.execute(INSERT, values).await?;
        Ok(true)
    }

    /// Removes a batch of the answers that were kept long enough, and says how many it were.
    pub(crate) async fn sweep_answers(&mut self, now: Timestamp) -> Result<u64, Error> {
        let before = now.plus_micros(-KeptAnswer::KEPT_FOR_US);
        let rows = self.session.change(SWEEP, values![before, BATCH_MAX]).await?;
        count_out(&mut self.session, &rows).await?;
        Ok(rows.len() as u64)
    }
}

async fn find(
    session: &mut Session,
    keyring: &Keyring,
    key: RequestKey,
    now: Timestamp,
) -> Result<Option<KeptAnswer>, Error> {
    let after = now.plus_micros(-KeptAnswer::KEPT_FOR_US);
    let row = session.first(FIND, values![key.workspace, &key.hash[..], after]).await?;
    let read = |row: Row| {
        Ok(KeptAnswer {
            fingerprint: row.bytes("fingerprint")?,
            status: row.number("status")?,
            body: keyring.open(&row.text("body")?, &owner(key))?,
        })
    };
    row.map(read).transpose()
}

/// Counts out what a statement removed.
pub(crate) async fn count_out(session: &mut Session, rows: &[Row]) -> Result<(), Error> {
    let mut sizes: BTreeMap<WorkspaceId, i64> = BTreeMap::new();
    for row in rows {
        *sizes.entry(row.id("workspace_id")?).or_default() += row.int("size")?;
    }
    for (workspace, size) in sizes {
        session.execute(COUNT, values![workspace, -size, i64::MAX]).await?;
    }
    Ok(())
}

/// What an answer is sealed for.
fn owner(key: RequestKey) -> String {
    let hash: String = key.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("answer:{}:{hash}", key.workspace)
}
