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
/// The same for decoded audio: 32 bits per sample, from ADPCM with 4.
const PCM_RATIO_MAX: u64 = 9;

/// A stored source in a container that cannot be read in place.
pub(crate) struct Foreign {
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
    pub(crate) refusal: Option<String>,
    /// Facts that the copy does not contain.
    pub(crate) facts: RemuxFacts,
}

/// Remuxes a foreign source and stores the copy. Returns its index, as [`RemuxedCopy::store`].
///
/// Must not run twice for one source, because the copy then has its name. Errors: as of [`remux_copy`].
pub(crate) async fn normalise(
    context: &Context,
    job: &ClaimedJob,
    foreign: &Foreign,
) -> Result<SpilledIndex, JobError> {
    remux_copy(context, job, foreign).await?.store().await
}

/// Remuxes a foreign source. Container, length and hash in its index are those of the source.
///
/// May run twice. Errors: `Fatal` when nothing in the source can be read, `Unavailable` while the engine or
/// a store is unavailable, `DiskFull`, `LeaseLost` when the media was deleted.
pub(crate) async fn remux_copy(
    context: &Context,
    job: &ClaimedJob,
    foreign: &Foreign,
) -> Result<RemuxedCopy, JobError> {
    let plan = CopyPlan { tracks: RemuxTracks::All, dropped_video: None };
    // The engine queue is in order of requests, so fairness among workspaces is enforced here.
    let permit = context.first_segment_jobs.acquire(job.workspace).await;
    let unpacked =
        retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, || unpack_avi(context, foreign, plan))
            .await?;
    let unpacked = unpacked.as_ref().map(NamedTempFile::path);
    let copied = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, || {
        copy(context, foreign, unpacked, plan)
    })
    .await?;
    drop(permit);
    Ok(copied)
}

