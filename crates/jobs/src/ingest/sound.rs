//! What is done to the sound of a source before its media is ready: another file's in its place, and more laid over it.
//!
//! The samples of what comes of it lie in an object beside the source, and the index names them there: nothing else of the source is written a
//! second time. Decision 0080.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::{ObjectKey, ObjectWriter};
use kinora_domain::{Failure, FailureCode, SoundEdit, SourceId};
use kinora_formats::Scanned;
use kinora_formats::index::{Index, OtherSound, Track};
use kinora_formats::plan::{AlongError, ENCODED_AUDIO_RATE};
use kinora_intake::Scan;
use kinora_packager::{Error, Overlay, Packaged, SoundMix};
use kinora_store::ClaimedJob;
use sha2::{Digest as _, Sha256};

use crate::Context;
use crate::delete_objects;
use crate::error::{JobError, chain};
use crate::ingest::sink::{Owner, SourceSink};
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// A source with its sound as it is wanted. `index` is its own; its samples are in the store.
///
/// May run twice for two sources, and for one when what it wrote was removed.
/// Errors: `Fatal` where an address does not give sound, which is named as the client named it; those of a download.
pub(crate) async fn edited(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    index: Index,
    edit: &SoundEdit,
) -> Result<Index, JobError> {
    let mut fetched = Fetched::default();
    let edited = async {
        let swapped = match &edit.swap_url {
            Some(url) => Some(fetched.fetch(context, job, url, "swapTrackUrl").await?),
            None => None,
        };
        let mut overlays = Vec::new();
        for (number, overlay) in edit.overlays.iter().enumerate() {
            let name = format!("imposeTracks[{number}].url");
            let sound = fetched.fetch(context, job, &overlay.url, &name).await?;
            overlays.push(Overlay { sound, wanted: overlay.clone() });
        }
        match swapped {
            Some(sound) if overlays.is_empty() => swap(context, source, index, &sound).await,
            None if overlays.is_empty() => Ok(index),
            swapped => {
                let mix = || mix(context, source, &index, swapped.as_deref(), &overlays);
                let mixed = keep_trying(Waiter::Job(job.id), PATIENCE, mix).await?;
                let Some(Mixed { kept, sound }) = mixed else { return Ok(index) };
                index.with_sound(sound, kept.finish().await?).map_err(refuse)
            }
        }
    };
    let edited = edited.await;
    // What it was made of is of no more use, and nothing ever names it.
    for source in fetched.sources {
        delete_objects::remove(context, source).await?;
    }
    edited
}

/// Files that were brought in for a while.
#[derive(Default)]
struct Fetched {
    sources: Vec<SourceId>,
}

impl Fetched {
    /// Brings in a file that has sound. `name` is that of its address in the client's words.
    async fn fetch(
        &mut self,
        context: &Context,
        job: &ClaimedJob,
        url: &str,
        name: &str,
    ) -> Result<Arc<Packaged>, JobError> {
        let source = SourceId::new(context.clock.now(), &*context.random);
        let fetched = async {
            let lacked_room = context.room.is_wanted_by(job.id);
            let mut sink = SourceSink::begin(context, Owner::Nobody, source, lacked_room).await?;
            sink.download(url).await?;
            let arrived = sink.arrive().await?;
            self.sources.push(arrived.source());
            let source = arrived.source();
            arrived.keep_as(context, job, async |index| cut_along(index, None).await).await?;
            Ok::<_, JobError>(context.packager.packaged(source).await?)
        };
        fetched.await.map_err(|error| match error {
            JobError::Fatal(failure) => {
                JobError::Fatal(Failure::new(failure.code, format!("{name}: {}", failure.message)))
            }
            other => other,
        })
    }
}

/// The samples of `sound` are copied, packed one behind the other.
async fn swap(
    context: &Context,
    source: SourceId,
    index: Index,
    sound: &Packaged,
) -> Result<Index, JobError> {
    let mut kept = Kept::begin(context, source).await?;
    let mut samples = context.packager.sound_samples(sound).await?;
    while let Some(bytes) = samples.next().await {
        kept.write(bytes?).await?;
    }
    let lies = kept.finish().await?;
    let heard = sound.index().tracks.iter().cloned().map(|track| track.in_one_piece().0).collect();
    let heard = Index { tracks: heard, ..sound.index().clone() };
    index.with_sound(heard, lies).map_err(refuse)
}

