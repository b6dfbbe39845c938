//! Handmade sources: an index, and bytes that identify their sample.

use kinora_index::{
    AudioTrack, Container, Index, Sample, SampleEntry, SampleObject, SampleTableBuilder, Track, TrackLabel,
    TrackMedia, VideoTrack, plan::plan,
};
use kinora_isobmff::write::SegmentHead;

pub(crate) const VIDEO_TIMESCALE: u32 = 15_360;
pub(crate) const AUDIO_TIMESCALE: u32 = 48_000;
/// Ticks of one frame: 30 per second.
pub(crate) const FRAME_TICKS: i64 = 512;
/// Ticks of one packet.
pub(crate) const PACKET: i64 = 1024;
/// Two frames: the delay of x264 with B-frames.
pub(crate) const DELAY: i64 = 2 * FRAME_TICKS;
const GOP: i64 = 60;

const IDENTITY: [i32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// A source: its index and its bytes.
pub(crate) struct Source {
    pub(crate) index: Index,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    /// Plans and finishes an index; the samples' offsets are their positions in `bytes`.
    pub(crate) fn new(mut tracks: Vec<Track>, bytes: Vec<u8>) -> Self {
        tracks.sort_by_key(|track| matches!(track.media, TrackMedia::Audio(_)));
        let plan = plan(&mut tracks).unwrap();
        let source_len = bytes.len() as u64;
        let index = Index {
            source_len,
            source_sha256: [7; 32],
            container: Container::Mp4,
            objects: vec![SampleObject::source(source_len)],
            parts: Vec::new(),
            is_truncated: false,
            left_out: Vec::new(),
            overlay: None,
            tracks,
            plan,
        };
        Self { index, bytes }
    }

    /// The bytes that a player gets for a head.
    pub(crate) fn segment(&self, head: &SegmentHead) -> Vec<u8> {
        let mut segment = head.bytes.clone();
        for range in &head.ranges {
            segment.extend_from_slice(&self.bytes[range.offset as usize..range.end() as usize]);
        }
        segment
    }

    pub(crate) fn video(&self) -> &Track {
        self.index.video().unwrap().0
    }

    pub(crate) fn audio(&self) -> &Track {
        self.index.audio().unwrap().0
    }
}

/// Interleaves samples of several tracks by time, each filled with its own byte value.
pub(crate) fn laid_out(tracks: &mut [Vec<Sample>], timescales: &[u32]) -> Vec<u8> {
    let mut order: Vec<(usize, usize)> = tracks
        .iter()
        .enumerate()
        .flat_map(|(track, samples)| (0..samples.len()).map(move |n| (track, n)))
        .collect();
    order.sort_by(|a, b| {
        let time =
            |(track, number): (usize, usize)| tracks[track][number].dts as f64 / f64::from(timescales[track]);
        time(*a).total_cmp(&time(*b)).then(a.cmp(b))
    });
    let mut bytes = vec![0; 40];
    for (track, number) in order {
        tracks[track][number].offset = bytes.len() as u64;
        let fill = (number * 2 + track) as u8;
        bytes.resize(bytes.len() + tracks[track][number].size as usize, fill);
    }
    bytes
}

pub(crate) fn table(samples: &[Sample]) -> kinora_index::SampleTable {
    let mut builder = SampleTableBuilder::default();
    samples.iter().for_each(|sample| builder.push(*sample));
    builder.finish()
}

/// Frames of closed GOPs of 2 s: I, then P B B repeated.
pub(crate) fn video_samples(count: i64) -> Vec<Sample> {
    (0..count)
        .map(|number| {
            let in_gop = number % GOP;
            // Presentation position inside the GOP: the P of each group of three is presented last.
            let position = match in_gop {
                0 => 0,
                in_gop if in_gop % 3 == 1 => (in_gop + 2).min(GOP - 1),
                in_gop => in_gop - 1,
            };
            // The last group of the GOP has only two frames.
            let place = if in_gop == GOP - 1 { GOP - 2 } else { position };
            Sample {
                dts: number * FRAME_TICKS,
                pts: (number - in_gop + place) * FRAME_TICKS + DELAY,
                duration: FRAME_TICKS as u32,
                object: 0,
                offset: 0,
                size: if in_gop == 0 { 400 } else { 20 + (number % 7) as u32 },
                is_sync: in_gop == 0,
            }
        })
        .collect()
}

pub(crate) fn packets(count: i64) -> Vec<Sample> {
    (0..count)
        .map(|number| Sample {
            dts: number * PACKET,
            pts: number * PACKET,
            duration: PACKET as u32,
            object: 0,
            offset: 0,
            size: 30 + (number % 5) as u32,
            is_sync: true,
        })
        .collect()
}

pub(crate) fn video_track(samples: &[Sample]) -> Track {
    let end = samples.iter().map(|sample| sample.pts + i64::from(sample.duration)).max().unwrap_or(0);
    Track {
        source_track: 1,
        timescale: VIDEO_TIMESCALE,
        language: "und".to_owned(),
        label: TrackLabel::default(),
        media: TrackMedia::Video(VideoTrack {
            sample_entry: SampleEntry::Iso(avc1()),
            not_copied: None,
            is_interlaced: false,
            codec: "avc1.64001f".to_owned(),
            width: 1280,
            height: 720,
            pixel_aspect: (1, 1),
            matrix: IDENTITY,
            rotation: 0,
            transfer: None,
            frame_rate: Some((30, 1)),
            composition_shift: DELAY,
        }),
        samples: table(samples),
        configurations: Vec::new(),
        edit_points: Vec::new(),
        shift: -DELAY,
        end: end - DELAY,
        bitrate_average: 0,
        bitrate_peak: 0,
    }
}

pub(crate) fn audio_track(samples: &[Sample]) -> Track {
    let end = samples.iter().map(|sample| sample.pts + i64::from(sample.duration)).max().unwrap_or(0);
    Track {
        source_track: 2,
        timescale: AUDIO_TIMESCALE,
        language: "deu".to_owned(),
        label: TrackLabel::default(),
        media: TrackMedia::Audio(AudioTrack {
            sample_entry: SampleEntry::Iso(mp4a()),
            not_copied: None,
            codec: "mp4a.40.2".to_owned(),
            sample_rate: 48_000,
            channels: 2,
            packet_samples: 1024,
        }),
        samples: table(samples),
        configurations: Vec::new(),
        edit_points: Vec::new(),
        shift: -PACKET,
        end: end - PACKET,
        bitrate_average: 0,
        bitrate_peak: 0,
    }
}

/// 11 s of video and slightly less audio, as ffmpeg muxes them.
pub(crate) fn clip() -> Source {
    let mut samples = [video_samples(331), packets(513)];
    let bytes = laid_out(&mut samples, &[VIDEO_TIMESCALE, AUDIO_TIMESCALE]);
    Source::new(vec![video_track(&samples[0]), audio_track(&samples[1])], bytes)
}

pub(crate) fn audio_only() -> Source {
    let mut samples = [packets(513)];
    let bytes = laid_out(&mut samples, &[AUDIO_TIMESCALE]);
    Source::new(vec![audio_track(&samples[0])], bytes)
}

/// The video of [`clip`] after a change of its track.
pub(crate) fn video_only(change: impl FnOnce(&mut Track, &mut VideoTrack)) -> Source {
    let mut samples = [video_samples(331)];
    let bytes = laid_out(&mut samples, &[VIDEO_TIMESCALE]);
    let mut track = video_track(&samples[0]);
    let TrackMedia::Video(mut video) = track.media.clone() else { unreachable!("made above") };
    change(&mut track, &mut video);
    track.media = TrackMedia::Video(video);
    Source::new(vec![track], bytes)
}

fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32 + 8).to_be_bytes().to_vec();
    bytes.extend_from_slice(kind);
    bytes.extend_from_slice(body);
    bytes
}

/// A visual sample entry with a made-up decoder configuration.
fn avc1() -> Vec<u8> {
    let mut body = vec![0; 78];
    body[7] = 1;
    body[24..28].copy_from_slice(&[5, 0, 2, 0xd0]);
    body.extend(boxed(b"avcC", &[1, 0x64, 0, 0x1f, 0xff, 0xe0, 0]));
    boxed(b"avc1", &body)
}

/// An audio sample entry: AAC-LC, 48 kHz, stereo.
fn mp4a() -> Vec<u8> {
    let mut esds = vec![0; 4];
    esds.extend([0x03, 25, 0, 2, 0]);
    esds.extend([0x04, 17, 0x40, 0x15, 0, 0, 0, 0, 1, 0xf4, 0, 0, 1, 0xf4, 0]);
    esds.extend([0x05, 2, 0x11, 0x90]);
    esds.extend([0x06, 1, 2]);
    let mut body = vec![0; 28];
    body[7] = 1;
    body[17] = 2;
    body[19] = 16;
    body[24..26].copy_from_slice(&48_000_u16.to_be_bytes());
    body.extend(boxed(b"esds", &esds));
    boxed(b"mp4a", &body)
}
