//! Storage used by each workspace: summed up while the sweep lists the whole store.

use std::collections::BTreeMap;

use kinora_domain::{SourceId, Timestamp, WorkspaceId};

use crate::Context;
use crate::error::JobError;

/// The sums so far.
#[derive(Debug, Default)]
pub(crate) struct StorageUsage {
    bytes: BTreeMap<WorkspaceId, u64>,
    /// The last look-up: objects of one source often follow one another.
    last: Option<(SourceId, Option<WorkspaceId>)>,
}

impl StorageUsage {
    /// Adds an object of a source to the sum of its workspace. Returns the workspace; `None` where no row
    /// refers to the source.
    pub(crate) async fn add_object(
        &mut self,
        context: &Context,
        source: SourceId,
        bytes: u64,
    ) -> Result<Option<WorkspaceId>, JobError> {
        let owner = match self.last {
            Some((last, owner)) if last == source => owner,
            _ => context.store.workspace_of_source(source).await?,
        };
        self.last = Some((source, owner));
        if let Some(owner) = owner {
            self.add(owner, bytes);
        }
        Ok(owner)
    }

    fn add(&mut self, owner: WorkspaceId, bytes: u64) {
        let sum = self.bytes.entry(owner).or_default();
        *sum = sum.saturating_add(bytes);
    }

    /// Saves the sums of all workspaces, as of the beginning of the sweep. May run twice.
    pub(crate) async fn write(mut self, context: &Context, at: Timestamp) -> Result<(), JobError> {
        for workspace in context.store.workspaces().await? {
            let growing = context.store.multipart_upload_bytes(workspace.id).await?;
            // Workspaces without objects are saved too.
            self.add(workspace.id, growing);
        }
        let all = self.bytes.values().copied().fold(0, u64::saturating_add);
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics::gauge!("kinora_stored_bytes").set(all as f64);
        let stored: Vec<_> = self.bytes.into_iter().collect();
        Ok(context.store.set_stored_bytes(&stored, at).await?)
    }
}
