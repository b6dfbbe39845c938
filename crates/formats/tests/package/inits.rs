//! Init segments.

use kinora_formats::index::TrackMedia;
use kinora_formats::mp4::write::{WriteError, init_segment};

use crate::boxes::{find, media_time, tree};
use crate::source::{Source, audio_only, boxed, clip, esds, mp4a, video_only};
use crate::{assert_golden, source};

/// The init segment of audio with this sample entry.
fn init_with(sample_entry: Vec<u8>) -> Result<Vec<u8>, WriteError> {
    let Source { mut index, .. } = audio_only();
    let TrackMedia::Audio(audio) = &mut index.tracks[0].media else { unreachable!("made so") };
    audio.sample_entry = sample_entry;
    init_segment(&index, &index.tracks[0])
}

#[test]
fn a_video_init_segment_is_this_tree() {
    let clip = clip();
    assert_golden("init_video", &tree(&init_segment(&clip.index, clip.video()).unwrap()));
}

#[test]
fn an_audio_init_segment_is_this_tree() {
    let clip = clip();
    assert_golden("init_audio", &tree(&init_segment(&clip.index, clip.audio()).unwrap()));
}

#[test]
fn a_rotated_picture_of_wide_pixels_keeps_its_matrix_and_stretches_its_width() {
    let turned = video_only(|_, video| {
        video.matrix = [0, 0x1_0000, 0, -0x1_0000, 0, 0, 720 << 16, 0, 0x4000_0000];
        video.rotation = 90;
        video.pixel_aspect = (4, 3);
    });
    let init = init_segment(&turned.index, turned.video()).unwrap();
    let tkhd = find(&init, "moov/trak/tkhd").body;
    let words: Vec<i32> =
        tkhd[40..].chunks(4).map(|word| i32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words[..9], [0, 0x1_0000, 0, -0x1_0000, 0, 0, 720 << 16, 0, 0x4000_0000]);
    assert_eq!(words[9..], [1707 << 16, 720 << 16]);
}

#[test]
fn quicktime_sound_descriptions_become_iso_ones() {
    let iso = mp4a(0, &boxed(b"esds", &esds()));
    let frma = boxed(b"frma", b"mp4a");
    let inner = boxed(b"mp4a", &[0; 4]);
    let wave = [frma, inner, boxed(b"esds", &esds()), vec![0, 0, 0, 8, 0, 0, 0, 0]].concat();
    let wave = [boxed(b"wave", &wave), boxed(b"chan", &[0; 12])].concat();
    let entry_of = |init: &[u8]| find(init, "moov/trak/mdia/minf/stbl/stsd").body[8..].to_vec();
    for version in 0..=2 {
        let init = init_with(mp4a(version, &wave)).unwrap();
        assert_eq!(entry_of(&init), iso, "version {version}");
    }
    // ISO/IEC 14496-12 has a version 1 without further fields.
    let mut iso_v1 = iso.clone();
    iso_v1[17] = 1;
    assert_eq!(entry_of(&init_with(iso_v1).unwrap()), iso);
}

#[test]
fn sample_entries_that_make_no_sense_are_refused() {
    let reason = |entry| match init_with(entry) {
        Err(WriteError::SampleEntry { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(Vec::new()), "is too short");
    assert_eq!(reason(boxed(b"mp4a", &[0; 9])), "is too short");
    assert_eq!(reason(mp4a(0, &boxed(b"free", &[]))), "has no decoder configuration");
    assert_eq!(reason(mp4a(1, &boxed(b"wave", &[]))), "has no decoder configuration");
    let mut long = mp4a(0, &boxed(b"esds", &esds()));
    long[3] += 1;
    assert_eq!(reason(long), "does not have the length it says");
}

#[test]
fn the_edit_list_hides_the_delay_of_video_and_the_priming_of_audio() {
    let clip = clip();
    assert_eq!(media_time(&init_segment(&clip.index, clip.video()).unwrap()), source::DELAY);
    assert_eq!(media_time(&init_segment(&clip.index, clip.audio()).unwrap()), source::PACKET);
}
