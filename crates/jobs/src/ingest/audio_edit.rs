//! Edits the audio of a source before its media is ready: replaces it by another file, and mixes in more
//! files.
//!
//! The new samples are in a separate object, and the index refers to them there. No other part of the source
//! is written again. D-0080.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::{ObjectKey, ObjectWriter};
use kinora_domain::{AudioEdit, Failure, FailureCode, PresentationId, SourceId, error_chain};
use kinora_formats::Scanned;
use kinora_index::{ENCODED_AUDIO_RATE, Index, SampleObject, Track, plan::ExternalAudioError};
use kinora_intake::{SPACE_CHECK_EVERY_BYTES, Scan, ScanPermit, ScanResult, SpilledIndex};
use kinora_packager::{AudioMix, Error, Overlay, Packaged};
use kinora_store::ClaimedJob;
use sha2::{Digest as _, Sha256};

use crate::Context;
use crate::claim::Claim;
use crate::delete_objects;
use crate::error::JobError;
use crate::ingest::check_disk_space;
use crate::ingest::remux::check_scratch;
use crate::ingest::sink::{Owner, SourceSink};
use crate::outage_retry::{OUTAGE_TIMEOUT, RetrySubject, retry_during_outage};

/// The API field with the URL of the replacing audio.
const REPLACEMENT_FIELD: &str = "swapTrackUrl";

/// Returns the index of a source with the requested audio. `source_index` is its index before the edit; its
/// samples are in the store.
///
/// May run twice for one source only if its earlier output was deleted. Errors: `Fatal` if a URL has no
/// audio, with the name of its API field; those of a download.
pub(crate) async fn edit_audio(
    context: &Context,
    job: &Claim,
    source: SourceId,
    source_index: SpilledIndex,
    edit: &AudioEdit,
) -> Result<(Index, ScanPermit), JobError> {
    let mut downloads = TemporaryDownloads::default();
    let edited = async {
        // A download may be slow, and no index is in memory in the meantime.
        let replacement_source = match &edit.swap_url {
            Some(url) => Some(downloads.fetch(context, job, url, REPLACEMENT_FIELD).await?),
            None => None,
        };
        let mut overlay_sources = Vec::new();
        for (number, overlay) in edit.overlays.iter().enumerate() {
            let field = format!("imposeTracks[{number}].url");
            overlay_sources.push((downloads.fetch(context, job, &overlay.url, &field).await?, overlay));
        }
        let _permit = context.audio_edits.acquire(job.workspace).await;
        let index = source_index.load().await?;
        let swapped = match replacement_source {
            Some(downloaded_source) => {
                Some(context.packager.packaged(PresentationId::of(downloaded_source)).await?)
            }
            None => None,
        };
        let mut overlays = Vec::new();
        for (source, wanted) in overlay_sources {
            let audio_source = context.packager.packaged(PresentationId::of(source)).await?;
            overlays.push(Overlay { audio_source, overlay: wanted.clone() });
        }
        match swapped {
            swapped if !overlays.is_empty() => {
                reject_overlapping_samples(&index, "url")?;
                let mix = || retry_once(|| mix(context, job, source, &index, swapped.as_deref(), &overlays));
                match (retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, mix).await?, &swapped) {
                    (Some(Mixed { audio_writer, audio, duration }), _) => {
                        let object = audio_writer.finish().await?;
                        if let Some(workspace) = context.store.workspace_of_source(source).await? {
                            let encoded_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
                            context.packager.count_encoded(workspace, encoded_us);
                        }
                        index.with_audio(audio, object).map_err(audio_job_error)
                    }
                    // The mix would have no audio within the duration of the media.
                    (None, Some(replacement)) => {
                        replace_audio(context, job, source, index, replacement).await
                    }
                    (None, None) => Ok(index),
                }
            }
            Some(replacement) => replace_audio(context, job, source, index, &replacement).await,
            None => Ok(index),
        }
    };
    let edited = edited.await;
    // The downloaded files are no longer needed, and no row refers to them.
    for source in downloads.sources {
        if let Err(error) = delete_objects::remove(context, source).await {
            // The sweep deletes it later. The result is valid all the same.
            tracing::warn!(source.id = %source, error = %error_chain(&error), "an unused audio file was not removed");
        }
    }
    // No permit: only the store can delay the next step, the write of the index.
    edited.map(|index| (index, ScanPermit::default()))
}

/// Rejects files that declare more data than they have, by samples that share bytes. An edited timeline may
/// show a file twice, so its files are checked one by one.
pub(super) fn reject_overlapping_samples(index: &Index, field: &str) -> Result<(), JobError> {
    if !index.parts.is_empty() {
        return Ok(());
    }
    let audio = index.audio_tracks().map(|(track, _)| track.samples_bytes()).max().unwrap_or(0);
    if audio <= index.samples_len() {
        return Ok(());
    }
    let sentence = format!("{field}: the audio samples of the file take more bytes than it has");
    Err(JobError::Fatal(Failure::new(FailureCode::NotMedia, sentence)))
}

