use super::*;
use crate::{FailureCode, Resolution, Restriction, TrackId, TrackKind};

struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * Timestamp::SECOND)
}

pub(super) fn source(second: i64) -> SourceId {
    SourceId::new(at(second), &Zeros)
}

pub(super) fn created() -> Media {
    let new = NewMedia {
        workspace: WorkspaceId::new(at(0), &Zeros),
        settings: MediaSettings::default(),
        url: "https://example.com/a.mp4".into(),
        clip_of: None,
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        encryption: Encryption::None,
        tracks: Vec::new(),
    };
    Media::create(new, at(1), &Zeros).0
}

pub(crate) fn facts(resolution: Option<Resolution>) -> MediaFacts {
    MediaFacts {
        container: Some("mp4".into()),
        duration: MediaDuration::from_micros(1),
        tracks: Vec::new(),
        source_resolution: resolution,
        aspect_ratio: None,
        rungs: Vec::new(),
        is_truncated: false,
        left_out: Vec::new(),
        does_not_decode: false,
        broken_renditions: Vec::new(),
    }
}

/// A ready media with these facts.
pub(super) fn finished(facts: MediaFacts) -> Media {
    created().start_download(source(2), at(2)).unwrap().finish(source(2), facts, at(3)).unwrap().0
}

pub(super) fn watermark() -> Watermark {
    Watermark {
        url: "https://example.com/logo.png".into(),
        placement: WatermarkPlacement {
            x_align: WatermarkAlign::End,
            x_margin: WatermarkLength::ZERO,
            y_align: WatermarkAlign::Start,
            y_margin: WatermarkLength::Percent(250),
        },
        size: WatermarkSize::default(),
        opacity_percent: 80,
    }
}

#[test]
fn watermark_of_a_video_has_an_event() {
    let events = |kind| {
        let track = Track { id: TrackId::new(at(1), &Zeros), kind, not_copied: None, is_encoded: false };
        let media = finished(MediaFacts { tracks: vec![track], ..facts(None) });
        let settings = MediaSettings { watermark: Some(watermark()), ..MediaSettings::default() };
        let media = Media { settings, ..media };
        let urls: Vec<_> = media.input_urls().iter().map(|(kind, _)| *kind).collect();
        assert_eq!(urls, ["video", "watermark"]);
        media.edit_events(at(4)).iter().map(|event| event.kind.name()).collect::<Vec<_>>()
    };
    let video = TrackKind::Video { width: 96, height: 54, frame_rate: None };
    assert_eq!(events(video), ["video.media.watermark.ready"]);
    let audio = TrackKind::Audio { language_code: "en".into(), language_name: "English".into() };
    assert_eq!(events(audio), [""; 0]);
}

#[test]
fn media_becomes_ready_with_one_event() {
    let media = created().start_download(source(2), at(2)).unwrap();
    assert!(!media.is_ready_or_failed());
    let (media, event) = media.finish(source(2), facts(None), at(3)).unwrap();
    assert!(media.is_ready_or_failed());
    assert_eq!(media.updated_at, at(3));
    assert_eq!(
        event,
        Event { workspace: media.workspace, kind: EventKind::MediaReady(Box::new(media.clone())), at: at(3) }
    );
}

#[test]
fn reindex_preserves_track_ids_and_emits_updated_for_other_facts() {
    let track = |id: i64, kind: TrackKind| Track {
        id: TrackId::new(at(id), &Zeros),
        kind,
        not_copied: None,
        is_encoded: false,
    };
    let video = |width| TrackKind::Video { width, height: 54, frame_rate: None };
    let audio = |code: &str| TrackKind::Audio { language_code: code.into(), language_name: code.into() };
    let stored = MediaFacts {
        tracks: vec![track(10, video(96)), track(11, audio("de"))],
        does_not_decode: true,
        ..facts(None)
    };
    let found = |width, more: Option<&str>| {
        let audio =
            [Some("de"), more].into_iter().flatten().zip(21..).map(|(code, id)| track(id, audio(code)));
        MediaFacts { tracks: [track(20, video(width))].into_iter().chain(audio).collect(), ..facts(None) }
    };
    let media = finished(stored.clone());
    assert_eq!(media.clone().reindex(source(2), found(96, None), at(9)), Ok(None));
    assert!(media.clone().reindex(source(4), found(96, None), at(9)).is_err(), "of another source");
    assert!(created().reindex(source(2), found(96, None), at(9)).is_err());

    let (changed, event) = media.reindex(source(2), found(98, Some("en")), at(9)).unwrap().unwrap();
    let tracks = vec![track(10, video(98)), track(11, audio("de")), track(22, audio("en"))];
    let expected = MediaFacts { tracks, ..stored };
    assert_eq!(changed.state, MediaState::Ready { ready_at: at(3), source: source(2), facts: expected });
    assert_eq!((changed.updated_at, event.at), (at(9), at(9)));
    assert!(matches!(event.kind, EventKind::MediaUpdated(_)), "{event:?}");
}

