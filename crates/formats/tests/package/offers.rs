//! Multivariant playlists of copies beside encoded renditions, as whole texts, and read by another's parser.

use kinora_formats::encode::ladder;
use kinora_hls::{
    AddedSound, Address, Choice, CopyRates, MultivariantPlaylist, Offer, Order, Rate, RatedRung, SoundOffer,
    sound_offers,
};
use kinora_index::{Index, NotCopied, NotCopiedReason, SampleEntry, TrackMedia, VideoTrack};

use crate::assert_golden;
use crate::source::{Source, audio_only, clip, video_only};

fn uri(address: Address) -> String {
    match address {
        Address::Video => "video/index.m3u8".to_owned(),
        Address::IFrames => "video/iframes.m3u8".to_owned(),
        Address::Rung(name) => format!("{name}/index.m3u8"),
        Address::Audio(number) => format!("audio-{number}/index.m3u8"),
        Address::EncodedAudio(number) => format!("aac-{number}/index.m3u8"),
    }
}

/// What is offered of a source to whoever asks for nothing; `change` says what else.
fn offered(index: &Index, change: impl FnOnce(&mut Offer<'_>)) -> String {
    offered_beside(index, &[], change)
}

/// The same with sound that was added.
fn offered_beside(index: &Index, added: &[AddedSound], change: impl FnOnce(&mut Offer<'_>)) -> String {
    let rungs: Vec<_> = ladder(index, 1080).into_iter().map(|rung| RatedRung::new(index, rung)).collect();
    let rungs: Vec<_> = rungs.iter().collect();
    let mut offer = Offer {
        rates: CopyRates::of(index),
        copies_video: true,
        rungs: &rungs,
        encodes_audio: true,
        added,
        iframes: Some(Rate { peak: 20_000, average: 10_000 }),
        ..Offer::default()
    };
    change(&mut offer);
    let text = MultivariantPlaylist::offered(index, &offer, &uri).render();
    let parsed = m3u8_rs::parse_master_playlist_res(text.as_bytes()).unwrap();
    for variant in &parsed.variants {
        let group = variant.audio.as_ref();
        let is_there = |name: &String| parsed.alternatives.iter().any(|audio| audio.group_id == *name);
        assert!(group.is_none_or(is_there), "{text}");
    }
    text
}

/// The addresses of the variants, in their order.
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
fn a_copy_of_h264_stands_before_its_rungs() {
    assert_golden("offer_copy_and_rungs", &offered(&clip().index, |_| {}));
}

#[test]
fn a_copy_of_hevc_with_opus_stands_in_both_groups() {
    let source = changed(with_opus(clip()), |video| video.codec = "hvc1.1.6.L93.B0".to_owned());
    assert_golden("offer_hevc_and_opus", &offered(&source.index, |_| {}));
}

#[test]
fn opus_beside_h264_is_listed_as_aac_alone() {
    let text = offered(&with_opus(clip()).index, |_| {});
    assert!(
        text.contains("URI=\"aac-0/index.m3u8\"") && !text.contains("opus") && !text.contains("audio-0"),
        "{text}"
    );
}

/// The clip with AAC of so many channels.
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
fn sound_of_many_channels_is_stereo_for_all() {
    let source = with_channels(6);
    let text = offered(&source.index, |_| {});
    assert!(text.contains("CHANNELS=\"2\",URI=\"aac-0/index.m3u8\"") && !text.contains("audio-0"), "{text}");
    assert_eq!(variants(&text), ["video", "480p", "360p", "240p"]);
    let encoded = SoundOffer { is_copied: false, is_encoded: true };
    assert_eq!(sound_offers(&source.index, true), [encoded]);
    let stereo = with_channels(2);
    assert_eq!(sound_offers(&stereo.index, false), [SoundOffer { is_copied: true, is_encoded: false }]);
}

#[test]
fn sound_of_many_channels_is_copied_where_stereo_of_its_language_stands_beside_it() {
    let check = |language: &str, expected: &[(bool, bool)]| {
        let mut source = with_channels(6);
        let mut partner = source.audio().clone();
        let TrackMedia::Audio(audio) = &mut partner.media else { unreachable!("it is audio") };
        audio.channels = 2;
        language.clone_into(&mut partner.language);
        partner.source_track += 1;
        source.index.tracks.push(partner);
        source.index.plan.encoded_audio = vec![vec![0, 94, 516]; 2];
        let offers = sound_offers(&source.index, false);
        let found: Vec<_> = offers.iter().map(|sound| (sound.is_copied, sound.is_encoded)).collect();
        assert_eq!(found, expected, "{language}");
    };
    let language = clip().audio().language.clone();
    check(&language, &[(true, false), (true, false)]);
    check("fra", &[(false, true), (true, false)]);
}

#[test]
fn sound_that_cannot_be_encoded_is_not_listed() {
    let source = with_opus(clip());
    let text = offered(&source.index, |offer| offer.broken_audio = &[0]);
    assert!(!text.contains("AUDIO"), "{text}");
    assert_eq!(variants(&text), ["video", "480p", "360p", "240p"]);
    let newer = changed(with_opus(clip()), |video| video.codec = "hvc1.1.6.L93.B0".to_owned());
    let text = offered(&newer.index, |offer| offer.broken_audio = &[0]);
    assert!(text.contains("URI=\"audio-0/index.m3u8\"") && !text.contains("aac-0"), "{text}");
}

#[test]
fn without_a_copy_there_are_rungs_alone() {
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
    assert_eq!(variants(&offered(&source.index, |offer| offer.encodes_audio = false)), [""; 0]);
}

#[test]
fn the_first_variant_is_the_one_that_players_begin_with() {
    let check = |peak, expected: &[&str]| {
        let source = changed(clip(), |video| (video.width, video.height) = (1920, 1080));
        let rate = Rate { peak, average: peak };
        let change = |offer: &mut Offer<'_>| offer.rates = CopyRates { video: rate, ..CopyRates::default() };
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
    // Nothing is small enough: what takes least.
    let heavy = offered(&clip().index, |offer| {
        offer.rates.video = Rate { peak: 50_000_000, average: 40_000_000 };
        offer.rungs = &[];
    });
    assert_eq!(variants(&heavy), ["video"]);
}

/// The address that hls.js 1.7 begins with: the largest BANDWIDTH that is not above what it estimates at the
/// start, which is that of the first variant and 5 Mb/s at most.
fn hls_js_begins_with(text: &str) -> String {
    let playlist = m3u8_rs::parse_master_playlist_res(text.as_bytes()).unwrap();
    let rates = || playlist.variants.iter().filter(|variant| !variant.is_i_frame);
    let estimate = rates().next().unwrap().bandwidth.clamp(500_000, 5_000_000);
    let fits = rates().filter(|variant| variant.bandwidth <= estimate);
    fits.max_by_key(|variant| variant.bandwidth).unwrap().uri.replace("/index.m3u8", "")
}

#[test]
fn viewers_choose_by_size() {
    let check = |choice: Choice, expected: &[&str]| {
        let source = changed(clip(), |video| (video.width, video.height) = (1920, 1080));
        let text = offered(&source.index, |offer| offer.choice = choice);
        assert_eq!(variants(&text), expected, "{choice:?}");
        assert_eq!(text.contains("I-FRAME"), expected.contains(&"video"), "{choice:?}");
    };
    let any = Choice::default();
    check(Choice { max_p: Some(480), ..any }, &["480p", "360p", "240p"]);
    check(Choice { min_p: Some(480), ..any }, &["video", "720p", "480p"]);
    check(Choice { min_p: Some(480), max_p: Some(720), ..any }, &["480p", "720p"]);
    check(Choice { only_p: Some(1080), ..any }, &["video"]);
    check(Choice { only_p: Some(1440), ..any }, &[]);
    check(Choice { order: Some(Order::Ascending), ..any }, &["240p", "360p", "480p", "720p", "video"]);
    check(Choice { order: Some(Order::Descending), ..any }, &["video", "720p", "480p", "360p", "240p"]);
    check(
        Choice { max_p: Some(720), order: Some(Order::Ascending), ..any },
        &["240p", "360p", "480p", "720p"],
    );
}

#[test]
fn a_busy_server_lists_the_copy_and_one_rung() {
    let busy = |source: &Source| {
        let text = offered(&source.index, |offer| offer.is_busy = true);
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
fn segments_are_independent_where_no_open_group_is_listed() {
    let source = clip();
    let text = |copies_video| {
        offered(&source.index, |offer| {
            offer.rates.has_open_segments = true;
            offer.copies_video = copies_video;
        })
    };
    assert!(!text(true).contains("INDEPENDENT"));
    assert!(text(false).contains("INDEPENDENT"));
    assert_eq!(variants(&text(false)), ["480p", "360p", "240p"]);
}

#[test]
fn added_sound_stands_behind_the_sources_own_in_every_group() {
    let added = |language_code: &str, name: &str, uri: &str| AddedSound {
        language_code: language_code.to_owned(),
        name: name.to_owned(),
        uri: uri.to_owned(),
        codec: "mp4a.40.2".to_owned(),
        channels: 2,
        rate: Rate { peak: 999_000, average: 64_000 },
    };
    let sounds = [
        added("de", "Deutsch", "added-1/index.m3u8"),
        added("de", "Audio", "added-2/index.m3u8"),
        added("fr", "\"\r\n#EXT\u{202e}", "added-3/index.m3u8"),
        added("pt-BR", "", "added-4/index.m3u8"),
    ];
    let source = changed(with_opus(clip()), |video| video.codec = "hvc1.1.6.L93.B0".to_owned());
    assert_golden("offer_added_sound", &offered_beside(&source.index, &sounds, |_| {}));
    // A source without sound has this, and its first one plays when nobody chose.
    let silent = video_only(|_, _| {});
    assert_golden("offer_added_sound_alone", &offered_beside(&silent.index, &sounds[..1], |_| {}));
    let alone = offered_beside(&audio_only().index, &sounds[..1], |_| {});
    assert_golden("offer_added_sound_beside_sound", &alone);
}
