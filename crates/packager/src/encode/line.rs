//! Which segments of one encoded rendition are made, are being made, and by whom they are waited for.
//!
//! A *run* makes some segments one behind another. A request joins a run that will reach its segment soon;
//! otherwise a run of this one segment is started for it, and ends the run it lands in where it begins: no
//! segment is made by two. When a segment has been asked for, the following ones are made before they are.
//!
//! Plain state: knows no engine, no store and no clock. D-0039.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::Error;

/// A segment that is at most so far behind the next one of a run is waited for: a fresh start takes as long
/// as two. M-30.
const JOIN_WITHIN: u32 = 2;
/// So many segments behind the one that was asked for last are there or are being made.
const AHEAD: u32 = 2;
/// Segments of a run that nobody waits for. Its process holds a place of the engine until it ends, so it is
/// not left waiting for the player to come nearer: the next run begins when there is less than [`AHEAD`]
/// left.
pub(super) const RUN_LEN: u32 = 4;
/// Of the segments that are decoded before the first one of a run, it makes half as many: far behind a
/// keyframe, what leads there is decoded a few times in all and not once for each [`RUN_LEN`].
const LEAD_OF_RUN: u32 = 2;
/// Segments of the longest run: some two minutes that nobody may watch.
const RUN_LEN_MAX: u32 = 32;
/// A segment for which so many are decoded before it is waited for this part of them longer: decoding is that
/// much faster than making.
const LEAD_OF_WAIT: u32 = 4;
/// Runs for one segment alone that fail before it is given up.
const TRIES_MAX: u32 = 2;
/// Segments that are given up in a row before the rendition is taken for broken.
const GIVEN_UP_MAX: usize = 3;

/// What a request for a segment gets in the end.
pub(super) type Made = Result<Bytes, Arc<Error>>;

/// Names a run of this line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunId(u64);

/// When somebody looked in the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looking(u64);

/// Why a run makes its segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A player waits for the first one.
    Request,
    /// A player will ask for them next.
    Ahead,
    /// A player may begin with it.
    Prepare,
}

/// A run that is to be started.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) id: RunId,
    pub(super) numbers: Range<u32>,
    pub(super) cause: Cause,
    /// Cancelled when nobody wants it any more.
    pub(super) stop: CancellationToken,
}

/// What becomes of a request.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) made: oneshot::Receiver<Made>,
    /// A run that must be started for it.
    pub(super) start: Option<Start>,
}

#[derive(Debug)]
struct Run {
    id: RunId,
    /// The next segment it makes, and behind the last.
    rest: Range<u32>,
    cause: Cause,
    /// It has a place of the engine.
    is_running: bool,
    stop: CancellationToken,
}

/// The state of one rendition.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// What is known to be kept, and as the how manieth it was told; more may be.
    made: BTreeMap<u32, u64>,
    /// How often something was told to be kept.
    told: u64,
    /// For each segment, how many lie between it and the keyframe at which a decoder begins; 0 where none is
    /// told.
    leads: Vec<u32>,
    waiting: BTreeMap<u32, Vec<oneshot::Sender<Made>>>,
    runs: Vec<Run>,
    started: u64,
    /// Runs for one segment alone that failed.
    failures: BTreeMap<u32, u32>,
    /// Segments that were given up since one was made.
    given_up: BTreeSet<u32>,
}

impl Line {
    /// A line of which these segments are kept.
    pub(super) fn new(made: BTreeSet<u32>) -> Self {
        Self { made: made.into_iter().map(|n| (n, 0)).collect(), ..Self::default() }
    }

    /// The same of segments that lie so many behind the keyframe at which a decoder begins.
    pub(super) fn with_leads(self, leads: Vec<u32>) -> Self {
        Self { leads, ..self }
    }

    /// A moment before which somebody looks in the store; see [`want`](Self::want).
    pub(super) fn looking(&self) -> Looking {
        Looking(self.told)
    }

    /// Somebody needs segment `n` now, and did not find it in the store. `None` where it was kept since
    /// `looking`: it is there.
    pub(super) fn want(&mut self, n: u32, looking: Looking) -> Option<Wanted> {
        if self.made.get(&n).is_some_and(|told| looking.0 < *told) {
            return None;
        }
        self.made.remove(&n);
        if let Some(wanted) = self.join(n) {
            return Some(wanted);
        }
        if let Some(place) = self.run_of(n) {
            self.cut(place, n);
        }
        let made = self.wait(n);
        Some(Wanted { made, start: Some(self.start(n..n + 1, Cause::Request)) })
    }

    /// The same where no run may be started for it: waits for one that is soon there, changes none. `None`
    /// without such a one.
    pub(super) fn join(&mut self, n: u32) -> Option<Wanted> {
        let within = JOIN_WITHIN.max(self.lead(n) / LEAD_OF_WAIT);
        let run = &self.runs[self.run_of(n)?];
        let is_near = run.is_running && n - run.rest.start <= within;
        let is_next = run.cause == Cause::Request && n == run.rest.start;
        if is_near || is_next { Some(Wanted { made: self.wait(n), start: None }) } else { None }
    }

    /// Segment `n` was asked for: what is to be made before the player asks for it. `count` is the number of
    /// segments.
    pub(super) fn ahead(&mut self, n: u32, count: u32) -> Option<Start> {
        let is_open = |line: &Self, m: u32| {
            !line.made.contains_key(&m) && !line.is_given_up(m) && line.run_of(m).is_none()
        };
        let first =
            (n.saturating_add(1)..count.min(n.saturating_add(1 + AHEAD))).find(|m| is_open(self, *m))?;
        let len = (self.lead(first) / LEAD_OF_RUN).clamp(RUN_LEN, RUN_LEN_MAX);
        let most = count.min(first.saturating_add(len));
        let end = (first..most).find(|m| !is_open(self, *m)).unwrap_or(most);
        Some(self.start(first..end, Cause::Ahead))
    }

