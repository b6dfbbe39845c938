//! Remuxes sources in unsupported containers: the engine copies their packets into a supported container,
//! and the copy is scanned while it is written.
//!
//! Decides which remux variants to try, in which order. The packets stay unchanged, so tracks that can be
//! copied still can.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use kinora_blob::{ObjectKey, ObjectWriter};
use kinora_domain::{Failure, FailureCode, SourceId, WorkspaceId};
use kinora_engine::{
    EncodeLimits, EngineError, OutputStream, Priority, Remux, RemuxInput, RemuxOutput, RemuxTracks,
};
use kinora_formats::{
    Scanned,
    remux_source::{RemuxFacts, is_mpeg4_avi},
};
use kinora_index::{
    AudioTrack, Container, Index, SKIPPED_TRACKS_MAX, SampleObject, SkippedTrack, TrackMedia,
};
use kinora_intake::{
    RESERVED_BYTES, SPACE_CHECK_EVERY_BYTES, Scan, ScanError, ScanResult, SpilledIndex, failure_of,
    is_disk_full,
};
use kinora_isobmff::ReadError;
use kinora_store::ClaimedJob;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use super::check_disk_space;
use crate::Context;
use crate::error::JobError;
use crate::outage_retry::{OUTAGE_TIMEOUT, RetrySubject, retry_during_outage};

/// Longest time without output of a running remux: the engine probes up to 32 MB before its first output.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// CPU time of every remux in addition to the time for its bytes.
const CPU_BASE: Duration = Duration::from_secs(60);
/// Bytes remuxed per second of CPU time on a slow core: a tenth of the measured 200 MB.
const COPY_BYTES_PER_SECOND: u64 = 20_000_000;
/// Memory of a remux: probing at the start, and packets that wait for those of other tracks.
const MEMORY_BYTES: u64 = 512 << 20;
/// Output bytes in addition to those for the bytes of the source.
const OUTPUT_BASE: u64 = 16 << 20;
/// Output bytes per source byte. The overhead of small packets, as of speech in MP3, is twice their size in
/// a fragment.
const OUTPUT_RATIO_MAX: u64 = 3;
/// Output bytes per source byte for decoded audio: 32 bits per sample, from ADPCM with 4.
const PCM_RATIO_MAX: u64 = 9;

/// A stored source in a container that cannot be read in place.
pub(crate) struct SourceToRemux {
    pub(crate) source: SourceId,
    /// The workspace it belongs to.
    pub(crate) workspace: Option<WorkspaceId>,
    /// Its container.
    pub(crate) container: Container,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Its SHA-256.
    pub(crate) sha256: [u8; 32],
    /// The error of our reader, if there is a reader for the container.
    pub(crate) rejection: Option<String>,
    /// Facts that the copy does not contain.
    pub(crate) facts: RemuxFacts,
}

/// Remuxes a source and stores the copy. Returns its index, as [`RemuxedCopy::store`].
///
/// Must not run twice for one source, because the object of the copy then exists. Errors: as of
/// [`remux_copy`].
pub(crate) async fn remux_and_store(
    context: &Context,
    job: &ClaimedJob,
    source_to_remux: &SourceToRemux,
) -> Result<SpilledIndex, JobError> {
    remux_copy(context, job, source_to_remux).await?.store().await
}

/// Remuxes a source. Container, length and hash in the index of the copy are those of the source.
///
/// May run twice. Errors: `Fatal` when nothing in the source can be read, `Unavailable` while the engine or
/// a store is unavailable, `DiskFull`, `LeaseLost` when the media was deleted.
pub(crate) async fn remux_copy(
    context: &Context,
    job: &ClaimedJob,
    source_to_remux: &SourceToRemux,
) -> Result<RemuxedCopy, JobError> {
    let plan = CopyPlan { tracks: RemuxTracks::All, dropped_is_video: None };
    // The engine queue is in order of requests, so fairness among workspaces is enforced here.
    let permit = context.ingest_engine_permits.acquire(job.workspace).await;
    let unpacked = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, || {
        unpack_avi(context, source_to_remux, plan)
    })
    .await?;
    let unpacked = unpacked.as_ref().map(NamedTempFile::path);
    let copied = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, || {
        copy_tracks(context, source_to_remux, unpacked, plan)
    })
    .await?;
    drop(permit);
    Ok(copied)
}

