//! Workspaces.

use kinora_domain::{Actor, AuditAction, LoudnessTarget, Workspace, WorkspaceId};

use crate::audit::NewAudit;
use crate::{Error, Service};

impl Service {
    /// Creates a workspace in the organisation of this installation.
    ///
    /// Errors: `InvalidWorkspaceName`, `WorkspaceNameTaken`, `NoOrganisation`.
    pub async fn create_workspace(&self, actor: &Actor, name: &str) -> Result<Workspace, Error> {
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
            tx.insert_workspace(&new).await?;
            let mut audit =
                NewAudit::object(new.organisation, AuditAction::WorkspaceCreated, "workspace", new.id);
            audit.workspace = Some(new.id);
            audit.named(&new.name).push(tx, &actor, now).await
        });
        match inserted.await {
            Ok(()) => Ok(workspace),
            Err(Error::Store(kinora_store::Error::AlreadyExists { .. })) => Err(Error::WorkspaceNameTaken),
            Err(error) => Err(error),
        }
    }

    /// Sets the loudness that audio of a workspace is levelled to. It applies to audio that is measured from
    /// now on. `false` for an unknown workspace.
    pub async fn set_loudness_target(
        &self,
        workspace: WorkspaceId,
        target: LoudnessTarget,
    ) -> Result<bool, Error> {
        Ok(self.store.write(async move |tx| tx.set_loudness_target(workspace, target).await).await?)
    }
}
