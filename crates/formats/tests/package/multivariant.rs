//! Multivariant playlists with copies and encoded renditions, as whole texts, and parsed by a third-party
//! parser.

use kinora_formats::encode::ladder;
use kinora_hls::{
    AddedAudio, AudioRenditions, Bandwidth, CopyBandwidths, MediaPlaylistRef, MultivariantPlaylist,
    RungBandwidth, SizeOrder, VariantFilter, VariantInput, audio_renditions,
};
use kinora_index::{Index, NotCopied, NotCopiedReason, SampleEntry, TrackMedia, VideoTrack};

use crate::assert_golden;
use crate::source::{Source, audio_only, clip, video_only};

fn uri(address: MediaPlaylistRef) -> String {
    match address {
        MediaPlaylistRef::Video => "video/index.m3u8".to_owned(),
        MediaPlaylistRef::IFrames => "video/iframes.m3u8".to_owned(),
        MediaPlaylistRef::Rung(name) => format!("{name}/index.m3u8"),
        MediaPlaylistRef::Audio(number) => format!("audio-{number}/index.m3u8"),
        MediaPlaylistRef::EncodedAudio(number) => format!("aac-{number}/index.m3u8"),
    }
}

/// The offer of a source for a request without parameters; `change` modifies it.
fn offered(index: &Index, change: impl FnOnce(&mut VariantInput<'_>)) -> String {
    offered_beside(index, &[], change)
}

/// The same with added audio.
fn offered_beside(
    index: &Index,
    added_audio: &[AddedAudio],
    change: impl FnOnce(&mut VariantInput<'_>),
) -> String {
    let rungs: Vec<_> = ladder(index, 1080).into_iter().map(|rung| RungBandwidth::new(index, rung)).collect();
    let rungs: Vec<_> = rungs.iter().collect();
    let mut input = VariantInput {
        rates: CopyBandwidths::of(index),
        copies_video: true,
        rungs: &rungs,
        encodes_audio: true,
        added_audio,
        iframes: Some(Bandwidth { peak: 20_000, average: 10_000 }),
        ..VariantInput::default()
    };
    change(&mut input);
    let text = MultivariantPlaylist::build(index, &input, &uri).render();
    let parsed = m3u8_rs::parse_master_playlist_res(text.as_bytes()).unwrap();
    for variant in &parsed.variants {
        let group = variant.audio.as_ref();
        let is_there = |name: &String| parsed.alternatives.iter().any(|audio| audio.group_id == *name);
        assert!(group.is_none_or(is_there), "{text}");
    }
    text
}

/// The URIs of the variants, in their order.
fn variants(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_suffix("/index.m3u8"))
        .filter(|line| !line.starts_with('#'))
        .collect()
}

fn changed(mut source: Source, change: impl FnOnce(&mut VideoTrack)) -> Source {
    let TrackMedia::Video(video) = &mut source.index.tracks[0].media else {
        unreachable!("the first one is")
    };
    change(video);
    source
}

/// The clip with its audio in Opus, which is copied.
fn with_opus(mut source: Source) -> Source {
    let TrackMedia::Audio(audio) = &mut source.index.tracks[1].media else {
        unreachable!("the second one is")
    };
    "Opus".clone_into(&mut audio.codec);
    source.index.plan.encoded_audio = vec![vec![0, 94, 516]];
    source
}

#[test]
fn h264_copy_is_listed_before_rungs() {
    assert_golden("offer_copy_and_rungs", &offered(&clip().index, |_| {}));
}

#[test]
fn hevc_copy_is_listed_in_both_audio_groups() {
    let source = changed(with_opus(clip()), |video| video.codec = "hvc1.1.6.L93.B0".to_owned());
    assert_golden("offer_hevc_and_opus", &offered(&source.index, |_| {}));
}

#[test]
fn opus_with_h264_is_listed_only_as_aac() {
    let text = offered(&with_opus(clip()).index, |_| {});
    assert!(
        text.contains("URI=\"aac-0/index.m3u8\"") && !text.contains("opus") && !text.contains("audio-0"),
        "{text}"
    );
}

/// The clip with AAC of this many channels.
fn with_channels(channels: u32) -> Source {
    let mut source = clip();
    let TrackMedia::Audio(audio) = &mut source.index.tracks[1].media else {
        unreachable!("the second one is")
    };
    audio.channels = channels;
    source.index.plan.encoded_audio = vec![vec![0, 94, 516]];
    source
}

#[test]
fn surround_audio_is_encoded_to_stereo() {
    let source = with_channels(6);
    let text = offered(&source.index, |_| {});
    assert!(text.contains("CHANNELS=\"2\",URI=\"aac-0/index.m3u8\"") && !text.contains("audio-0"), "{text}");
    assert_eq!(variants(&text), ["video", "480p", "360p", "240p"]);
    let encoded = AudioRenditions { is_copied: false, is_encoded: true };
    assert_eq!(audio_renditions(&source.index, true), [encoded]);
    let stereo = with_channels(2);
    assert_eq!(
        audio_renditions(&stereo.index, false),
        [AudioRenditions { is_copied: true, is_encoded: false }]
    );
}

#[test]
fn surround_audio_is_copied_with_stereo_of_its_language() {
    let check = |language: &str, expected: &[(bool, bool)]| {
        let mut source = with_channels(6);
        let mut partner = source.audio().clone();
        let TrackMedia::Audio(audio) = &mut partner.media else { unreachable!("it is audio") };
        audio.channels = 2;
        language.clone_into(&mut partner.language);
        partner.source_track += 1;
        source.index.tracks.push(partner);
        source.index.plan.encoded_audio = vec![vec![0, 94, 516]; 2];
        let renditions = audio_renditions(&source.index, false);
        let found: Vec<_> =
            renditions.iter().map(|rendition| (rendition.is_copied, rendition.is_encoded)).collect();
        assert_eq!(found, expected, "{language}");
    };
    let language = clip().audio().language.clone();
    check(&language, &[(true, false), (true, false)]);
    check("fra", &[(false, true), (true, false)]);
}

#[test]
fn audio_that_cannot_be_encoded_is_not_listed() {
    let source = with_opus(clip());
    let text = offered(&source.index, |input| input.unencodable_audio = &[0]);
    assert!(!text.contains("AUDIO"), "{text}");
    assert_eq!(variants(&text), ["video", "480p", "360p", "240p"]);
    let newer = changed(with_opus(clip()), |video| video.codec = "hvc1.1.6.L93.B0".to_owned());
    let text = offered(&newer.index, |offer| offer.unencodable_audio = &[0]);
    assert!(text.contains("URI=\"audio-0/index.m3u8\"") && !text.contains("aac-0"), "{text}");
}

#[test]
fn without_copy_only_rungs_are_listed() {
    let source = changed(video_only(|_, _| {}), |video| {
        video.not_copied = Some(NotCopied::new(NotCopiedReason::Interlaced, "fields"));
        video.sample_entry = SampleEntry::Matroska(Vec::new());
        video.transfer = Some(18);
    });
    assert_golden("offer_rungs_alone", &offered(&source.index, |_| {}));
}

#[test]
fn audio_that_is_not_copied_is_the_encoded_variant() {
    let mut source = audio_only();
    let TrackMedia::Audio(audio) = &mut source.index.tracks[0].media else { unreachable!("made so") };
    audio.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "FLAC"));
    source.index.plan.encoded_audio = vec![vec![0, 94, 516]];
    assert_golden("offer_encoded_audio", &offered(&source.index, |_| {}));
    assert_eq!(variants(&offered(&source.index, |input| input.encodes_audio = false)), [""; 0]);
}