impl SourceToRemux {
    /// The index of the source, from the index of its copy; `plan` is how the copy was made.
    fn index(&self, mut copy: Index, plan: CopyPlan) -> Index {
        let normalised = SampleObject::remuxed(copy.container, copy.source_len);
        copy.left_out.extend(plan.dropped_is_video.map(|is_video| {
            let detail =
                if is_video { "no video track can be read" } else { "an audio track cannot be read" };
            SkippedTrack::new(is_video, detail)
        }));
        copy.left_out.truncate(SKIPPED_TRACKS_MAX);
        set_mpeg_audio_layer(self.container, &mut copy);
        Index {
            container: self.container,
            source_len: self.len,
            source_sha256: self.sha256,
            objects: vec![normalised],
            ..self.facts.apply(copy)
        }
    }
}

/// Sets the layer of MPEG audio if the source container implies one: MP4 has `mp4a.6B` for all layers.
fn set_mpeg_audio_layer(container: Container, copy: &mut Index) {
    let name = match container {
        Container::Mp3 | Container::Flv => "MP3",
        Container::Mp2 => "MPEG audio layer II",
        _ => return,
    };
    for track in &mut copy.tracks {
        if let TrackMedia::Audio(AudioTrack { not_copied: Some(not_copied), .. }) = &mut track.media
            && not_copied.detail == "MPEG audio"
        {
            not_copied.detail = name.to_owned();
        }
    }
}

/// The options of a remux, apart from its container.
#[derive(Clone, Copy)]
struct CopyPlan {
    tracks: RemuxTracks,
    /// Set if a track is left out because a copy with it fails: `true` for video, `false` for audio.
    dropped_is_video: Option<bool>,
}

/// Bytes of an AVI file that contain the format of its video.
const AVI_HEAD_LEN: u64 = 4096;

/// Whether the source is MPEG-4 Visual in AVI. One packet of that may contain two frames.
async fn is_mpeg4(context: &Context, source_to_remux: &SourceToRemux) -> Result<bool, JobError> {
    if source_to_remux.container != Container::Avi {
        return Ok(false);
    }
    let reader =
        context.blob.reader(ObjectKey::Source(source_to_remux.source)).await?.ok_or(JobError::LeaseLost)?;
    let head = reader.read_at(0..reader.len().min(AVI_HEAD_LEN)).await?;
    Ok(is_mpeg4_avi(&head))
}

/// A copy of a source of MPEG-4 Visual in AVI in which each packet has one frame. `None` for any other
/// source, and if the copy fails.
async fn unpack_avi(
    context: &Context,
    source_to_remux: &SourceToRemux,
    plan: CopyPlan,
) -> Result<Option<NamedTempFile>, JobError> {
    if !is_mpeg4(context, source_to_remux).await? {
        return Ok(None);
    }
    check_scratch(context, source_to_remux.len)?;
    let file = NamedTempFile::new_in(&context.scratch).map_err(scratch_error)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(scratch_error)?);
    let bytes = source_stream(context, source_to_remux).await?.map(|bytes| bytes.map_err(io::Error::other));
    let mut run = context.engine.remux(spec(context, source_to_remux, RemuxOutput::UnpackedAvi, plan), bytes);
    while let Some(bytes) = run.chunk().await {
        match bytes {
            Ok(bytes) => writer.write_all(&bytes).await.map_err(scratch_error)?,
            Err(error) => return classify_failed_run(error).map(|_| None),
        }
    }
    writer.flush().await.map_err(scratch_error)?;
    Ok(Some(file))
}

/// A complete, readable copy whose object is not finished, so that no reader finds it. Dropping it deletes
/// the data.
pub(crate) struct RemuxedCopy {
    writer: ObjectWriter,
    index: SpilledIndex,
}

