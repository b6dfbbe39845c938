//! Writes a small Matroska stream that passes the frames of one track to a decoder, each at a chosen time.
//!
//! Times are whole microseconds. ffmpeg reads it from its standard input: `-f matroska -i pipe:0`.
//!
//! [`write_feed`] writes all of it at once; [`feed_header`] and [`write_feed_frame`] write it piece by piece.

use crate::ebml::{self, elements, id};

/// The number of the only track.
const TRACK_NUMBER: u8 = 1;
/// Nanoseconds in a unit of time: a microsecond.
const TIMESTAMP_SCALE_NS: u64 = 1000;
/// A keyframe, in the flags of a `SimpleBlock`. RFC 9559, 10.2.
const KEYFRAME: u8 = 0x80;
/// Bytes of a block before the frame: number of the track, time in the cluster, flags.
const BLOCK_HEAD_LEN: u64 = 4;

/// Minus one unit of time, as a signed number.
const MINUS_ONE: [u8; 1] = [0xff];

/// Elements that are not copied from the entry of a track: how its blocks were stored in their own file, and
/// values that would make a decoder invent or move times.
const OMITTED_ELEMENTS: [u32; 8] = [
    id::TRACK_NUMBER,
    id::FLAG_LACING,
    id::FLAG_ENABLED,
    id::DEFAULT_DURATION,
    id::DEFAULT_DECODED_FIELD_DURATION,
    id::TRACK_TIMESTAMP_SCALE,
    id::CODEC_DELAY,
    id::TRACK_OPERATION,
];
/// The same for the content encoding of the blocks: the feed contains the bytes without it.
const OMITTED_ENCODINGS: [u32; 3] = [id::CONTENT_ENCODINGS, id::CRC_32, id::VOID];

/// A frame of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedFrame<'a> {
    /// Presentation time, in microseconds.
    pub time_us: u64,
    /// Duration, in microseconds. Without it, the last frame of a stream has no duration, and a filter with
    /// a constant frame rate drops it.
    pub duration_us: Option<u64>,
    /// Whether decoding can begin here.
    pub is_key: bool,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// A whole feed: the track, then its frames in decode order.
///
/// `track_entry` is one whole `TrackEntry` element as in [`kinora_index::SampleEntry::Matroska`]. Bytes that
/// are no such element are ignored.
pub fn write_feed<'a>(track_entry: &[u8], frames: impl IntoIterator<Item = FeedFrame<'a>>) -> Vec<u8> {
    let mut bytes = feed_header(track_entry);
    for frame in frames {
        write_feed_frame(&mut bytes, frame);
    }
    bytes
}

/// The header of a feed: everything before its frames. See [`write_feed`].
pub fn feed_header(track_entry: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut body = Vec::new();
    ebml::write(&mut body, id::DOC_TYPE, b"matroska");
    ebml::write_uint(&mut body, id::DOC_TYPE_VERSION, 4);
    ebml::write_uint(&mut body, id::DOC_TYPE_READ_VERSION, 2);
    ebml::write(&mut bytes, id::EBML, &body);

    ebml::write_unknown_header(&mut bytes, id::SEGMENT);
    body.clear();
    ebml::write_uint(&mut body, id::TIMESTAMP_SCALE, TIMESTAMP_SCALE_NS);
    ebml::write(&mut body, id::MUXING_APP, b"kinora");
    ebml::write(&mut body, id::WRITING_APP, b"kinora");
    ebml::write(&mut bytes, id::INFO, &body);

    body.clear();
    ebml::write(&mut body, id::TRACK_ENTRY, &entry_body(track_entry));
    ebml::write(&mut bytes, id::TRACKS, &body);
    bytes
}

/// Appends one frame, in a cluster of its own, so that its time is complete.
pub fn write_feed_frame(bytes: &mut Vec<u8>, frame: FeedFrame<'_>) {
    let mut front = Vec::with_capacity(64);
    ebml::write_uint(&mut front, id::TIMESTAMP, frame.time_us);
    let block_len = BLOCK_HEAD_LEN + frame.bytes.len() as u64;
    let head = |flags| [0x80 | TRACK_NUMBER, 0, 0, flags];
    if let Some(duration_us) = frame.duration_us {
        // A `SimpleBlock` has no duration.
        let mut group = Vec::with_capacity(32);
        ebml::write_uint(&mut group, id::BLOCK_DURATION, duration_us);
        if !frame.is_key {
            // In a group, a reference marks a frame that is no keyframe. Its target does not matter; here it
            // is the previous time. RFC 9559, 10.1.
            ebml::write(&mut group, id::REFERENCE_BLOCK, &MINUS_ONE);
        }
        ebml::write_header(&mut group, id::BLOCK, block_len);
        group.extend_from_slice(&head(0));
        ebml::write_header(&mut front, id::BLOCK_GROUP, (group.len() + frame.bytes.len()) as u64);
        front.extend_from_slice(&group);
    } else {
        ebml::write_header(&mut front, id::SIMPLE_BLOCK, block_len);
        front.extend_from_slice(&head(if frame.is_key { KEYFRAME } else { 0 }));
    }
    ebml::write_header(bytes, id::CLUSTER, (front.len() + frame.bytes.len()) as u64);
    bytes.extend_from_slice(&front);
    bytes.extend_from_slice(frame.bytes);
}

