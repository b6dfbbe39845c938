//! State of one encoded rendition: which segments are stored, which are being encoded, and who waits for
//! them.
//!
//! A *run* encodes consecutive segments. A request joins a run that will reach its segment soon. Otherwise
//! it starts a run of this one segment, and the run that contained the segment ends before it: no segment is
//! encoded by two runs. After a request, the next segments are encoded before the player requests them.
//!
//! Plain state without engine, store or clock. D-0039.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::Error;

/// A request joins a run if its segment is at most this far after the next one of the run: a new start takes
/// as long as two segments. M-30.
const JOIN_DISTANCE_MAX: u32 = 2;
/// Segments after the last requested one that are stored or being encoded.
const PREFETCH_SEGMENTS: u32 = 2;
/// Segments of a run that no request waits for. Its process has a permit of the engine until it ends, so it
/// does not wait for the player to come nearer. The next run begins when less than [`PREFETCH_SEGMENTS`] is
/// left.
pub(super) const RUN_LEN: u32 = 4;
/// Divisor of the preroll, the segments that are decoded before the first one of a run: a run makes half as
/// many. Far after a keyframe the preroll is thus decoded a few times in all, and not once for each
/// [`RUN_LEN`].
const RUN_PREROLL_DIVISOR: u32 = 2;
/// Segments of the longest run: some two minutes that may never be watched.
const RUN_LEN_MAX: u32 = 32;
/// A request joins a run that is at most `preroll / 4` segments away, because decoding the preroll is that
/// much faster than encoding.
const JOIN_PREROLL_DIVISOR: u32 = 4;
/// Failed runs for one segment alone before it is given up.
const TRIES_MAX: u32 = 2;
/// Segments given up in a row before the rendition counts as broken.
const GIVEN_UP_MAX: usize = 3;

/// The result of a request for a segment.
pub(super) type SegmentResult = Result<Bytes, Arc<Error>>;

/// Id of a run of this rendition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunId(u64);

/// Version of the set of stored segments, read before a lookup in the store: a segment with a later report
/// was stored after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredVersion(u64);

/// Why a run makes its segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A player waits for the first one.
    Request,
    /// A player will request them next.
    Prefetch,
    /// A player may begin with it.
    Prepare,
}

/// A run that is to be started.
#[derive(Debug)]
pub(super) struct RunStart {
    pub(super) id: RunId,
    pub(super) numbers: Range<u32>,
    pub(super) cause: Cause,
    /// Cancelled when the run is no longer wanted.
    pub(super) stop: CancellationToken,
}

/// The state of a request.
#[derive(Debug)]
pub(super) struct PendingSegment {
    pub(super) receiver: oneshot::Receiver<SegmentResult>,
    /// A run that must be started for it.
    pub(super) start: Option<RunStart>,
}

#[derive(Debug)]
struct ActiveRun {
    id: RunId,
    /// From the next segment to the end of the run.
    rest: Range<u32>,
    cause: Cause,
    /// Whether its process has begun, with a permit of the engine.
    is_running: bool,
    stop: CancellationToken,
}

/// The state of one rendition.
#[derive(Debug, Default)]
pub(super) struct RenditionState {
    /// Segments known to be stored, each with the number of its report; more may be stored.
    stored: BTreeMap<u32, u64>,
    /// Count of reports of stored segments.
    stored_version: u64,
    /// For each segment, the number of segments between it and the keyframe at which a decoder begins; 0 if
    /// not given.
    prerolls: Vec<u32>,
    waiters: BTreeMap<u32, Vec<oneshot::Sender<SegmentResult>>>,
    runs: Vec<ActiveRun>,
    last_run_id: u64,
    /// Failed runs for one segment alone.
    failures: BTreeMap<u32, u32>,
    /// Segments that were given up since the last success.
    given_up_in_a_row: BTreeSet<u32>,
}

impl RenditionState {
    /// The state of a rendition with these stored segments.
    pub(super) fn new(stored: BTreeSet<u32>) -> Self {
        Self { stored: stored.into_iter().map(|n| (n, 0)).collect(), ..Self::default() }
    }

