//! Access tokens.

use kinora_domain::{AccessToken, AccessTokenId, AuditAction, Permission, Secret};

use crate::audit::push_in_workspace;
use crate::{Caller, Error, Service};

impl Service {
    /// Creates an access token of the caller's workspace. Only the hash of the secret is stored: it cannot be
    /// shown again.
    pub async fn create_access_token(
        &self,
        caller: &Caller,
        permission: Permission,
    ) -> Result<(AccessToken, Secret), Error> {
        let now = self.clock.now();
        let secret = Secret::new(&*self.random);
        let token = AccessToken {
            id: AccessTokenId::new(now, &*self.random),
            workspace: caller.workspace,
            permission,
            secret: secret.hash(),
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        let (caller, new) = (*caller, token.clone());
        self.store
            .write(async move |tx| {
                tx.insert_access_token(&new).await?;
                let object = ("access_token", new.id.to_string(), String::new());
                push_in_workspace(tx, &caller, AuditAction::AccessTokenCreated, object, now).await
            })
            .await?;
        Ok((token, secret))
    }

    /// Revokes an access token. One that is revoked already stays revoked since then.
    ///
    /// Errors: `AccessTokenNotFound`.
    pub async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), Error> {
        let (caller, now) = (*caller, self.clock.now());
        self.store
            .write(async move |tx| {
                let token = tx.access_token(id).await?.filter(|token| token.workspace == caller.workspace);
                if token.ok_or(Error::AccessTokenNotFound)?.revoked_at.is_some() {
                    return Ok(());
                }
                tx.revoke_access_token(id, now).await?;
                let object = ("access_token", id.to_string(), String::new());
                push_in_workspace(tx, &caller, AuditAction::AccessTokenRevoked, object, now).await
            })
            .await
    }
}
