//! Workspaces, and the organisation that they belong to.

use kinora_domain::{Action, Actor, AuditAction, LoudnessTarget, Organisation, Workspace, WorkspaceId};
use kinora_store::Tx;

use crate::audit::NewAudit;
use crate::members::check_allowed;
use crate::{Error, Service};

impl Service {
    /// Creates a workspace in the organisation of this installation.
    ///
    /// Errors: `NotAllowed`, `InvalidWorkspaceName`, `WorkspaceNameTaken`, `NoOrganisation`.
    pub async fn create_workspace(&self, actor: &Actor, name: &str) -> Result<Workspace, Error> {
        let name = name.trim();
        Workspace::check_name(name).map_err(Error::InvalidWorkspaceName)?;
        let now = self.clock.now();
        let organisation = self.store.organisation().await?.ok_or(Error::NoOrganisation)?;
        let workspace = Workspace {
            id: WorkspaceId::new(now, &*self.random),
            organisation: organisation.id,
            name: name.to_owned(),
            created_at: now,
        };
        let (actor, new) = (actor.clone(), workspace.clone());
        let inserted = self.store.write(async move |tx| {
            check_allowed(tx, &actor, Action::WorkspacesManage).await?;
            tx.insert_workspace(&new).await?;
            audit(&new, AuditAction::WorkspaceCreated).push(tx, &actor, now).await
        });
        inserted.await.map_err(name_error)?;
        Ok(workspace)
    }

    /// Renames a workspace. The same name changes nothing.
    ///
    /// Errors: `NotAllowed`, `InvalidWorkspaceName`, `WorkspaceNotFound`, `WorkspaceNameTaken`.
    pub async fn rename_workspace(
        &self,
        actor: &Actor,
        id: WorkspaceId,
        name: &str,
    ) -> Result<Workspace, Error> {
        let name = name.trim();
        Workspace::check_name(name).map_err(Error::InvalidWorkspaceName)?;
        let (actor, name, now) = (actor.clone(), name.to_owned(), self.clock.now());
        let renamed = self.store.write(async move |tx| {
            check_allowed(tx, &actor, Action::WorkspacesManage).await?;
            let before = find(tx, id).await?;
            let workspace = Workspace { name: name.clone(), ..before.clone() };
            if workspace == before {
                return Ok(workspace);
            }
            tx.rename_workspace(&workspace).await?;
            audit(&workspace, AuditAction::WorkspaceRenamed)
                .with("from", &before.name)
                .with("to", &workspace.name)
                .push(tx, &actor, now)
                .await?;
            Ok(workspace)
        });
        renamed.await.map_err(name_error)
    }

    /// Deletes an empty workspace permanently. Its webhooks, past events, revoked tokens and usage are
    /// deleted with it; many past events in several commits before the last one. Deliveries that failed
    /// once are retried no more.
    ///
    /// Errors: `NotAllowed`, `WorkspaceNotFound`, `LastWorkspace`, `WorkspaceNotEmpty`.
    pub async fn delete_workspace(&self, actor: &Actor, id: WorkspaceId) -> Result<(), Error> {
        let now = self.clock.now();
        loop {
            let actor = actor.clone();
            let delete = self.store.write(async move |tx| {
                check_allowed(tx, &actor, Action::WorkspacesManage).await?;
                let workspace = find(tx, id).await?;
                if tx.workspaces().await?.len() <= 1 {
                    return Err(Error::LastWorkspace);
                }
                let content = tx.workspace_content(id).await?;
                if !content.is_empty() {
                    return Err(Error::WorkspaceNotEmpty(content));
                }
                let is_deleted = tx.delete_workspace(id).await?;
                if is_deleted {
                    audit(&workspace, AuditAction::WorkspaceDeleted).push(tx, &actor, now).await?;
                }
                Ok(is_deleted)
            });
            if delete.await? {
                return Ok(());
            }
        }
    }

    /// Sets the loudness that audio of a workspace is levelled to. It applies to audio that is measured from
    /// now on. The same target changes nothing.
    ///
    /// Errors: `WorkspaceNotFound`.
    pub async fn set_loudness_target(
        &self,
        actor: &Actor,
        id: WorkspaceId,
        target: LoudnessTarget,
    ) -> Result<(), Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                let workspace = find(tx, id).await?;
                let before = tx.loudness_target(id).await?.unwrap_or_default();
                if before == target {
                    return Ok(());
                }
                tx.set_loudness_target(id, target).await?;
                audit(&workspace, AuditAction::WorkspaceChanged)
                    .with("setting", "loudnessTarget")
                    .with("from", before.lufs())
                    .with("to", target.lufs())
                    .push(tx, &actor, now)
                    .await
            })
            .await
    }

    /// Renames the organisation of this installation. The same name changes nothing.
    ///
    /// Errors: `NotAllowed`, `InvalidOrganisationName`, `NoOrganisation`.
    pub async fn rename_organisation(&self, actor: &Actor, name: &str) -> Result<Organisation, Error> {
        let name = Organisation::parse_name(name).map_err(Error::InvalidOrganisationName)?;
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::OrganisationManage).await?;
                let before = tx.organisation().await?.ok_or(Error::NoOrganisation)?;
                let organisation = Organisation { name: name.clone(), ..before.clone() };
                if organisation == before {
                    return Ok(organisation);
                }
                tx.rename_organisation(organisation.id, &name).await?;
                let action = AuditAction::OrganisationRenamed;
                NewAudit::object(organisation.id, action, "organisation", organisation.id)
                    .named(&organisation.name)
                    .with("from", &before.name)
                    .with("to", &organisation.name)
                    .push(tx, &actor, now)
                    .await?;
                Ok(organisation)
            })
            .await
    }
}

async fn find(tx: &mut Tx, id: WorkspaceId) -> Result<Workspace, Error> {
    tx.workspace(id).await?.ok_or(Error::WorkspaceNotFound)
}

fn audit(workspace: &Workspace, action: AuditAction) -> NewAudit {
    NewAudit::in_workspace(workspace, action, "workspace", workspace.id).named(&workspace.name)
}

fn name_error(error: Error) -> Error {
    match error {
        Error::Store(kinora_store::Error::AlreadyExists { .. }) => Error::WorkspaceNameTaken,
        other => other,
    }
}
