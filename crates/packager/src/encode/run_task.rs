//! A run as a task of its own, which continues when the requester disconnects.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::WorkspaceId;
use kinora_engine::Priority;
use kinora_formats::encode::{AudioFeed, EncodedAudioSegment, SegmentError};
use kinora_store::UsageCounts;

use super::audio::AudioEncodeRun;
use super::client_encode_limit::ClientEncodePermit;
use super::encode_spec::EncodeSpec;
use super::rendition_state::{Cause, RunId, RunStart};
use super::run::{EncodeRun, EncodedSegment};
use super::{ActiveRendition, EncodeTarget};
use crate::derived_object::DerivedPut;
use crate::{EncodedAudio, Error, Packaged, Packager};

impl Packager {
    /// Starts a run, which owns `permit` until it ends.
    pub(super) fn start_run(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
        start: RunStart,
        permit: Option<ClientEncodePermit>,
    ) {
        let (packager, packaged, active) = (self.clone(), Arc::clone(packaged), Arc::clone(rendition));
        self.encoders.running.spawn(async move {
            let _permit = permit;
            let guard = RunGuard { rendition: &active, id: start.id };
            let task = Box::pin(packager.run_task(&packaged, &active, &start));
            let until_stopped = start.stop.run_until_cancelled(task);
            let Some(Some(result)) = packager.encoders.stop.run_until_cancelled(until_stopped).await else {
                return;
            };
            // A run that ends well has delivered all its segments.
            let error = result.err().unwrap_or(Error::Busy);
            if start.cause == Cause::Request && error.is_run_failure() {
                packager.note_failed(&packaged, &active, start.numbers.start, false).await;
            }
            guard.end_with(error);
        });
    }

    async fn run_task(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
        start: &RunStart,
    ) -> Result<(), Error> {
        match rendition.ensure_row(&self.store, self.clock.now()).await {
            // Waiting requests get the segments; without a row nothing is stored.
            Err(error) if error.is_disk_full() => {}
            result => drop(result?),
        }
        let priority = match start.cause {
            Cause::Request => Priority::Viewer,
            Cause::Prefetch => Priority::Prefetch,
            Cause::Prepare => Priority::Prepare,
        };
        let started_callback = || {
            let (shared, id) = (Arc::clone(rendition), start.id);
            Box::new(move || shared.state().run_started(id))
        };
        let numbers = start.numbers.clone();
        match &rendition.target {
            EncodeTarget::Rung(rung) => {
                for numbers in packaged.index().encoded_runs(numbers) {
                    let (rungs, on_start) = (vec![rung.clone()], started_callback());
                    let spec = EncodeSpec { numbers, rungs, priority, tolerates_damage: false, on_start };
                    if !self.run_video(packaged, rendition, start.id, spec).await? {
                        return Ok(());
                    }
                }
            }
            EncodeTarget::Audio(audio) => {
                self.run_audio(packaged, rendition, start.id, *audio, numbers, priority, started_callback())
                    .await?
            }
        }
        Ok(())
    }

    /// Encodes these segments of an audio track. A segment that does not decode alone either becomes
    /// silence.
    #[expect(clippy::too_many_arguments, reason = "the parameters of a run")]
    async fn run_audio(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
        id: RunId,
        audio: EncodedAudio,
        mut numbers: Range<u32>,
        priority: Priority,
        mut on_start: Box<dyn FnOnce() + Send>,
    ) -> Result<(), Error> {
        let mut is_single_segment = false;
        while !numbers.is_empty() {
            let first = numbers.start;
            let run_end = AudioFeed::run_end(packaged.index(), audio.track.into(), numbers.clone());
            let run_numbers = first..if is_single_segment { first + 1 } else { run_end };
            is_single_segment = run_numbers.len() == 1;
            let mut run =
                AudioEncodeRun::begin(self, packaged, audio, run_numbers, priority, on_start).await?;
            on_start = Box::new(|| {});
            let (is_damaged, is_wanted) = loop {
                let (number, bytes) = match run.next().await {
                    Ok(Some(EncodedAudioSegment { number, bytes })) => (number, Ok(bytes.into())),
                    Ok(None) => break (false, true),
                    Err(error) if error.is_undecodable() && is_single_segment => (
                        first,
                        self.placeholder_audio_segment(packaged, rendition, audio, first, priority).await,
                    ),
                    Err(error) if error.is_undecodable() => break (true, true),
                    Err(error) => return Err(error),
                };
                numbers.start = number + 1;
                if !self.store_and_deliver(packaged, rendition, id, number, bytes).await? {
                    break (false, false);
                }
            };
            if !is_wanted {
                return Ok(());
            }
            is_single_segment = is_damaged;
        }
        Ok(())
    }

