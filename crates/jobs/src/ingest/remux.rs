//! Sources in containers that are not read here become media: the engine copies what is in them into a
//! container that is, and the copy is read while it is written.
//!
//! Knows which copies to try, in which order. What is inside is touched by nobody, so what plays as a copy
//! still does.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use kinora_blob::{ObjectKey, ObjectWriter};
use kinora_domain::{Failure, FailureCode, SourceId, WorkspaceId};
use kinora_engine::{
    EncodeLimits, Encoding, EngineError, Priority, Remux, RemuxInput, RemuxOutput, RemuxTracks,
};
use kinora_formats::{
    Scanned,
    foreign::{ForeignFacts, is_mpeg4_avi},
};
use kinora_index::{AudioTrack, Container, Index, LEFT_OUT_MAX, LeftOut, SampleObject, TrackMedia};
use kinora_intake::{
    RESERVED_BYTES, ROOM_EVERY_BYTES, Scan, ScanError, StoredIndex, Whole, failure_of, is_full,
};
use kinora_isobmff::ReadError;
use kinora_store::ClaimedJob;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use super::check_room;
use crate::Context;
use crate::error::JobError;
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// The longest silence of a copy whose turn it is: the engine looks through 32 MB before it says a word.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Processor time of every copy beside that for its bytes.
const CPU_BASE: Duration = Duration::from_secs(60);
/// Bytes copied in a second of processor time on a slow core. Of the 200 MB that were measured, a tenth.
const COPIED_A_SECOND: u64 = 20_000_000;
/// Memory of a copy: what is looked through at the start, and packets that wait for those of other tracks.
const MEMORY_BYTES: u64 = 512 << 20;
/// Output beside that for the bytes of the source.
const OUTPUT_BASE: u64 = 16 << 20;
/// Bytes of output for one of the source. Small packets, as of speech in MP3, are half as long as what a
/// fragment says of them.
const OUTPUT_TIMES: u64 = 3;
/// The same of decoded sound: 32 bits a sample, of ADPCM with 4.
const PCM_TIMES: u64 = 9;

/// A source that lies in the store, and is not read where it lies.
pub(crate) struct Foreign {
    pub(crate) source: SourceId,
    /// Whose.
    pub(crate) workspace: Option<WorkspaceId>,
    /// What it is packed in.
    pub(crate) container: Container,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// SHA-256 of it.
    pub(crate) sha256: [u8; 32],
    /// What our reader did not follow of it, where we have one.
    pub(crate) refusal: Option<String>,
    /// What its copy cannot say.
    pub(crate) facts: ForeignFacts,
}

/// Makes the copy of a foreign source and stores it. Returns its index, as [`Copied::store`].
///
/// May run twice for two sources, not for one: the copy has a name afterwards. Errors: as of [`copied`].
pub(crate) async fn normalise(
    context: &Context,
    job: &ClaimedJob,
    foreign: &Foreign,
) -> Result<StoredIndex, JobError> {
    copied(context, job, foreign).await?.store().await
}

/// Makes the copy of a foreign source. Container, length and hash in its index are those of the source.
///
/// May run twice. Errors: `Fatal` when nothing in the source can be read, `Away` while the engine or a store
/// is, `Full`, `LeaseLost` when the media was deleted.
pub(crate) async fn copied(
    context: &Context,
    job: &ClaimedJob,
    foreign: &Foreign,
) -> Result<Copied, JobError> {
    let way = Way { tracks: RemuxTracks::All, is_without: None };
    // The engine serves its queue in the order of requests, so workspaces take turns here.
    let place = context.beginnings.acquire(job.workspace).await;
    let unpacked = keep_trying(Waiter::Job(job.id), PATIENCE, || unpacked(context, foreign, way)).await?;
    let unpacked = unpacked.as_ref().map(NamedTempFile::path);
    let copied = keep_trying(Waiter::Job(job.id), PATIENCE, || copy(context, foreign, unpacked, way)).await?;
    drop(place);
    Ok(copied)
}

