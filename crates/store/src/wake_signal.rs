//! Wakes tasks that wait for work.

use tokio::sync::watch;

/// The sending half: notifies of new work.
pub(crate) struct WakeSignal(watch::Sender<u64>);

impl WakeSignal {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn notify(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn listen(&self) -> WakeReceiver {
        WakeReceiver(self.0.subscribe())
    }
}

/// Waits for work. Create one before the first check and reuse it, so that work between a check and the
/// wait is not missed. Do not depend on it alone: poll in time for work of other processes and for work
/// that becomes due.
pub struct WakeReceiver(watch::Receiver<u64>);

impl WakeReceiver {
    /// Returns when work was queued since this handle was created or last returned from here. Dropping the
    /// future loses nothing.
    pub async fn notified(&mut self) {
        if self.0.changed().await.is_err() {
            // The store is gone: no work follows.
            std::future::pending().await
        }
    }
}
