//! A run as a task of its own: whoever asked may leave.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::WorkspaceId;
use kinora_engine::Priority;
use kinora_formats::encode::{EncodedAudio, SegmentError};
use kinora_store::Used;

use super::audio::AudioRun;
use super::cold::Place;
use super::line::{Cause, RunId, Start};
use super::order::Order;
use super::run::{Made, Run};
use super::{RungLine, Work};
use crate::leftover::Put;
use crate::{Error, Packaged, Packager};

impl Packager {
    /// Starts a run. `place` is held until it ends.
    pub(super) fn start(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        start: Start,
        place: Option<Place>,
    ) {
        let (packager, packaged, line) = (self.clone(), Arc::clone(packaged), Arc::clone(line));
        self.encoders.running.spawn(async move {
            let _place = place;
            let ending = Ending { line: &line, id: start.id };
            let head = Box::pin(packager.head(&packaged, &line, &start));
            let wanted = start.stop.run_until_cancelled(head);
            let Some(Some(end)) = packager.encoders.stop.run_until_cancelled(wanted).await else {
                return;
            };
            // A run that ends well has come to all its segments.
            let error = end.err().unwrap_or(Error::Busy);
            if start.cause == Cause::Request && error.is_of_run() {
                packager.note_failed(&packaged, &line, start.numbers.start, false).await;
            }
            ending.because(error);
        });
    }

    async fn head(&self, packaged: &Arc<Packaged>, line: &Arc<RungLine>, start: &Start) -> Result<(), Error> {
        match line.begin(&self.store, self.clock.now()).await {
            // Those who wait get what is made; nothing is kept without a row.
            Err(error) if error.is_full() => {}
            begun => drop(begun?),
        }
        let priority = match start.cause {
            Cause::Request => Priority::Viewer,
            Cause::Ahead => Priority::Prefetch,
            Cause::Prepare => Priority::Prepare,
        };
        let begun = || {
            let (of_line, id) = (Arc::clone(line), start.id);
            Box::new(move || of_line.state().running(id))
        };
        let numbers = start.numbers.clone();
        match &line.work {
            Work::Rung(rung) => {
                for numbers in packaged.index().encoded_runs(numbers) {
                    let (rungs, begun) = (vec![rung.clone()], begun());
                    let order = Order { numbers, rungs, priority, is_tolerant: false, begun };
                    if !self.pictures(packaged, line, start.id, order).await? {
                        return Ok(());
                    }
                }
            }
            Work::Aac(audio) => {
                self.sound(packaged, line, start.id, *audio, numbers, priority, begun()).await?
            }
        }
        Ok(())
    }

    /// Makes these segments of an audio track. One that does not decode alone either is silent.
    #[expect(clippy::too_many_arguments, reason = "what is known of a run")]
    async fn sound(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        id: RunId,
        audio: u8,
        mut numbers: Range<u32>,
        priority: Priority,
        mut begun: Box<dyn FnOnce() + Send>,
    ) -> Result<(), Error> {
        let mut is_alone = false;
        while !numbers.is_empty() {
            let first = numbers.start;
            let of_run = if is_alone { first..first + 1 } else { numbers.clone() };
            is_alone = of_run.len() == 1;
            let mut run = AudioRun::begin(self, packaged, audio, of_run, priority, begun)?;
            begun = Box::new(|| {});
            let (is_damaged, is_wanted) = loop {
                let (number, bytes) = match run.next().await {
                    Ok(Some(EncodedAudio { number, bytes })) => (number, Ok(bytes.into())),
                    Ok(None) => break (false, true),
                    Err(error) if error.is_of_damage() && is_alone => {
                        (first, self.silence(packaged, line, audio, first, priority).await)
                    }
                    Err(error) if error.is_of_damage() => break (true, true),
                    Err(error) => return Err(error),
                };
                numbers.start = number + 1;
                if !self.reached(packaged, line, id, number, bytes).await? {
                    break (false, false);
                }
            };
            if !is_wanted {
                return Ok(());
            }
            is_alone = is_damaged;
        }
        Ok(())
    }

    /// Makes the segments of `order`, and answers whether more are wanted behind them. One that an ordinary
    /// run cannot make is tried once more, alone, with a decoder that shows what is damaged; where that shows
    /// nothing, a picture stands still.
    async fn pictures(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        id: RunId,
        order: Order,
    ) -> Result<bool, Error> {
        let Work::Rung(rung) = &line.work else { return Err(Error::NotInPlan) };
        let Order { mut numbers, rungs, priority, .. } = order;
        let (mut begun, mut is_tolerant) = (order.begun, false);
        while !numbers.is_empty() {
            let of_run = if is_tolerant { numbers.start..numbers.start + 1 } else { numbers.clone() };
            let end = of_run.end;
            let order = Order { numbers: of_run, rungs: rungs.clone(), priority, is_tolerant, begun };
            begun = Box::new(|| {});
            let mut run = Run::begin(self, packaged, order).await?;
            let is_damaged = loop {
                let (number, made) = match run.next().await {
                    Ok(Some(Made { number, outcome: Ok(bytes), .. })) => (number, Ok(bytes)),
                    Ok(None) => break false,
                    Ok(Some(Made { outcome: Err(_), .. })) if !is_tolerant => break true,
                    Err(error) if error.is_of_run() && !is_tolerant => break true,
                    Ok(Some(Made { number, outcome: Err(SegmentError::NoPictures), .. })) => {
                        (number, self.still_segment(packaged, line, rung, number, priority).await)
                    }
                    Ok(Some(Made { number, outcome: Err(error), .. })) => {
                        (number, Err(Error::Unmade(Box::new(error))))
                    }
                    Err(error) if error.is_of_damage() => {
                        let number = numbers.start;
                        (number, self.still_segment(packaged, line, rung, number, priority).await)
                    }
                    Err(error) => return Err(error),
                };
                numbers.start = number + 1;
                if !self.reached(packaged, line, id, number, made).await? {
                    return Ok(false);
                }
                if is_tolerant {
                    break false;
                }
            };
            if !is_damaged {
                numbers.start = end;
            }
            is_tolerant = is_damaged;
        }
        Ok(true)
    }