impl Foreign {
    /// The index of the source, from the index of its copy; `way` is how the copy was made.
    fn index(&self, mut copy: Index, way: Way) -> Index {
        let normalised = SampleObject::normalised(copy.container, copy.source_len);
        copy.left_out.extend(way.is_without.map(|is_picture| {
            let detail =
                if is_picture { "no video track can be read" } else { "an audio track cannot be read" };
            LeftOut::new(is_picture, detail)
        }));
        copy.left_out.truncate(LEFT_OUT_MAX);
        name_layer(self.container, &mut copy);
        Index {
            container: self.container,
            source_len: self.len,
            source_sha256: self.sha256,
            objects: vec![normalised],
            ..self.facts.apply(copy)
        }
    }
}

/// Names the layer of MPEG audio where the container of the source holds one alone: MP4 says `mp4a.6B` of
/// all.
fn name_layer(container: Container, copy: &mut Index) {
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

/// How a copy is made, apart from its container.
#[derive(Clone, Copy)]
struct Way {
    tracks: RemuxTracks,
    /// Set if a track is left out because a copy with it fails: `true` for pictures, `false` for sound.
    is_without: Option<bool>,
}

/// Bytes of an AVI file that contain the format of its video.
const AVI_HEAD_LEN: u64 = 4096;

/// Whether the source is MPEG-4 Visual in AVI. One packet of that may contain two pictures.
async fn is_mpeg4(context: &Context, foreign: &Foreign) -> Result<bool, JobError> {
    if foreign.container != Container::Avi {
        return Ok(false);
    }
    let reader = context.blob.reader(ObjectKey::Source(foreign.source)).await?.ok_or(JobError::LeaseLost)?;
    let head = reader.read_at(0..reader.len().min(AVI_HEAD_LEN)).await?;
    Ok(is_mpeg4_avi(&head))
}

/// A copy of a source of MPEG-4 Visual in AVI in which each packet has one picture. `None` for any other
/// source, and if the copy fails.
async fn unpacked(context: &Context, foreign: &Foreign, way: Way) -> Result<Option<NamedTempFile>, JobError> {
    if !is_mpeg4(context, foreign).await? {
        return Ok(None);
    }
    check_scratch(context, foreign.len)?;
    let file = NamedTempFile::new_in(&context.scratch).map_err(of_disk)?;
    let mut to = tokio::fs::File::from_std(file.reopen().map_err(of_disk)?);
    let bytes = stored(context, foreign).await?.map(|bytes| bytes.map_err(io::Error::other));
    let mut run = context.engine.remux(spec(context, foreign, RemuxOutput::UnpackedAvi, way), bytes);
    while let Some(bytes) = run.chunk().await {
        match bytes {
            Ok(bytes) => to.write_all(&bytes).await.map_err(of_disk)?,
            Err(error) => return explain(error).map(|_| None),
        }
    }
    to.flush().await.map_err(of_disk)?;
    Ok(Some(file))
}

/// A copy that is whole and understood, and has no name yet. Dropped, it leaves nothing.
pub(crate) struct Copied {
    writer: ObjectWriter,
    index: StoredIndex,
}

impl Copied {
    /// Names the copy. Returns its index in a file, because several copies may wait for the store at once.
    pub(crate) async fn store(self) -> Result<StoredIndex, JobError> {
        self.writer.finish().await?;
        Ok(self.index)
    }
}

/// What one run of the engine gave.
enum Remuxed {
    Copied(Box<Copied>),
    Unread(Unread),
}

/// Why a run gave no media.
enum Unread {
    /// The engine could not read the source, or the container does not hold what is in it.
    Engine,
    /// Our reader refused what came out.
    Reader(ReadError),
}

/// Where a run reads the source.
#[derive(Clone, Copy)]
enum From<'a> {
    /// From front to back, as it is stored.
    Stream,
    /// A file that holds it.
    File(&'a Path),
}

/// Copies all tracks. If that fails, copies as many as can be read: one track without packets, or one that no
/// container can hold, fails a copy of all.
async fn copy(
    context: &Context,
    foreign: &Foreign,
    unpacked: Option<&Path>,
    way: Way,
) -> Result<Copied, JobError> {
    let all = outputs(foreign.container);
    let from = unpacked.map_or(From::Stream, From::File);
    let mut last = match copy_of(context, foreign, from, all, way).await? {
        Remuxed::Copied(copied) => return Ok(*copied),
        Remuxed::Unread(unread) => unread,
    };
    let mut fetched = None;
    if may_need_a_file(foreign.container) {
        let file = fetched.insert(fetch(context, foreign).await?);
        match copy_of(context, foreign, From::File(file.path()), all, way).await? {
            Remuxed::Copied(copied) => return Ok(*copied),
            // What our reader says of a copy tells more than that the next one could not be made.
            Remuxed::Unread(Unread::Engine) => {}
            Remuxed::Unread(unread) => last = unread,
        }
    }
    if has_several_tracks(foreign.container) {
        // What was unpacked is read before what was fetched.
        let file = unpacked.or(fetched.as_ref().map(NamedTempFile::path));
        let from = file.map_or(From::Stream, From::File);
        if let Some(copied) = copy_of_some(context, foreign, from).await? {
            return Ok(copied);
        }
    }
    tracing::info!(source.id = %foreign.source, container = foreign.container.name(), "a source could not be repacked");
    Err(JobError::Fatal(failure(foreign, last)))
}

/// Copies the video and one audio track, the video alone, or one audio track alone. `None` if none of that
/// can be read.
async fn copy_of_some(
    context: &Context,
    foreign: &Foreign,
    from: From<'_>,
) -> Result<Option<Copied>, JobError> {
    // Matroska holds everything; transport streams keep their times better in MP4.
    let outputs = if foreign.container == Container::MpegTs {
        outputs(foreign.container)
    } else {
        &[RemuxOutput::Matroska]
    };
    let way = |tracks, is_picture| Way { tracks, is_without: Some(is_picture) };
    let video = copy_of(context, foreign, from, outputs, way(RemuxTracks::Video, false)).await?;
    let (is_picture, tracks): (bool, &[RemuxTracks]) = match video {
        // This copy is dropped: one with sound needs the room on the disk.
        Remuxed::Copied(_) => {
            (false, &[RemuxTracks::VideoAnd(0), RemuxTracks::VideoAnd(1), RemuxTracks::Video])
        }
        Remuxed::Unread(_) => (true, &[RemuxTracks::Audio(0), RemuxTracks::Audio(1)]),
    };
    for tracks in tracks {
        let copied = copy_of(context, foreign, from, outputs, way(*tracks, is_picture)).await?;
        if let Remuxed::Copied(copied) = copied {
            return Ok(Some(*copied));
        }
    }
    Ok(None)
}

/// Tries one container after the other until our reader can read the copy.
async fn copy_of(
    context: &Context,
    foreign: &Foreign,
    from: From<'_>,
    outputs: &[RemuxOutput],
    way: Way,
) -> Result<Remuxed, JobError> {
    let mut last = Unread::Engine;
    for output in outputs {
        check_rooms(context, foreign, *output).await?;
        let spec = spec(context, foreign, *output, way);
        let run = match from {
            From::File(path) => context.engine.remux_file(spec, path),
            From::Stream => {
                let bytes = stored(context, foreign).await?.map(|bytes| bytes.map_err(io::Error::other));
                context.engine.remux(spec, bytes)
            }
        };
        match read(context, foreign, way, run).await? {
            copied @ Remuxed::Copied(_) => return Ok(copied),
            // What our reader says of a copy tells more than that the next one could not be made.
            Remuxed::Unread(Unread::Engine) => {}
            Remuxed::Unread(unread) => last = unread,
        }
    }
    Ok(Remuxed::Unread(last))
}

/// The bytes of the source.
async fn stored(
    context: &Context,
    foreign: &Foreign,
) -> Result<impl Stream<Item = kinora_blob::Result<Bytes>> + Send + Unpin + use<>, JobError> {
    let reader = context.blob.reader(ObjectKey::Source(foreign.source)).await?.ok_or(JobError::LeaseLost)?;
    Ok(reader.stream(0..reader.len())?)
}

/// The source as a file, for as long as the answer lives.
///
/// Errors: `Full` where it does not fit.
async fn fetch(context: &Context, foreign: &Foreign) -> Result<NamedTempFile, JobError> {
    check_scratch(context, foreign.len)?;
    let file = NamedTempFile::new_in(&context.scratch).map_err(of_disk)?;
    let mut to = tokio::fs::File::from_std(file.reopen().map_err(of_disk)?);
    let mut bytes = stored(context, foreign).await?;
    while let Some(bytes) = bytes.next().await {
        to.write_all(&bytes?).await.map_err(of_disk)?;
    }
    to.flush().await.map_err(of_disk)?;
    Ok(file)
}

/// Whether `len` more bytes fit the folder for files that do not stay.
pub(crate) fn check_scratch(context: &Context, len: u64) -> Result<(), JobError> {
    let volume = rustix::fs::statvfs(&*context.scratch).map_err(of_disk)?;
    let free = volume.f_bavail.saturating_mul(volume.f_frsize);
    if free < len.saturating_add(RESERVED_BYTES) { Err(JobError::Full) } else { Ok(()) }
}

fn of_disk(error: impl Into<io::Error>) -> JobError {
    let error = error.into();
    if is_full(&error) { JobError::Full } else { JobError::Retry(Box::new(error)) }
}

/// Whether what a copy needs fits, in the store and among the files of jobs: where objects lie in a bucket
/// only those are on a disk of ours. Matroska is finished in a file before it is read.
async fn check_rooms(context: &Context, foreign: &Foreign, output: RemuxOutput) -> Result<(), JobError> {
    let (in_store, in_scratch) = match output {
        RemuxOutput::Matroska => (2, 1),
        RemuxOutput::Pcm => (PCM_TIMES, PCM_TIMES),
        _ => (1, 0),
    };
    check_room(context, foreign.len.saturating_mul(in_store)).await?;
    if in_scratch > 0 { check_scratch(context, foreign.len.saturating_mul(in_scratch)) } else { Ok(()) }
}

/// Whether files of the kind may be written so that only somebody who jumps in them can read them: what leads
/// to the samples lies behind them, or the tracks one behind the other.
fn may_need_a_file(container: Container) -> bool {
    use Container::{Aiff, Avi, Caf, Mov, Mp4, Mxf, W64, WavPack};
    matches!(container, Mp4 | Mov | Avi | Mxf | Aiff | Caf | W64 | WavPack)
}

/// Whether files of the kind may hold more than one track.
fn has_several_tracks(container: Container) -> bool {
    use Container::{Asf, Avi, Flv, Matroska, Mov, Mp4, MpegPs, MpegTs, Mxf, Ogg, WebM};
    matches!(container, Asf | Avi | Flv | Matroska | Mov | Mp4 | MpegPs | MpegTs | Mxf | Ogg | WebM)
}

/// Writes what comes out of a run, and reads it at the same time.
async fn read(
    context: &Context,
    foreign: &Foreign,
    way: Way,
    mut run: Encoding,
) -> Result<Remuxed, JobError> {
    let mut writer =
        context.blob.of_workspace(foreign.workspace).writer(ObjectKey::Normalised(foreign.source)).await?;
    let scan = Scan::begin(&context.scans, foreign.workspace);
    let mut looked_at = 0;
    while let Some(bytes) = run.chunk().await {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return explain(error).map(Remuxed::Unread),
        };
        if scan.push(bytes.clone()).await.is_err() {
            break; // its end says why
        }
        writer.write(bytes).await?;
        // Others write, too, and nobody knows how much longer it gets.
        if writer.written().saturating_sub(looked_at) >= ROOM_EVERY_BYTES {
            looked_at = writer.written();
            check_room(context, 0).await?;
        }
    }
    drop(run);
    if writer.written() == 0 {
        return Ok(Remuxed::Unread(Unread::Engine));
    }
    match scan.finish().await {
        Ok(Whole { scanned: Scanned::Index(index), turn }) => {
            let index = context.scans.store_index(foreign.index(index, way)).await?;
            drop(turn);
            Ok(Remuxed::Copied(Box::new(Copied { writer, index })))
        }
        Ok(Whole { scanned: Scanned::Foreign { refusal, .. }, .. }) => {
            let unread =
                refusal.map_or(Unread::Engine, |refusal| Unread::Reader(ReadError::NeedsRemux(refusal)));
            Ok(Remuxed::Unread(unread))
        }
        Err(ScanError::Read(error)) => Ok(Remuxed::Unread(Unread::Reader(error))),
        Err(error) => Err(error.into()),
    }
}

