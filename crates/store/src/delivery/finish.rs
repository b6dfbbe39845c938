//! Records the outcome of an attempt.

use kinora_domain::Attempt;

use super::{ClaimedDelivery, NextDeliveryState, outcome};
use crate::sql::{statements, values};
use crate::{Error, Tx};

statements! {
    /// A pending delivery keeps its due time unless a new one is set.
    FINISH = "UPDATE delivery SET state = $4, due_at = coalesce($5, due_at), finished_at = $6,
        attempt_count = attempt_count + 1, first_ended = 1, lease_owner = NULL, leased_until = NULL
        WHERE id = $1 AND lease_owner = $2 AND claim_count = $3
        RETURNING attempt_count";
    ATTEMPT_INSERT = "INSERT INTO attempt (id, delivery_id, number, at, address, outcome) VALUES ($1, $2, $3, $4, $5, $6)";
}

impl Tx {
    /// Records an attempt of a claimed delivery, sets the next state and releases the lease.
    ///
    /// [`Error::LeaseLost`] when another worker has the lease; then the whole transaction is rolled back.
    pub async fn finish_delivery(
        &mut self,
        delivery: &ClaimedDelivery,
        attempt: &Attempt,
        next: NextDeliveryState,
    ) -> Result<(), Error> {
        let now = self.now();
        let (state, due_at, finished_at) = match next {
            NextDeliveryState::Delivered => ("delivered", None, Some(now)),
            NextDeliveryState::GivenUp => ("given_up", None, Some(now)),
            NextDeliveryState::RetryAt(at) => ("pending", Some(at), None),
            NextDeliveryState::Pending => ("pending", None, None),
        };
        let values = values![delivery.id, delivery.owner, delivery.claim_count, state, due_at, finished_at];
        let rows = self.session.execute_returning(FINISH, values).await?;
        let Some(row) = rows.first() else { return Err(self.session.fail_with(Error::LeaseLost)) };
        let number = row.int("attempt_count")?;
        // The next event of this subject may be due now.
        self.signals.deliveries = true;
        let address = attempt.address.as_str();
        let outcome = outcome::encode(&attempt.outcome);
        let values = values![attempt.id, delivery.id, number, attempt.at, address, outcome];
        self.session.execute(ATTEMPT_INSERT, values).await.map(drop)
    }
}
