//! What is in a workspace, and the deletion of an empty one.
//!
//! Only what must not be lost counts as content. The rest is deleted with the workspace: webhooks, past
//! events with their deliveries, ended uploads, revoked access tokens and playback tokens, stored responses,
//! usage. D-0155.

use std::collections::BTreeSet;

use kinora_domain::{WorkspaceContent, WorkspaceId};

use crate::prune::BATCH_MAX;
use crate::sql::{Statement, statements, values};
use crate::{Error, Store, Tx};

statements! {
    MEDIA = "SELECT id FROM media WHERE workspace_id = $1 LIMIT 1";
    /// A completed upload is a media, or its media was deleted.
    UPLOADS = "SELECT id FROM upload WHERE workspace_id = $1 AND state <> 'completed'
        AND (state IN ('waiting', 'uploading') OR holds_source = 1 OR multipart IS NOT NULL) LIMIT 1";
    PLAYLISTS = "SELECT id FROM playlist WHERE workspace_id = $1 LIMIT 1";
    /// Deliveries to enabled webhooks whose first attempt has not ended. Retries are no content: they
    /// may take days. PostgreSQL makes no join of webhooks and deliveries because of OFFSET.
    FIRST_ATTEMPTS = "SELECT w.id FROM webhook w WHERE w.workspace_id = $1 AND w.state = 'enabled' AND EXISTS (
        SELECT 1 FROM delivery d WHERE d.webhook_id = w.id AND d.state = 'pending' AND d.first_ended = 0
        ORDER BY d.subject, d.sequence LIMIT 1 OFFSET 0) LIMIT 1";
    SIGNING_KEYS = "SELECT id FROM signing_key WHERE workspace_id = $1 LIMIT 1";
    ACCESS_TOKENS = "SELECT id FROM access_token WHERE workspace_id = $1 AND revoked_at IS NULL LIMIT 1";
    /// Jobs of other queues are about media, so they have nothing left to do.
    DELETED_FILES = "SELECT id FROM job WHERE state = 'pending' AND queue = 'upkeep' AND workspace_id = $1 LIMIT 1";
    /// The deliveries of the events of the next statement.
    DELETE_DELIVERIES = "DELETE FROM delivery WHERE event_id IN (
        SELECT id FROM event WHERE workspace_id = $1 ORDER BY sequence LIMIT $2)";
    DELETE_EVENTS = "DELETE FROM event WHERE sequence IN (
        SELECT sequence FROM event WHERE workspace_id = $1 ORDER BY sequence LIMIT $2)";
    DELETE_WEBHOOKS = "DELETE FROM webhook WHERE workspace_id = $1";
    DELETE_UPLOADS = "DELETE FROM upload WHERE workspace_id = $1";
    DELETE_ACCESS_TOKENS = "DELETE FROM access_token WHERE workspace_id = $1";
    DELETE_REVOKED_TOKENS = "DELETE FROM revoked_token WHERE workspace_id = $1";
    DELETE_RESPONSES = "DELETE FROM kept_answer WHERE workspace_id = $1";
    DELETE_USAGE = "DELETE FROM usage_day WHERE workspace_id = $1";
    DELETE = "DELETE FROM workspace WHERE id = $1";
    ALL = "SELECT id FROM workspace ORDER BY id";
}

const CHECKS: [(WorkspaceContent, Statement); 7] = [
    (WorkspaceContent::Media, MEDIA),
    (WorkspaceContent::Uploads, UPLOADS),
    (WorkspaceContent::Playlists, PLAYLISTS),
    (WorkspaceContent::FirstAttempts, FIRST_ATTEMPTS),
    (WorkspaceContent::SigningKeys, SIGNING_KEYS),
    (WorkspaceContent::AccessTokens, ACCESS_TOKENS),
    (WorkspaceContent::DeletedFiles, DELETED_FILES),
];
/// Events may be many, so they are deleted in batches. The tables of the others are small.
const DELETIONS: [Statement; 7] = [
    DELETE_WEBHOOKS,
    DELETE_UPLOADS,
    DELETE_ACCESS_TOKENS,
    DELETE_REVOKED_TOKENS,
    DELETE_RESPONSES,
    DELETE_USAGE,
    DELETE,
];

impl Store {
    /// The workspaces that are not empty. Reads at most one row of each kind of content.
    pub async fn workspaces_with_content(&self) -> Result<BTreeSet<WorkspaceId>, Error> {
        let mut snapshot = self.snapshot().await?;
        let mut found = BTreeSet::new();
        for row in snapshot.all(ALL, values![]).await? {
            let workspace: WorkspaceId = row.id("id")?;
            for (_, statement) in CHECKS {
                if snapshot.first(statement, values![workspace]).await?.is_some() {
                    found.insert(workspace);
                    break;
                }
            }
        }
        Ok(found)
    }
}

impl Tx {
    /// What is in a workspace. Nothing: it can be deleted.
    pub async fn workspace_content(&mut self, id: WorkspaceId) -> Result<Vec<WorkspaceContent>, Error> {
        let mut found = Vec::new();
        for (content, statement) in CHECKS {
            if self.session.first(statement, values![id]).await?.is_some() {
                found.push(content);
            }
        }
        Ok(found)
    }

    /// Deletes an empty workspace, or a batch of its past events if there are more: `false`, to be called
    /// again in another transaction. The caller has checked [`workspace_content`](Self::workspace_content)
    /// in the same transaction: this does not.
    pub async fn delete_workspace(&mut self, id: WorkspaceId) -> Result<bool, Error> {
        self.signals.rows = true;
        self.session.execute(DELETE_DELIVERIES, values![id, BATCH_MAX]).await?;
        let deleted = self.session.execute(DELETE_EVENTS, values![id, BATCH_MAX]).await?;
        if deleted >= BATCH_MAX.unsigned_abs() {
            return Ok(false);
        }
        for statement in DELETIONS {
            self.session.execute(statement, values![id]).await?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobKind;

    #[test]
    fn removal_of_objects_is_in_the_queue_that_is_checked() {
        let id = "019a492c-41f3-7001-8203-040506070809";
        let source = id.parse().expect("an id");
        for kind in
            [JobKind::DeleteObjects { source }, JobKind::DiscardUpload { media: id.parse().expect("an id") }]
        {
            assert!(DELETED_FILES.sqlite().contains(&format!("queue = '{}'", kind.queue().as_str())));
        }
    }
}
