use std::collections::BTreeMap;

use kinora_domain::{
    AccessPolicy, AddedTrack, AddedTrackKind, AddedTrackState, AspectRatio, AudioEdit, ClipOf, Clock,
    CorsOrigin, EditKind, Failure, FailureCode, FrameRate, Insert, InsertPoint, MediaDuration, MediaFacts,
    MediaQuality, MediaSettings, MediaState, Mp4Support, NewMedia, NewTrack, NewUpload, NotCopied,
    NotCopiedReason, Random, Resolution, SourceId, TimelineEdit, Timestamp, Track, TrackId, TrackKind,
    UploadState, WorkspaceId,
};

use super::*;

struct Sevens;

impl Random for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

struct Then;

impl Clock for Then {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_762_164_228_595_604)
    }
}

fn media(settings: MediaSettings) -> Media {
    let new = NewMedia {
        workspace: WorkspaceId::new(Then.now(), &Sevens),
        settings,
        url: "https://example.com/a.mp4".into(),
        clip_of: None,
        policy: AccessPolicy::Public,
        restrictions: kinora_domain::AccessRestrictions::default(),
        encryption: kinora_domain::Encryption::None,
        tracks: Vec::new(),
    };
    Media::create(new, Then.now(), &Sevens).0
}

/// The text is stored in rows of this version, so every later version must read it.
fn check(kind: EventKind, text: &str) {
    assert_eq!(encode(&kind), text);
    assert_eq!(decode(kind.name(), text).unwrap(), kind);
}

#[test]
fn created_media_json_round_trips() {
    check(
        EventKind::MediaCreated(Box::new(media(MediaSettings::default()))),
        r#"{"v":1,"media":{"id":"019a492c-41f3-7707-8707-070707070707","workspace":"019a492c-41f3-7707-8707-070707070707","max_resolution":"1080p","quality":"standard","source_access":false,"optimize_audio":false,"inputs":[{"id":"019a492c-41f3-7707-8707-070707070707","url":"https://example.com/a.mp4"}],"playback":[{"id":"07070707-0707-4707-8707-070707070707","policy":"public","restrictions":{"domains":{"default":"allow","allow":[],"deny":[]},"user_agents":{"default":"allow","allow":[],"deny":[]}},"created_at":1762164228595604}],"state":"created","created_at":1762164228595604,"updated_at":1762164228595604,"version":0}}"#,
    );
}

#[test]
fn ready_media_json_round_trips() {
    let mut media = media(MediaSettings {
        title: Some("T".into()),
        creator_id: Some("C".into()),
        metadata: Some(BTreeMap::from([("k".to_owned(), "v".to_owned())])),
        max_resolution: Resolution::P2160,
        quality: MediaQuality::Pro,
        source_access: true,
        optimize_audio: true,
        mp4_support: Mp4Support { capped_4k: true, audio_only: true },
        audio_edit: Some(AudioEdit { swap_url: Some("https://example.com/a.mp3".into()), overlays: vec![] }),
        timeline_edit: None,
        watermark: None,
    });
    media.playback_ids.clear();
    let track =
        |kind| Track { id: TrackId::new(Then.now(), &Sevens), kind, not_copied: None, is_encoded: false };
    let video = |frame_rate| track(TrackKind::Video { width: 854, height: 480, frame_rate });
    let audio = TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() };
    media.state = MediaState::Ready {
        ready_at: Then.now(),
        source: SourceId::new(Then.now(), &Sevens),
        facts: MediaFacts {
            container: Some("mov".into()),
            duration: MediaDuration::from_micros(30_000_000),
            tracks: vec![
                video(Some(FrameRate { numerator: 24, denominator: 1 })),
                video(None),
                Track {
                    not_copied: Some(NotCopied { reason: NotCopiedReason::Codec, detail: "AC-3".into() }),
                    is_encoded: true,
                    ..track(audio)
                },
            ],
            source_resolution: Some(Resolution::P480),
            aspect_ratio: Some(AspectRatio { width: 16, height: 9 }),
            rungs: vec![Resolution::P360, Resolution::P240],
            is_truncated: false,
            left_out: Vec::new(),
            does_not_decode: false,
            broken_renditions: Vec::new(),
        },
    };
    check(
        EventKind::MediaReady(Box::new(media)),
        r#"{"v":1,"media":{"id":"019a492c-41f3-7707-8707-070707070707","workspace":"019a492c-41f3-7707-8707-070707070707","title":"T","creator_id":"C","metadata":{"k":"v"},"max_resolution":"2160p","quality":"pro","source_access":true,"optimize_audio":true,"mp4_support":"audioOnly,capped_4k","sound":{"swap_url":"https://example.com/a.mp3","overlays":[]},"inputs":[{"id":"019a492c-41f3-7707-8707-070707070707","url":"https://example.com/a.mp4"}],"playback":[],"state":{"ready":{"ready_at":1762164228595604,"source":"019a492c-41f3-7707-8707-070707070707","facts":{"container":"mov","duration_us":30000000,"tracks":[{"id":"019a492c-41f3-7707-8707-070707070707","video":{"width":854,"height":480,"frame_rate":[24,1]}},{"id":"019a492c-41f3-7707-8707-070707070707","video":{"width":854,"height":480}},{"id":"019a492c-41f3-7707-8707-070707070707","audio":{"language_code":"und","language_name":"Undetermined"},"not_copied":{"reason":"codec","detail":"AC-3"},"is_encoded":true}],"source_resolution":"480p","aspect_ratio":[16,9],"rungs":["360p","240p"],"is_truncated":false,"does_not_decode":false}}},"created_at":1762164228595604,"updated_at":1762164228595604,"version":0}}"#,
    );
}

