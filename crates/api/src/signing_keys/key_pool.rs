//! Generates signing keys, a few at a time.

use std::sync::Arc;

use kinora_domain::{KeyMaker, KeyPair};
use kinora_web::error::ApiError;
use tokio::sync::Semaphore;

/// Makes key pairs outside the threads that serve requests, a few at once.
pub struct KeyPairs {
    maker: Arc<dyn KeyMaker>,
    permits: Arc<Semaphore>,
}

impl KeyPairs {
    /// Most keys that are made concurrently. Each takes a processor for a tenth of a second, which delays
    /// viewers (D-0065).
    const AT_ONCE_MAX: usize = 2;

    /// Creates the pool with this maker.
    pub fn new(maker: Arc<dyn KeyMaker>) -> Self {
        Self { maker, permits: Arc::new(Semaphore::new(Self::AT_ONCE_MAX)) }
    }

    /// A new pair; 503 while too many are being made.
    pub(crate) async fn make(&self) -> Result<KeyPair, ApiError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|_| ApiError::busy())?;
        let maker = Arc::clone(&self.maker);
        let task = tokio::task::spawn_blocking(move || {
            // The permit lasts as long as the work, even when the client has disconnected.
            let _permit = permit;
            maker.generate()
        });
        task.await.map_err(|error| ApiError::internal(&error))
    }
}
