//! Init segments.

use kinora_index::{SampleEntry, TrackMedia};
use kinora_isobmff::write::{WriteError, init_segment};

use crate::boxes::{find, media_time, tree};
use crate::source::{Source, audio_only, clip, video_only};
use crate::{assert_golden, source};

#[test]
fn video_init_segment_matches_golden_box_tree() {
    let clip = clip();
    assert_golden("init_video", &tree(&init_segment(&clip.index, clip.video(), 0).unwrap()));
}

#[test]
fn audio_init_segment_matches_golden_box_tree() {
    let clip = clip();
    assert_golden("init_audio", &tree(&init_segment(&clip.index, clip.audio(), 0).unwrap()));
}

#[test]
fn init_segment_keeps_rotation_matrix_and_pixel_aspect() {
    let turned = video_only(|_, video| {
        video.matrix = [0, 0x1_0000, 0, -0x1_0000, 0, 0, 720 << 16, 0, 0x4000_0000];
        video.rotation = 90;
        video.pixel_aspect = (4, 3);
    });
    let init = init_segment(&turned.index, turned.video(), 0).unwrap();
    let tkhd = find(&init, "moov/trak/tkhd").body;
    let words: Vec<i32> =
        tkhd[40..].chunks(4).map(|word| i32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words[..9], [0, 0x1_0000, 0, -0x1_0000, 0, 0, 720 << 16, 0, 0x4000_0000]);
    assert_eq!(words[9..], [1707 << 16, 720 << 16]);
}

#[test]
fn damaged_sample_entry_is_rejected() {
    for damaged in [Vec::new(), vec![0, 0, 0], vec![0, 0, 0, 9, b'm', b'p', b'4', b'a']] {
        let Source { mut index, .. } = audio_only();
        let TrackMedia::Audio(audio) = &mut index.tracks[0].media else { unreachable!("made so") };
        audio.sample_entry = SampleEntry::Iso(damaged);
        assert_eq!(init_segment(&index, &index.tracks[0], 0), Err(WriteError::SampleEntry));
    }
}

#[test]
fn edit_list_hides_video_delay_and_audio_priming() {
    let clip = clip();
    assert_eq!(media_time(&init_segment(&clip.index, clip.video(), 0).unwrap()), source::DELAY);
    assert_eq!(media_time(&init_segment(&clip.index, clip.audio(), 0).unwrap()), source::PACKET);
}
