//! How much of the store belongs to whom: added up while the sweep lists all of it anyway.

use std::collections::BTreeMap;

use kinora_domain::{SourceId, Timestamp, WorkspaceId};

use crate::Context;
use crate::error::JobError;

/// What was listed so far.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    bytes: BTreeMap<WorkspaceId, u64>,
    /// The last one that was asked for: objects of one source often lie one after another.
    last: Option<(SourceId, Option<WorkspaceId>)>,
}

impl Stored {
    /// Whose an object of a source is, for whom it is counted; `None` where no row names the source.
    pub(crate) async fn count(
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

    /// Writes down what all workspaces have, as of the beginning of the sweep. May run twice.
    pub(crate) async fn write(mut self, context: &Context, at: Timestamp) -> Result<(), JobError> {
        for workspace in context.store.workspaces().await? {
            let growing = context.store.growing_bytes(workspace.id).await?;
            // Whoever has nothing left is told so, too.
            self.add(workspace.id, growing);
        }
        let all = self.bytes.values().copied().fold(0, u64::saturating_add);
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics::gauge!("kinora_stored_bytes").set(all as f64);
        let stored: Vec<_> = self.bytes.into_iter().collect();
        Ok(context.store.set_stored(&stored, at).await?)
    }
}
