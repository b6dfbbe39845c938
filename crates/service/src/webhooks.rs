//! Webhooks.

use kinora_domain::{Webhook, WebhookId};
use kinora_store::Tx;

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
        let webhook = Webhook::create(caller.workspace, url, self.clock.now(), &*self.random);
        let work = async move |tx: &mut Tx| {
            tx.insert_webhook(&webhook).await?;
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
        self.change_webhook(caller, id, move |webhook| webhook.rotate(grace_s, now, &*random)).await
    }

    /// Enables a disabled webhook. Pending events are sent first.
    ///
    /// Errors: `WebhookNotFound`.
    pub async fn enable_webhook(&self, caller: &Caller, id: WebhookId) -> Result<Webhook, Error> {
        self.change_webhook(caller, id, Webhook::enable).await
    }

    async fn change_webhook(
        &self,
        caller: &Caller,
        id: WebhookId,
        change: impl Fn(Webhook) -> Webhook + Send + 'static,
    ) -> Result<Webhook, Error> {
        let workspace = caller.workspace;
        self.store
            .write(async move |tx| {
                let webhook = tx.webhook(id).await?.filter(|webhook| webhook.workspace == workspace);
                let webhook = change(webhook.ok_or(Error::WebhookNotFound)?);
                tx.save_webhook(&webhook).await?;
                Ok(webhook)
            })
            .await
    }
}
