//! Aborts uploads that nobody will complete.

use kinora_domain::Timestamp;

use super::upload::Upload;
use super::{S3Store, modified};
use crate::key::UploadNote;
use crate::{LEFTOVER_AGE_MIN_S, Result};

/// Notes a page.
const PAGE: usize = 1000;

impl S3Store {
    /// Aborts the uploads whose notes are old enough, and answers how many these were.
    pub(crate) async fn sweep_temporary(&self, now: Timestamp) -> Result<u64> {
        self.before_read()?;
        let below = format!("{}/", UploadNote::FOLDER);
        let mut swept = 0;
        let mut offset = None;
        loop {
            let notes = self
                .shared
                .list(&below, offset, PAGE, |name, meta| Some((name.to_owned(), modified(meta))))
                .await?;
            for (name, written) in &notes {
                let Ok(UploadNote(key)) = name.parse() else { continue }; // not ours
                if now.micros_since(*written) < LEFTOVER_AGE_MIN_S * Timestamp::SECOND {
                    continue;
                }
                if let Some(upload) = Upload::noted(&self.shared, key).await? {
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
