//! Webhooks. Their secrets are sealed before they are stored.

use kinora_domain::{DisabledReason, Webhook, WebhookId, WebhookSecret, WebhookState, WorkspaceId};

use crate::key_rotation::{SealedColumn, WithoutKey};
use crate::keyring::Keyring;
use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

statements! {
    INSERT = "INSERT INTO webhook
        (id, workspace_id, url, secret, previous_secret, previous_until, state, disabled_at, disabled_reason,
         failing_since, created_at, version)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    SAVE = "UPDATE webhook SET url = $3, secret = $4, previous_secret = $5, previous_until = $6, state = $7,
        disabled_at = $8, disabled_reason = $9, failing_since = $10, version = version + 1
        WHERE id = $1 AND version = $2";
    BY_ID = "SELECT id, workspace_id, url, secret, previous_secret, previous_until, state, disabled_at,
        disabled_reason, failing_since, created_at, version
        FROM webhook WHERE id = $1";
    OF_WORKSPACE = "SELECT id, workspace_id, url, secret, previous_secret, previous_until, state, disabled_at,
        disabled_reason, failing_since, created_at, version
        FROM webhook WHERE workspace_id = $1 ORDER BY created_at, id";
    ALL = "SELECT id, workspace_id, url, secret, previous_secret, previous_until, state, disabled_at,
        disabled_reason, failing_since, created_at, version
        FROM webhook ORDER BY created_at, id";
    NEXT_SEAL = "SELECT substr(secret, 1, 11) AS seal FROM webhook WHERE substr(secret, 1, 11) > $1
        ORDER BY substr(secret, 1, 11) LIMIT 1";
    OF_SEAL = "SELECT id, secret AS sealed FROM webhook WHERE substr(secret, 1, 11) = $1 AND id > $2 ORDER BY id LIMIT $3";
    SET_SECRET = "UPDATE webhook SET secret = $1 WHERE secret = $2 AND id = $3";
    NEXT_PREVIOUS_SEAL = "SELECT substr(previous_secret, 1, 11) AS seal FROM webhook WHERE substr(previous_secret, 1, 11) > $1
        ORDER BY substr(previous_secret, 1, 11) LIMIT 1";
    OF_PREVIOUS_SEAL = "SELECT id, previous_secret AS sealed FROM webhook
        WHERE substr(previous_secret, 1, 11) = $1 AND id > $2 ORDER BY id LIMIT $3";
    SET_PREVIOUS_SECRET = "UPDATE webhook SET previous_secret = $1 WHERE previous_secret = $2 AND id = $3";
}

/// The secret column of all webhooks that a new key reseals.
pub(crate) const SECRETS: SealedColumn = SealedColumn {
    what: "secrets of webhooks",
    next_seal: NEXT_SEAL,
    page: OF_SEAL,
    update: SET_SECRET,
    start_key: || values![""],
    read: |row| {
        let id: WebhookId = row.id("id")?;
        Ok((values![id], owner(id)))
    },
    without_key: WithoutKey::FailStart,
};
/// Earlier secrets that still sign for some time after a rotation.
pub(crate) const PREVIOUS_SECRETS: SealedColumn = SealedColumn {
    next_seal: NEXT_PREVIOUS_SEAL,
    page: OF_PREVIOUS_SEAL,
    update: SET_PREVIOUS_SECRET,
    ..SECRETS
};

impl Store {
    /// One webhook, with its secrets.
    pub async fn webhook(&self, id: WebhookId) -> Result<Option<Webhook>, Error> {
        by_id(&mut self.reader().await?, &self.shared().keyring, id).await
    }

    /// The webhooks of a workspace, or all, oldest first, with their secrets.
    pub async fn webhooks(&self, workspace: Option<WorkspaceId>) -> Result<Vec<Webhook>, Error> {
        let mut reader = self.reader().await?;
        let rows = match workspace {
            Some(workspace) => reader.all(OF_WORKSPACE, values![workspace]).await?,
            None => reader.all(ALL, values![]).await?,
        };
        rows.iter().map(|row| read(row, &self.shared().keyring)).collect()
    }
}

impl Tx {
    /// One webhook, with its secrets.
    pub async fn webhook(&mut self, id: WebhookId) -> Result<Option<Webhook>, Error> {
        by_id(&mut self.session, &self.shared.keyring, id).await
    }