    /// Sets the distance of each segment to the keyframe at which a decoder begins.
    pub(super) fn with_prerolls(self, prerolls: Vec<u32>) -> Self {
        Self { prerolls, ..self }
    }

    /// The version to read before a lookup in the store; see [`request`](Self::request).
    pub(super) fn stored_version(&self) -> StoredVersion {
        StoredVersion(self.stored_version)
    }

    /// Requests segment `n`, which a lookup in the store did not find. `None` if it was stored after
    /// `stored_version`, which was read before that lookup.
    pub(super) fn request(&mut self, n: u32, stored_version: StoredVersion) -> Option<PendingSegment> {
        if self.stored.get(&n).is_some_and(|stored_at| stored_version.0 < *stored_at) {
            return None;
        }
        self.stored.remove(&n);
        if let Some(pending) = self.join(n) {
            return Some(pending);
        }
        if let Some(run_index) = self.run_of(n) {
            self.cut(run_index, n);
        }
        let receiver = self.add_waiter(n);
        Some(PendingSegment { receiver, start: Some(self.add_run(n..n + 1, Cause::Request)) })
    }

    /// Joins a run that reaches `n` soon, and starts or changes none. `None` without such a run.
    pub(super) fn join(&mut self, n: u32) -> Option<PendingSegment> {
        let join_distance = JOIN_DISTANCE_MAX.max(self.preroll(n) / JOIN_PREROLL_DIVISOR);
        let run = &self.runs[self.run_of(n)?];
        let is_near = run.is_running && n - run.rest.start <= join_distance;
        let is_next = run.cause == Cause::Request && n == run.rest.start;
        if is_near || is_next {
            Some(PendingSegment { receiver: self.add_waiter(n), start: None })
        } else {
            None
        }
    }

    /// The run to start ahead of the player after a request for segment `n`. `count` is the number of
    /// segments.
    pub(super) fn prefetch(&mut self, n: u32, count: u32) -> Option<RunStart> {
        let is_missing = |state: &Self, m: u32| {
            !state.stored.contains_key(&m) && !state.is_given_up(m) && state.run_of(m).is_none()
        };
        let first = (n.saturating_add(1)..count.min(n.saturating_add(1 + PREFETCH_SEGMENTS)))
            .find(|m| is_missing(self, *m))?;
        let len = (self.preroll(first) / RUN_PREROLL_DIVISOR).clamp(RUN_LEN, RUN_LEN_MAX);
        let end_max = count.min(first.saturating_add(len));
        let end = (first..end_max).find(|m| !is_missing(self, *m)).unwrap_or(end_max);
        Some(self.add_run(first..end, Cause::Prefetch))
    }

    /// Prepares segment `n`: joins the run that makes it, or starts one for it alone, at a lower priority
    /// than requests. `None` if it is stored already or was given up.
    pub(super) fn prepare(&mut self, n: u32) -> Option<PendingSegment> {
        if self.stored.contains_key(&n) || self.is_given_up(n) {
            return None;
        }
        let needs_run = self.run_of(n).is_none();
        let start = needs_run.then(|| self.add_run(n..n.saturating_add(1), Cause::Prepare));
        Some(PendingSegment { receiver: self.add_waiter(n), start })
    }

    /// Notes that the process of a run has begun.
    pub(super) fn run_started(&mut self, id: RunId) {
        if let Some(run) = self.runs.iter_mut().find(|run| run.id == id) {
            run.is_running = true;
        }
    }

    /// A run delivered segment `n`, which is stored now or cannot be encoded. Responds to the waiting
    /// requests, and returns whether the run continues.
    pub(super) fn segment_done(&mut self, id: RunId, n: u32, result: &SegmentResult) -> bool {
        if result.is_ok() {
            self.given_up_in_a_row.clear();
            self.note_stored(n);
        }
        self.deliver(id, n, result)
    }

