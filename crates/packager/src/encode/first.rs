//! The first segment of the lowest rung, made before a media is ready that has nothing to copy.

use std::sync::Arc;

use bytes::Bytes;
use kinora_formats::encode::Rung;

use crate::{Error, Packaged, Packager};

impl Packager {
    /// Makes the first segment of the lowest of these rungs, unless it is kept. May run twice.
    ///
    /// Errors: as for a segment that a viewer asks for; [`Error::NotInPlan`] without a rung.
    pub async fn first_segments(&self, packaged: &Arc<Packaged>, rungs: &[Rung]) -> Result<(), Error> {
        let lowest = rungs.iter().min_by_key(|rung| rung.name).ok_or(Error::NotInPlan)?;
        let line = self.line(packaged, lowest).await?;
        if self.blob.reader(line.key(0)).await?.is_none() {
            let _: Bytes = self.make(packaged, &line, 0, None).await?;
        }
        Ok(())
    }
}