impl Foreign {
    /// The index of the source, from the index of its copy; `plan` is how the copy was made.
    fn index(&self, mut copy: Index, plan: CopyPlan) -> Index {
        let normalised = SampleObject::remuxed(copy.container, copy.source_len);
        copy.left_out.extend(plan.dropped_video.map(|is_video| {
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
    dropped_video: Option<bool>,
}

/// Bytes of an AVI file that contain the format of its video.
const AVI_HEAD_LEN: u64 = 4096;

/// Whether the source is MPEG-4 Visual in AVI. One packet of that may contain two frames.
async fn is_mpeg4(context: &Context, foreign: &Foreign) -> Result<bool, JobError> {
    if foreign.container != Container::Avi {
        return Ok(false);
    }
    let reader = context.blob.reader(ObjectKey::Source(foreign.source)).await?.ok_or(JobError::LeaseLost)?;
    let head = reader.read_at(0..reader.len().min(AVI_HEAD_LEN)).await?;
    Ok(is_mpeg4_avi(&head))
}

/// A copy of a source of MPEG-4 Visual in AVI in which each packet has one frame. `None` for any other
/// source, and if the copy fails.
async fn unpack_avi(
    context: &Context,
    foreign: &Foreign,
    plan: CopyPlan,
) -> Result<Option<NamedTempFile>, JobError> {
    if !is_mpeg4(context, foreign).await? {
        return Ok(None);
    }
    check_scratch(context, foreign.len)?;
    let file = NamedTempFile::new_in(&context.scratch).map_err(scratch_error)?;
    let mut to = tokio::fs::File::from_std(file.reopen().map_err(scratch_error)?);
    let bytes = source_stream(context, foreign).await?.map(|bytes| bytes.map_err(io::Error::other));
    let mut run = context.engine.remux(spec(context, foreign, RemuxOutput::UnpackedAvi, plan), bytes);
    while let Some(bytes) = run.chunk().await {
        match bytes {
            Ok(bytes) => to.write_all(&bytes).await.map_err(scratch_error)?,
            Err(error) => return explain(error).map(|_| None),
        }
    }
    to.flush().await.map_err(scratch_error)?;
    Ok(Some(file))
}

/// A complete, readable copy without a name yet. Dropping it deletes the data.
pub(crate) struct RemuxedCopy {
    writer: ObjectWriter,
    index: SpilledIndex,
}

impl RemuxedCopy {
    /// Gives the copy its name. Returns its index in a file, because several copies may wait for the store
    /// at once.
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
async fn copy(
    context: &Context,
    foreign: &Foreign,
    unpacked: Option<&Path>,
    plan: CopyPlan,
) -> Result<RemuxedCopy, JobError> {
    let all = outputs(foreign.container);
    let from = unpacked.map_or(InputMode::Stream, InputMode::File);
    let mut last = match copy_of(context, foreign, from, all, plan).await? {
        RemuxOutcome::Copied(copied) => return Ok(*copied),
        RemuxOutcome::Failed(cause) => cause,
    };
    let mut fetched = None;
    if may_need_seek(foreign.container) {
        let file = fetched.insert(fetch(context, foreign).await?);
        match copy_of(context, foreign, InputMode::File(file.path()), all, plan).await? {
            RemuxOutcome::Copied(copied) => return Ok(*copied),
            // An error of our reader is more specific than a failed run of the engine.
            RemuxOutcome::Failed(RemuxFailure::Engine) => {}
            RemuxOutcome::Failed(unread) => last = unread,
        }
    }
    if has_several_tracks(foreign.container) {
        // Prefers the unpacked file over the fetched one.
        let file = unpacked.or(fetched.as_ref().map(NamedTempFile::path));
        let from = file.map_or(InputMode::Stream, InputMode::File);
        if let Some(copied) = copy_of_some(context, foreign, from).await? {
            return Ok(copied);
        }
    }
    tracing::info!(source.id = %foreign.source, container = foreign.container.name(), "a source could not be remuxed");
    Err(JobError::Fatal(failure(foreign, last)))
}

/// Copies the video and one audio track, the video alone, or one audio track alone. `None` if none of that
/// can be read.
async fn copy_of_some(
    context: &Context,
    foreign: &Foreign,
    from: InputMode<'_>,
) -> Result<Option<RemuxedCopy>, JobError> {
    // Matroska supports every track; for transport streams MP4 has the more exact times.
    let outputs = if foreign.container == Container::MpegTs {
        outputs(foreign.container)
    } else {
        &[RemuxOutput::Matroska]
    };
    let plan = |tracks, is_video| CopyPlan { tracks, dropped_video: Some(is_video) };
    let video = copy_of(context, foreign, from, outputs, plan(RemuxTracks::Video, false)).await?;
    let (is_picture, tracks): (bool, &[RemuxTracks]) = match video {
        // Drops this copy: one with audio needs the disk space.
        RemuxOutcome::Copied(_) => {
            (false, &[RemuxTracks::VideoAnd(0), RemuxTracks::VideoAnd(1), RemuxTracks::Video])
        }
        RemuxOutcome::Failed(_) => (true, &[RemuxTracks::Audio(0), RemuxTracks::Audio(1)]),
    };
    for tracks in tracks {
        let copied = copy_of(context, foreign, from, outputs, plan(*tracks, is_picture)).await?;
        if let RemuxOutcome::Copied(copied) = copied {
            return Ok(Some(*copied));
        }
    }
    Ok(None)
}

/// Tries the containers in order until our reader can read the copy.
async fn copy_of(
    context: &Context,
    foreign: &Foreign,
    from: InputMode<'_>,
    outputs: &[RemuxOutput],
    plan: CopyPlan,
) -> Result<RemuxOutcome, JobError> {
    let mut last = RemuxFailure::Engine;
    for output in outputs {
        check_disk_spaces(context, foreign, *output).await?;
        let spec = spec(context, foreign, *output, plan);
        let run = match from {
            InputMode::File(path) => context.engine.remux_file(spec, path),
            InputMode::Stream => {
                let bytes =
                    source_stream(context, foreign).await?.map(|bytes| bytes.map_err(io::Error::other));
                context.engine.remux(spec, bytes)
            }
        };
        match read(context, foreign, plan, run).await? {
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
    foreign: &Foreign,
) -> Result<impl Stream<Item = kinora_blob::Result<Bytes>> + Send + Unpin + use<>, JobError> {
    let reader = context.blob.reader(ObjectKey::Source(foreign.source)).await?.ok_or(JobError::LeaseLost)?;
    Ok(reader.stream(0..reader.len())?)
}

/// The source as a temporary file, deleted with the returned value.
///
/// Errors: `DiskFull` if it does not fit.
async fn fetch(context: &Context, foreign: &Foreign) -> Result<NamedTempFile, JobError> {
    check_scratch(context, foreign.len)?;
    let file = NamedTempFile::new_in(&context.scratch).map_err(scratch_error)?;
    let mut to = tokio::fs::File::from_std(file.reopen().map_err(scratch_error)?);
    let mut bytes = source_stream(context, foreign).await?;
    while let Some(bytes) = bytes.next().await {
        to.write_all(&bytes?).await.map_err(scratch_error)?;
    }
    to.flush().await.map_err(scratch_error)?;
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
async fn check_disk_spaces(
    context: &Context,
    foreign: &Foreign,
    output: RemuxOutput,
) -> Result<(), JobError> {
    let (in_store, in_scratch) = match output {
        RemuxOutput::Matroska => (2, 1),
        RemuxOutput::Pcm => (PCM_RATIO_MAX, PCM_RATIO_MAX),
        _ => (1, 0),
    };
    check_disk_space(context, foreign.len.saturating_mul(in_store)).await?;
    if in_scratch > 0 { check_scratch(context, foreign.len.saturating_mul(in_scratch)) } else { Ok(()) }
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
async fn read(
    context: &Context,
    foreign: &Foreign,
    plan: CopyPlan,
    mut run: OutputStream,
) -> Result<RemuxOutcome, JobError> {
    let mut writer =
        context.blob.of_workspace(foreign.workspace).writer(ObjectKey::Normalised(foreign.source)).await?;
    let scan = Scan::begin(&context.scan_limits, foreign.workspace);
    let mut space_checked_at = 0;
    while let Some(bytes) = run.chunk().await {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return explain(error).map(RemuxOutcome::Failed),
        };
        if scan.push(bytes.clone()).await.is_err() {
            break; // its end says why
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
            let index = context.scan_limits.spill_index(foreign.index(index, plan)).await?;
            drop(permit);
            Ok(RemuxOutcome::Copied(Box::new(RemuxedCopy { writer, index })))
        }
        Ok(ScanResult { scanned: Scanned::NeedsRemux { refusal, .. }, .. }) => {
            let cause = refusal
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

fn spec(context: &Context, foreign: &Foreign, output: RemuxOutput, plan: CopyPlan) -> Remux {
    let ratio = if output == RemuxOutput::Pcm { PCM_RATIO_MAX } else { OUTPUT_RATIO_MAX };
    let limits = EncodeLimits {
        deadline: STALL_TIMEOUT,
        cpu: CPU_BASE + Duration::from_secs(foreign.len / COPY_BYTES_PER_SECOND),
        memory_bytes: MEMORY_BYTES,
        output_max: foreign.len.saturating_mul(ratio).saturating_add(OUTPUT_BASE),
    };
    let scratch = context.scratch.to_path_buf();
    Remux {
        input: input(foreign.container),
        output,
        tracks: plan.tracks,
        scratch,
        priority: Priority::Prepare,
        limits,
    }
}

/// Whether a failed run is due to the source or to an internal error.
fn explain(error: EngineError) -> Result<RemuxFailure, JobError> {
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
fn failure(foreign: &Foreign, cause: RemuxFailure) -> Failure {
    match (&foreign.refusal, cause) {
        (Some(refusal), _) => Failure::new(FailureCode::CodecUnsupported, refusal.clone()),
        (None, RemuxFailure::Reader(error @ (ReadError::Unsupported(_) | ReadError::NeedsRemux(_)))) => {
            failure_of(&error)
        }
        (None, RemuxFailure::Engine) if foreign.container == Container::Ape => {
            let sentence = "the audio codec is Monkey's Audio, which cannot be remuxed";
            Failure::new(FailureCode::CodecUnsupported, sentence)
        }
        // The client knows only the source, so the message omits damage of the copy.
        (None, RemuxFailure::Engine | RemuxFailure::Reader(_)) => {
            let name = foreign.container.name();
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
            assert!(matches!(explain(error), Err(JobError::DiskFull)));
        }
        assert!(matches!(explain(EngineError::Busy), Err(JobError::Unavailable(_))));
        assert!(matches!(explain(EngineError::Failed { exit: Some(1) }), Ok(RemuxFailure::Engine)));
    }
}