#[test]
fn edited_media_json_round_trips() {
    let second = std::time::Duration::from_secs(1);
    let mut media = media(MediaSettings {
        timeline_edit: Some(TimelineEdit {
            start: second,
            end: Some(9 * second),
            removed: vec![2 * second..3 * second],
            inserts: vec![Insert { url: "https://example.com/b.mp4".into(), at: InsertPoint::Time(second) }],
            intro: Some("https://example.com/c.mp4".into()),
            outro: None,
        }),
        ..MediaSettings::default()
    });
    (media.inputs, media.playback_ids) = (Vec::new(), Vec::new());
    let source = SourceId::new(Then.now(), &Sevens);
    (media.clip_of, media.original) = (Some(ClipOf { media: media.id, source }), Some(source));
    check(
        EventKind::EditReady(EditKind::Intro, Box::new(media)),
        r#"{"v":1,"media":{"id":"019a492c-41f3-7707-8707-070707070707","workspace":"019a492c-41f3-7707-8707-070707070707","max_resolution":"1080p","quality":"standard","source_access":false,"optimize_audio":false,"edit":{"start":1000000,"end":9000000,"removed":[[2000000,3000000]],"inserts":[{"url":"https://example.com/b.mp4","at":1000000}],"intro":"https://example.com/c.mp4"},"inputs":[],"clip_of":{"media":"019a492c-41f3-7707-8707-070707070707","source":"019a492c-41f3-7707-8707-070707070707"},"original":"019a492c-41f3-7707-8707-070707070707","playback":[],"state":"created","created_at":1762164228595604,"updated_at":1762164228595604,"version":0}}"#,
    );
}

#[test]
fn every_edit_event_is_read_back() {
    for kind in EditKind::ALL {
        let event = EventKind::EditReady(kind, Box::new(media(MediaSettings::default())));
        assert_eq!(decode(kind.event_name(), &encode(&event)).unwrap(), event);
    }
}

#[test]
fn failed_media_json_round_trips() {
    let mut media = media(MediaSettings::default());
    (media.inputs, media.playback_ids) = (Vec::new(), Vec::new());
    let failure = Failure::new(FailureCode::NotMedia, "the bytes are a text");
    media.state = MediaState::Failed { failed_at: Then.now(), failure };
    check(
        EventKind::MediaFailed(Box::new(media)),
        r#"{"v":1,"media":{"id":"019a492c-41f3-7707-8707-070707070707","workspace":"019a492c-41f3-7707-8707-070707070707","max_resolution":"1080p","quality":"standard","source_access":false,"optimize_audio":false,"inputs":[],"playback":[],"state":{"failed":{"failed_at":1762164228595604,"code":"not_media","message":"the bytes are a text"}},"created_at":1762164228595604,"updated_at":1762164228595604,"version":0}}"#,
    );
}

#[test]
fn downloading_media_json_is_read() {
    let mut media = media(MediaSettings::default());
    media.state =
        MediaState::Downloading { started_at: Then.now(), source: SourceId::new(Then.now(), &Sevens) };
    media.playback_ids[0].resolution = Some(Resolution::P720);
    let kind = EventKind::MediaCreated(Box::new(media));
    assert_eq!(decode(kind.name(), &encode(&kind)).unwrap(), kind);
}

#[test]
fn updated_media_json_round_trips() {
    check(
        EventKind::MediaUpdated(media(MediaSettings::default()).id),
        r#"{"v":1,"changed":{"media":"019a492c-41f3-7707-8707-070707070707"}}"#,
    );
}

#[test]
fn deleted_media_json_round_trips() {
    check(
        EventKind::MediaDeleted(media(MediaSettings::default()).id),
        r#"{"v":1,"gone":{"media":"019a492c-41f3-7707-8707-070707070707"}}"#,
    );
}

fn subtitles() -> NewTrack {
    NewTrack {
        kind: AddedTrackKind::Subtitle,
        url: "https://example.com/a.srt".into(),
        language_code: "en-US".into(),
        language_name: "English".into(),
    }
}