    /// Encodes the segments of `spec`, and returns whether more are wanted after them.
    ///
    /// Retries a failed segment once, alone, with a decoder that shows damaged frames. If nothing decodes,
    /// the segment is a still frame.
    async fn run_video(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
        id: RunId,
        spec: EncodeSpec,
    ) -> Result<bool, Error> {
        let EncodeTarget::Rung(rung) = &rendition.target else { return Err(Error::NotListed) };
        let EncodeSpec { mut numbers, rungs, priority, .. } = spec;
        let (mut on_start, mut tolerates_damage) = (spec.on_start, false);
        while !numbers.is_empty() {
            let run_numbers =
                if tolerates_damage { numbers.start..numbers.start + 1 } else { numbers.clone() };
            let end = run_numbers.end;
            let run_spec = EncodeSpec {
                numbers: run_numbers,
                rungs: rungs.clone(),
                priority,
                tolerates_damage,
                on_start,
            };
            on_start = Box::new(|| {});
            let mut run = EncodeRun::begin(self, packaged, run_spec).await?;
            let is_damaged = loop {
                let (number, result) = match run.next().await {
                    Ok(Some(EncodedSegment { number, outcome: Ok(bytes), .. })) => (number, Ok(bytes)),
                    Ok(None) => break false,
                    Ok(Some(EncodedSegment { outcome: Err(_), .. })) if !tolerates_damage => break true,
                    Err(error) if error.is_run_failure() && !tolerates_damage => break true,
                    Ok(Some(EncodedSegment { number, outcome: Err(SegmentError::NoFrames), .. })) => {
                        (number, self.placeholder_segment(packaged, rendition, rung, number, priority).await)
                    }
                    Ok(Some(EncodedSegment { number, outcome: Err(error), .. })) => {
                        (number, Err(Error::EncodeFailed(Box::new(error))))
                    }
                    Err(error) if error.is_undecodable() => {
                        let number = numbers.start;
                        (number, self.placeholder_segment(packaged, rendition, rung, number, priority).await)
                    }
                    Err(error) => return Err(error),
                };
                numbers.start = number + 1;
                if !self.store_and_deliver(packaged, rendition, id, number, result).await? {
                    return Ok(false);
                }
                if tolerates_damage {
                    break false;
                }
            };
            if !is_damaged {
                numbers.start = end;
            }
            tolerates_damage = is_damaged;
        }
        Ok(true)
    }

    /// Stores the outcome of a segment and hands it on. Returns whether the run continues: on a full disk it
    /// continues only for waiting requests.
    async fn store_and_deliver(
        &self,
        packaged: &Arc<Packaged>,
        active: &Arc<ActiveRendition>,
        run: RunId,
        number: u32,
        result: Result<Bytes, Error>,
    ) -> Result<bool, Error> {
        let outcome = match result {
            Ok(bytes) => match self.store_segment(packaged, active, number, bytes.clone()).await {
                Err(error) if error.is_disk_full() => {
                    tracing::warn!(rendition.id = %active.id, segment = number, "the disk is full: a segment is not stored");
                    self.cache_segment(active.key(number), &bytes).await;
                    return Ok(active.state().segment_done_unstored(run, number, bytes));
                }
                stored => Ok(stored?),
            },
            // No frame of the source decodes.
            Err(Error::NoFrame) => {
                self.mark_broken(active).await;
                Err(Error::NoFrame)
            }
            // A retry would fail in the same way.
            Err(error) if error.is_run_failure() => {
                tracing::warn!(rendition.id = %active.id, segment = number, error = %error, "a segment could not be created");
                self.note_failed(packaged, active, number, true).await;
                Err(Error::NoFrame)
            }
            Err(error) => return Err(error),
        };
        Ok(active.state().segment_done(run, number, &outcome.map_err(Arc::new)))
    }

