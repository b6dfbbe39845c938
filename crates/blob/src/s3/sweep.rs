//! Aborts abandoned uploads.

use kinora_domain::Timestamp;

use super::upload::Upload;
use super::{S3Store, modified};
use crate::key::UploadMarker;
use crate::{ORPHAN_AGE_MIN_S, Result};

/// Notes per page.
const PAGE: usize = 1000;

impl S3Store {
    /// Aborts the uploads whose notes are old enough, and returns their number.
    pub(crate) async fn sweep_temporary(&self, now: Timestamp) -> Result<u64> {
        self.before_read()?;
        let prefix = format!("{}/", UploadMarker::FOLDER);
        let mut swept = 0;
        let mut offset = None;
        loop {
            let notes = self
                .shared
                .list(&prefix, offset, PAGE, |name, meta| Some((name.to_owned(), modified(meta))))
                .await?;
            for (name, written) in &notes {
                let Ok(UploadMarker(key)) = name.parse() else { continue }; // not ours
                if now.micros_since(*written) < ORPHAN_AGE_MIN_S * Timestamp::SECOND {
                    continue;
                }
                if let Some(upload) = Upload::from_marker(&self.shared, key).await? {
                    upload.abort(&self.shared).await?;
                    swept += 1;
                }
            }
            offset = match notes.last() {
                Some((name, _)) if notes.len() == PAGE => Some(name.clone()),
                _ => return Ok(swept),
            };
        }
    }
}
