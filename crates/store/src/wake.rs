//! Telling those who wait for work that there may be some.

use tokio::sync::watch;

/// Where those who made work tell of it.
pub(crate) struct Bell(watch::Sender<u64>);

impl Bell {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn ring(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn listen(&self) -> Wake {
        Wake(self.0.subscribe())
    }
}

/// Waits for work. Take one before the first look, and keep it: what happens between a look and the wait is
/// then not missed. Nothing may depend on it alone: work of other processes and work that falls due is found
/// by looking again in time.
pub struct Wake(watch::Receiver<u64>);

impl Wake {
    /// Returns when work was made since this handle was taken or last returned from here. Dropping the future
    /// loses nothing.
    pub async fn notified(&mut self) {
        if self.0.changed().await.is_err() {
            // The store is gone: there will be no more work.
            std::future::pending().await
        }
    }
}