#[test]
fn settled_media_rejects_transitions() {
    let ready =
        created().start_download(source(2), at(2)).unwrap().finish(source(2), facts(None), at(3)).unwrap().0;
    let failed = created().fail(Failure::new(FailureCode::Internal, "x"), at(3)).unwrap().0;
    for media in [ready, failed] {
        assert!(media.clone().start_download(source(4), at(4)).is_err());
        assert!(media.clone().finish(source(2), facts(None), at(4)).is_err());
        let found = media.state.name();
        let refused = media.fail(Failure::new(FailureCode::Internal, "y"), at(4)).unwrap_err();
        assert_eq!(refused, WrongState { action: "fail", found });
    }
}

#[test]
fn stale_attempt_cannot_finish() {
    let media = created().start_download(source(2), at(2)).unwrap().start_download(source(3), at(3)).unwrap();
    assert!(media.clone().finish(source(2), facts(None), at(4)).is_err());
    assert!(media.finish(source(3), facts(None), at(4)).is_ok());
}

#[test]
fn undecodable_copy_is_withdrawn_once_and_media_stays_ready() {
    let ready =
        created().start_download(source(2), at(2)).unwrap().finish(source(2), facts(None), at(3)).unwrap().0;
    let (media, event) = ready.clone().withdraw_copy(source(2), at(4)).unwrap();
    assert!(matches!(&media.state, MediaState::Ready { facts, .. } if facts.does_not_decode));
    assert_eq!(
        event,
        Event { workspace: media.workspace, kind: EventKind::MediaUpdated(media.id), at: at(4) }
    );

    assert!(media.withdraw_copy(source(2), at(5)).is_err(), "it was withdrawn before");
    assert!(ready.withdraw_copy(source(3), at(5)).is_err(), "another source was tried");
    assert!(created().withdraw_copy(source(2), at(5)).is_err());
}

#[test]
fn thumbnails_require_decodable_video() {
    let video = Track {
        id: TrackId::new(at(1), &Zeros),
        kind: TrackKind::Video { width: 2, height: 2, frame_rate: None },
        not_copied: None,
        is_encoded: false,
    };
    let with_video = MediaFacts { tracks: vec![video], ..facts(None) };
    assert!(with_video.has_thumbnails());
    assert!(!MediaFacts { does_not_decode: true, ..with_video }.has_thumbnails());
    assert!(!facts(None).has_thumbnails(), "audio alone");
}