impl RemuxedCopy {
    /// Finishes the object of the copy. Returns its index in a file, because several copies may wait for the
    /// store at once.
    pub(crate) async fn store(self) -> Result<SpilledIndex, JobError> {
        self.writer.finish().await?;
        Ok(self.index)
    }
}

/// The result of one run of the engine.
enum RemuxOutcome {
    Copied(Box<RemuxedCopy>),
    Failed(RemuxFailure),
}

/// Why a run produced no readable copy.
enum RemuxFailure {
    /// The engine could not read the source, or the container does not support its tracks.
    Engine,
    /// Our reader rejected the output.
    Reader(ReadError),
}

/// The input of a run.
#[derive(Clone, Copy)]
enum InputMode<'a> {
    /// A stream from start to end, as stored.
    Stream,
    /// A seekable file.
    File(&'a Path),
}

/// Copies all tracks. If that fails, copies as many as can be read. One track without packets, or one that
/// no container supports, makes a copy of all tracks fail.
async fn copy_tracks(
    context: &Context,
    source_to_remux: &SourceToRemux,
    unpacked: Option<&Path>,
    plan: CopyPlan,
) -> Result<RemuxedCopy, JobError> {
    let all = outputs(source_to_remux.container);
    let input_mode = unpacked.map_or(InputMode::Stream, InputMode::File);
    let mut last = match try_outputs(context, source_to_remux, input_mode, all, plan).await? {
        RemuxOutcome::Copied(copied) => return Ok(*copied),
        RemuxOutcome::Failed(cause) => cause,
    };
    let mut source_file = None;
    if may_need_seek(source_to_remux.container) {
        let file = source_file.insert(fetch_to_file(context, source_to_remux).await?);
        match try_outputs(context, source_to_remux, InputMode::File(file.path()), all, plan).await? {
            RemuxOutcome::Copied(copied) => return Ok(*copied),
            // An error of our reader is more specific than a failed run of the engine.
            RemuxOutcome::Failed(RemuxFailure::Engine) => {}
            RemuxOutcome::Failed(unread) => last = unread,
        }
    }
    if has_several_tracks(source_to_remux.container) {
        // Prefers the unpacked file over the fetched one.
        let file = unpacked.or(source_file.as_ref().map(NamedTempFile::path));
        let from = file.map_or(InputMode::Stream, InputMode::File);
        if let Some(copied) = copy_some_tracks(context, source_to_remux, from).await? {
            return Ok(copied);
        }
    }
    tracing::info!(source.id = %source_to_remux.source, container = source_to_remux.container.name(), "a source could not be remuxed");
    Err(JobError::Fatal(failure(source_to_remux, last)))
}

/// Copies the video and one audio track, the video alone, or one audio track alone. `None` if none of that
/// can be read.
async fn copy_some_tracks(
    context: &Context,
    source_to_remux: &SourceToRemux,
    input_mode: InputMode<'_>,
) -> Result<Option<RemuxedCopy>, JobError> {
    // Matroska supports every track; for transport streams MP4 has the more exact times.
    let outputs = if source_to_remux.container == Container::MpegTs {
        outputs(source_to_remux.container)
    } else {
        &[RemuxOutput::Matroska]
    };
    let plan = |tracks, is_video| CopyPlan { tracks, dropped_is_video: Some(is_video) };
    let video =
        try_outputs(context, source_to_remux, input_mode, outputs, plan(RemuxTracks::Video, false)).await?;
    let (is_video_track, tracks): (bool, &[RemuxTracks]) = match video {
        // Drops this copy: one with audio needs the disk space.
        RemuxOutcome::Copied(_) => {
            (false, &[RemuxTracks::VideoAnd(0), RemuxTracks::VideoAnd(1), RemuxTracks::Video])
        }
        RemuxOutcome::Failed(_) => (true, &[RemuxTracks::Audio(0), RemuxTracks::Audio(1)]),
    };
    for tracks in tracks {
        let copied =
            try_outputs(context, source_to_remux, input_mode, outputs, plan(*tracks, is_video_track)).await?;
        if let RemuxOutcome::Copied(copied) = copied {
            return Ok(Some(*copied));
        }
    }
    Ok(None)
}