#[test]
fn added_track_json_round_trips_with_its_media() {
    let mut media = media(MediaSettings::default());
    (media.inputs, media.playback_ids) = (Vec::new(), Vec::new());
    let track = AddedTrack::new(subtitles(), Then.now(), &Sevens);
    let source = track.preparing().unwrap();
    let failure = Failure::new(FailureCode::NotSubtitles, "a page");
    media.added_tracks = vec![
        track.clone(),
        AddedTrack { state: AddedTrackState::Available { source }, ..track.clone() },
        AddedTrack { state: AddedTrackState::Failed { failure }, ..track.clone() },
    ];
    for what in TrackEventKind::ALL {
        let kind = media.track_event(what, track.id, Then.now()).kind;
        assert_eq!(decode(kind.name(), &encode(&kind)).unwrap(), kind);
    }
    let kind = media.track_event(TrackEventKind::Ready, track.id, Then.now()).kind;
    check(
        kind.clone(),
        r#"{"v":1,"track":{"track":"019a492c-41f3-7707-8707-070707070707","media":{"id":"019a492c-41f3-7707-8707-070707070707","workspace":"019a492c-41f3-7707-8707-070707070707","max_resolution":"1080p","quality":"standard","source_access":false,"optimize_audio":false,"inputs":[],"added":[{"id":"019a492c-41f3-7707-8707-070707070707","kind":"subtitle","url":"https://example.com/a.srt","language_code":"en-US","language_name":"English","state":{"preparing":{"source":"019a492c-41f3-7707-8707-070707070707"}}},{"id":"019a492c-41f3-7707-8707-070707070707","kind":"subtitle","url":"https://example.com/a.srt","language_code":"en-US","language_name":"English","state":{"available":{"source":"019a492c-41f3-7707-8707-070707070707"}}},{"id":"019a492c-41f3-7707-8707-070707070707","kind":"subtitle","url":"https://example.com/a.srt","language_code":"en-US","language_name":"English","state":{"failed":{"code":"not_subtitles","message":"a page"}}}],"playback":[],"state":"created","created_at":1762164228595604,"updated_at":1762164228595604,"version":0}}}"#,
    );
    assert!(decode("video.media.ready", &encode(&kind)).is_err());
    assert!(decode("video.media.track.ready", &encode(&EventKind::MediaUpdated(media.id))).is_err());
    assert!(decode("video.media.track.exploded", &encode(&kind)).is_err());
}

#[test]
fn upload_json_keeps_added_tracks() {
    let kind = EventKind::UploadRegistered(Box::new(Upload { tracks: vec![subtitles(); 2], ..upload() }));
    assert_eq!(decode(kind.name(), &encode(&kind)).unwrap(), kind);
}

#[test]
fn invalid_event_json_is_rejected() {
    let gone = r#"{"v":1,"gone":{"media":"019a492c-41f3-7707-8707-070707070707"}}"#;
    let check = |name: &str, facts: &str| assert!(decode(name, facts).is_err(), "{name} {facts}");
    check("video.media.exploded", gone);
    check("video.media.ready", gone);
    check("video.media.deleted", "");
    check("video.media.deleted", r#"{"v":1,"gone":{"media":"x"}}"#);
    check("video.media.deleted", &gone.replace("\"v\":1", "\"v\":2"));
    check(
        "video.media.deleted",
        &encode(&EventKind::MediaCreated(Box::new(media(MediaSettings::default())))),
    );
}

fn upload() -> Upload {
    let new = NewUpload {
        workspace: WorkspaceId::new(Then.now(), &Sevens),
        settings: MediaSettings::default(),
        policy: AccessPolicy::Private,
        restrictions: kinora_domain::AccessRestrictions::default(),
        encryption: kinora_domain::Encryption::None,
        tracks: Vec::new(),
        origin: CorsOrigin::One("https://shop.example".into()),
        timeout_s: 14_400,
        size_max: Some(500_000_000),
    };
    Upload::create(new, Then.now(), &Sevens).0
}

#[test]
fn registered_upload_json_round_trips() {
    check(
        EventKind::UploadRegistered(Box::new(upload())),
        r#"{"v":1,"upload":{"id":"019a492c-41f3-7707-8707-070707070707","workspace":"019a492c-41f3-7707-8707-070707070707","max_resolution":"1080p","quality":"standard","source_access":false,"optimize_audio":false,"policy":"private","origin":"https://shop.example","timeout_s":14400,"size_max":500000000,"source":"019a492c-41f3-7707-8707-070707070707","state":"waiting","created_at":1762164228595604,"updated_at":1762164228595604,"version":0}}"#,
    );
}

#[test]
fn upload_json_round_trips_in_every_state() {
    let at = Then.now();
    let failure = Failure::new(FailureCode::NotMedia, "a text");
    for state in [
        UploadState::Uploading { stored: 7, stored_at: at },
        UploadState::Completed { at, is_handed_over: false },
        UploadState::Cancelled { at },
        UploadState::TimedOut { at },
        UploadState::Failed { at, failure },
    ] {
        let kind = EventKind::UploadCancelled(Box::new(Upload { state, length: Some(9), ..upload() }));
        assert_eq!(decode(kind.name(), &encode(&kind)).unwrap(), kind);
    }
}

#[test]
fn completed_upload_json_carries_its_media() {
    let kind = EventKind::UploadCompleted(Box::new(media(MediaSettings::default())));
    assert_eq!(decode("video.upload.media_created", &encode(&kind)).unwrap(), kind);
    assert!(decode("video.media.upload", &encode(&kind)).is_err());
}
