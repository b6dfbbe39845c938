//! Failed sign-ins of people, summed up for the audit log: a row for a person and ten minutes. Refusals
//! themselves write nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kinora_domain::{FailedSignIns, PersonId, RequestOrigin, Timestamp};
use kinora_service::Service;

/// The time that one row sums up.
const PERIOD_US: i64 = 10 * 60 * Timestamp::SECOND;

/// Failures that are not in the audit log yet. Their number is bounded by that of people: unknown addresses
/// are not counted.
#[derive(Default)]
pub(crate) struct FailureCounts(Mutex<HashMap<PersonId, FailedSignIns>>);

impl FailureCounts {
    /// Counts a failure of a person.
    pub(crate) fn count(&self, person: PersonId, origin: RequestOrigin, now: Timestamp) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first =
            || FailedSignIns { person, count: 0, first_at: now, last_at: now, origin: origin.clone() };
        let failures = counts.entry(person).or_insert_with(first);
        failures.count = failures.count.saturating_add(1);
        failures.last_at = now;
        failures.origin = origin;
    }

    /// Writes the failures that began ten minutes ago.
    pub(crate) async fn write(&self, service: &Service, now: Timestamp) -> Result<(), kinora_store::Error> {
        self.write_if(service, |failures| PERIOD_US <= now.micros_since(failures.first_at)).await
    }

    /// Writes all failures.
    pub(crate) async fn write_all(&self, service: &Service) -> Result<(), kinora_store::Error> {
        self.write_if(service, |_| true).await
    }

    async fn write_if(
        &self,
        service: &Service,
        is_due: impl Fn(&FailedSignIns) -> bool,
    ) -> Result<(), kinora_store::Error> {
        let due = self.take_if(is_due);
        let mut result = Ok(());
        for failures in due {
            match service.record_failed_sign_ins(failures).await {
                Ok(()) => {}
                Err(kinora_service::Error::Store(error)) => result = Err(error),
                // The person was removed meanwhile.
                Err(error) => tracing::debug!(error = %error, "failed sign-ins were not recorded"),
            }
        }
        result
    }

    fn take_if(&self, is_due: impl Fn(&FailedSignIns) -> bool) -> Vec<FailedSignIns> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.extract_if(|_, failures| is_due(failures)).map(|(_, failures)| failures).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_ten_minutes_are_one_row() {
        let (counts, now) = (FailureCounts::default(), Timestamp::from_micros(1_762_164_228_595_604));
        let person = |last: u8| format!("019a492c-41f3-7001-8203-04050607080{last}").parse().unwrap();
        let origin =
            |address: &str| RequestOrigin { address: Some(address.into()), ..RequestOrigin::default() };
        counts.count(person(1), origin("192.0.2.1"), now);
        counts.count(person(1), origin("192.0.2.2"), now.plus_seconds(599));
        counts.count(person(2), origin("192.0.2.3"), now.plus_seconds(599));
        let due = |at: Timestamp| counts.take_if(|failures| PERIOD_US <= at.micros_since(failures.first_at));
        assert_eq!(due(now.plus_seconds(599)), []);
        let expected = FailedSignIns {
            person: person(1),
            count: 2,
            first_at: now,
            last_at: now.plus_seconds(599),
            origin: origin("192.0.2.2"),
        };
        assert_eq!(due(now.plus_seconds(600)), [expected]);
        assert_eq!(due(now.plus_seconds(600)), [], "once");
        assert_eq!(counts.take_if(|_| true).len(), 1);
    }
}
