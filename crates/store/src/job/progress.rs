//! The state of a rescheduled download, as the JSON of its row.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The state of a rescheduled download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownloadProgress {
    /// Failed attempts since the last one that received bytes.
    pub failures: u32,
    /// Time left for its attempts. Time in the queue, or while no server runs, does not count.
    pub time_left: Duration,
}

#[derive(Serialize, Deserialize)]
struct Json {
    failures: u32,
    left_ms: u64,
}

impl DownloadProgress {
    pub(super) fn to_json(self) -> String {
        let left_ms = u64::try_from(self.time_left.as_millis()).unwrap_or(u64::MAX);
        let json = Json { failures: self.failures, left_ms };
        serde_json::to_string(&json).expect("numbers are always JSON")
    }

    /// `None` for a form of another version: the download restarts.
    pub(super) fn from_json(json: &str) -> Option<Self> {
        let Json { failures, left_ms } = serde_json::from_str(json).ok()?;
        Some(Self { failures, time_left: Duration::from_millis(left_ms) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn download_progress_json_round_trips() {
        let progress = DownloadProgress { failures: 2, time_left: Duration::from_millis(86_400_000) };
        let json = r#"{"failures":2,"left_ms":86400000}"#;
        assert_eq!((progress.to_json().as_str(), DownloadProgress::from_json(json)), (json, Some(progress)));
        assert_eq!(DownloadProgress::from_json(r#"{"failures":-1}"#), None);
    }
}