/// Tries the containers in order until our reader can read the copy.
async fn try_outputs(
    context: &Context,
    source_to_remux: &SourceToRemux,
    input_mode: InputMode<'_>,
    outputs: &[RemuxOutput],
    plan: CopyPlan,
) -> Result<RemuxOutcome, JobError> {
    let mut last = RemuxFailure::Engine;
    for output in outputs {
        check_output_space(context, source_to_remux, *output).await?;
        let spec = spec(context, source_to_remux, *output, plan);
        let run = match input_mode {
            InputMode::File(path) => context.engine.remux_file(spec, path),
            InputMode::Stream => {
                let bytes = source_stream(context, source_to_remux)
                    .await?
                    .map(|bytes| bytes.map_err(io::Error::other));
                context.engine.remux(spec, bytes)
            }
        };
        match store_and_scan(context, source_to_remux, plan, run).await? {
            copied @ RemuxOutcome::Copied(_) => return Ok(copied),
            // An error of our reader is more specific than a failed run of the engine.
            RemuxOutcome::Failed(RemuxFailure::Engine) => {}
            RemuxOutcome::Failed(cause) => last = cause,
        }
    }
    Ok(RemuxOutcome::Failed(last))
}

/// A stream of the source's bytes.
async fn source_stream(
    context: &Context,
    source_to_remux: &SourceToRemux,
) -> Result<impl Stream<Item = kinora_blob::Result<Bytes>> + Send + Unpin + use<>, JobError> {
    let reader =
        context.blob.reader(ObjectKey::Source(source_to_remux.source)).await?.ok_or(JobError::LeaseLost)?;
    Ok(reader.stream(0..reader.len())?)
}

/// The source as a temporary file, deleted with the returned value.
///
/// Errors: `DiskFull` if it does not fit.
async fn fetch_to_file(
    context: &Context,
    source_to_remux: &SourceToRemux,
) -> Result<NamedTempFile, JobError> {
    check_scratch(context, source_to_remux.len)?;
    let file = NamedTempFile::new_in(&context.scratch).map_err(scratch_error)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(scratch_error)?);
    let mut bytes = source_stream(context, source_to_remux).await?;
    while let Some(bytes) = bytes.next().await {
        writer.write_all(&bytes?).await.map_err(scratch_error)?;
    }
    writer.flush().await.map_err(scratch_error)?;
    Ok(file)
}

/// Fails with `DiskFull` unless `len` more bytes fit the folder for temporary files.
pub(crate) fn check_scratch(context: &Context, len: u64) -> Result<(), JobError> {
    let volume = rustix::fs::statvfs(&*context.scratch).map_err(scratch_error)?;
    let free = volume.f_bavail.saturating_mul(volume.f_frsize);
    if free < len.saturating_add(RESERVED_BYTES) { Err(JobError::DiskFull) } else { Ok(()) }
}

fn scratch_error(error: impl Into<io::Error>) -> JobError {
    let error = error.into();
    if is_disk_full(&error) { JobError::DiskFull } else { JobError::Retry(Box::new(error)) }
}

/// Fails with `DiskFull` unless the output of a remux fits, in the store and in the scratch folder. With
/// objects in a bucket only the scratch folder is on a local disk. Matroska is completed in a file before it
/// is read.
async fn check_output_space(
    context: &Context,
    source_to_remux: &SourceToRemux,
    output: RemuxOutput,
) -> Result<(), JobError> {
    let (store_factor, scratch_factor) = match output {
        RemuxOutput::Matroska => (2, 1),
        RemuxOutput::Pcm => (PCM_RATIO_MAX, PCM_RATIO_MAX),
        _ => (1, 0),
    };
    check_disk_space(context, source_to_remux.len.saturating_mul(store_factor)).await?;
    if scratch_factor > 0 {
        check_scratch(context, source_to_remux.len.saturating_mul(scratch_factor))
    } else {
        Ok(())
    }
}

/// Whether files of this container may need a seekable input: metadata may follow the samples, or the tracks
/// may follow one another.
fn may_need_seek(container: Container) -> bool {
    use Container::{Aiff, Avi, Caf, Mov, Mp4, Mxf, W64, WavPack};
    matches!(container, Mp4 | Mov | Avi | Mxf | Aiff | Caf | W64 | WavPack)
}

