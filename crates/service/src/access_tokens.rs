//! Access tokens.

use kinora_domain::{
    AccessToken, AccessTokenId, Action, Actor, AuditAction, Permission, Secret, Workspace, WorkspaceId,
};
use kinora_store::Tx;

use crate::audit::NewAudit;
use crate::members::check_allowed;
use crate::{Error, Service};

/// An access token to create.
#[derive(Debug, Clone)]
pub struct NewAccessToken {
    /// The only workspace that it gives access to.
    pub workspace: WorkspaceId,
    /// Its name, for people.
    pub name: String,
    /// Its permission there.
    pub permission: Permission,
}

/// An access token that was created. Its secret exists only here.
#[derive(Debug)]
pub struct CreatedAccessToken {
    /// The token.
    pub token: AccessToken,
    /// Its secret.
    pub secret: Secret,
    /// Its workspace.
    pub workspace: Workspace,
}

impl Service {
    /// Creates an access token. Only the hash of the secret is stored: it cannot be shown again.
    ///
    /// Errors: `NotAllowed`, `InvalidTokenName`, `WorkspaceNotFound`.
    pub async fn create_access_token(
        &self,
        actor: &Actor,
        new: NewAccessToken,
    ) -> Result<CreatedAccessToken, Error> {
        let name = AccessToken::parse_name(&new.name).map_err(Error::InvalidTokenName)?;
        let now = self.clock.now();
        let secret = Secret::new(&*self.random);
        let token = AccessToken {
            id: AccessTokenId::new(now, &*self.random),
            workspace: new.workspace,
            name: Some(name),
            made_by: Some(actor.who.clone()),
            permission: new.permission,
            secret: secret.hash(),
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        let (actor, row) = (actor.clone(), token.clone());
        let workspace = self
            .store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::AccessTokensManage).await?;
                let workspace = tx.workspace(row.workspace).await?.ok_or(Error::WorkspaceNotFound)?;
                tx.insert_access_token(&row).await?;
                audit(&workspace, AuditAction::AccessTokenCreated, &row)
                    .with("permission", row.permission.as_str())
                    .push(tx, &actor, now)
                    .await?;
                Ok::<_, Error>(workspace)
            })
            .await?;
        Ok(CreatedAccessToken { token, secret, workspace })
    }

    /// Renames an access token, revoked or not. The same name changes nothing.
    ///
    /// Errors: `NotAllowed`, `InvalidTokenName`, `AccessTokenNotFound`.
    pub async fn rename_access_token(
        &self,
        actor: &Actor,
        id: AccessTokenId,
        name: &str,
    ) -> Result<AccessToken, Error> {
        let name = AccessToken::parse_name(name).map_err(Error::InvalidTokenName)?;
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::AccessTokensManage).await?;
                let (before, workspace) = find(tx, id).await?;
                let token = AccessToken { name: Some(name.clone()), ..before.clone() };
                if token.name == before.name {
                    return Ok(token);
                }
                tx.rename_access_token(id, &name).await?;
                audit(&workspace, AuditAction::AccessTokenRenamed, &token)
                    .with("from", before.display_name())
                    .with("to", token.display_name())
                    .push(tx, &actor, now)
                    .await?;
                Ok(token)
            })
            .await
    }

    /// Revokes an access token. One that is revoked already stays revoked since then.
    ///
    /// Errors: `NotAllowed`, `AccessTokenNotFound`.
    pub async fn revoke_access_token(&self, actor: &Actor, id: AccessTokenId) -> Result<(), Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::AccessTokensManage).await?;
                let (token, workspace) = find(tx, id).await?;
                if token.revoked_at.is_some() {
                    return Ok(());
                }
                tx.revoke_access_token(id, now).await?;
                audit(&workspace, AuditAction::AccessTokenRevoked, &token).push(tx, &actor, now).await
            })
            .await
    }
}

/// A token and its workspace.
async fn find(tx: &mut Tx, id: AccessTokenId) -> Result<(AccessToken, Workspace), Error> {
    let token = tx.access_token(id).await?.ok_or(Error::AccessTokenNotFound)?;
    let workspace = tx.workspace(token.workspace).await?.ok_or(Error::WorkspaceNotFound)?;
    Ok((token, workspace))
}

fn audit(workspace: &Workspace, action: AuditAction, token: &AccessToken) -> NewAudit {
    NewAudit::in_workspace(workspace, action, "access_token", token.id).named(token.display_name())
}
