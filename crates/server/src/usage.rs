//! Totals of delivered and encoded media, of all workspaces together.

use std::sync::Mutex;

use kinora_store::UsageCounts;

/// The usage that this process has stored so far. Metrics count whole seconds; the rest is carried over.
#[derive(Default)]
pub(crate) struct UsageTotals {
    rest: Mutex<UsageCounts>,
}

impl UsageTotals {
    /// Adds usage that was stored.
    pub(crate) fn add(&self, used: UsageCounts) {
        let seconds = self.whole_seconds(used);
        metrics::counter!("kinora_delivered_bytes_total").increment(used.delivered_bytes);
        metrics::counter!("kinora_delivered_seconds_total").increment(seconds.delivered);
        metrics::counter!("kinora_encoded_seconds_total").increment(seconds.encoded);
    }

    fn whole_seconds(&self, used: UsageCounts) -> Seconds {
        const SECOND_US: u64 = 1_000_000;
        let mut rest = self.rest.lock().expect("nothing panics while holding it");
        rest.add(UsageCounts { delivered_bytes: 0, ..used });
        let seconds =
            Seconds { delivered: rest.delivered_us / SECOND_US, encoded: rest.encoded_us / SECOND_US };
        rest.delivered_us %= SECOND_US;
        rest.encoded_us %= SECOND_US;
        seconds
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Seconds {
    delivered: u64,
    encoded: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_seconds_add_up() {
        let totals = UsageTotals::default();
        let some = UsageCounts { encoded_us: 1_400_000, delivered_us: 300_000, delivered_bytes: 9 };
        let seconds = [(); 4].map(|()| totals.whole_seconds(some));
        let expected = [(0, 1), (0, 1), (0, 2), (1, 1)];
        assert_eq!(seconds, expected.map(|(delivered, encoded)| Seconds { delivered, encoded }));
    }
}