#[test]
fn hls_js_begins_with_the_first_variant_at_every_bitrate() {
    let check = |peak, expected: &[&str]| {
        let source = changed(clip(), |video| (video.width, video.height) = (1920, 1080));
        let rate = Bandwidth { peak, average: peak };
        let change = |input: &mut VariantInput<'_>| {
            input.rates = CopyBandwidths { video: rate, ..CopyBandwidths::default() }
        };
        let text = offered(&source.index, change);
        assert_eq!(variants(&text), expected, "{peak}");
        assert_eq!(hls_js_begins_with(&text), expected[0], "{peak}");
    };
    let copy_first = ["video", "720p", "480p", "360p", "240p"];
    let rung_first = ["480p", "video", "720p", "360p", "240p"];
    check(400_000, &copy_first);
    check(5_000_000, &copy_first);
    check(5_000_001, &rung_first);
    check(50_000_000, &rung_first);
    // No variant is small enough: the smallest one is offered.
    let heavy = offered(&clip().index, |offer| {
        offer.rates.video = Bandwidth { peak: 50_000_000, average: 40_000_000 };
        offer.rungs = &[];
    });
    assert_eq!(variants(&heavy), ["video"]);
}

/// The URI that hls.js 1.7 begins with: the largest BANDWIDTH that is not above its initial estimate, which
/// is that of the first variant and 5 Mb/s at most.
fn hls_js_begins_with(text: &str) -> String {
    let playlist = m3u8_rs::parse_master_playlist_res(text.as_bytes()).unwrap();
    let rates = || playlist.variants.iter().filter(|variant| !variant.is_i_frame);
    let estimate = rates().next().unwrap().bandwidth.clamp(500_000, 5_000_000);
    let fits = rates().filter(|variant| variant.bandwidth <= estimate);
    fits.max_by_key(|variant| variant.bandwidth).unwrap().uri.replace("/index.m3u8", "")
}

