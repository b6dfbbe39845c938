//! Who may run now: at most one process a core, within a share of the memory, behind a short queue, the most
//! urgent first.
//!
//! Background runs give way: when somebody else needs the core or the memory of one, its process group is
//! stopped by a signal and goes on when there is room again. A signal rather than an input that dries up: it
//! works at once, also on a process that still has a pipe full of work, and on one that reads no input.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::EngineError;
use crate::memory;
use crate::priority::Priority;

/// Jobs of one priority that may wait for a free place. Whoever comes after them is told to come back.
const WAITING_MAX: usize = 64;

/// The part of the memory given to all children together; the rest is for the server and the page cache.
const MEMORY_SHARE: u64 = 2;

/// What is assumed where the system does not say how much memory there is.
const MEMORY_UNKNOWN_BYTES: u64 = 1 << 30;

/// The part of the cores, and of the memory for children, that background runs may hold.
const BACKGROUND_SHARE: u8 = 2;

/// How busy the engine is. Background runs give way, so they are counted apart; whoever only prepares
/// something waits behind all viewers, and tells nothing about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Processes that may run at the same time.
    pub places: usize,
    /// Processes that run, without those of [`Priority::Background`].
    pub running: usize,
    /// Jobs of viewers that wait for a place: of [`Priority::Viewer`] and [`Priority::Prefetch`].
    pub waiting: usize,
    /// Background processes that run.
    pub background: usize,
}

impl Load {
    /// Whether a job of a viewer that came now would have to wait.
    pub fn is_full(&self) -> bool {
        self.places <= self.running + self.waiting
    }
}

/// How a running process is stopped for a while.
pub(crate) trait Brake: fmt::Debug + Send + Sync {
    fn pause(&self);
    fn resume(&self);
}

/// The places of one engine. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Admission(Arc<Mutex<Places>>);

/// A place. It is given back when this is dropped: after the process is gone, not when its caller leaves.
#[derive(Debug)]
pub(crate) struct Permit {
    admission: Admission,
    key: Key,
}

/// Priority first, then the order of asking.
type Key = (Priority, u64);

#[derive(Debug)]
struct Places {
    cores: usize,
    memory_bytes: u64,
    asked: u64,
    /// Everybody who waits, runs or is paused, in the order in which they get a place.
    jobs: BTreeMap<Key, Holder>,
}

#[derive(Debug)]
struct Holder {
    memory_bytes: u64,
    state: State,
    /// `None` until its process runs.
    brake: Option<Arc<dyn Brake>>,
}

#[derive(Debug)]
enum State {
    Waiting(oneshot::Sender<()>),
    Running,
    Paused,
}

impl Admission {
    /// Places for `jobs_max` processes, or for as many as there are cores; both within what control groups
    /// allow.
    pub(crate) fn new(jobs_max: Option<NonZeroUsize>) -> Self {
        let cores =
            jobs_max.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let memory = memory::available(Path::new("/")).unwrap_or(MEMORY_UNKNOWN_BYTES);
        Self::with(cores, memory / MEMORY_SHARE)
    }

    fn with(cores: usize, memory_bytes: u64) -> Self {
        // At least one byte, so that a process always fits where nothing else runs.
        let memory_bytes = memory_bytes.max(1);
        Self(Arc::new(Mutex::new(Places { cores, memory_bytes, asked: 0, jobs: BTreeMap::new() })))
    }

    /// Memory that no process may use more of, whatever it was asked for: all that the machine lets us use.
    pub(crate) fn memory_max(&self) -> u64 {
        self.lock().memory_bytes.saturating_mul(MEMORY_SHARE)
    }

    /// Waits for a place for a process that may use `memory_bytes`: by priority, then in the order of asking.
    ///
    /// A process that wants more than there is for all runs alone. Errors: [`EngineError::Busy`] when too
    /// many of its priority wait already.
    pub(crate) async fn enter(&self, priority: Priority, memory_bytes: u64) -> Result<Permit, EngineError> {
        let (permit, admitted) = self.ask(priority, memory_bytes)?;
        // The sender is kept until it is used or the permit is gone.
        admitted.await.map_err(|_| EngineError::Busy)?;
        Ok(permit)
    }

    fn ask(
        &self,
        priority: Priority,
        memory_bytes: u64,
    ) -> Result<(Permit, oneshot::Receiver<()>), EngineError> {
        let mut places = self.lock();
        if WAITING_MAX <= places.waiting().filter(|(waiting, _)| *waiting == priority).count() {
            return Err(EngineError::Busy);
        }
        let (admit, admitted) = oneshot::channel();
        let key = (priority, places.asked);
        places.asked += 1;
        let memory_bytes = memory_bytes.min(places.memory_bytes);
        places.jobs.insert(key, Holder { memory_bytes, state: State::Waiting(admit), brake: None });
        places.settle();
        Ok((Permit { admission: self.clone(), key }, admitted))
    }

