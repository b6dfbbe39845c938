//! Admission of password hashes, which need 64 MiB of memory and a third of a second each.

use std::sync::Arc;

use kinora_web::error::ApiError;
use tokio::sync::Semaphore;

/// Hashes at once in a process: 128 MiB.
const RUNNING_MAX: usize = 2;
/// Hashes that wait, for about a second at most.
const WAITING_MAX: usize = 8;

/// Runs password hashes on other threads than those of requests, a few at once.
pub(crate) struct PasswordGate {
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Default for PasswordGate {
    fn default() -> Self {
        Self {
            admitted: Arc::new(Semaphore::new(RUNNING_MAX + WAITING_MAX)),
            running: Arc::new(Semaphore::new(RUNNING_MAX)),
        }
    }
}

impl PasswordGate {
    /// Runs `hash`. 503 at once while the most hashes run and wait.
    ///
    /// A hash that has started keeps its slot even if the client disconnects: it uses the memory until it
    /// ends.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let admitted = Arc::clone(&self.admitted).try_acquire_owned().map_err(|_| ApiError::busy())?;
        let running = Arc::clone(&self.running).acquire_owned().await.expect("it is never closed");
        let hashing = tokio::task::spawn_blocking(move || {
            let _slots = (admitted, running);
            hash()
        });
        hashing.await.map_err(|error| ApiError::internal(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};

    use super::*;

    /// Holds all hashes until it is opened, and counts those that run.
    #[derive(Default)]
    struct Barrier {
        is_open: Mutex<bool>,
        opened: Condvar,
        running: AtomicUsize,
        most: AtomicUsize,
    }

    impl Barrier {
        fn pass(&self) {
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            let is_open = self.is_open.lock().unwrap();
            drop(self.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
            self.running.fetch_sub(1, Ordering::SeqCst);
        }

        fn open(&self) {
            *self.is_open.lock().unwrap() = true;
            self.opened.notify_all();
        }
    }

    #[tokio::test]
    async fn two_hashes_run_eight_wait_and_the_rest_is_503() {
        let (gate, barrier) = (Arc::new(PasswordGate::default()), Arc::new(Barrier::default()));
        let hash = || {
            let (gate, barrier) = (Arc::clone(&gate), Arc::clone(&barrier));
            tokio::spawn(async move { gate.run(move || barrier.pass()).await })
        };
        let admitted: Vec<_> = (0..RUNNING_MAX + WAITING_MAX).map(|_| hash()).collect();
        while gate.admitted.available_permits() > 0 || barrier.running.load(Ordering::SeqCst) < RUNNING_MAX {
            tokio::task::yield_now().await;
        }
        let rejected = hash().await.unwrap().unwrap_err();
        assert_eq!((rejected.status().as_u16(), rejected.has_retry_after()), (503, true));
        barrier.open();
        for hashed in admitted {
            assert!(hashed.await.unwrap().is_ok());
        }
        assert_eq!(barrier.most.load(Ordering::SeqCst), RUNNING_MAX);
        assert!(hash().await.unwrap().is_ok(), "slots are free again");
    }

    #[tokio::test]
    async fn hash_keeps_its_slot_after_a_disconnect() {
        let (gate, barrier) = (Arc::new(PasswordGate::default()), Arc::new(Barrier::default()));
        let request = {
            let (gate, barrier) = (Arc::clone(&gate), Arc::clone(&barrier));
            tokio::spawn(async move { gate.run(move || barrier.pass()).await })
        };
        while barrier.running.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        assert_eq!(gate.running.available_permits(), RUNNING_MAX - 1);
        barrier.open();
        while gate.running.available_permits() < RUNNING_MAX {
            tokio::task::yield_now().await;
        }
    }
}