/// Whether files of this container may have more than one track.
fn has_several_tracks(container: Container) -> bool {
    use Container::{Asf, Avi, Flv, Matroska, Mov, Mp4, MpegPs, MpegTs, Mxf, Ogg, WebM};
    matches!(container, Asf | Avi | Flv | Matroska | Mov | Mp4 | MpegPs | MpegTs | Mxf | Ogg | WebM)
}

/// Writes the output of a run, and scans it at the same time.
async fn store_and_scan(
    context: &Context,
    source_to_remux: &SourceToRemux,
    plan: CopyPlan,
    mut run: OutputStream,
) -> Result<RemuxOutcome, JobError> {
    let mut writer = context
        .blob
        .for_workspace(source_to_remux.workspace)
        .writer(ObjectKey::Normalised(source_to_remux.source))
        .await?;
    let scan = Scan::begin(&context.scan_limits, source_to_remux.workspace);
    let mut space_checked_at = 0;
    while let Some(bytes) = run.chunk().await {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return classify_failed_run(error).map(RemuxOutcome::Failed),
        };
        if scan.push(bytes.clone()).await.is_err() {
            break; // `finish` returns the error
        }
        writer.write(bytes).await?;
        // Other jobs write too, and the final length is unknown.
        if writer.written().saturating_sub(space_checked_at) >= SPACE_CHECK_EVERY_BYTES {
            space_checked_at = writer.written();
            check_disk_space(context, 0).await?;
        }
    }
    drop(run);
    if writer.written() == 0 {
        return Ok(RemuxOutcome::Failed(RemuxFailure::Engine));
    }
    match scan.finish().await {
        Ok(ScanResult { scanned: Scanned::Index(index), permit }) => {
            let index = context.scan_limits.spill_index(source_to_remux.index(index, plan)).await?;
            drop(permit);
            Ok(RemuxOutcome::Copied(Box::new(RemuxedCopy { writer, index })))
        }
        Ok(ScanResult { scanned: Scanned::NeedsRemux { rejection, .. }, .. }) => {
            let cause = rejection
                .map_or(RemuxFailure::Engine, |refusal| RemuxFailure::Reader(ReadError::NeedsRemux(refusal)));
            Ok(RemuxOutcome::Failed(cause))
        }
        Err(ScanError::Read(error)) => Ok(RemuxOutcome::Failed(RemuxFailure::Reader(error))),
        Err(error) => Err(error.into()),
    }
}

/// Output containers for a source container, the one with the most exact times first.
fn outputs(container: Container) -> &'static [RemuxOutput] {
    use RemuxOutput::{Matroska, Mp4, Mp4FromAdts, Pcm};

    match container {
        Container::MpegTs | Container::Adts => &[Mp4FromAdts, Mp4, Matroska],
        // MP4 stores the last packet with the duration of the others; with Matroska our reader parses the
        // packet.
        Container::Caf => &[Matroska, Mp4, Pcm],
        // MP4 and Matroska do not support 8-bit samples, floats of the other byte order and old ADPCM.
        Container::Aiff | Container::Au => &[Mp4, Matroska, Pcm],
        _ => &[Mp4, Matroska],
    }
}

fn input(container: Container) -> RemuxInput {
    match container {
        Container::Mp4 | Container::Mov => RemuxInput::Mov,
        Container::Matroska | Container::WebM => RemuxInput::Matroska,
        Container::MpegTs => RemuxInput::MpegTs,
        Container::MpegPs => RemuxInput::MpegPs,
        Container::Avi => RemuxInput::Avi,
        Container::Flv => RemuxInput::Flv,
        Container::Asf => RemuxInput::Asf,
        Container::Mxf => RemuxInput::Mxf,
        Container::Ogg => RemuxInput::Ogg,
        Container::Wav => RemuxInput::Wav,
        Container::Mp3 | Container::Mp2 => RemuxInput::Mp3,
        Container::Flac => RemuxInput::Flac,
        Container::Adts => RemuxInput::Aac,
        Container::Aiff => RemuxInput::Aiff,
        Container::Caf => RemuxInput::Caf,
        Container::Amr => RemuxInput::Amr,
        Container::Au => RemuxInput::Au,
        Container::W64 => RemuxInput::W64,
        Container::Ac3 => RemuxInput::Ac3,
        Container::Eac3 => RemuxInput::Eac3,
        Container::Dts => RemuxInput::Dts,
        Container::WavPack => RemuxInput::WavPack,
        Container::Ape => RemuxInput::Ape,
        Container::Dv => RemuxInput::Dv,
        Container::MpegVideo => RemuxInput::MpegVideo,
        Container::Ivf => RemuxInput::Ivf,
    }
}

