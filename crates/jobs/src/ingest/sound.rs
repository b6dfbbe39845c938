//! What is done to the sound of a source before its media is ready: another file's in its place, and more
//! laid over it.
//!
//! The samples of what comes of it lie in an object beside the source, and the index names them there:
//! nothing else of the source is written a second time. D-0080.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::{ObjectKey, ObjectWriter};
use kinora_domain::{Failure, FailureCode, PresentationId, SoundEdit, SourceId, error_chain};
use kinora_formats::Scanned;
use kinora_index::{ENCODED_AUDIO_RATE, Index, SampleObject, Track, plan::AlongError};
use kinora_intake::{ROOM_EVERY_BYTES, Scan, ScanTurn, StoredIndex, Whole};
use kinora_packager::{Error, Overlay, Packaged, SoundMix};
use kinora_store::ClaimedJob;
use sha2::{Digest as _, Sha256};

use crate::Context;
use crate::claim::Claim;
use crate::delete_objects;
use crate::error::JobError;
use crate::ingest::check_room;
use crate::ingest::remux::check_scratch;
use crate::ingest::sink::{Owner, SourceSink};
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// What a client calls the address of a sound that takes the place of its own.
const SWAPPED: &str = "swapTrackUrl";

/// A source with its sound as it is wanted. `own` is its index; its samples are in the store.
///
/// May run twice for two sources, and for one when what it wrote was removed. Errors: `Fatal` where an
/// address does not give sound, which is named as the client named it; those of a download.
pub(crate) async fn edited(
    context: &Context,
    job: &Claim,
    source: SourceId,
    own: StoredIndex,
    edit: &SoundEdit,
) -> Result<(Index, ScanTurn), JobError> {
    let mut fetched = Fetched::default();
    let edited = async {
        // A file that is fetched may come slowly, and no index is in memory meanwhile.
        let swapped = match &edit.swap_url {
            Some(url) => Some(fetched.fetch(context, job, url, SWAPPED).await?),
            None => None,
        };
        let mut laid_over = Vec::new();
        for (number, overlay) in edit.overlays.iter().enumerate() {
            let name = format!("imposeTracks[{number}].url");
            laid_over.push((fetched.fetch(context, job, &overlay.url, &name).await?, overlay));
        }
        let _place = context.sound_edits.acquire(job.workspace).await;
        let index = own.load().await?;
        let swapped = match swapped {
            Some(source) => Some(context.packager.packaged(PresentationId::of(source)).await?),
            None => None,
        };
        let mut overlays = Vec::new();
        for (source, wanted) in laid_over {
            let sound = context.packager.packaged(PresentationId::of(source)).await?;
            overlays.push(Overlay { sound, wanted: wanted.clone() });
        }
        match swapped {
            swapped if !overlays.is_empty() => {
                check_samples(&index, "url")?;
                let mix = || try_twice(|| mix(context, job, source, &index, swapped.as_deref(), &overlays));
                match (keep_trying(Waiter::Job(job.id), PATIENCE, mix).await?, &swapped) {
                    (Some(Mixed { kept, sound, len }), _) => {
                        let object = kept.finish().await?;
                        if let Some(workspace) = context.store.workspace_of_source(source).await? {
                            let encoded_us = u64::try_from(len.as_micros()).unwrap_or(u64::MAX);
                            context.packager.count_encoded(workspace, encoded_us);
                        }
                        index.with_sound(sound, object).map_err(refuse)
                    }
                    // Nothing of it is heard in the time of the media.
                    (None, Some(sound)) => swap(context, job, source, index, sound).await,
                    (None, None) => Ok(index),
                }
            }
            Some(sound) => swap(context, job, source, index, &sound).await,
            None => Ok(index),
        }
    };
    let edited = edited.await;
    // What it was made of is of no more use, and nothing ever names it.
    for source in fetched.sources {
        if let Err(error) = delete_objects::remove(context, source).await {
            // The sweep finds it. What was made of it is not given up for that.
            tracing::warn!(source.id = %source, error = %error_chain(&error), "a file of sound that is not needed any more was not removed");
        }
    }
    // It is written next, and that waits for the store alone.
    edited.map(|index| (index, ScanTurn::default()))
}

/// Files whose samples share bytes say that they are longer than they are.
fn check_samples(index: &Index, name: &str) -> Result<(), JobError> {
    let audio = index.audio_tracks().map(|(track, _)| track.samples_bytes()).max().unwrap_or(0);
    if audio <= index.samples_len() {
        return Ok(());
    }
    let sentence = format!("{name}: the samples of the file's sound take more bytes than it has");
    Err(JobError::Fatal(Failure::new(FailureCode::NotMedia, sentence)))
}

