//! The duration of a media, and its text `HH:MM:SS`.

use std::fmt;

/// Length of a presentation, with microsecond precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MediaDuration {
    micros: u64,
}

impl MediaDuration {
    /// The duration of a media that never became ready (C-117).
    pub const UNKNOWN: Self = Self { micros: 0 };

    /// From microseconds.
    pub fn from_micros(micros: u64) -> Self {
        Self { micros }
    }

    /// In microseconds.
    pub fn as_micros(self) -> u64 {
        self.micros
    }
}

/// `HH:MM:SS`, rounded to the nearest second, but at least one second if the duration is not 0. D-0003.
impl fmt::Display for MediaDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds =
            if self.micros == 0 { 0 } else { (self.micros.saturating_add(500_000) / 1_000_000).max(1) };
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_text_rounds_to_whole_seconds() {
        let check = |micros, text: &str| assert_eq!(MediaDuration::from_micros(micros).to_string(), text);
        check(0, "00:00:00");
        check(1, "00:00:01");
        check(10_000_000, "00:00:10");
        check(10_499_999, "00:00:10");
        check(10_500_000, "00:00:11");
        check(7_200_033_333, "02:00:00");
        check(360_000_000_000, "100:00:00");
    }
}