    /// As [`segment_done`](Self::segment_done), for a segment that could not be stored on a full disk. The
    /// run continues while a request waits for one of its segments. Otherwise it ends at once, and later
    /// requests start another one.
    pub(super) fn segment_done_unstored(&mut self, id: RunId, n: u32, bytes: Bytes) -> bool {
        let goes_on = self.deliver(id, n, &Ok(bytes));
        let Some(run_index) = self.runs.iter().position(|run| run.id == id) else { return false };
        let is_wanted = self.waiters.range(self.runs[run_index].rest.clone()).next().is_some();
        if !(goes_on && is_wanted) {
            self.runs.swap_remove(run_index);
        }
        goes_on && is_wanted
    }

    fn deliver(&mut self, id: RunId, n: u32, result: &SegmentResult) -> bool {
        for sender in self.waiters.remove(&n).unwrap_or_default() {
            // A request that was dropped needs no response.
            let _ = sender.send(result.clone());
        }
        let Some(run) = self.runs.iter_mut().find(|run| run.id == id) else { return false };
        run.rest.start = run.rest.start.max(n.saturating_add(1));
        !run.rest.is_empty()
    }

    /// Segment `n` is stored: another run or process encoded it.
    pub(super) fn note_stored(&mut self, n: u32) {
        self.stored_version += 1;
        self.stored.insert(n, self.stored_version);
    }

    /// A run has ended. Requests for the segments that it did not deliver get the error.
    pub(super) fn run_ended(&mut self, id: RunId, error: &Arc<Error>) {
        let Some(run_index) = self.runs.iter().position(|run| run.id == id) else { return };
        let run = self.runs.swap_remove(run_index);
        for n in run.rest {
            for sender in self.waiters.remove(&n).unwrap_or_default() {
                let _ = sender.send(Err(Arc::clone(error)));
            }
        }
    }

    /// A request for `n` has ended. Its run continues, also one that still waits for a permit, because
    /// players that time out request the segment again.
    pub(super) fn request_ended(&mut self, n: u32) {
        if let Some(senders) = self.waiters.get_mut(&n) {
            senders.retain(|sender| !sender.is_closed());
            if senders.is_empty() {
                self.waiters.remove(&n);
            }
        }
    }

    /// A run for segment `n` of `count` alone failed; with `is_final` a retry would fail in the same way.
    /// Returns whether the rendition is now broken.
    pub(super) fn note_failed(&mut self, n: u32, count: u32, is_final: bool) -> bool {
        let failures = self.failures.entry(n).or_default();
        *failures = if is_final { TRIES_MAX } else { failures.saturating_add(1) };
        if *failures >= TRIES_MAX {
            self.given_up_in_a_row.insert(n);
        }
        self.given_up_in_a_row.len() >= GIVEN_UP_MAX.min(count as usize)
    }

    /// Whether segment `n` has been given up.
    pub(super) fn is_given_up(&self, n: u32) -> bool {
        self.failures.get(&n).is_some_and(|failures| *failures >= TRIES_MAX)
    }

    /// Ends all runs: the source is gone.
    pub(super) fn stop(&mut self) {
        self.runs.drain(..).for_each(|run| run.stop.cancel());
        self.waiters.clear();
    }

    fn preroll(&self, n: u32) -> u32 {
        self.prerolls.get(n as usize).copied().unwrap_or(0)
    }

    fn add_waiter(&mut self, n: u32) -> oneshot::Receiver<SegmentResult> {
        let (sender, receiver) = oneshot::channel();
        self.waiters.entry(n).or_default().push(sender);
        receiver
    }

    fn run_of(&self, n: u32) -> Option<usize> {
        self.runs.iter().position(|run| run.rest.contains(&n))
    }

    /// Shortens a run so that it ends before `n`.
    fn cut(&mut self, run_index: usize, n: u32) {
        self.runs[run_index].rest.end = n;
        if self.runs[run_index].rest.is_empty() {
            self.runs.swap_remove(run_index).stop.cancel();
        }
    }

    fn add_run(&mut self, numbers: Range<u32>, cause: Cause) -> RunStart {
        self.last_run_id += 1;
        let (id, stop) = (RunId(self.last_run_id), CancellationToken::new());
        let rest = numbers.clone();
        self.runs.push(ActiveRun { id, rest, cause, is_running: false, stop: stop.clone() });
        RunStart { id, numbers, cause, stop }
    }
}

#[cfg(test)]
mod tests;
