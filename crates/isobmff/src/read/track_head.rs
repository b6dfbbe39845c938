//! Reads the headers of a `trak`, and chooses the tracks before their samples are read.

use kinora_index::{AUDIO_TRACKS_MAX, Container, TrackLabel, codec::aac::Esds};

use super::{
    super::{
        boxes::{BoxRef, FieldReader, FourCc, children},
        error::ReadError,
    },
    label::label,
    language::language,
    rejected_tracks::RejectedTracks,
    tables::Tables,
};

/// Maximum number of tracks that are read of a movie; further ones are ignored. Cameras write a dozen; more
/// is damage.
pub(super) const TRACKS_MAX: usize = 256;
/// Maximum number of samples of all audio tracks together; further tracks are left out. Ten tracks of 12 h
/// at 48 kHz have this many.
pub const AUDIO_SAMPLES_MAX: u64 = 10 * 12 * 3600 * 48_000 / 1024;
/// Codecs of still images: cover art, chapter images.
const STILL_IMAGE_CODECS: [&[u8; 4]; 4] = [b"jpeg", b"png ", b"mjpa", b"mjpb"];

/// Object types of still images in `mp4v`: JPEG, PNG, JPEG 2000. Registration authority mp4ra.org.
const STILL_IMAGE_TYPES: [u8; 3] = [0x6c, 0x6d, 0x6e];
/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const VIDEO_FIELDS_LEN: usize = 78;

/// A track with samples, of a kind that can be played.
#[derive(Debug, Clone)]
pub(super) struct TrackHead<'a> {
    pub(super) trak: BoxRef<'a>,
    pub(super) minf: BoxRef<'a>,
    pub(super) stbl: BoxRef<'a>,
    pub(super) id: u32,
    pub(super) matrix: [i32; 9],
    /// Display width and height of the track, before the matrix rotates it; 16.16.
    pub(super) size: (u32, u32),
    pub(super) timescale: u32,
    pub(super) language: String,
    pub(super) label: TrackLabel,
    handler: FourCc,
    pub(super) tables: Tables<'a>,
}

/// The tracks to play, as far as their headers decide it.
#[derive(Debug)]
pub(super) struct SelectedTracks<'a> {
    /// Enabled ones first; of those, the first that can be copied is played, or else the first.
    pub(super) video: Vec<TrackHead<'a>>,
    /// In the order of the source.
    pub(super) audio: Vec<TrackHead<'a>>,
}

impl<'a> SelectedTracks<'a> {
    /// All video and audio tracks with samples.
    ///
    /// If only audio is enabled, there is no video: such a writer hides the video. A writer that enables no
    /// track does not use the flag. Disabled audio is an alternative: QuickTime files enable one track of a
    /// group. Skips chapters, cover images, timecode, hint, text and metadata tracks, and a second track
    /// with the same id. Tracks that cannot be read are added to `rejected_tracks`.
    pub(super) fn of(moov: &BoxRef<'a>, container: Container, rejected_tracks: &mut RejectedTracks) -> Self {
        let traks: Vec<_> =
            children(moov.body).filter(|child| &child.kind.0 == b"trak").take(TRACKS_MAX).collect();
        let is_fragmented = moov.child(b"mvex").is_some();
        let chapters: Vec<u32> = traks.iter().flat_map(chapter_ids).collect();
        let (mut video, mut audio) = (Vec::new(), Vec::new());
        let mut ids = Vec::new();
        for trak in traks {
            let is_video = match handler(&trak) {
                Some(FourCc(kind)) if &kind == b"vide" => true,
                Some(FourCc(kind)) if &kind == b"soun" => false,
                _ => continue,
            };
            match TrackHead::parse(trak, container) {
                Ok(head)
                    if !head.is_playable(is_fragmented)
                        || chapters.contains(&head.id)
                        || ids.contains(&head.id) => {}
                Ok(head) => {
                    ids.push(head.id);
                    if is_video { video.push(head) } else { audio.push(head) }
                }
                Err(error) => rejected_tracks.push(is_video, error),
            }
        }
        let is_enabled = |head: &TrackHead<'_>| head.label.is_enabled;
        if audio.iter().any(is_enabled) && !video.iter().any(is_enabled) {
            video.clear();
        }
        video.sort_by_key(|head| !is_enabled(head));
        SelectedTracks { video, audio }
    }
}

/// The first tracks, within the limits: a small `moov` can claim that many tracks have millions of samples
/// each.
pub(super) fn within_limits<T>(mut tracks: Vec<T>, samples_of: impl Fn(&T) -> u32) -> Vec<T> {
    tracks.truncate(AUDIO_TRACKS_MAX);
    let mut samples = 0;
    tracks.retain(|track| {
        let is_first = samples == 0;
        samples += u64::from(samples_of(track));
        is_first || samples <= AUDIO_SAMPLES_MAX
    });
    tracks
}

