//! Access tokens.

use kinora_domain::{AccessToken, AccessTokenId, Permission, Secret};

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
        let new = token.clone();
        self.store.write(async move |tx| tx.insert_access_token(&new).await).await?;
        Ok((token, secret))
    }

    /// Revokes an access token. One that is revoked already stays revoked since then.
    ///
    /// Errors: `AccessTokenNotFound`.
    pub async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), Error> {
        let (workspace, now) = (caller.workspace, self.clock.now());
        self.store
            .write(async move |tx| {
                let token = tx.access_token(id).await?.filter(|token| token.workspace == workspace);
                token.ok_or(Error::AccessTokenNotFound)?;
                tx.revoke_access_token(id, now).await?;
                Ok(())
            })
            .await
    }
}