#[test]
fn update_emits_one_event_noop_emits_none() {
    let pairs = |pairs: &[(&str, &str)]| {
        Some(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    };
    let title = |title: &str| MediaChange { title: Change::Set(title.into()), ..MediaChange::default() };
    let creator = |id: &str| MediaChange { creator_id: Some(id.into()), ..MediaChange::default() };
    let metadata = |pairs| MediaChange { metadata: pairs, ..MediaChange::default() };
    let mut media = created();
    let mut check = |change: MediaChange, is_emitted: bool, seen: (Option<&str>, Option<&str>, usize)| {
        let before = media.clone();
        let (changed, event) = before.clone().update(change.clone(), at(9));
        let update_event =
            Event { workspace: changed.workspace, kind: EventKind::MediaUpdated(changed.id), at: at(9) };
        assert_eq!(event, is_emitted.then_some(update_event), "{change:?}");
        if is_emitted {
            assert_eq!(changed.updated_at, at(9));
        } else {
            assert_eq!(changed, before, "{change:?}");
        }
        let settings = &changed.settings;
        let count = settings.metadata.as_ref().map_or(0, |pairs| pairs.len());
        assert_eq!((settings.title.as_deref(), settings.creator_id.as_deref(), count), seen, "{change:?}");
        assert_eq!(changed.clone().update(change, at(10)), (changed.clone(), None), "asked twice");
        media = changed;
    };
    check(MediaChange::default(), false, (None, None, 0));
    check(metadata(pairs(&[])), false, (None, None, 0));
    check(title("A"), true, (Some("A"), None, 0));
    check(creator("c"), true, (Some("A"), Some("c"), 0));
    check(metadata(pairs(&[("a", "1"), ("b", "2")])), true, (Some("A"), Some("c"), 2));
    check(metadata(pairs(&[("a", "2")])), true, (Some("A"), Some("c"), 1));
    check(metadata(pairs(&[])), true, (Some("A"), Some("c"), 0));
    check(MediaChange { title: Change::Clear, ..MediaChange::default() }, true, (None, Some("c"), 0));
    let thumbnail = |thumbnail_ms| MediaChange { thumbnail_ms, ..MediaChange::default() };
    check(thumbnail(Change::Set(0)), true, (None, Some("c"), 0));
    check(thumbnail(Change::Set(0)), false, (None, Some("c"), 0));
    check(thumbnail(Change::Set(1500)), true, (None, Some("c"), 0));
    check(thumbnail(Change::Clear), true, (None, Some("c"), 0));
    check(thumbnail(Change::Clear), false, (None, Some("c"), 0));
    check(title(""), true, (Some(""), Some("c"), 0));
}

fn settings(policy: AccessPolicy) -> PlaybackIdSettings {
    let new = NewPlaybackId {
        policy,
        restrictions: AccessRestrictions::default(),
        resolution: None,
        encryption: Encryption::None,
    };
    PlaybackIdSettings::new(new, at(5), &Counting)
}

/// Returns different bytes on each call.
struct Counting;

impl Random for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        static COUNT: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(1);
        bytes.fill(COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    }
}

fn updated(media: &Media, at: Timestamp) -> Event {
    Event { workspace: media.workspace, kind: EventKind::MediaUpdated(media.id), at }
}

#[test]
fn playback_ids_are_limited_and_emit_events() {
    let mut media = created();
    let first = media.playback_ids[0].id;
    let mut made = Vec::new();
    for _ in 1..Media::PLAYBACK_IDS_MAX {
        let settings = settings(AccessPolicy::Private);
        made.push(settings.id);
        let (changed, event) = media.add_playback_id(settings, at(6)).unwrap();
        assert_eq!((event, changed.updated_at), (updated(&changed, at(6)), at(6)));
        media = changed;
    }
    assert_eq!(media.clone().add_playback_id(settings(AccessPolicy::Public), at(7)), Err(TooManyPlaybackIds));
    assert_eq!(media.playback_ids[1..].iter().map(|handle| handle.id).collect::<Vec<_>>(), made);
    assert_eq!(media.playback_id(made[3]).map(|handle| handle.id), Some(made[3]));

    let (changed, event) = media.remove_playback_id(first, at(8)).unwrap();
    assert_eq!((event, changed.playback_id(first)), (updated(&changed, at(8)), None));
    assert_eq!(changed.playback_ids.len(), made.len());
    assert_eq!(changed.remove_playback_id(first, at(9)), None, "it is gone");
}

#[test]
fn replaced_restriction_emits_event_when_different() {
    let media = created();
    let id = media.playback_ids[0].id;
    let rule = Restriction { deny: vec!["curl".into()], ..Restriction::default() };
    let (media, event) =
        media.set_restriction(id, RestrictionUpdate::UserAgents(rule.clone()), at(4)).unwrap();
    assert_eq!(event, Some(updated(&media, at(4))));
    let expected = AccessRestrictions { user_agents: rule.clone(), ..AccessRestrictions::default() };
    assert_eq!(media.playback_ids[0].restrictions, expected);

    let again =
        media.clone().set_restriction(id, RestrictionUpdate::UserAgents(rule.clone()), at(5)).unwrap();
    assert_eq!(again, (media.clone(), None));
    let same = media.clone().set_restriction(id, RestrictionUpdate::Domains(Restriction::default()), at(5));
    assert_eq!(same, Some((media.clone(), None)));
    let other = settings(AccessPolicy::Public).id;
    assert_eq!(media.set_restriction(other, RestrictionUpdate::Domains(rule), at(5)), None);
}