    /// The webhooks of a workspace, oldest first, with their secrets.
    pub async fn webhooks(&mut self, workspace: WorkspaceId) -> Result<Vec<Webhook>, Error> {
        let rows = self.session.all(OF_WORKSPACE, values![workspace]).await?;
        rows.iter().map(|row| read(row, &self.shared.keyring)).collect()
    }

    /// Adds a webhook. It receives the events from now on.
    pub async fn insert_webhook(&mut self, webhook: &Webhook) -> Result<(), Error> {
        self.signals.rows = true;
        let (secret, previous) = self.seal_secrets(webhook);
        let (state, disabled_at, reason) = state_columns(&webhook.state);
        let values = values![
            webhook.id,
            webhook.workspace,
            webhook.url.as_str(),
            secret,
            previous,
            webhook.previous_secret.as_ref().map(|(_, until)| *until),
            state,
            disabled_at,
            reason,
            webhook.failing_since,
            webhook.created_at,
            webhook.version,
        ];
        self.session.execute(INSERT, values).await.map(drop)
    }

    /// Saves a changed webhook over the version that was read. [`Error::Conflict`] when the row changed or
    /// is gone: the closure is retried.
    pub async fn save_webhook(&mut self, webhook: &Webhook) -> Result<(), Error> {
        self.signals.rows = true;
        // A webhook that was enabled may have many pending deliveries.
        self.signals.deliveries = true;
        let (secret, previous) = self.seal_secrets(webhook);
        let (state, disabled_at, reason) = state_columns(&webhook.state);
        let values = values![
            webhook.id,
            webhook.version,
            webhook.url.as_str(),
            secret,
            previous,
            webhook.previous_secret.as_ref().map(|(_, until)| *until),
            state,
            disabled_at,
            reason,
            webhook.failing_since,
        ];
        match self.session.execute(SAVE, values).await? {
            0 => Err(self.session.fail_with(Error::Conflict)),
            _ => Ok(()),
        }
    }

    fn seal_secrets(&self, webhook: &Webhook) -> (String, Option<String>) {
        let (owner, random) = (owner(webhook.id), self.shared.random.as_ref());
        let seal = |secret: &WebhookSecret| self.shared.keyring.seal(secret.as_bytes(), &owner, random);
        (seal(&webhook.secret), webhook.previous_secret.as_ref().map(|(secret, _)| seal(secret)))
    }
}

async fn by_id(session: &mut Session, keyring: &Keyring, id: WebhookId) -> Result<Option<Webhook>, Error> {
    session.first(BY_ID, values![id]).await?.map(|row| read(&row, keyring)).transpose()
}

/// The owner that a webhook's secrets are sealed for.
fn owner(id: WebhookId) -> String {
    format!("webhook:{id}")
}

fn state_columns(
    state: &WebhookState,
) -> (&'static str, Option<kinora_domain::Timestamp>, Option<&'static str>) {
    match state {
        WebhookState::Enabled => ("enabled", None, None),
        WebhookState::Disabled { since, reason } => ("disabled", Some(*since), Some(reason.as_str())),
    }
}

fn read(row: &Row, keyring: &Keyring) -> Result<Webhook, Error> {
    let id = row.id("id")?;
    let open = |sealed: String| {
        let bytes: Result<[u8; 32], _> = keyring.open(&sealed, &owner(id))?.try_into();
        bytes.map(WebhookSecret::from_bytes).map_err(|_| Error::internal("a webhook's secret has 32 bytes"))
    };
    let previous = match row.text_or_none("previous_secret")? {
        Some(sealed) => Some((open(sealed)?, row.time("previous_until")?)),
        None => None,
    };
    let state = match row.time_or_none("disabled_at")? {
        Some(since) => WebhookState::Disabled {
            since,
            reason: row.parsed("disabled_reason", DisabledReason::from_text)?,
        },
        None => WebhookState::Enabled,
    };
    Ok(Webhook {
        id,
        workspace: row.id("workspace_id")?,
        url: row.text("url")?,
        secret: open(row.text("secret")?)?,
        previous_secret: previous,
        state,
        failing_since: row.time_or_none("failing_since")?,
        created_at: row.time("created_at")?,
        version: row.int("version")?,
    })
}