    /// Stores a new segment. If another writer stored it first, returns the bytes of that writer.
    ///
    /// Errors: those of the stores; one that [is full](Error::is_disk_full) without disk space;
    /// [`Error::Gone`] when its media was deleted meanwhile.
    pub(super) async fn store_segment(
        &self,
        packaged: &Packaged,
        rendition: &ActiveRendition,
        n: u32,
        bytes: Bytes,
    ) -> Result<Bytes, Error> {
        let workspace = rendition.ensure_row(&self.store, self.clock.now()).await?;
        let key = ObjectKey::Segment(rendition.id, n);
        match self.put_derived(rendition.presentation, key, bytes.clone()).await? {
            DerivedPut::Written => {
                self.encoders.usage.record_stored(rendition.id, bytes.len() as u64);
                if let Some(owner) = workspace {
                    let encoded_us = packaged.segment_duration_us(rendition.target.rendition(), n);
                    self.count_encoded(owner, encoded_us);
                }
                Ok(bytes)
            }
            DerivedPut::AlreadyThere => self.blob.get(key).await?.ok_or(Error::Gone),
            DerivedPut::Gone => Err(Error::Gone), // and nothing more of it is made
        }
    }

    /// Counts the encoded time of a workspace, once all of it is stored.
    pub fn count_encoded(&self, workspace: WorkspaceId, encoded_us: u64) {
        self.store.count_usage(
            workspace,
            self.clock.now(),
            UsageCounts { encoded_us, ..UsageCounts::default() },
        );
    }

    async fn note_failed(&self, packaged: &Packaged, rendition: &ActiveRendition, n: u32, is_final: bool) {
        let is_broken = rendition.state().note_failed(n, rendition.target.segment_count(packaged), is_final);
        if is_broken {
            self.mark_broken(rendition).await;
        }
    }

    /// As [`mark_broken`](Self::mark_broken), but returns the error of the store.
    pub(super) async fn try_mark_broken(&self, rendition: &ActiveRendition) -> Result<(), Error> {
        rendition.ensure_row(&self.store, self.clock.now()).await?;
        let (id, now) = (rendition.id, self.clock.now());
        self.store.write(async move |tx| tx.set_rendition_broken(id, now).await).await?;
        rendition.is_broken.store(true, Ordering::Release);
        self.encoders.broken.invalidate(&rendition.presentation).await;
        Ok(())
    }

    /// Marks the rendition as broken: it is not tried again, and new manifests do not list it.
    async fn mark_broken(&self, active: &ActiveRendition) {
        if active.is_broken.swap(true, Ordering::AcqRel) {
            return;
        }
        self.encoders.broken.invalidate(&active.presentation).await;
        let (id, now) = (active.id, self.clock.now());
        tracing::warn!(rendition.id = %id, presentation.id = %active.presentation, "a rendition cannot be encoded");
        if let Err(error) = self.store.write(async move |tx| tx.set_rendition_broken(id, now).await).await {
            tracing::warn!(error = %error, "a broken rendition could not be recorded");
        }
    }
}

/// Reports the end of a run, even if its task panicked.
struct RunGuard<'a> {
    rendition: &'a ActiveRendition,
    id: RunId,
}

impl RunGuard<'_> {
    fn end_with(self, error: Error) {
        self.rendition.state().run_ended(self.id, &Arc::new(error));
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        // Has no effect if the run already reported its error.
        self.rendition.state().run_ended(self.id, &Arc::new(Error::Busy));
    }
}