impl<'a> TrackHead<'a> {
    fn parse(trak: BoxRef<'a>, container: Container) -> Result<Self, ReadError> {
        let damaged = || ReadError::damaged("a track lacks its header or its sample tables");
        let TkhdFields { id, is_enabled, matrix, size } = track_header(&trak).ok_or_else(damaged)?;
        let mdia = trak.child(b"mdia").ok_or_else(damaged)?;
        let (timescale, language_code) = media_header(&mdia).ok_or_else(damaged)?;
        let minf = mdia.child(b"minf").ok_or_else(damaged)?;
        let stbl = minf.child(b"stbl").ok_or_else(damaged)?;
        if !(1..=super::timeline::TIMESCALE_MAX).contains(&timescale) {
            return Err(ReadError::damaged(format!("a track with {timescale} ticks a second")));
        }
        let handler = handler(&trak).ok_or_else(damaged)?;
        let is_audio = &handler.0 == b"soun";
        let first_entry = super::sample_entry::sample_entry(&stbl, 1).ok().filter(|_| is_audio);
        let block = first_entry.as_ref().and_then(super::audio::block_align);
        Ok(TrackHead {
            trak,
            minf,
            stbl,
            id,
            matrix,
            size,
            timescale,
            language: language(&mdia, language_code, container),
            label: label(&trak, is_enabled),
            handler,
            tables: Tables::parse(&stbl, block)?,
        })
    }

    /// Has samples, or may get some in fragments, and is no still image.
    fn is_playable(&self, is_fragmented: bool) -> bool {
        let is_single_image = &self.handler.0 == b"vide"
            && self.tables.count() == 1
            && super::sample_entry::sample_entry(&self.stbl, 1).is_ok_and(|entry| is_still_image(&entry));
        (is_fragmented || self.tables.count() > 0) && !is_single_image
    }
}

/// Whether a sample entry is JPEG or PNG.
fn is_still_image(entry: &BoxRef<'_>) -> bool {
    let boxes = entry.body.get(VIDEO_FIELDS_LEN..).unwrap_or_default();
    let esds = children(boxes).find(|child| &child.kind.0 == b"esds").and_then(|esds| Esds::parse(esds.body));
    STILL_IMAGE_CODECS.contains(&&entry.kind.0)
        || &entry.kind.0 == b"mp4v"
            && esds.is_some_and(|esds| STILL_IMAGE_TYPES.contains(&esds.object_type_indication))
}

/// The fields of a `tkhd` box.
struct TkhdFields {
    id: u32,
    is_enabled: bool,
    matrix: [i32; 9],
    size: (u32, u32),
}

/// ISO/IEC 14496-12, 8.3.2.
fn track_header(trak: &BoxRef<'_>) -> Option<TkhdFields> {
    let mut fields = FieldReader::new(trak.child(b"tkhd")?.body);
    let (version, flags) = fields.version_and_flags()?;
    fields.skip(if version == 1 { 16 } else { 8 })?; // creation and modification time
    let id = fields.u32()?;
    fields.skip(4 + if version == 1 { 8 } else { 4 })?; // reserved, duration
    fields.skip(16)?; // reserved, layer, alternate group, volume
    let mut matrix = [0; 9];
    for number in &mut matrix {
        *number = fields.i32()?;
    }
    let size = (fields.u32()?, fields.u32()?);
    Some(TkhdFields { id, is_enabled: flags & 1 != 0, matrix, size })
}

/// Timescale and packed language. ISO/IEC 14496-12, 8.4.2.
fn media_header(mdia: &BoxRef<'_>) -> Option<(u32, u16)> {
    let mut fields = FieldReader::new(mdia.child(b"mdhd")?.body);
    let (version, _) = fields.version_and_flags()?;
    fields.skip(if version == 1 { 16 } else { 8 })?; // creation and modification time
    let timescale = fields.u32()?;
    fields.skip(if version == 1 { 8 } else { 4 })?; // duration
    Some((timescale, fields.u16()?))
}

/// The handler type of the track. ISO/IEC 14496-12, 8.4.3.
fn handler(trak: &BoxRef<'_>) -> Option<FourCc> {
    let mut fields = FieldReader::new(trak.descend(&[b"mdia", b"hdlr"])?.body);
    fields.skip(8)?; // version, flags, pre_defined
    fields.array().map(FourCc)
}

/// The tracks that contain the chapters of this one. QuickTime File Format, chapter lists.
fn chapter_ids(trak: &BoxRef<'_>) -> Vec<u32> {
    let ids = trak.descend(&[b"tref", b"chap"]).map_or(&[][..], |chap| chap.body.as_chunks::<4>().0);
    ids.iter().take(TRACKS_MAX).map(|id| u32::from_be_bytes(*id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audio_tracks_are_limited_in_number_and_in_samples_together() {
        let check = |counts: &[u32], expected: &[u32]| {
            assert_eq!(within_limits(counts.to_vec(), |count| *count), expected);
        };
        check(&[], &[]);
        check(&[7; 17], &[7; 16]);
        check(&[2_025_000; 12], &[2_025_000; 10]);
        check(&[u32::MAX, 1], &[u32::MAX]);
    }
}