/// Retries once if the engine failed for a reason that may be transient.
async fn retry_once<T, Step: Future<Output = Result<T, MixError>>>(
    step: impl Fn() -> Step,
) -> Result<T, JobError> {
    match step().await {
        Err(MixError::Engine(_)) => step().await.map_err(MixError::into_error),
        ended => ended.map_err(MixError::into_error),
    }
}

/// Why a mix failed.
enum MixError {
    /// A run of the engine failed.
    Engine(Error),
    Other(JobError),
}

impl<E: Into<JobError>> From<E> for MixError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl MixError {
    fn of(error: Error) -> Self {
        if error.is_run_failure() { Self::Engine(error) } else { Self::Other(mix_job_error(error)) }
    }

    fn into_error(self) -> JobError {
        match self {
            Self::Engine(error) => mix_job_error(error),
            Self::Other(error) => error,
        }
    }
}

/// Files that are downloaded temporarily.
#[derive(Default)]
struct TemporaryDownloads {
    sources: Vec<SourceId>,
    /// Sources by URL: a file that is used twice is downloaded once.
    source_by_url: Vec<(String, SourceId)>,
}

impl TemporaryDownloads {
    /// Downloads a file that has audio. `field` is the API field of its URL.
    async fn fetch(
        &mut self,
        context: &Context,
        job: &Claim,
        url: &str,
        field: &str,
    ) -> Result<SourceId, JobError> {
        if let Some((_, source)) = self.source_by_url.iter().find(|(fetched_url, _)| fetched_url == url) {
            return Ok(*source);
        }
        let source = SourceId::new(context.clock.now(), &*context.random);
        let download = async {
            let mut sink = SourceSink::begin(context, job, Owner::Unreferenced, source).await?;
            sink.download(url).await?;
            let downloaded = sink.finish().await?;
            self.sources.push(downloaded.source());
            let source = downloaded.source();
            let plan_index = async |spilled_index| plan_audio_index(context, job, spilled_index, None).await;
            downloaded.store_with(context, job, plan_index, |_| ()).await?;
            Ok::<_, JobError>(context.packager.packaged(PresentationId::of(source)).await?)
        };
        let packaged = download.await.map_err(|error| with_field_name(error, field))?;
        reject_overlapping_samples(packaged.index(), field)?;
        self.source_by_url.push((url.to_owned(), source));
        Ok(source)
    }
}

/// Prefixes the error with the API field of the file.
pub(super) fn with_field_name(error: JobError, field: &str) -> JobError {
    match error {
        JobError::Fatal(failure) => {
            JobError::Fatal(Failure::new(failure.code, format!("{field}: {}", failure.message)))
        }
        other => other,
    }
}

/// Replaces the audio: copies the samples of `replacement` that are used, contiguously.
async fn replace_audio(
    context: &Context,
    job: &Claim,
    source: SourceId,
    index: Index,
    replacement: &Packaged,
) -> Result<Index, JobError> {
    let track = replacement
        .index()
        .tracks
        .first()
        .cloned()
        .ok_or_else(|| audio_job_error(ExternalAudioError::NoAudio))?;
    let track = match index.video() {
        Some(_) => track.truncated_at(index.facts().duration_us),
        None => track,
    };
    let mut writer = AudioWriter::begin(context, job, source).await?;
    let mut samples = context.packager.audio_samples(replacement, &track);
    while let Some(bytes) = samples.next().await {
        writer.write(bytes?).await?;
    }
    let object = writer.finish().await?;
    let audio_index = Index { tracks: vec![track.repacked().0], ..replacement.index().clone() };
    index
        .with_audio(audio_index, object)
        .map_err(|error| with_field_name(audio_job_error(error), REPLACEMENT_FIELD))
}

/// A complete mix whose object is not finished, so that no reader finds it. Dropping it deletes the data.
struct Mixed<'a> {
    audio_writer: AudioWriter<'a>,
    audio: Index,
    /// Its duration.
    duration: Duration,
}

