//! Admission: at most one process for each core, within a share of the memory. The others wait in a short
//! queue, the highest priority first.
//!
//! Background runs are preempted. If another run needs their core or memory, a signal stops the process
//! group, and it continues when there is capacity again. A signal works at once, unlike a paused input: also
//! on a process with a full pipe, and on one that reads no input.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::EngineError;
use crate::memory;
use crate::priority::Priority;

/// Jobs of one priority that may wait for a permit. Further ones get [`EngineError::Busy`].
const WAITING_MAX: usize = 64;

/// Divisor of the memory for all children together; the rest is for the server and the page cache.
const MEMORY_SHARE: u64 = 2;

/// Assumed memory if the system does not report any.
const MEMORY_UNKNOWN_BYTES: u64 = 1 << 30;

/// Divisor of the cores, and of the memory for children, that background runs may use.
const BACKGROUND_SHARE: u8 = 2;

/// Load of the engine. Background runs are counted separately, because they can be preempted. Runs of
/// [`Priority::Prepare`] wait after all viewers, so they are not counted as waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Processes that may run at the same time.
    pub slots: usize,
    /// Processes that run, without those of [`Priority::Background`].
    pub running: usize,
    /// Jobs of viewers in the queue: of [`Priority::Viewer`] and [`Priority::Prefetch`].
    pub waiting: usize,
    /// Background processes that run.
    pub background: usize,
}

impl Load {
    /// Whether a new job of a viewer would have to wait.
    pub fn is_full(&self) -> bool {
        self.slots <= self.running + self.waiting
    }
}

/// Pauses and resumes a running process.
pub(crate) trait PauseControl: fmt::Debug + Send + Sync {
    fn pause(&self);
    fn resume(&self);
}

/// The permits of one engine. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Admission(Arc<Mutex<AdmissionState>>);

/// A permit. It is returned when this is dropped: after the process has ended, not when its caller leaves.
#[derive(Debug)]
pub(crate) struct Permit {
    admission: Admission,
    key: QueueKey,
}

/// Priority first, then the order of arrival.
type QueueKey = (Priority, u64);

#[derive(Debug)]
struct AdmissionState {
    cores: usize,
    memory_bytes: u64,
    enqueued: u64,
    /// All jobs that wait, run or are paused, in the order in which they get a permit.
    jobs: BTreeMap<QueueKey, JobEntry>,
}

#[derive(Debug)]
struct JobEntry {
    memory_bytes: u64,
    state: State,
    /// `None` until its process runs.
    pause_control: Option<Arc<dyn PauseControl>>,
}

#[derive(Debug)]
enum State {
    Waiting(oneshot::Sender<()>),
    Running,
    Paused,
}

impl Admission {
    /// Permits for `jobs_max` processes, or for one on each core; both within the limits of the control
    /// groups.
    pub(crate) fn new(jobs_max: Option<NonZeroUsize>) -> Self {
        let cores =
            jobs_max.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let memory = memory::limit_bytes(Path::new("/")).unwrap_or(MEMORY_UNKNOWN_BYTES);
        Self::with_limits(cores, memory / MEMORY_SHARE)
    }

    fn with_limits(cores: usize, memory_bytes: u64) -> Self {
        // At least one byte, so that a process always fits if no other runs.
        let memory_bytes = memory_bytes.max(1);
        Self(Arc::new(Mutex::new(AdmissionState { cores, memory_bytes, enqueued: 0, jobs: BTreeMap::new() })))
    }

    /// Upper limit for the memory of one process, for any job: all memory that the machine gives us.
    pub(crate) fn memory_max(&self) -> u64 {
        self.lock().memory_bytes.saturating_mul(MEMORY_SHARE)
    }

    /// Waits for a permit for a process that may use `memory_bytes`: by priority, then in the order of
    /// arrival.
    ///
    /// A process that needs more memory than the share of all runs alone. Errors: [`EngineError::Busy`] when
    /// too many jobs of its priority wait already.
    pub(crate) async fn acquire(&self, priority: Priority, memory_bytes: u64) -> Result<Permit, EngineError> {
        let (permit, admitted) = self.enqueue(priority, memory_bytes)?;
        // The sender is stored until it is used or the permit is dropped.
        admitted.await.map_err(|_| EngineError::Busy)?;
        Ok(permit)
    }

    fn enqueue(
        &self,
        priority: Priority,
        memory_bytes: u64,
    ) -> Result<(Permit, oneshot::Receiver<()>), EngineError> {
        let mut state = self.lock();
        if WAITING_MAX <= state.waiting().filter(|(waiting, _)| *waiting == priority).count() {
            return Err(EngineError::Busy);
        }
        let (admit, admitted) = oneshot::channel();
        let key = (priority, state.enqueued);
        state.enqueued += 1;
        let memory_bytes = memory_bytes.min(state.memory_bytes);
        state.jobs.insert(key, JobEntry { memory_bytes, state: State::Waiting(admit), pause_control: None });
        state.admit_waiting();
        Ok((Permit { admission: self.clone(), key }, admitted))
    }