/// Again where the engine met something that another try may not meet.
async fn try_twice<T, Step: Future<Output = Result<T, Trouble>>>(
    step: impl Fn() -> Step,
) -> Result<T, JobError> {
    match step().await {
        Err(Trouble::OfRun(_)) => step().await.map_err(Trouble::into_error),
        ended => ended.map_err(Trouble::into_error),
    }
}

/// Why there is no mix.
enum Trouble {
    /// A run of the engine met it.
    OfRun(Error),
    Other(JobError),
}

impl<E: Into<JobError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Trouble {
    fn of(error: Error) -> Self {
        if error.is_of_run() { Self::OfRun(error) } else { Self::Other(explain(error)) }
    }

    fn into_error(self) -> JobError {
        match self {
            Self::OfRun(error) => explain(error),
            Self::Other(error) => error,
        }
    }
}

/// Files that were brought in for a while.
#[derive(Default)]
struct Fetched {
    sources: Vec<SourceId>,
    /// By their addresses: one that is heard twice is read once.
    known: Vec<(String, SourceId)>,
}

impl Fetched {
    /// Brings in a file that has sound. `name` is that of its address in the client's words.
    async fn fetch(
        &mut self,
        context: &Context,
        job: &Claim,
        url: &str,
        name: &str,
    ) -> Result<SourceId, JobError> {
        if let Some((_, source)) = self.known.iter().find(|(known, _)| known == url) {
            return Ok(*source);
        }
        let source = SourceId::new(context.clock.now(), &*context.random);
        let fetched = async {
            let mut sink = SourceSink::begin(context, job, Owner::Nobody, source).await?;
            sink.download(url).await?;
            let arrived = sink.arrive().await?;
            self.sources.push(arrived.source());
            let source = arrived.source();
            let cut = async |stored| cut_along(context, job, stored, None).await;
            arrived.keep_as(context, job, cut, |_| ()).await?;
            Ok::<_, JobError>(context.packager.packaged(PresentationId::of(source)).await?)
        };
        let sound = fetched.await.map_err(|error| named(error, name))?;
        check_samples(sound.index(), name)?;
        self.known.push((url.to_owned(), source));
        Ok(source)
    }
}

/// An error of a file that the client knows by this field.
fn named(error: JobError, name: &str) -> JobError {
    match error {
        JobError::Fatal(failure) => {
            JobError::Fatal(Failure::new(failure.code, format!("{name}: {}", failure.message)))
        }
        other => other,
    }
}

/// The samples of `sound` that are heard are copied, packed one behind the other.
async fn swap(
    context: &Context,
    job: &Claim,
    source: SourceId,
    index: Index,
    sound: &Packaged,
) -> Result<Index, JobError> {
    let track = sound.index().tracks.first().cloned().ok_or_else(|| refuse(AlongError::NoAudio))?;
    let track = match index.video() {
        Some(_) => track.until(index.facts().duration_us),
        None => track,
    };
    let mut kept = Kept::begin(context, job, source).await?;
    let mut samples = context.packager.sound_samples(sound, &track);
    while let Some(bytes) = samples.next().await {
        kept.write(bytes?).await?;
    }
    let object = kept.finish().await?;
    let heard = Index { tracks: vec![track.in_one_piece().0], ..sound.index().clone() };
    index.with_sound(heard, object).map_err(|error| named(refuse(error), SWAPPED))
}

/// A mix that is whole, whose object has no name yet. Dropped, it leaves nothing.
struct Mixed<'a> {
    kept: Kept<'a>,
    sound: Index,
    /// How long it is.
    len: Duration,
}