/// The children of the entry, with our track number and without the elements that the feed sets itself.
fn entry_body(track_entry: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(track_entry.len());
    ebml::write_uint(&mut body, id::TRACK_NUMBER, TRACK_NUMBER.into());
    ebml::write_uint(&mut body, id::FLAG_LACING, 0);
    let entry = elements(track_entry).next().filter(|entry| entry.id == id::TRACK_ENTRY);
    for child in entry.iter().flat_map(|entry| elements(entry.body)) {
        if !OMITTED_ELEMENTS.contains(&child.id) && !OMITTED_ENCODINGS.contains(&child.id) {
            body.extend_from_slice(child.whole);
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(children: &[(u32, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        children.iter().for_each(|(id, child)| ebml::write(&mut body, *id, child));
        let mut entry = Vec::new();
        ebml::write(&mut entry, id::TRACK_ENTRY, &body);
        entry
    }

    /// Id and body of each child of the only entry of a feed.
    fn children_of_entry(feed: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let segment = elements(feed).nth(1).expect("a segment");
        let entry =
            segment.child(id::TRACKS).and_then(|tracks| tracks.child(id::TRACK_ENTRY)).expect("an entry");
        elements(entry.body).map(|child| (child.id, child.body.to_vec())).collect()
    }

    #[test]
    fn feed_track_entry_omits_overridden_elements() {
        let entry = entry(&[
            (id::TRACK_NUMBER, &[7]),
            (id::TRACK_TYPE, &[1]),
            (id::CRC_32, &[1, 2, 3, 4]),
            (id::FLAG_LACING, &[1]),
            (id::CODEC_ID, b"V_VP8"),
            (id::DEFAULT_DURATION, &[1, 2]),
            (id::CODEC_DELAY, &[9]),
            (id::CONTENT_ENCODINGS, &[]),
            (id::VIDEO, &[0xb0, 0x81, 64]),
        ]);
        let expected = [
            (id::TRACK_NUMBER, vec![1]),
            (id::FLAG_LACING, vec![0]),
            (id::TRACK_TYPE, vec![1]),
            (id::CODEC_ID, b"V_VP8".to_vec()),
            (id::VIDEO, vec![0xb0, 0x81, 64]),
        ];
        assert_eq!(children_of_entry(&feed_header(&entry)), expected);
        for nonsense in [&[][..], &[0], b"\xec\x80", &entry[1..]] {
            assert_eq!(children_of_entry(&feed_header(nonsense)), expected[..2], "{nonsense:x?}");
        }
    }

    /// The bytes after the header of a feed of these frames: time, duration, whether it is a keyframe,
    /// bytes.
    fn clusters(frames: &[(u64, Option<u64>, bool, &[u8])]) -> Vec<u8> {
        let entry = entry(&[(id::CODEC_ID, b"V_VP8")]);
        let frames = frames.iter().map(|&(time_us, duration_us, is_key, bytes)| FeedFrame {
            time_us,
            duration_us,
            is_key,
            bytes,
        });
        let feed = write_feed(&entry, frames);
        feed.strip_prefix(&feed_header(&entry)[..]).expect("begins with the header").to_vec()
    }

    #[test]
    fn each_frame_has_a_cluster_with_its_time() {
        let mut expected = Vec::new();
        for (time, block) in
            [(&[0x98, 0x96, 0x80], &b"\x81\0\0\x80key"[..]), (&[0x99, 0x18, 0xd7], b"\x81\0\0\0other")]
        {
            let mut body = [&[0xe7, 0x83][..], time].concat();
            ebml::write(&mut body, id::SIMPLE_BLOCK, block);
            ebml::write(&mut expected, id::CLUSTER, &body);
        }
        let found = clusters(&[(10_000_000, None, true, b"key"), (10_033_367, None, false, b"other")]);
        assert_eq!(found, expected);
    }

    #[test]
    fn frame_with_duration_is_a_block_group() {
        let mut expected = Vec::new();
        for (time, duration, refers_to, block) in [
            (1, &[0x9c, 0x40][..], None, &b"\x81\0\0\0key"[..]),
            (2, &[7], Some(&[0xff]), b"\x81\0\0\0other"),
        ] {
            let mut body = vec![0xe7, 0x81, time];
            let mut group = [&[0x9b, 0x80 | duration.len() as u8][..], duration].concat();
            if let Some(before) = refers_to {
                ebml::write(&mut group, id::REFERENCE_BLOCK, before);
            }
            ebml::write(&mut group, id::BLOCK, block);
            ebml::write(&mut body, id::BLOCK_GROUP, &group);
            ebml::write(&mut expected, id::CLUSTER, &body);
        }
        assert_eq!(clusters(&[(1, Some(40_000), true, b"key"), (2, Some(7), false, b"other")]), expected);
    }
}
