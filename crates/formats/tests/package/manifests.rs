//! Playlists as whole texts, and parsed by a third-party parser.

use kinora_hls::{MediaPlaylist, MultivariantPlaylist, MultivariantUris};
use kinora_index::{Index, Segment, Track, TrackLabel, TrackMedia};
use kinora_isobmff::write::segment_head;

use crate::assert_golden;
use crate::source::{Source, audio_only, clip, video_only};

fn playlist(index: &Index) -> MultivariantPlaylist {
    let audio: Vec<String> = ["a", "b", "c", "d"].map(|name| format!("{name}/index.m3u8")).into();
    MultivariantPlaylist::of(index, MultivariantUris { video: "v/index.m3u8", audio: &audio })
}

fn multivariant(source: &Source) -> String {
    let text = playlist(&source.index).render();
    let parsed = m3u8_rs::parse_master_playlist_res(text.as_bytes()).unwrap();
    assert!(parsed.independent_segments);
    text
}

fn media(track: &Track, segments: &[Segment]) -> String {
    let playlist =
        MediaPlaylist { timescale: track.timescale, segments, init_uri: "init.mp4", discontinuities: &[] };
    playlist.render(|text, number| {
        text.push_str("segment-");
        text.push_str(&number.to_string());
        text.push_str(".m4s");
    })
}

#[test]
fn video_with_audio_is_one_variant_and_one_group() {
    assert_golden("multivariant", &multivariant(&clip()));
}

#[test]
fn audio_only_is_the_variant() {
    assert_golden("multivariant_audio_only", &multivariant(&audio_only()));
}

#[test]
fn video_only_variant_has_no_audio_group() {
    assert_golden("multivariant_video_only", &multivariant(&video_only(|_, _| {})));
}

#[test]
fn manifest_has_display_size_and_video_range_of_rotated_hdr() {
    let source = video_only(|_, video| {
        video.rotation = 270;
        video.pixel_aspect = (4, 3);
        video.transfer = Some(16);
        video.frame_rate = Some((30_000, 1001));
    });
    assert_golden("multivariant_rotated_pq", &multivariant(&source));
}

/// A clip with four audio tracks: the first is disabled, the third is an audio description, the last has the
/// name of the second.
fn clip_of_four() -> Source {
    let source = clip();
    let audio_track = |number: u32, language: &str, label: TrackLabel, codec: &str| {
        let mut track = source.audio().clone();
        let TrackMedia::Audio(audio) = &mut track.media else { unreachable!("it is audio") };
        codec.clone_into(&mut audio.codec);
        audio.channels = 2 * number;
        language.clone_into(&mut track.language);
        Track { source_track: 1 + number, label, ..track }
    };
    let label = |title: Option<&str>, is_enabled, describes_video| TrackLabel {
        title: title.map(str::to_owned),
        is_enabled,
        describes_video,
    };
    let tracks = [
        audio_track(1, "deu", label(None, false, false), "mp4a.40.2"),
        audio_track(2, "en-GB", label(Some("Main"), true, false), "mp4a.40.2"),
        audio_track(3, "en-GB", label(Some("He said \"no\""), true, true), "opus"),
        audio_track(4, "en-GB", label(Some("Main"), true, false), "mp4a.40.2"),
    ];
    let video = source.video().clone();
    Source::new([vec![video], tracks.into()].concat(), source.bytes)
}

#[test]
fn several_audio_tracks_are_one_group_with_one_default() {
    assert_golden("multivariant_several_audio", &multivariant(&clip_of_four()));
}

#[test]
fn several_audio_only_tracks_are_variant_and_group() {
    let mut source = clip_of_four();
    source.index.tracks.remove(0);
    assert_golden("multivariant_several_audio_only", &multivariant(&source));
}

#[test]
fn media_playlists_match_golden() {
    let clip = clip();
    assert_golden("media_video", &media(clip.video(), &clip.index.plan.video));
    assert_golden("media_audio", &media(clip.audio(), &clip.index.plan.audio[0]));
}

#[test]
fn independent_parser_reads_playlist_segments() {
    let clip = clip();
    for (track, segments) in
        [(clip.video(), &clip.index.plan.video), (clip.audio(), &clip.index.plan.audio[0])]
    {
        let text = media(track, segments);
        let parsed = m3u8_rs::parse_media_playlist_res(text.as_bytes()).unwrap();
        assert!(parsed.end_list);
        assert_eq!(parsed.playlist_type, Some(m3u8_rs::MediaPlaylistType::Vod));
        assert_eq!(parsed.segments[0].map.as_ref().map(|map| map.uri.as_str()), Some("init.mp4"));
        assert_eq!(parsed.segments.len(), segments.len());
        for (parsed_segment, segment) in parsed.segments.iter().zip(segments) {
            let exact = segment.duration() as f64 / f64::from(track.timescale);
            assert!((f64::from(parsed_segment.duration) - exact).abs() < 1e-5, "{parsed_segment:?}");
            assert!(parsed_segment.duration.round() as u64 <= parsed.target_duration);
        }
    }
}

#[test]
fn segment_bitrate_never_exceeds_announced_bandwidth() {
    let clip = clip();
    let playlist = playlist(&clip.index);
    let peak = |track: &Track, segments: &[Segment]| {
        let rates = (0..).zip(segments).map(|(number, segment)| {
            let len = segment_head(&clip.index, track, number).unwrap().total_len;
            len as f64 * 8.0 * f64::from(track.timescale) / segment.duration() as f64
        });
        rates.fold(0.0, f64::max)
    };
    let measured = peak(clip.video(), &clip.index.plan.video) + peak(clip.audio(), &clip.index.plan.audio[0]);
    let announced = playlist.variants[0].rate.peak as f64;
    assert!(measured <= announced && announced < measured * 1.25, "{measured} of {announced}");
}
