//! A small Matroska that hands the frames of one track to a decoder, each at a time of our choice.
//!
//! Times are whole microseconds. ffmpeg reads it from its standard input: `-f matroska -i pipe:0`.
//!
//! [`write_feed`] makes all of it at once; [`feed_header`] and [`feed_frame`] make it piece by piece.

use super::ebml::{self, elements, id};

/// The number of the only track.
const TRACK_NUMBER: u8 = 1;
/// Nanoseconds in a unit of time: a microsecond.
const TIMESTAMP_SCALE_NS: u64 = 1000;
/// A keyframe, in the flags of a `SimpleBlock`. RFC 9559, 10.2.
const KEYFRAME: u8 = 0x80;
/// Bytes of a `SimpleBlock` before the frame: number of the track, time in the cluster, flags.
const BLOCK_HEAD_LEN: u64 = 4;

/// What is not taken over from the entry of a track: how its blocks were written in their own file, and what would make a decoder invent
/// times or move them.
const LEFT_OUT: [u32; 8] = [
    id::TRACK_NUMBER,
    id::FLAG_LACING,
    id::FLAG_ENABLED,
    id::DEFAULT_DURATION,
    id::DEFAULT_DECODED_FIELD_DURATION,
    id::TRACK_TIMESTAMP_SCALE,
    id::CODEC_DELAY,
    id::TRACK_OPERATION,
];
/// The same where it says how bytes were packed: what is fed is what was in them.
const PACKED: [u32; 3] = [id::CONTENT_ENCODINGS, id::CRC_32, id::VOID];

/// A whole feed: the track, then its frames in decode order as (presentation time in microseconds, whether it is a keyframe, bytes).
///
/// `track_entry` is one whole `TrackEntry` element as [`crate::index::SampleEntry::Matroska`] holds it; of what is none nothing is taken.
pub fn write_feed<'a>(
    track_entry: &[u8],
    frames: impl IntoIterator<Item = (u64, bool, &'a [u8])>,
) -> Vec<u8> {
    let mut bytes = feed_header(track_entry);
    for (time_us, is_key, frame) in frames {
        feed_frame(&mut bytes, time_us, is_key, frame);
    }
    bytes
}

/// The front of a feed: all that comes before its frames. See [`write_feed`].
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

/// Appends one frame: a cluster of its own, so that its time is told in full.
pub fn feed_frame(bytes: &mut Vec<u8>, time_us: u64, is_key: bool, frame: &[u8]) {
    let mut time = Vec::with_capacity(10);
    ebml::write_uint(&mut time, id::TIMESTAMP, time_us);
    let block_len = BLOCK_HEAD_LEN + frame.len() as u64;
    let mut block = Vec::with_capacity(16);
    ebml::write_header(&mut block, id::SIMPLE_BLOCK, block_len);
    block.extend_from_slice(&[0x80 | TRACK_NUMBER, 0, 0, if is_key { KEYFRAME } else { 0 }]);

    ebml::write_header(bytes, id::CLUSTER, (time.len() + block.len() + frame.len()) as u64);
    bytes.extend_from_slice(&time);
    bytes.extend_from_slice(&block);
    bytes.extend_from_slice(frame);
}

/// The children of the entry, with a number of ours and without what is told otherwise here.
fn entry_body(track_entry: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(track_entry.len());
    ebml::write_uint(&mut body, id::TRACK_NUMBER, TRACK_NUMBER.into());
    ebml::write_uint(&mut body, id::FLAG_LACING, 0);
    let entry = elements(track_entry).next().filter(|entry| entry.id == id::TRACK_ENTRY);
    for child in entry.iter().flat_map(|entry| elements(entry.body)) {
        if !LEFT_OUT.contains(&child.id) && !PACKED.contains(&child.id) {
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
    fn an_entry_is_taken_over_but_for_what_is_told_otherwise() {
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

    #[test]
    fn each_frame_has_a_cluster_with_its_time() {
        let entry = entry(&[(id::CODEC_ID, b"V_VP8")]);
        let feed = write_feed(&entry, [(10_000_000, true, &b"key"[..]), (10_033_367, false, b"other")]);
        let rest = feed.strip_prefix(&feed_header(&entry)[..]).expect("begins with the header");
        let mut expected = Vec::new();
        for (time, block) in
            [(&[0x98, 0x96, 0x80], &b"\x81\0\0\x80key"[..]), (&[0x99, 0x18, 0xd7], b"\x81\0\0\0other")]
        {
            let mut body = [&[0xe7, 0x83][..], time].concat();
            ebml::write(&mut body, id::SIMPLE_BLOCK, block);
            ebml::write(&mut expected, id::CLUSTER, &body);
        }
        assert_eq!(rest, expected);
    }
}