/// A mix that is whole, whose object has no name yet. Dropped, it leaves nothing.
struct Mixed {
    kept: Kept,
    sound: Index,
}

/// All that is heard is encoded once: `swapped`, or else the source's own sound, and what is laid over it. `None` where that is nothing.
async fn mix(
    context: &Context,
    source: SourceId,
    index: &Index,
    swapped: Option<&Packaged>,
    overlays: &[Overlay],
) -> Result<Option<Mixed>, JobError> {
    let own = context.packager.unstored(source, index)?;
    let below = swapped.unwrap_or(&own).index();
    // A media is as long as its pictures and what was heard with them; sound alone is as long as the sound.
    let measured = if index.video().is_some() { index } else { below };
    let len = Duration::from_micros(measured.facts().duration_us);
    let heard = number_of_sound(below).map(|number| (swapped.unwrap_or(&own), number));
    let mix = context.packager.mix(len, heard, overlays, &context.scratch).await.map_err(explain)?;
    let Some(mut mix) = mix else { return Ok(None) };
    let (mut kept, scan) = (Kept::begin(context, source).await?, Scan::begin());
    while let Some(bytes) = mix.chunk().await {
        let bytes = bytes.map_err(explain)?;
        if scan.push(bytes.clone()).await.is_err() {
            break; // its end says why
        }
        kept.write(bytes).await?;
    }
    let mixed = match scan.finish().await {
        Ok(Ok(Scanned::Index(mixed))) => mixed,
        Ok(Ok(Scanned::Foreign { .. })) => return Err(JobError::Retry("a mix is no MP4".into())),
        Ok(Err(error)) => return Err(JobError::Retry(Box::new(error))),
        Err(panic) => return Err(JobError::Retry(Box::new(panic))),
    };
    let language = below.audio().map(|(track, _)| track.language.clone());
    let tracks = mixed.tracks.iter().cloned().map(|track| {
        let language = language.clone().unwrap_or_else(|| track.language.clone());
        Track { language, ..in_its_place(track) }
    });
    Ok(Some(Mixed { kept, sound: Index { tracks: tracks.collect(), ..mixed } }))
}

/// Which audio track plays when nobody chose.
fn number_of_sound(index: &Index) -> Option<u8> {
    let (chosen, _) = index.audio()?;
    let number = index.audio_tracks().position(|(track, _)| track.source_track == chosen.source_track)?;
    u8::try_from(number).ok()
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
struct Kept {
    writer: ObjectWriter,
    sha256: Sha256,
}

impl Kept {
    async fn begin(context: &Context, source: SourceId) -> Result<Self, JobError> {
        let writer = context.blob.writer(ObjectKey::Sound(source)).await?;
        Ok(Self { writer, sha256: Sha256::new() })
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), JobError> {
        self.sha256.update(&bytes);
        Ok(self.writer.write(bytes).await?)
    }

    async fn finish(self) -> Result<OtherSound, JobError> {
        let lies = OtherSound { len: self.writer.written(), sha256: self.sha256.finalize().into() };
        self.writer.finish().await?;
        Ok(lies)
    }
}

/// The first audio track of a file, cut along a media or by itself. Of some files millions of samples are looked at, on a thread for that.
pub(crate) async fn cut_along(index: Index, media: Option<Arc<Packaged>>) -> Result<Index, JobError> {
    let cut = move || index.sound_along(media.as_ref().map(|media| media.index())).map_err(refuse);
    tokio::task::spawn_blocking(cut).await.map_err(|panic| JobError::Retry(Box::new(panic)))?
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
    match error.root() {
        Error::Gone => JobError::LeaseLost, // the media was deleted meanwhile
        Error::Busy => JobError::Away(Box::new(error)),
        Error::Unmade(_) => {
            tracing::warn!(error = %chain(&error), "the sound of a media could not be mixed");
            JobError::Fatal(Failure::new(FailureCode::CodecUnsupported, "the sound cannot be mixed"))
        }
        _ => error.into(),
    }
}
