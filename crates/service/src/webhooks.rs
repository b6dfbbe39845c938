//! Webhooks.

use kinora_domain::{AuditAction, Webhook, WebhookId};
use kinora_store::Tx;

use crate::audit::push_in_workspace;
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
            tx.insert_webhook(&webhook).await?;
            let object = ("webhook", webhook.id.to_string(), host(&webhook.url));
            push_in_workspace(tx, &caller, AuditAction::WebhookCreated, object, now).await?;
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
        self.change_webhook(caller, id, change, Some(AuditAction::WebhookSecretRotated)).await
    }

    /// Enables a disabled webhook. Pending events are sent first.
    ///
    /// Errors: `WebhookNotFound`.
    pub async fn enable_webhook(&self, caller: &Caller, id: WebhookId) -> Result<Webhook, Error> {
        self.change_webhook(caller, id, Webhook::enable, None).await
    }

    async fn change_webhook(
        &self,
        caller: &Caller,
        id: WebhookId,
        change: impl Fn(Webhook) -> Webhook + Send + 'static,
        audit: Option<AuditAction>,
    ) -> Result<Webhook, Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let webhook = tx.webhook(id).await?.filter(|webhook| webhook.workspace == caller.workspace);
                let webhook = change(webhook.ok_or(Error::WebhookNotFound)?);
                tx.save_webhook(&webhook).await?;
                if let Some(action) = audit {
                    let object = ("webhook", id.to_string(), host(&webhook.url));
                    push_in_workspace(tx, &caller, action, object, now).await?;
                }
                Ok(webhook)
            })
            .await
    }
}

/// The host of a webhook, for people. Path and query may contain a secret of the receiver.
fn host(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
}