/// In which containers to look for the source's tracks, the one that keeps its times best first.
fn outputs(container: Container) -> &'static [RemuxOutput] {
    use RemuxOutput::{Matroska, Mp4, Mp4FromAdts, Pcm};

    match container {
        Container::MpegTs | Container::Adts => &[Mp4FromAdts, Mp4, Matroska],
        // Its last packet is written as long as the others; in Matroska our reader asks the packet.
        Container::Caf => &[Matroska, Mp4, Pcm],
        // Eight bits, floats of the other byte order and old ADPCM have no place in MP4 and Matroska.
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

fn spec(context: &Context, foreign: &Foreign, output: RemuxOutput, way: Way) -> Remux {
    let times = if output == RemuxOutput::Pcm { PCM_TIMES } else { OUTPUT_TIMES };
    let limits = EncodeLimits {
        deadline: SILENCE_MAX,
        cpu: CPU_BASE + Duration::from_secs(foreign.len / COPIED_A_SECOND),
        memory_bytes: MEMORY_BYTES,
        output_max: foreign.len.saturating_mul(times).saturating_add(OUTPUT_BASE),
    };
    let scratch = context.scratch.to_path_buf();
    Remux {
        input: input(foreign.container),
        output,
        tracks: way.tracks,
        scratch,
        priority: Priority::Prepare,
        limits,
    }
}

/// Whether the source is to blame for the end of a run, or something of ours.
fn explain(error: EngineError) -> Result<Unread, JobError> {
    match error {
        EngineError::Busy => Err(JobError::Away(Box::new(error))),
        EngineError::NoRoom => Err(JobError::Full),
        EngineError::Spawn(error) if is_full(&error) => Err(JobError::Full),
        error if error.is_of_machine() => Err(error.into()),
        EngineError::Input(error) => match error.downcast::<kinora_blob::Error>() {
            // The media was deleted meanwhile.
            Ok(kinora_blob::Error::Gone(_)) => Err(JobError::LeaseLost),
            Ok(error) => Err(error.into()),
            Err(error) => Err(JobError::Retry(Box::new(error))),
        },
        EngineError::Impossible(_) => Err(JobError::Retry(Box::new(error))),
        _ => Ok(Unread::Engine),
    }
}

/// What a client is told of a source of which no copy could be read.
fn failure(foreign: &Foreign, unread: Unread) -> Failure {
    match (&foreign.refusal, unread) {
        (Some(refusal), _) => Failure::new(FailureCode::CodecUnsupported, refusal.clone()),
        (None, Unread::Reader(error @ (ReadError::Unsupported(_) | ReadError::NeedsRemux(_)))) => {
            failure_of(&error)
        }
        (None, Unread::Engine) if foreign.container == Container::Ape => {
            let sentence = "the audio codec is Monkey's Audio, which cannot be repacked";
            Failure::new(FailureCode::CodecUnsupported, sentence)
        }
        // What is damaged in a copy is the copy; the client knows the source.
        (None, Unread::Engine | Unread::Reader(_)) => {
            let name = foreign.container.name();
            let sentence =
                format!("the source looks like a file of the kind {name}, but nothing in it can be played");
            Failure::new(FailureCode::NotMedia, sentence)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_fault_of_the_source() {
        let full = || EngineError::Spawn(io::ErrorKind::StorageFull.into());
        for error in [EngineError::NoRoom, full()] {
            assert!(matches!(explain(error), Err(JobError::Full)));
        }
        assert!(matches!(explain(EngineError::Busy), Err(JobError::Away(_))));
        assert!(matches!(explain(EngineError::Failed { exit: Some(1) }), Ok(Unread::Engine)));
    }
}