fn spec(context: &Context, source_to_remux: &SourceToRemux, output: RemuxOutput, plan: CopyPlan) -> Remux {
    let ratio = if output == RemuxOutput::Pcm { PCM_RATIO_MAX } else { OUTPUT_RATIO_MAX };
    let limits = EncodeLimits {
        deadline: STALL_TIMEOUT,
        cpu: CPU_BASE + Duration::from_secs(source_to_remux.len / COPY_BYTES_PER_SECOND),
        memory_bytes: MEMORY_BYTES,
        output_max: source_to_remux.len.saturating_mul(ratio).saturating_add(OUTPUT_BASE),
    };
    let scratch = context.scratch.to_path_buf();
    Remux {
        input: input(source_to_remux.container),
        output,
        tracks: plan.tracks,
        scratch,
        priority: Priority::Prepare,
        limits,
    }
}

/// Whether a failed run is due to the source or to an internal error.
fn classify_failed_run(error: EngineError) -> Result<RemuxFailure, JobError> {
    match error {
        EngineError::Busy => Err(JobError::Unavailable(Box::new(error))),
        EngineError::DiskFull => Err(JobError::DiskFull),
        EngineError::Spawn(error) if is_disk_full(&error) => Err(JobError::DiskFull),
        error if error.is_machine_fault() => Err(error.into()),
        EngineError::Input(error) => match error.downcast::<kinora_blob::Error>() {
            // The media was deleted in the meantime.
            Ok(kinora_blob::Error::Gone(_)) => Err(JobError::LeaseLost),
            Ok(error) => Err(error.into()),
            Err(error) => Err(JobError::Retry(Box::new(error))),
        },
        EngineError::InvalidSpec(_) => Err(JobError::Retry(Box::new(error))),
        _ => Ok(RemuxFailure::Engine),
    }
}

/// The failure that a client receives for a source without a readable copy.
fn failure(source_to_remux: &SourceToRemux, cause: RemuxFailure) -> Failure {
    match (&source_to_remux.rejection, cause) {
        (Some(rejection), _) => Failure::new(FailureCode::CodecUnsupported, rejection.clone()),
        (None, RemuxFailure::Reader(error @ (ReadError::Unsupported(_) | ReadError::NeedsRemux(_)))) => {
            failure_of(&error)
        }
        (None, RemuxFailure::Engine) if source_to_remux.container == Container::Ape => {
            let sentence = "the audio codec is Monkey's Audio, which cannot be remuxed";
            Failure::new(FailureCode::CodecUnsupported, sentence)
        }
        // The client knows only the source, so the message omits damage of the copy.
        (None, RemuxFailure::Engine | RemuxFailure::Reader(_)) => {
            let name = source_to_remux.container.name();
            let sentence =
                format!("the source looks like a {name} file, but it has no track that can be played");
            Failure::new(FailureCode::NotMedia, sentence)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_does_not_fail_the_media() {
        let full = || EngineError::Spawn(io::ErrorKind::StorageFull.into());
        for error in [EngineError::DiskFull, full()] {
            assert!(matches!(classify_failed_run(error), Err(JobError::DiskFull)));
        }
        assert!(matches!(classify_failed_run(EngineError::Busy), Err(JobError::Unavailable(_))));
        assert!(matches!(
            classify_failed_run(EngineError::Failed { exit: Some(1) }),
            Ok(RemuxFailure::Engine)
        ));
    }
}
