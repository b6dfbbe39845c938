//! Commands against a running server, without the cost of starting processes.

use kinora_domain::{AccessToken, AccessTokenId, Permission, Secret, Webhook, WebhookId, Workspace};
use kinora_server::SystemRandom;

use super::{Hook, TestApp, Token};

impl TestApp {
    /// The workspace with this name.
    pub(crate) async fn workspace(&self, name: &str) -> Workspace {
        let found = self.store.workspace_by_name(name).await.expect("the database is there");
        found.unwrap_or_else(|| panic!("there is no workspace {name}"))
    }

    /// Creates a token, as `kinora token create` does.
    pub(crate) async fn new_token(&self, workspace: &str, permission: Permission) -> Token {
        let now = self.options.clock.now();
        let secret = Secret::new(&SystemRandom);
        let token = AccessToken {
            id: AccessTokenId::new(now, &SystemRandom),
            workspace: self.workspace(workspace).await.id,
            name: None,
            made_by: None,
            permission,
            secret: secret.hash(),
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        let answer = Token { id: token.id.to_string(), secret: secret.reveal().to_owned() };
        self.store.write(async move |tx| tx.insert_access_token(&token).await).await.expect("a new id");
        answer
    }

    /// Creates a webhook, as `kinora webhook create` does.
    pub(crate) async fn new_hook(&self, workspace: &str, url: &str) -> Hook {
        let workspace = self.workspace(workspace).await.id;
        let now = self.options.clock.now();
        let webhook = Webhook::create(workspace, url.to_owned(), now, &SystemRandom);
        let hook = Hook { id: webhook.id, secret: webhook.secret.reveal() };
        self.store.write(async move |tx| tx.insert_webhook(&webhook).await).await.expect("a new id");
        hook
    }

    /// Changes a webhook, as the commands do, and returns its new state.
    pub(crate) async fn change_hook(
        &self,
        id: WebhookId,
        change: impl Fn(Webhook) -> Webhook + Send + 'static,
    ) -> Webhook {
        let changed = self.store.write(async move |tx| {
            let webhook = change(tx.webhook(id).await?.expect("the webhook is there"));
            tx.save_webhook(&webhook).await?;
            Ok::<_, kinora_store::Error>(webhook)
        });
        changed.await.expect("the database is there")
    }
}