    /// The current load.
    pub(crate) fn load(&self) -> Load {
        let state = self.lock();
        let running =
            |background| state.running().filter(move |(key, _)| key.0.is_background() == background);
        Load {
            slots: state.cores,
            running: running(false).count(),
            waiting: state.waiting().filter(|(priority, _)| *priority <= Priority::Prefetch).count(),
            background: running(true).count(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, AdmissionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Sets how the process of this permit is paused. A process that lost its permit meanwhile is paused
    /// now.
    pub(crate) fn set_pause_control(&self, control: Arc<dyn PauseControl>) {
        if let Some(entry) = self.admission.lock().jobs.get_mut(&self.key) {
            if matches!(entry.state, State::Paused) {
                control.pause();
            }
            entry.pause_control = Some(control);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.admission.lock();
        state.jobs.remove(&self.key);
        state.admit_waiting();
    }
}

impl AdmissionState {
    fn waiting(&self) -> impl Iterator<Item = QueueKey> {
        let waiting = self.jobs.iter().filter(|(_, entry)| matches!(entry.state, State::Waiting(_)));
        waiting.map(|(key, _)| *key)
    }

    fn running(&self) -> impl Iterator<Item = (QueueKey, &JobEntry)> {
        let running = self.jobs.iter().filter(|(_, entry)| matches!(entry.state, State::Running));
        running.map(|(key, holder)| (*key, holder))
    }

    /// Admits all jobs that can run now, in their order. No job overtakes an earlier one: a large job would
    /// otherwise wait for ever after many small ones.
    fn admit_waiting(&mut self) {
        let idle =
            |(key, entry): (&QueueKey, &JobEntry)| (!matches!(entry.state, State::Running)).then_some(*key);
        while let Some(key) = self.jobs.iter().find_map(idle) {
            let has_room = if key.0.is_background() {
                self.fits_background(key)
            } else {
                self.pause_background_for(key)
            };
            if !has_room {
                return;
            }
            self.start_or_resume(key);
        }
    }

    /// Whether the background run `key` fits with all others. Paused runs still use their memory.
    fn fits_background(&self, key: QueueKey) -> bool {
        let share = usize::from(BACKGROUND_SHARE);
        let background_count = self.running().filter(|(other, _)| other.0.is_background()).count();
        let memory = |only_background: bool| -> u64 {
            let others = self.jobs.iter().filter(|(other, entry)| {
                **other != key
                    && !matches!(entry.state, State::Waiting(_))
                    && (!only_background || other.0.is_background())
            });
            others.map(|(_, holder)| holder.memory_bytes).fold(0, u64::saturating_add)
        };
        let required = self.jobs[&key].memory_bytes;
        let fits = |used: u64, limit: u64| used == 0 || used.saturating_add(required) <= limit;
        self.running().count() < self.cores
            && background_count < (self.cores / share).max(1)
            && fits(memory(false), self.memory_bytes)
            && fits(memory(true), self.memory_bytes / u64::from(BACKGROUND_SHARE))
    }

    /// Frees capacity for `key` by pausing background runs, the youngest first. Pauses none if that is not
    /// enough.
    ///
    /// The memory of paused runs does not count here, so that a viewer does not wait for it. All children
    /// together may thus exceed their share of the memory by at most the share of background runs.
    fn pause_background_for(&mut self, key: QueueKey) -> bool {
        let required = self.jobs[&key].memory_bytes;
        let (mut cores, mut memory) = (0, 0_u64);
        let mut background = Vec::new();
        for (other, entry) in self.running() {
            cores += 1;
            memory = memory.saturating_add(entry.memory_bytes);
            if other.0.is_background() {
                background.push((other, entry.memory_bytes));
            }
        }
        let fits = |cores: usize, memory: u64| {
            cores < self.cores && memory.saturating_add(required) <= self.memory_bytes
        };
        let mut to_pause = Vec::new();
        while !fits(cores, memory) {
            let Some((youngest, memory_bytes)) = background.pop() else { return false };
            cores -= 1;
            memory = memory.saturating_sub(memory_bytes);
            to_pause.push(youngest);
        }
        for youngest in to_pause {
            self.pause(youngest);
        }
        true
    }

    fn pause(&mut self, key: QueueKey) {
        if let Some(entry) = self.jobs.get_mut(&key) {
            entry.state = State::Paused;
            if let Some(control) = &entry.pause_control {
                control.pause();
            }
        }
    }

    /// Starts or resumes `key`, which waited or was paused.
    fn start_or_resume(&mut self, key: QueueKey) {
        let Some(entry) = self.jobs.get_mut(&key) else { return };
        match std::mem::replace(&mut entry.state, State::Running) {
            // A caller that left drops the permit and frees its capacity.
            State::Waiting(admit) => drop(admit.send(())),
            State::Paused | State::Running => {
                if let Some(control) = &entry.pause_control {
                    control.resume();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