    /// Keeps what a run came to and hands it on. Answers whether the run is to go on: without room to keep
    /// anything, only for those who wait for it.
    async fn reached(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        run: RunId,
        number: u32,
        made: Result<Bytes, Error>,
    ) -> Result<bool, Error> {
        let made = match made {
            Ok(bytes) => match self.keep(packaged, line, number, bytes.clone()).await {
                Err(error) if error.is_full() => {
                    tracing::warn!(rendition.id = %line.id, segment = number, "the disk is full: a segment is not kept");
                    self.remember(line.key(number), &bytes).await;
                    return Ok(line.state().reached_unkept(run, number, bytes));
                }
                kept => Ok(kept?),
            },
            // Nothing of the source decodes.
            Err(Error::NoFrame) => {
                self.mark_broken(line).await;
                Err(Error::NoFrame)
            }
            // Another try would end the same.
            Err(error) if error.is_of_run() => {
                tracing::warn!(rendition.id = %line.id, segment = number, error = %error, "a segment could not be made");
                self.note_failed(packaged, line, number, true).await;
                Err(Error::NoFrame)
            }
            Err(error) => return Err(error),
        };
        Ok(line.state().reached(run, number, &made.map_err(Arc::new)))
    }

    /// Keeps a segment that was just made. Another one may have been faster: its bytes are everybody's.
    ///
    /// Errors: those of the stores; one that [is full](Error::is_full) where there is no room for it;
    /// [`Error::Gone`] when its media was deleted meanwhile.
    pub(super) async fn keep(
        &self,
        packaged: &Packaged,
        line: &RungLine,
        n: u32,
        bytes: Bytes,
    ) -> Result<Bytes, Error> {
        let owner = line.begin(&self.store, self.clock.now()).await?;
        let key = ObjectKey::Segment(line.id, n);
        match self.put(line.presentation, key, bytes.clone()).await? {
            Put::Written => {
                self.encoders.notes.made(line.id, bytes.len() as u64);
                if let Some(owner) = owner {
                    let encoded_us = packaged.plays_us(line.work.rendition(), n);
                    self.count_encoded(owner, encoded_us);
                }
                Ok(bytes)
            }
            Put::AlreadyThere => self.blob.get(key).await?.ok_or(Error::Gone),
            Put::Gone => Err(Error::Gone), // and nothing more of it is made
        }
    }

    /// Counts what was encoded of a workspace, once all of it is kept.
    pub fn count_encoded(&self, workspace: WorkspaceId, encoded_us: u64) {
        self.store.count_usage(workspace, self.clock.now(), Used { encoded_us, ..Used::default() });
    }

    async fn note_failed(&self, packaged: &Packaged, line: &RungLine, n: u32, is_final: bool) {
        let is_broken = line.state().failed(n, line.work.count(packaged), is_final);
        if is_broken {
            self.mark_broken(line).await;
        }
    }

    /// As [`mark_broken`](Self::mark_broken), but returns the error when the store does not take it.
    pub(super) async fn mark_broken_now(&self, line: &RungLine) -> Result<(), Error> {
        line.begin(&self.store, self.clock.now()).await?;
        let (id, now) = (line.id, self.clock.now());
        self.store.write(async move |tx| tx.set_rendition_broken(id, now).await).await?;
        line.is_broken.store(true, Ordering::Release);
        self.encoders.broken.invalidate(&line.presentation).await;
        Ok(())
    }

    /// Nothing more of this rendition is tried, and new manifests do not list it.
    async fn mark_broken(&self, line: &RungLine) {
        if line.is_broken.swap(true, Ordering::AcqRel) {
            return;
        }
        self.encoders.broken.invalidate(&line.presentation).await;
        let (id, now) = (line.id, self.clock.now());
        tracing::warn!(rendition.id = %id, presentation.id = %line.presentation, "a rendition cannot be made");
        if let Err(error) = self.store.write(async move |tx| tx.set_rendition_broken(id, now).await).await {
            tracing::warn!(error = %error, "it could not be written down");
        }
    }
}

/// Says that a run is over, even where its task panicked.
struct Ending<'a> {
    line: &'a RungLine,
    id: RunId,
}

impl Ending<'_> {
    fn because(self, error: Error) {
        self.line.state().ended(self.id, &Arc::new(error));
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        // Nothing is left to say where the reason was told.
        self.line.state().ended(self.id, &Arc::new(Error::Busy));
    }
}