/// Encodes the audible audio once: `replacement`, or else the audio of the source, mixed with `overlays`.
/// `None` if there is none.
async fn mix<'a>(
    context: &'a Context,
    job: &Claim,
    source: SourceId,
    index: &Index,
    replacement: Option<&Packaged>,
    overlays: &[Overlay],
) -> Result<Option<Mixed<'a>>, MixError> {
    let source_packaged = context.packager.packaged_of_index(PresentationId::of(source), index)?;
    let base = replacement.unwrap_or(&source_packaged).index();
    // A media has the duration of its video and its original audio; without video, that of its audio.
    let measured = if index.video().is_some() { index } else { base };
    let duration = Duration::from_micros(measured.facts().duration_us);
    let base_audio = base.audio_number().map(|number| (replacement.unwrap_or(&source_packaged), number));
    let check_space =
        |bytes| check_scratch(context, bytes).map_err(|_| Error::Blob(kinora_blob::Error::Full));
    let mix = context.packager.mix(duration, base_audio, overlays, &context.scratch, check_space).await;
    let mix = mix.map_err(MixError::of)?;
    let Some(mut mix) = mix else { return Ok(None) };
    let (mut audio_writer, scan) =
        (AudioWriter::begin(context, job, source).await?, Scan::begin(&context.scan_limits, job.workspace));
    while let Some(bytes) = mix.chunk().await {
        let bytes = bytes.map_err(MixError::of)?;
        if scan.push(bytes.clone()).await.is_err() {
            break; // `finish` returns the error
        }
        audio_writer.write(bytes).await?;
    }
    let mixed = match scan.finish().await {
        Ok(ScanResult { scanned: Scanned::Index(mixed), .. }) => mixed,
        Ok(ScanResult { scanned: Scanned::NeedsRemux { .. }, .. }) => {
            return Err(MixError::Other(JobError::Retry("a mix is no MP4".into())));
        }
        Err(error) => return Err(MixError::Other(JobError::Retry(Box::new(error)))),
    };
    let language = base.audio().map(|(track, _)| track.language.clone());
    let tracks = mixed.tracks.iter().cloned().map(|track| {
        let language = language.clone().unwrap_or_else(|| track.language.clone());
        Track { language, ..shift_mix_start(track) }
    });
    Ok(Some(Mixed { audio_writer, audio: Index { tracks: tracks.collect(), ..mixed }, duration }))
}

/// Removes the start offset of a mix: 0 is its first sample.
fn shift_mix_start(track: Track) -> Track {
    let ticks = |samples: u64| {
        let ticks = u128::from(samples) * u128::from(track.timescale) / u128::from(ENCODED_AUDIO_RATE);
        i64::try_from(ticks).unwrap_or(i64::MAX)
    };
    let shift = -ticks(AudioMix::START);
    let end = track.end.saturating_sub(track.shift).saturating_add(shift);
    Track { shift, end, ..track }
}

/// The audio object that is being written.
struct AudioWriter<'a> {
    context: &'a Context,
    writer: ObjectWriter,
    sha256: Sha256,
    /// Bytes written when disk space was last checked.
    space_checked_at: u64,
}

impl<'a> AudioWriter<'a> {
    async fn begin(context: &'a Context, job: &Claim, source: SourceId) -> Result<Self, JobError> {
        let writer = context.blob.for_workspace(job.workspace).writer(ObjectKey::Audio(source)).await?;
        Ok(Self { context, writer, sha256: Sha256::new(), space_checked_at: 0 })
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), JobError> {
        if self.writer.written().saturating_sub(self.space_checked_at) >= SPACE_CHECK_EVERY_BYTES {
            self.space_checked_at = self.writer.written();
            check_disk_space(self.context, 0).await?;
        }
        self.sha256.update(&bytes);
        Ok(self.writer.write(bytes).await?)
    }

    async fn finish(self) -> Result<SampleObject, JobError> {
        let object = SampleObject::audio(self.writer.written(), self.sha256.finalize().into());
        self.writer.finish().await?;
        Ok(object)
    }
}

/// The first audio track of a file, cut at the segments of a media or by itself. Runs on a blocking thread,
/// because some files have millions of samples.
pub(crate) async fn plan_audio_index(
    context: &Context,
    job: &ClaimedJob,
    spilled_index: SpilledIndex,
    media: Option<Arc<Packaged>>,
) -> Result<(Index, ScanPermit), JobError> {
    let (index, permit) = spilled_index.load_limited(&context.scan_limits, job.workspace).await?;
    let plan =
        move || index.plan_external_audio(media.as_ref().map(|media| media.index())).map_err(audio_job_error);
    let planned_index =
        tokio::task::spawn_blocking(plan).await.map_err(|panic| JobError::Retry(Box::new(panic)))?;
    Ok((planned_index?, permit))
}

/// The failure for an unusable audio file.
fn audio_job_error(error: ExternalAudioError) -> JobError {
    let code = match error {
        ExternalAudioError::NoAudio => FailureCode::NoAudio,
        ExternalAudioError::Plan(_) => FailureCode::NotMedia,
    };
    JobError::Fatal(Failure::new(code, error.to_string()))
}

fn mix_job_error(error: Error) -> JobError {
    let sentence = match error.root() {
        // The media was deleted, which the lease reports, or the file was swept after a day.
        Error::Gone => return JobError::Retry(Box::new(error)),
        Error::Busy => return JobError::Unavailable(Box::new(error)),
        Error::TooManyPauses => format!("imposeTracks: {error}"),
        Error::EncodeFailed(_) => {
            tracing::warn!(error = %error_chain(&error), "the audio of a media could not be mixed");
            "imposeTracks: the audio could not be mixed; one of the files, or the audio of the media, does not decode".to_owned()
        }
        _ => return error.into(),
    };
    JobError::Fatal(Failure::new(FailureCode::CodecUnsupported, sentence))
}