    /// Prepares segment `n`: joins the run that makes it, or starts one for it alone, at a lower priority
    /// than requests. `None` if it is stored already or was given up.
    pub(super) fn prepare(&mut self, n: u32) -> Option<Wanted> {
        if self.made.contains_key(&n) || self.is_given_up(n) {
            return None;
        }
        let is_open = self.run_of(n).is_none();
        let start = is_open.then(|| self.start(n..n.saturating_add(1), Cause::Prepare));
        Some(Wanted { made: self.wait(n), start })
    }

    /// The process of a run has begun.
    pub(super) fn running(&mut self, id: RunId) {
        if let Some(run) = self.runs.iter_mut().find(|run| run.id == id) {
            run.is_running = true;
        }
    }

    /// A run has come to segment `n`: it is kept now, or cannot be made. Answers those who wait for it, and
    /// whether the run is to go on.
    pub(super) fn reached(&mut self, id: RunId, n: u32, made: &Made) -> bool {
        if made.is_ok() {
            self.given_up.clear();
            self.kept(n);
        }
        self.answer(id, n, made)
    }

    /// The same of a segment that could not be kept for want of room: the run goes on while somebody waits
    /// for what it makes. One that does not is over at once, and whoever asks from now on waits for another
    /// one.
    pub(super) fn reached_unkept(&mut self, id: RunId, n: u32, bytes: Bytes) -> bool {
        let goes_on = self.answer(id, n, &Ok(bytes));
        let Some(place) = self.runs.iter().position(|run| run.id == id) else { return false };
        let is_wanted = self.waiting.range(self.runs[place].rest.clone()).next().is_some();
        if !(goes_on && is_wanted) {
            self.runs.swap_remove(place);
        }
        goes_on && is_wanted
    }

    fn answer(&mut self, id: RunId, n: u32, made: &Made) -> bool {
        for waiting in self.waiting.remove(&n).unwrap_or_default() {
            // Whoever left needs no answer.
            let _ = waiting.send(made.clone());
        }
        let Some(run) = self.runs.iter_mut().find(|run| run.id == id) else { return false };
        run.rest.start = run.rest.start.max(n.saturating_add(1));
        !run.rest.is_empty()
    }

    /// Segment `n` is kept: somebody else made it.
    pub(super) fn kept(&mut self, n: u32) {
        self.told += 1;
        self.made.insert(n, self.told);
    }

    /// A run is over. Those who wait for what it did not make are told why.
    pub(super) fn ended(&mut self, id: RunId, error: &Arc<Error>) {
        let Some(place) = self.runs.iter().position(|run| run.id == id) else { return };
        let run = self.runs.swap_remove(place);
        for n in run.rest {
            for waiting in self.waiting.remove(&n).unwrap_or_default() {
                let _ = waiting.send(Err(Arc::clone(error)));
            }
        }
    }

    /// A request for `n` is over. Its run goes on, also one that still waits for a place: players that give
    /// up ask again.
    pub(super) fn left(&mut self, n: u32) {
        if let Some(waiting) = self.waiting.get_mut(&n) {
            waiting.retain(|sender| !sender.is_closed());
            if waiting.is_empty() {
                self.waiting.remove(&n);
            }
        }
    }

    /// Segment `n` of `count` could not be made although a run was started for it alone; `is_final` where
    /// another one would end the same. Answers whether so much was given up that nothing more should be
    /// tried.
    pub(super) fn failed(&mut self, n: u32, count: u32, is_final: bool) -> bool {
        let failures = self.failures.entry(n).or_default();
        *failures = if is_final { TRIES_MAX } else { failures.saturating_add(1) };
        if *failures >= TRIES_MAX {
            self.given_up.insert(n);
        }
        self.given_up.len() >= GIVEN_UP_MAX.min(count as usize)
    }

    /// Whether segment `n` has been given up.
    pub(super) fn is_given_up(&self, n: u32) -> bool {
        self.failures.get(&n).is_some_and(|failures| *failures >= TRIES_MAX)
    }

    /// Ends all runs: the source is gone.
    pub(super) fn stop(&mut self) {
        self.runs.drain(..).for_each(|run| run.stop.cancel());
        self.waiting.clear();
    }

    fn lead(&self, n: u32) -> u32 {
        self.leads.get(n as usize).copied().unwrap_or(0)
    }

    fn wait(&mut self, n: u32) -> oneshot::Receiver<Made> {
        let (sender, made) = oneshot::channel();
        self.waiting.entry(n).or_default().push(sender);
        made
    }

    fn run_of(&self, n: u32) -> Option<usize> {
        self.runs.iter().position(|run| run.rest.contains(&n))
    }

    /// Lets a run end before `n`.
    fn cut(&mut self, place: usize, n: u32) {
        self.runs[place].rest.end = n;
        if self.runs[place].rest.is_empty() {
            self.runs.swap_remove(place).stop.cancel();
        }
    }

    fn start(&mut self, numbers: Range<u32>, cause: Cause) -> Start {
        self.started += 1;
        let (id, stop) = (RunId(self.started), CancellationToken::new());
        let rest = numbers.clone();
        self.runs.push(Run { id, rest, cause, is_running: false, stop: stop.clone() });
        Start { id, numbers, cause, stop }
    }
}

#[cfg(test)]
mod tests;
