//! Webhooks.

use kinora_domain::{AuditAction, Webhook, WebhookId, WebhookState};
use kinora_store::Tx;

use crate::audit::CallerAudit;
use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Creates a webhook with a new secret. It receives every later event of the caller's workspace.
    ///
    /// Errors: `WebhookUrl`.
    pub async fn create_webhook<C: Commit<Webhook>>(
        &self,
        caller: &Caller,
        url: String,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        kinora_fetch::parse_webhook_url(&url).map_err(|problem| C::reject(Error::WebhookUrl(problem)))?;
        let (caller, now) = (*caller, self.clock.now());
        let webhook = Webhook::create(caller.workspace, url, now, &*self.random);
        let work = async move |tx: &mut Tx| {
            caller.check_workspace(tx).await?;
            tx.insert_webhook(&webhook).await?;
            audit(AuditAction::WebhookCreated, &webhook).push(tx, &caller, now).await?;
            Ok(webhook.clone())
        };
        commit.commit(&self.store, work).await
    }

    /// Replaces the secret of a webhook; the new one signs at once. The old one also signs for `grace_s`
    /// seconds.
    ///
    /// Errors: `WebhookNotFound`.
    pub async fn rotate_webhook_secret(
        &self,
        caller: &Caller,
        id: WebhookId,
        grace_s: u32,
    ) -> Result<Webhook, Error> {
        let (now, random) = (self.clock.now(), self.random.clone());
        let change = move |webhook: Webhook| webhook.rotate(grace_s, now, &*random);
        self.change_webhook(caller, id, change, AuditAction::WebhookSecretRotated).await
    }

    /// Enables a disabled webhook. Pending events are sent first. An enabled one stays as it is.
    ///
    /// Errors: `WebhookNotFound`.
    pub async fn enable_webhook(&self, caller: &Caller, id: WebhookId) -> Result<Webhook, Error> {
        self.change_webhook(caller, id, Webhook::enable, AuditAction::WebhookEnabled).await
    }

    async fn change_webhook(
        &self,
        caller: &Caller,
        id: WebhookId,
        change: impl Fn(Webhook) -> Webhook + Send + 'static,
        action: AuditAction,
    ) -> Result<Webhook, Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let webhook = tx.webhook(id).await?.filter(|webhook| webhook.workspace == caller.workspace);
                let before = webhook.ok_or(Error::WebhookNotFound)?;
                let was_disabled = matches!(before.state, WebhookState::Disabled { .. });
                let webhook = change(before);
                tx.save_webhook(&webhook).await?;
                if was_disabled || action != AuditAction::WebhookEnabled {
                    audit(action, &webhook).push(tx, &caller, now).await?;
                }
                Ok(webhook)
            })
            .await
    }
}

fn audit(action: AuditAction, webhook: &Webhook) -> CallerAudit {
    CallerAudit::new(action, "webhook", webhook.id).named(host(&webhook.url))
}

/// The host of a webhook, for people. Path and query may contain a secret of the receiver.
fn host(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
}
