//! Aborts abandoned multipart uploads.

use kinora_domain::Timestamp;

use super::upload::MultipartUpload;
use super::{S3Store, modified};
use crate::key::UploadMarker;
use crate::{ORPHAN_AGE_MIN_S, Result};

/// Markers per page.
const PAGE: usize = 1000;

impl S3Store {
    /// Aborts the uploads whose markers are old enough, and returns their number.
    pub(crate) async fn sweep_temporary(&self, now: Timestamp) -> Result<u64> {
        self.inject_read_fault()?;
        let prefix = format!("{}/", UploadMarker::FOLDER);
        let mut swept = 0;
        let mut offset = None;
        loop {
            let markers = self
                .shared
                .list(&prefix, offset, PAGE, |name, meta| Some((name.to_owned(), modified(meta))))
                .await?;
            for (name, written) in &markers {
                let Ok(UploadMarker(key)) = name.parse() else { continue }; // not ours
                if now.micros_since(*written) < ORPHAN_AGE_MIN_S * Timestamp::SECOND {
                    continue;
                }
                if let Some(upload) = MultipartUpload::from_marker(&self.shared, key).await? {
                    upload.abort(&self.shared).await?;
                    swept += 1;
                }
            }
            offset = match markers.last() {
                Some((name, _)) if markers.len() == PAGE => Some(name.clone()),
                _ => return Ok(swept),
            };
        }
    }
}
