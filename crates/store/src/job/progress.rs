//! What a download leaves to the run that goes on with it, as the JSON of its row.

use kinora_domain::Timestamp;
use serde::{Deserialize, Serialize};

/// How far a download has come that is asked for again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownloadProgress {
    /// Attempts that failed since one brought something.
    pub failures: u32,
    /// When it is given up.
    pub until: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Json {
    failures: u32,
    until_us: i64,
}

impl DownloadProgress {
    pub(super) fn to_json(self) -> String {
        let json = Json { failures: self.failures, until_us: self.until.as_micros() };
        serde_json::to_string(&json).expect("numbers are always JSON")
    }

    /// `None` for what another version wrote: the download begins anew.
    pub(super) fn from_json(json: &str) -> Option<Self> {
        let Json { failures, until_us } = serde_json::from_str(json).ok()?;
        Some(Self { failures, until: Timestamp::from_micros(until_us) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_written_so_and_read_back() {
        let progress = DownloadProgress { failures: 2, until: Timestamp::from_micros(1_762_164_228_595_604) };
        let json = r#"{"failures":2,"until_us":1762164228595604}"#;
        assert_eq!((progress.to_json().as_str(), DownloadProgress::from_json(json)), (json, Some(progress)));
        assert_eq!(DownloadProgress::from_json(r#"{"failures":-1}"#), None);
    }
}
