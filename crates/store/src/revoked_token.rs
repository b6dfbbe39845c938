//! Playback tokens that were revoked before they expire.

use kinora_domain::{Timestamp, WorkspaceId};

use crate::sql::{Row, statements, values};
use crate::{Error, Store, Tx};

statements! {
    FIND = "SELECT jti FROM revoked_token WHERE workspace_id = $1 AND jti = $2";
    BY_JTI = "SELECT expires_at, revoked_at FROM revoked_token WHERE workspace_id = $1 AND jti = $2";
    /// On a second revocation the later expiry counts, and no expiry is the latest.
    SAVE = "INSERT INTO revoked_token (workspace_id, jti, expires_at, revoked_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (workspace_id, jti) DO UPDATE SET expires_at = CASE
            WHEN revoked_token.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
            WHEN revoked_token.expires_at < excluded.expires_at THEN excluded.expires_at
            ELSE revoked_token.expires_at END
        RETURNING expires_at, revoked_at";
}

/// A revoked token, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevokedToken {
    /// When the token expires; its row is removed 30 days later. `None`: unknown, so the row stays.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked first.
    pub revoked_at: Timestamp,
}

impl Store {
    /// Whether the token with this name is revoked in this workspace.
    pub async fn is_token_revoked(&self, workspace: WorkspaceId, jti: &str) -> Result<bool, Error> {
        Ok(self.reader().await?.first(FIND, values![workspace, jti]).await?.is_some())
    }
}

impl Tx {
    /// The revoked token with this name.
    pub async fn revoked_token(
        &mut self,
        workspace: WorkspaceId,
        jti: &str,
    ) -> Result<Option<RevokedToken>, Error> {
        self.session.first(BY_JTI, values![workspace, jti]).await?.as_ref().map(read).transpose()
    }

    /// Revokes the token with this name. May run twice: the first time and the later expiry count.
    pub async fn revoke_token(
        &mut self,
        workspace: WorkspaceId,
        jti: &str,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<RevokedToken, Error> {
        self.signals.rows = true;
        let rows = self.session.execute_returning(SAVE, values![workspace, jti, expires_at, now]).await?;
        let row = rows.first().ok_or_else(|| Error::internal("a revoked token was not kept"))?;
        read(row)
    }
}

fn read(row: &Row) -> Result<RevokedToken, Error> {
    Ok(RevokedToken { expires_at: row.time_or_none("expires_at")?, revoked_at: row.time("revoked_at")? })
}