#[test]
fn resolution_query_filters_variants() {
    let check = |choice: VariantFilter, expected: &[&str]| {
        let source = changed(clip(), |video| (video.width, video.height) = (1920, 1080));
        let text = offered(&source.index, |input| input.filter = choice);
        assert_eq!(variants(&text), expected, "{choice:?}");
        assert_eq!(text.contains("I-FRAME"), expected.contains(&"video"), "{choice:?}");
    };
    let any = VariantFilter::default();
    check(VariantFilter { max_p: Some(480), ..any }, &["480p", "360p", "240p"]);
    check(VariantFilter { min_p: Some(480), ..any }, &["video", "720p", "480p"]);
    check(VariantFilter { min_p: Some(480), max_p: Some(720), ..any }, &["480p", "720p"]);
    check(VariantFilter { only_p: Some(1080), ..any }, &["video"]);
    check(VariantFilter { only_p: Some(1440), ..any }, &[]);
    check(
        VariantFilter { order: Some(SizeOrder::Ascending), ..any },
        &["240p", "360p", "480p", "720p", "video"],
    );
    check(
        VariantFilter { order: Some(SizeOrder::Descending), ..any },
        &["video", "720p", "480p", "360p", "240p"],
    );
    check(
        VariantFilter { max_p: Some(720), order: Some(SizeOrder::Ascending), ..any },
        &["240p", "360p", "480p", "720p"],
    );
}

#[test]
fn busy_server_lists_copy_and_one_rung() {
    let busy = |source: &Source| {
        let text = offered(&source.index, |input| input.is_busy = true);
        variants(&text).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(busy(&clip()), ["video", "360p"]);
    let small = changed(clip(), |video| (video.width, video.height) = (640, 360));
    assert_eq!(busy(&small), ["video", "240p"]);
    let encoded = changed(clip(), |video| {
        video.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "VP9"));
    });
    assert_eq!(busy(&encoded), ["360p"]);
}

#[test]
fn independent_segments_tag_needs_closed_gops() {
    let source = clip();
    let text = |copies_video| {
        offered(&source.index, |input| {
            input.rates.has_open_segments = true;
            input.copies_video = copies_video;
        })
    };
    assert!(!text(true).contains("INDEPENDENT"));
    assert!(text(false).contains("INDEPENDENT"));
    assert_eq!(variants(&text(false)), ["480p", "360p", "240p"]);
}

#[test]
fn added_audio_follows_source_audio_in_every_group() {
    let added = |language_code: &str, name: &str, uri: &str| AddedAudio {
        language_code: language_code.to_owned(),
        name: name.to_owned(),
        uri: uri.to_owned(),
        codec: "mp4a.40.2".to_owned(),
        channels: 2,
        rate: Bandwidth { peak: 999_000, average: 64_000 },
    };
    let added_audio = [
        added("de", "Deutsch", "added-1/index.m3u8"),
        added("de", "Audio", "added-2/index.m3u8"),
        added("fr", "\"\r\n#EXT\u{202e}", "added-3/index.m3u8"),
        added("pt-BR", "", "added-4/index.m3u8"),
    ];
    let source = changed(with_opus(clip()), |video| video.codec = "hvc1.1.6.L93.B0".to_owned());
    assert_golden("offer_added_sound", &offered_beside(&source.index, &added_audio, |_| {}));
    // A source without audio gets this audio, and its first track is the default.
    let silent = video_only(|_, _| {});
    assert_golden("offer_added_sound_alone", &offered_beside(&silent.index, &added_audio[..1], |_| {}));
    let alone = offered_beside(&audio_only().index, &added_audio[..1], |_| {});
    assert_golden("offer_added_sound_beside_sound", &alone);
}

#[test]
fn levelled_audio_is_listed_encoded_in_every_group() {
    // The copy of AAC plays everywhere, but not at its loudness.
    let source = clip();
    let text = offered(&source.index, |input| input.levelled_audio = &[0]);
    assert!(text.contains("URI=\"aac-0/index.m3u8\"") && !text.contains("audio-0"), "{text}");
    assert!(!offered(&source.index, |input| input.levelled_audio = &[1]).contains("aac-0"));
    // The group of copies would be the same.
    let newer = changed(with_opus(clip()), |video| video.codec = "hvc1.1.6.L93.B0".to_owned());
    let text = offered(&newer.index, |input| input.levelled_audio = &[0]);
    assert!(text.contains("aac-0") && !text.contains("audio-0") && !text.contains("copies"), "{text}");
    // Only the encode without a gain cannot be made.
    let text = offered(&newer.index, |input| {
        input.levelled_audio = &[0];
        input.unencodable_audio = &[0];
    });
    assert!(text.contains("URI=\"aac-0/index.m3u8\""), "{text}");
}
