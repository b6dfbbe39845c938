//! Access tokens. Only the hash of a secret is stored.

use kinora_domain::{AccessToken, AccessTokenId, Permission, SecretHash, Timestamp, WorkspaceId};

use crate::audit::NamedJson;
use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

/// The columns that [`read`] reads.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT id, workspace_id, name, made_by, permission, secret_hash, created_at, last_used_at, revoked_at
                FROM access_token ",
            $condition
        )
    };
}

statements! {
    INSERT = "INSERT INTO access_token
        (id, workspace_id, name, made_by, permission, secret_hash, created_at, last_used_at, revoked_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    BY_ID = select!("WHERE id = $1");
    OF_WORKSPACE = select!("WHERE workspace_id = $1 ORDER BY created_at, id");
    ALL = select!("ORDER BY created_at, id");
    RENAME = "UPDATE access_token SET name = $2 WHERE id = $1";
    /// The first revocation counts.
    REVOKE = "UPDATE access_token SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1";
    SET_LAST_USED = "UPDATE access_token SET last_used_at = $2
        WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
}

impl Store {
    /// One token, revoked or not.
    pub async fn access_token(&self, id: AccessTokenId) -> Result<Option<AccessToken>, Error> {
        by_id(&mut self.reader().await?, id).await
    }

    /// The tokens of a workspace, or all, revoked or not, oldest first.
    pub async fn access_tokens(&self, workspace: Option<WorkspaceId>) -> Result<Vec<AccessToken>, Error> {
        let mut reader = self.reader().await?;
        let rows = match workspace {
            Some(workspace) => reader.all(OF_WORKSPACE, values![workspace]).await?,
            None => reader.all(ALL, values![]).await?,
        };
        rows.iter().map(read).collect()
    }
}

impl Tx {
    /// One token, revoked or not.
    pub async fn access_token(&mut self, id: AccessTokenId) -> Result<Option<AccessToken>, Error> {
        by_id(&mut self.session, id).await
    }

    /// Adds a token.
    pub async fn insert_access_token(&mut self, token: &AccessToken) -> Result<(), Error> {
        self.signals.rows = true;
        let values = values![
            token.id,
            token.workspace,
            token.name.as_deref(),
            token.made_by.as_ref().map(NamedJson::actor),
            token.permission.as_str(),
            token.secret.as_bytes().as_slice(),
            token.created_at,
            token.last_used_at,
            token.revoked_at,
        ];
        self.session.execute(INSERT, values).await.map(drop)
    }

    /// Renames a token. `false` when the token does not exist.
    pub async fn rename_access_token(&mut self, id: AccessTokenId, name: &str) -> Result<bool, Error> {
        self.signals.rows = true;
        Ok(self.session.execute(RENAME, values![id, name]).await? > 0)
    }

    /// Revokes a token. A token that is revoked already keeps its earlier time. `false` when the token does
    /// not exist.
    pub async fn revoke_access_token(&mut self, id: AccessTokenId, now: Timestamp) -> Result<bool, Error> {
        self.signals.rows = true;
        Ok(self.session.execute(REVOKE, values![id, now]).await? > 0)
    }

    /// Records when tokens were last used. A time earlier than the recorded one changes nothing. The
    /// generation does not change, because no response depends on this time.
    pub async fn save_token_uses(&mut self, used: &[(AccessTokenId, Timestamp)]) -> Result<(), Error> {
        for (id, at) in used {
            self.session.execute(SET_LAST_USED, values![*id, *at]).await?;
        }
        Ok(())
    }
}

async fn by_id(session: &mut Session, id: AccessTokenId) -> Result<Option<AccessToken>, Error> {
    session.first(BY_ID, values![id]).await?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<AccessToken, Error> {
    let made_by = row.json_or_none::<NamedJson>("made_by")?;
    Ok(AccessToken {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        name: row.text_or_none("name")?,
        made_by: made_by.map(|who| who.who("made_by")).transpose()?,
        permission: row.parsed("permission", Permission::from_text)?,
        secret: SecretHash::from_bytes(row.bytes("secret_hash")?),
        created_at: row.time("created_at")?,
        last_used_at: row.time_or_none("last_used_at")?,
        revoked_at: row.time_or_none("revoked_at")?,
    })
}
