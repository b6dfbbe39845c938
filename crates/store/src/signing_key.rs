//! Public halves of signing keys. The private halves are never stored.

use kinora_domain::{SigningKey, SigningKeyId, WorkspaceId};

use crate::list::{self, ListStatements, list_statements};
use crate::sql::{Row, statements, values};
use crate::{Error, List, ListPage, Store, Tx};

/// The list of a workspace's keys.
pub(crate) const PAGE: ListStatements =
    list_statements!("id, workspace_id, public_key, created_at", "signing_key WHERE workspace_id = $1", "$7");

statements! {
    INSERT = "INSERT INTO signing_key (id, workspace_id, public_key, created_at) VALUES ($1, $2, $3, $4)";
    DELETE = "DELETE FROM signing_key WHERE id = $1 AND workspace_id = $2";
    IN_WORKSPACE = "SELECT id, workspace_id, public_key, created_at FROM signing_key WHERE id = $1 AND workspace_id = $2";
    /// A workspace has few keys: their number has a limit.
    TOTAL = "SELECT COUNT(*) AS total FROM signing_key WHERE workspace_id = $1";
}

impl Store {
    /// One key of a workspace.
    pub async fn signing_key(
        &self,
        workspace: WorkspaceId,
        id: SigningKeyId,
    ) -> Result<Option<SigningKey>, Error> {
        self.reader().await?.first(IN_WORKSPACE, values![id, workspace]).await?.as_ref().map(read).transpose()
    }

    /// The number of keys of a workspace.
    pub async fn signing_key_count(&self, workspace: WorkspaceId) -> Result<u64, Error> {
        list::count(&mut self.reader().await?, TOTAL, values![workspace]).await
    }

    /// A page of a workspace's keys. A page after the last one is empty.
    pub async fn signing_key_page(
        &self,
        workspace: WorkspaceId,
        page: impl Into<ListPage>,
    ) -> Result<List<SigningKey>, Error> {
        let mut snapshot = self.snapshot().await?;
        list::page(&mut snapshot, workspace, TOTAL, PAGE, page.into()).await?.read(read)
    }
}

impl Tx {
    /// One key of a workspace. Another workspace may have a key with the same id: clients choose ids.
    pub async fn signing_key(
        &mut self,
        workspace: WorkspaceId,
        id: SigningKeyId,
    ) -> Result<Option<SigningKey>, Error> {
        self.session.first(IN_WORKSPACE, values![id, workspace]).await?.as_ref().map(read).transpose()
    }

    /// The number of keys of a workspace.
    pub async fn signing_key_count(&mut self, workspace: WorkspaceId) -> Result<u64, Error> {
        list::count(&mut self.session, TOTAL, values![workspace]).await
    }

    /// Adds a key.
    pub async fn insert_signing_key(&mut self, key: &SigningKey) -> Result<(), Error> {
        self.signals.rows = true;
        let values = values![key.id, key.workspace, key.public_key.as_str(), key.created_at];
        self.session.execute(INSERT, values).await.map(drop)
    }

    /// Deletes a key of a workspace: its signatures are invalid from now on. `false` when the key does not
    /// exist.
    pub async fn delete_signing_key(
        &mut self,
        workspace: WorkspaceId,
        id: SigningKeyId,
    ) -> Result<bool, Error> {
        self.signals.rows = true;
        Ok(self.session.execute(DELETE, values![id, workspace]).await? > 0)
    }
}

fn read(row: &Row) -> Result<SigningKey, Error> {
    Ok(SigningKey {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        public_key: row.text("public_key")?,
        created_at: row.time("created_at")?,
    })
}