/// All that is heard is encoded once: `swapped`, or else the source's own sound, and what is laid over it.
/// `None` where that is nothing.
async fn mix<'a>(
    context: &'a Context,
    job: &Claim,
    source: SourceId,
    index: &Index,
    swapped: Option<&Packaged>,
    overlays: &[Overlay],
) -> Result<Option<Mixed<'a>>, Trouble> {
    let own = context.packager.unstored(PresentationId::of(source), index)?;
    let below = swapped.unwrap_or(&own).index();
    // A media is as long as its pictures and what was heard with them; sound alone is as long as the sound.
    let measured = if index.video().is_some() { index } else { below };
    let len = Duration::from_micros(measured.facts().duration_us);
    let heard = below.audio_number().map(|number| (swapped.unwrap_or(&own), number));
    let has_room = |bytes| check_scratch(context, bytes).map_err(|_| Error::Blob(kinora_blob::Error::Full));
    let mix = context.packager.mix(len, heard, overlays, &context.scratch, has_room).await;
    let mix = mix.map_err(Trouble::of)?;
    let Some(mut mix) = mix else { return Ok(None) };
    let (mut kept, scan) =
        (Kept::begin(context, job, source).await?, Scan::begin(&context.scans, job.workspace));
    while let Some(bytes) = mix.chunk().await {
        let bytes = bytes.map_err(Trouble::of)?;
        if scan.push(bytes.clone()).await.is_err() {
            break; // its end says why
        }
        kept.write(bytes).await?;
    }
    let mixed = match scan.finish().await {
        Ok(Whole { scanned: Scanned::Index(mixed), .. }) => mixed,
        Ok(Whole { scanned: Scanned::Foreign { .. }, .. }) => {
            return Err(Trouble::Other(JobError::Retry("a mix is no MP4".into())));
        }
        Err(error) => return Err(Trouble::Other(JobError::Retry(Box::new(error)))),
    };
    let language = below.audio().map(|(track, _)| track.language.clone());
    let tracks = mixed.tracks.iter().cloned().map(|track| {
        let language = language.clone().unwrap_or_else(|| track.language.clone());
        Track { language, ..in_its_place(track) }
    });
    Ok(Some(Mixed { kept, sound: Index { tracks: tracks.collect(), ..mixed }, len }))
}

/// The output of a mix says by its times where it begins.
fn in_its_place(track: Track) -> Track {
    let ticks = |samples: u64| {
        let ticks = u128::from(samples) * u128::from(track.timescale) / u128::from(ENCODED_AUDIO_RATE);
        i64::try_from(ticks).unwrap_or(i64::MAX)
    };
    let shift = -ticks(SoundMix::START);
    let end = track.end.saturating_sub(track.shift).saturating_add(shift);
    Track { shift, end, ..track }
}

/// The object of a sound that is being written.
struct Kept<'a> {
    context: &'a Context,
    writer: ObjectWriter,
    sha256: Sha256,
    /// Bytes written when the room was last looked at.
    looked_at: u64,
}

impl<'a> Kept<'a> {
    async fn begin(context: &'a Context, job: &Claim, source: SourceId) -> Result<Self, JobError> {
        let writer = context.blob.of_workspace(job.workspace).writer(ObjectKey::Sound(source)).await?;
        Ok(Self { context, writer, sha256: Sha256::new(), looked_at: 0 })
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), JobError> {
        if self.writer.written().saturating_sub(self.looked_at) >= ROOM_EVERY_BYTES {
            self.looked_at = self.writer.written();
            check_room(self.context, 0).await?;
        }
        self.sha256.update(&bytes);
        Ok(self.writer.write(bytes).await?)
    }

    async fn finish(self) -> Result<SampleObject, JobError> {
        let object = SampleObject::sound(self.writer.written(), self.sha256.finalize().into());
        self.writer.finish().await?;
        Ok(object)
    }
}

/// The first audio track of a file, cut along a media or by itself. Of some files millions of samples are
/// looked at, on a thread for that.
pub(crate) async fn cut_along(
    context: &Context,
    job: &ClaimedJob,
    stored: StoredIndex,
    media: Option<Arc<Packaged>>,
) -> Result<(Index, ScanTurn), JobError> {
    let (index, turn) = stored.load_in_turn(&context.scans, job.workspace).await?;
    let cut = move || index.sound_along(media.as_ref().map(|media| media.index())).map_err(refuse);
    let cut = tokio::task::spawn_blocking(cut).await.map_err(|panic| JobError::Retry(Box::new(panic)))?;
    Ok((cut?, turn))
}

/// Why a file of sound is of no use.
fn refuse(error: AlongError) -> JobError {
    let code = match error {
        AlongError::NoAudio => FailureCode::NoAudio,
        AlongError::Plan(_) => FailureCode::NotMedia,
    };
    JobError::Fatal(Failure::new(code, error.to_string()))
}

fn explain(error: Error) -> JobError {
    let sentence = match error.root() {
        // Of a media that was deleted, which the lease tells, or of a file that was swept after a day.
        Error::Gone => return JobError::Retry(Box::new(error)),
        Error::Busy => return JobError::Away(Box::new(error)),
        Error::TooManyPauses => format!("imposeTracks: {error}"),
        Error::Unmade(_) => {
            tracing::warn!(error = %error_chain(&error), "the sound of a media could not be mixed");
            "imposeTracks: the engine could not mix the sounds; one of the files, or the sound of the media, does not decode".to_owned()
        }
        _ => return error.into(),
    };
    JobError::Fatal(Failure::new(FailureCode::CodecUnsupported, sentence))
}