    /// How busy it is now.
    pub(crate) fn load(&self) -> Load {
        let places = self.lock();
        let running =
            |background| places.running().filter(move |(key, _)| key.0.is_background() == background);
        Load {
            places: places.cores,
            running: running(false).count(),
            waiting: places.waiting().filter(|(priority, _)| *priority <= Priority::Prefetch).count(),
            background: running(true).count(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Says how the process that runs here is stopped for a while. One that lost its place meanwhile is
    /// stopped now.
    pub(crate) fn attach(&self, brake: Arc<dyn Brake>) {
        if let Some(holder) = self.admission.lock().jobs.get_mut(&self.key) {
            if matches!(holder.state, State::Paused) {
                brake.pause();
            }
            holder.brake = Some(brake);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut places = self.admission.lock();
        places.jobs.remove(&self.key);
        places.settle();
    }
}

impl Places {
    fn waiting(&self) -> impl Iterator<Item = Key> {
        let waiting = self.jobs.iter().filter(|(_, holder)| matches!(holder.state, State::Waiting(_)));
        waiting.map(|(key, _)| *key)
    }

    fn running(&self) -> impl Iterator<Item = (Key, &Holder)> {
        let running = self.jobs.iter().filter(|(_, holder)| matches!(holder.state, State::Running));
        running.map(|(key, holder)| (*key, holder))
    }

    /// Lets in whoever can run now, in their order. Nobody passes one who came before: it would wait for ever
    /// behind many small ones.
    fn settle(&mut self) {
        let idle = |(key, holder): (&Key, &Holder)| (!matches!(holder.state, State::Running)).then_some(*key);
        while let Some(key) = self.jobs.iter().find_map(idle) {
            let has_room =
                if key.0.is_background() { self.has_background_room(key) } else { self.make_room(key) };
            if !has_room {
                return;
            }
            self.go_on(key);
        }
    }

    /// Whether the background run `key` may run beside all others. Those that are paused keep their memory.
    fn has_background_room(&self, key: Key) -> bool {
        let share = usize::from(BACKGROUND_SHARE);
        let of_background = self.running().filter(|(other, _)| other.0.is_background()).count();
        let memory = |only_background: bool| -> u64 {
            let others = self.jobs.iter().filter(|(other, holder)| {
                **other != key
                    && !matches!(holder.state, State::Waiting(_))
                    && (!only_background || other.0.is_background())
            });
            others.map(|(_, holder)| holder.memory_bytes).fold(0, u64::saturating_add)
        };
        let wanted = self.jobs[&key].memory_bytes;
        let fits = |used: u64, of: u64| used == 0 || used.saturating_add(wanted) <= of;
        self.running().count() < self.cores
            && of_background < (self.cores / share).max(1)
            && fits(memory(false), self.memory_bytes)
            && fits(memory(true), self.memory_bytes / u64::from(BACKGROUND_SHARE))
    }

    /// Makes room for `key` by pausing background runs, the youngest first. Pauses none if that would not be
    /// enough.
    ///
    /// The memory of paused runs does not count here: a viewer does not wait for it. All children together
    /// may so get over their share of the memory, by what background runs may hold at most.
    fn make_room(&mut self, key: Key) -> bool {
        let wanted = self.jobs[&key].memory_bytes;
        let (mut cores, mut memory) = (0, 0_u64);
        let mut background = Vec::new();
        for (other, holder) in self.running() {
            cores += 1;
            memory = memory.saturating_add(holder.memory_bytes);
            if other.0.is_background() {
                background.push((other, holder.memory_bytes));
            }
        }
        let fits = |cores: usize, memory: u64| {
            cores < self.cores && memory.saturating_add(wanted) <= self.memory_bytes
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

    fn pause(&mut self, key: Key) {
        if let Some(holder) = self.jobs.get_mut(&key) {
            holder.state = State::Paused;
            if let Some(brake) = &holder.brake {
                brake.pause();
            }
        }
    }

    /// Lets `key`, which waited or was paused, run.
    fn go_on(&mut self, key: Key) {
        let Some(holder) = self.jobs.get_mut(&key) else { return };
        match std::mem::replace(&mut holder.state, State::Running) {
            // Whoever left meanwhile drops the permit, and with it the place.
            State::Waiting(admit) => drop(admit.send(())),
            State::Paused | State::Running => {
                if let Some(brake) = &holder.brake {
                    brake.resume();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
