//! Media and their parts are read as they were saved.

use std::collections::BTreeMap;
use std::time::Duration;

use kinora_domain::{
    AccessPolicy, AccessRestrictions, AddedTrack, AddedTrackKind, AudioEdit, AudioGain, AudioOverlay,
    BaseRange, ClipOf, DefaultPolicy, Encryption, Failure, FailureCode, Insert, InsertPoint, Loudness,
    LoudnessTarget, Media, MediaLoudness, MediaQuality, MediaSettings, MediaState, NewTrack, PlaybackId,
    PlaybackIdSettings, PresentationId, Resolution, Restriction, TimelineEdit, TrackEvents, TrackKind,
    TrackLoudness, TrackUpdate, Watermark, WatermarkAlign, WatermarkLength, WatermarkPlacement,
    WatermarkSize,
};
use kinora_store::{JobKind, JobQueue, MediaFilter, Page, Tx};

use crate::support::{SECOND, TestStore, claim_jobs, insert, push, workspace, write};

suite!(
    every_media_state_round_trips,
    removed_parts_delete_their_rows,
    media_lookup_by_workspace_playback_id_and_source,
    page_is_ordered_and_has_total,
    deleting_media_removes_its_rows_but_not_its_events,
    nul_is_removed_from_text,
    added_tracks_round_trip_and_own_their_sources,
    deleted_media_discards_its_added_tracks,
    added_audio_is_fetched_once_its_media_is_ready,
    used_source_has_an_owner_until_its_last_media_is_gone,
    clips_of_a_media_are_listed,
);

fn audio_edit() -> AudioEdit {
    let overlay = AudioOverlay {
        url: "https://example.com/b.mp3".into(),
        start: Duration::from_millis(1_500),
        end: Some(Duration::from_secs(9)),
        fade_in: Duration::from_secs(1),
        fade_out: Duration::from_millis(1),
    };
    let open_ended = AudioOverlay { end: None, ..overlay.clone() };
    AudioEdit { swap_url: Some("https://example.com/a.m4a".into()), overlays: vec![overlay, open_ended] }
}

fn timeline_edit() -> TimelineEdit {
    let insert = |at| Insert { url: "https://example.com/insert.mp4".into(), at };
    TimelineEdit {
        start: Duration::from_micros(1),
        end: Some(Duration::from_secs(60)),
        removed: vec![Duration::from_millis(3_500)..Duration::from_secs(7)],
        inserts: vec![insert(InsertPoint::Time(Duration::from_micros(9_000_001))), insert(InsertPoint::End)],
        intro: Some("https://example.com/intro.mp4".into()),
        outro: Some("https://example.com/outro.mp4".into()),
    }
}

fn watermark() -> Watermark {
    Watermark {
        url: "https://example.com/logo.png".into(),
        placement: WatermarkPlacement {
            x_align: WatermarkAlign::End,
            x_margin: WatermarkLength::Percent(1_050),
            y_align: WatermarkAlign::Middle,
            y_margin: WatermarkLength::Pixels(7),
        },
        size: WatermarkSize { width: Some(WatermarkLength::Percent(10_000)), height: None },
        opacity_percent: 80,
    }
}

fn loudness() -> MediaLoudness {
    let before = Loudness { integrated: Some(-2_731), range: 640, true_peak: -912 };
    let gain = AudioGain { centibels: 1_131, is_limited: true };
    let after = Loudness { integrated: Some(-1_600), range: 610, true_peak: -150 };
    let silence = Loudness { integrated: None, range: 0, true_peak: Loudness::SILENT_PEAK };
    let tracks = vec![
        Some(TrackLoudness { before, gain: Some(gain), after }),
        Some(TrackLoudness { before: silence, gain: None, after: silence }),
        None,
    ];
    MediaLoudness { target: LoudnessTarget::DEFAULT, tracks }
}

fn base_ranges(is_edited: bool) -> Vec<BaseRange> {
    let range = |start, end, at| BaseRange {
        base: Duration::from_micros(start)..Duration::from_micros(end),
        at: Duration::from_micros(at),
    };
    if is_edited { vec![range(1, 3_500_000, 0), range(7_000_000, 60_000_000, 3_499_999)] } else { Vec::new() }
}

async fn every_media_state_round_trips(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let full = MediaSettings {
        title: Some("Ein Titel 🎬".into()),
        creator_id: Some("creator".into()),
        metadata: Some(BTreeMap::from([
            ("a".to_owned(), "\"1\"".to_owned()),
            (String::new(), String::new()),
        ])),
        max_resolution: Resolution::P2160,
        quality: MediaQuality::Premium,
        source_access: true,
        optimize_audio: true,
        mp4_support: kinora_domain::Mp4Support { capped_4k: true, audio_only: false },
        audio_edit: Some(audio_edit()),
        timeline_edit: Some(timeline_edit()),
        watermark: Some(watermark()),
    };
    let empty = MediaSettings { metadata: Some(BTreeMap::new()), ..MediaSettings::default() };
    for settings in [MediaSettings::default(), empty, full] {
        let (mut media, event) = world.media(workspace);
        if settings.timeline_edit.is_some() {
            media.clip_of = Some(ClipOf { media: world.media(workspace).0.id, source: world.source() });
        }
        media.settings = settings;
        insert(&store, &media, &event).await;
        assert_eq!(store.media(workspace, media.id).await.unwrap().unwrap(), media);

        let mut audio = world.facts();
        audio.tracks.retain(|track| matches!(track.kind, TrackKind::Audio { .. }));
        (audio.source_resolution, audio.aspect_ratio, audio.is_truncated) = (None, None, false);
        let mut silent = world.facts();
        silent.tracks.truncate(1);
        if let TrackKind::Video { frame_rate, .. } = &mut silent.tracks[0].kind {
            *frame_rate = None;
        }
        let failure = Failure::new(FailureCode::NotMedia, "the bytes are a text");
        let states = [
            MediaState::Downloading { started_at: world.now(), source: world.source() },
            MediaState::Failed { failed_at: world.now(), failure },
            MediaState::Ready { ready_at: world.now(), source: world.source(), facts: world.facts() },
            MediaState::Ready { ready_at: world.now(), source: world.source(), facts: audio },
            MediaState::Ready { ready_at: world.now(), source: world.source(), facts: silent },
            MediaState::Created,
        ];
        for state in states {
            world.clock.advance(SECOND);
            (media.state, media.updated_at) = (state, world.now());
            media.original = media.source().map(|_| world.source());
            media.base_ranges = base_ranges(media.source().is_some());
            media.loudness = media.source().map(|_| loudness());
            let saved = media.clone();
            write(&store, async move |tx| tx.save_media(&saved).await).await.unwrap();
            media.version += 1;
            assert_eq!(store.media_by_id(media.id).await.unwrap().unwrap(), media);
        }
    }
}

async fn removed_parts_delete_their_rows(world: TestStore) {
    let store = world.open().await;
    let (mut media, event) = world.media(workspace(&store).await);
    insert(&store, &media, &event).await;
    let first = media.playback_ids[0].id;
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let second = PlaybackIdSettings {
        id: PlaybackId::new(world.random.as_ref()),
        policy: AccessPolicy::Private,
        restrictions: AccessRestrictions {
            domains: Restriction {
                default_policy: DefaultPolicy::Deny,
                allow: list(&["example.com", "*.example.org"]),
                deny: vec![],
            },
            user_agents: Restriction {
                default_policy: DefaultPolicy::Allow,
                allow: vec![],
                deny: list(&["curl"]),
            },
        },
        resolution: Some(Resolution::P720),
        encryption: Encryption::Aes128,
        generation: 7,
        created_at: world.now(),
    };
    for playback in [
        vec![media.playback_ids[0].clone(), second.clone()],
        vec![second.clone(), media.playback_ids[0].clone()],
        vec![second.clone()],
    ] {
        media.playback_ids = playback;
        let saved = media.clone();
        write(&store, async move |tx| tx.save_media(&saved).await).await.unwrap();
        media.version += 1;
        assert_eq!(store.media_by_id(media.id).await.unwrap().unwrap(), media);
    }
    assert_eq!(store.media_of_playback(first).await.unwrap(), None);
    assert_eq!(store.media_of_playback(second.id).await.unwrap().unwrap(), media);
}

async fn media_lookup_by_workspace_playback_id_and_source(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let (media, event) = world.media(here);
    let source = world.source();
    let media = media.start_download(source, world.now()).unwrap();
    insert(&store, &media, &event).await;

    assert_eq!(store.media(here, media.id).await.unwrap().as_ref(), Some(&media));
    assert_eq!(store.media(elsewhere, media.id).await.unwrap(), None);
    assert_eq!(store.media_of_playback(media.playback_ids[0].id).await.unwrap().as_ref(), Some(&media));
    assert_eq!(store.media_of_playback(PlaybackId::new(world.random.as_ref())).await.unwrap(), None);
    assert_eq!(store.media_of_source(source).await.unwrap().as_ref(), Some(&media));
    assert_eq!(store.media_of_source(world.source()).await.unwrap(), None);

    let id = media.id;
    let found = write(&store, async move |tx| {
        Ok([
            tx.media(here, id).await?,
            tx.media(elsewhere, id).await?,
            tx.media_by_id(id).await?,
            tx.media_of_source(source).await?,
        ])
    });
    let found = found.await.unwrap();
    assert_eq!(found, [Some(media.clone()), None, Some(media.clone()), Some(media)]);
}

async fn page_is_ordered_and_has_total(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let mut all = Vec::new();
    for index in 0..5 {
        let (media, event) = world.media(if index == 3 { elsewhere } else { here });
        insert(&store, &media, &event).await;
        if index != 3 {
            all.push(media);
        }
        world.clock.advance(SECOND);
    }
    let check = async |limit, number, newest_first, expected: &[usize]| {
        let page = store.media_page(here, Page { limit, number, newest_first }).await.unwrap();
        let media: Vec<_> = expected.iter().map(|index| all[*index].clone()).collect();
        assert_eq!((page.items, page.total), (media, 4), "{limit} {number} {newest_first}");
    };
    check(3, 1, true, &[3, 2, 1]).await;
    check(3, 2, true, &[0]).await;
    check(3, 3, true, &[]).await;
    check(3, 1, false, &[0, 1, 2]).await;
    check(3, 2, false, &[3]).await;
    check(3, 0, false, &[0, 1, 2]).await;
    check(0, 1, false, &[]).await;
    check(u32::MAX, u32::MAX, true, &[]).await;
}

async fn deleting_media_removes_its_rows_but_not_its_events(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, event) = world.media(workspace);
    insert(&store, &media, &event).await;

    let id = media.id;
    let delete = async || write(&store, async move |tx| tx.delete_media(id).await).await.unwrap();
    assert!(delete().await);
    assert!(!delete().await);
    push(&store, &media, world.now()).await;

    assert_eq!(store.media_by_id(id).await.unwrap(), None);
    assert_eq!(store.media_of_playback(media.playback_ids[0].id).await.unwrap(), None);
    let page = store.media_page(workspace, Page { limit: 10, number: 1, newest_first: true }).await.unwrap();
    assert_eq!((page.items, page.total), (vec![], 0));
    let claimed = world.claim(&store, &webhook).await;
    assert_eq!(claimed[0].event.event, event);
}

async fn used_source_has_an_owner_until_its_last_media_is_gone(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let mut sources = [world.source(), world.source()];
    sources.sort_unstable();
    let [shared, own] = sources;
    let mut media = Vec::new();
    for sources in [vec![shared], vec![shared, own]] {
        let (clip, event) = world.media(workspace);
        insert(&store, &clip, &event).await;
        let (id, now) = (clip.id, world.now());
        for _ in 0..2 {
            let sources = sources.clone();
            let work = async move |tx: &mut Tx| tx.set_used_sources(id, &sources, workspace, now).await;
            write(&store, work).await.unwrap();
        }
        let used = write(&store, async move |tx: &mut Tx| tx.used_sources(id).await).await.unwrap();
        assert_eq!(used, sources);
        media.push(clip);
    }
    assert_eq!(store.workspace_of_source(shared).await.unwrap(), Some(workspace));
    let mut jobs = Vec::new();
    for clip in media {
        assert!(store.is_used_source(shared).await.unwrap());
        let now = world.now();
        write(&store, async move |tx| tx.remove_media(clip.clone(), now).await).await.unwrap();
        jobs.extend(claim_jobs(&world, &store, JobQueue::Maintenance, 9).await);
    }
    let deleted = jobs.into_iter().filter_map(|job| match job.kind {
        JobKind::DeleteObjects { source } => Some(source),
        _ => None,
    });
    let mut deleted: Vec<_> = deleted.collect();
    deleted.sort_unstable();
    assert_eq!(deleted, [shared, shared, own], "the job keeps what is still used");
    for source in [shared, own] {
        assert!(!store.is_used_source(source).await.unwrap());
        assert_eq!(store.workspace_of_source(source).await.unwrap(), None);
    }
}

async fn clips_of_a_media_are_listed(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let (origin, event) = world.media(workspace);
    insert(&store, &origin, &event).await;
    let mut clips = Vec::new();
    for is_open in [false, true, true] {
        world.clock.advance(SECOND);
        let (mut clip, event) = world.media(workspace);
        clip.clip_of = Some(ClipOf { media: origin.id, source: world.source() });
        clip.settings.source_access = is_open;
        insert(&store, &clip, &event).await;
        clips.push(clip);
    }
    let page = Page { limit: 2, number: 1, newest_first: true };
    let filter = MediaFilter { clip_of: Some(origin.id), ..MediaFilter::default() };
    let list = store.media_list(workspace, &filter, page.into()).await.unwrap();
    assert_eq!((list.items, list.total), (vec![clips[2].clone(), clips[1].clone()], 3));
    let of_none = MediaFilter { clip_of: Some(clips[0].id), ..MediaFilter::default() };
    assert_eq!(store.media_list(workspace, &of_none, page.into()).await.unwrap().total, 0);
    let ready = MediaFilter { state: Some("Ready".into()), ..filter };
    assert_eq!(store.media_list(workspace, &ready, page.into()).await.unwrap().items, vec![]);
    let id = origin.id;
    let open = write(&store, async move |tx| tx.clips_with_source_access(workspace, id).await).await.unwrap();
    assert_eq!(open, [clips[1].id, clips[2].id]);
}

async fn nul_is_removed_from_text(world: TestStore) {
    let store = world.open().await;
    let (mut media, event) = world.media(workspace(&store).await);
    media.settings.title = Some("a\0b".into());
    media.settings.metadata = Some(BTreeMap::from([("key".to_owned(), "a\0b".to_owned())]));
    insert(&store, &media, &event).await;
    let found = store.media_by_id(media.id).await.unwrap().unwrap();
    media.settings.title = Some("a\u{fffd}b".into());
    assert_eq!(found, media);
}

fn subtitles(name: &str) -> NewTrack {
    new_track(AddedTrackKind::Subtitle, name)
}

fn new_track(kind: AddedTrackKind, name: &str) -> NewTrack {
    NewTrack {
        kind,
        url: "https://example.com/a".into(),
        language_code: "en-US".into(),
        language_name: name.into(),
    }
}

async fn added_tracks_round_trip_and_own_their_sources(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let (mut media, event) = world.media(workspace);
    let track = |name| AddedTrack::new(subtitles(name), world.now(), world.random.as_ref());
    media.added_tracks = vec![track("a"), track("b"), track("c")];
    media.added_tracks[1].spec.kind = AddedTrackKind::Audio;
    media.added_tracks[0].cut_from = Some(world.source());
    insert(&store, &media, &event).await;
    assert_eq!(store.media(workspace, media.id).await.unwrap().unwrap(), media);
    let sources: Vec<_> = media.added_tracks.iter().map(|track| track.source().unwrap()).collect();

    let ids: Vec<_> = media.added_tracks.iter().map(|track| track.id).collect();
    let failure = Failure::new(FailureCode::NotSubtitles, "a page");
    let renamed =
        TrackUpdate { url: None, language_code: Some("de".into()), language_name: Some("Deutsch".into()) };
    let moves: [&dyn Fn(Media) -> (Media, TrackEvents); 5] = [
        &|media| media.finish_track(ids[0], sources[0], world.now()).unwrap(),
        &|media| media.fail_track(ids[1], sources[1], failure.clone(), world.now()).unwrap(),
        &|media| {
            let (media, events) =
                media.update_track(ids[2], renamed.clone(), world.now(), world.random.as_ref()).unwrap();
            (media, events.unwrap())
        },
        &|media| media.add_track(track("d"), world.now()).unwrap(),
        &|media| {
            let (media, _, events) = media.remove_track(ids[0], world.now()).unwrap();
            (media, events)
        },
    ];
    for step in moves {
        let (moved, events) = step(media);
        let saved = moved.clone();
        write(&store, async move |tx| tx.save_tracks(&saved, &events).await).await.unwrap();
        media = Media { version: moved.version + 1, ..moved };
        assert_eq!(store.media_by_id(media.id).await.unwrap().unwrap(), media);
    }
    assert_eq!(media.added_tracks.iter().map(|track| track.id).take(2).collect::<Vec<_>>(), ids[1..]);
    let mut in_use = Vec::new();
    for source in &sources {
        in_use.push(store.workspace_of_source(*source).await.unwrap().is_some());
    }
    assert_eq!(in_use, [false, false, true]);

    // Another save of the media does not change its tracks.
    media.settings.title = Some("A title".into());
    let saved = media.clone();
    write(&store, async move |tx| tx.save_media(&saved).await).await.unwrap();
    media.version += 1;
    assert_eq!(store.media_by_id(media.id).await.unwrap().unwrap(), media);
}

async fn deleted_media_discards_its_added_tracks(world: TestStore) {
    let store = world.open().await;
    let (mut media, created) = world.media(workspace(&store).await);
    media.added_tracks = vec![AddedTrack::new(subtitles("a"), world.now(), world.random.as_ref())];
    let source = media.added_tracks[0].source().unwrap();
    let (registered, now) = (media.clone(), world.now());
    write(&store, async move |tx| tx.register_media(&registered, &created, now).await).await.unwrap();
    let claim = async |queue| {
        let jobs = claim_jobs(&world, &store, queue, 9).await;
        jobs.into_iter().map(|job| job.kind).collect::<Vec<_>>()
    };
    let fetch = JobKind::FetchSubtitles { media: media.id, track: media.added_tracks[0].id, source };
    assert_eq!(claim(JobQueue::Subtitles).await, [fetch]);

    let id = media.id;
    write(&store, async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    assert!(store.media_by_id(id).await.unwrap().is_none());
    assert_eq!(store.workspace_of_source(source).await.unwrap(), None);
    assert_eq!(claim(JobQueue::Maintenance).await, [JobKind::DeleteObjects { source }]);
    world.clock.advance(31 * SECOND);
    assert_eq!(claim(JobQueue::Subtitles).await, [], "the worker has lost its lease");
}

async fn added_audio_is_fetched_once_its_media_is_ready(world: TestStore) {
    let claim = async |store: &kinora_store::Store, queue| {
        let jobs = claim_jobs(&world, store, queue, 99).await;
        jobs.into_iter()
            .map(|job| job.kind)
            .filter(|kind| !matches!(kind, JobKind::Sweep))
            .collect::<Vec<_>>()
    };
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let now = world.now();
    for is_ready in [true, false] {
        let (mut media, created) = world.media(workspace);
        let audio = AddedTrack::new(new_track(AddedTrackKind::Audio, "a"), now, world.random.as_ref());
        let text = AddedTrack::new(subtitles("a"), now, world.random.as_ref());
        media.added_tracks = vec![audio.clone(), text.clone()];
        let id = media.id;
        let registered = media.clone();
        write(&store, async move |tx| tx.register_media(&registered, &created, now).await).await.unwrap();
        let fetch = JobKind::FetchAudio { media: id, track: audio.id };
        let early = claim(&store, JobQueue::Download).await;
        assert!(early.contains(&JobKind::Download { media: id }) && !early.contains(&fetch), "{early:?}");
        let fetch_text =
            JobKind::FetchSubtitles { media: id, track: text.id, source: text.source().unwrap() };
        assert!(claim(&store, JobQueue::Subtitles).await.contains(&fetch_text));

        let source = world.source();
        let fetching = media.start_download(source, now).unwrap();
        let saved = fetching.clone();
        write(&store, async move |tx| tx.save_media(&saved).await).await.unwrap();
        let fetching = Media { version: 1, ..fetching };
        let facts = world.facts();
        write(&store, async move |tx| {
            if is_ready {
                let (media, ready) = fetching.clone().finish(source, facts.clone(), now).unwrap();
                tx.save_ready(&media, &ready, now).await
            } else {
                let failure = Failure::new(FailureCode::NotMedia, "a page");
                let (media, failed) = fetching.clone().fail(failure, now).unwrap();
                tx.save_failed(&media, &failed, now).await
            }
        })
        .await
        .unwrap();
        assert_eq!(claim(&store, JobQueue::Download).await, [fetch], "{is_ready}");
        assert_eq!(claim(&store, JobQueue::Subtitles).await, [], "subtitles are not fetched again");

        // An attempt has its own source, for its objects.
        let (before, attempt) = (audio.source().unwrap(), world.source());
        let media = store.media_by_id(id).await.unwrap().unwrap();
        let track = audio.id;
        let began = media.begin_track_attempt(track, before, attempt).unwrap();
        write(&store, async move |tx| tx.save_track_attempt(&began, track).await).await.unwrap();
        let named = async |source| store.workspace_of_source(source).await.unwrap().is_some();
        assert_eq!((named(before).await, named(attempt).await), (false, true));
        let rendition = kinora_domain::RenditionId::of_hash(attempt.as_uuid().into_bytes());
        let begin =
            |source| async move |tx: &mut Tx| tx.insert_rendition(rendition, source, "aac", now).await;
        assert!(!write(&store, begin(PresentationId::of(before))).await.unwrap());
        assert!(write(&store, begin(PresentationId::of(attempt))).await.unwrap());
        assert_eq!(store.renditions_without_media(None, 9).await.unwrap(), []);

        // The removal of a track drops its jobs and queues the removal of its objects.
        let media = store.media_by_id(id).await.unwrap().unwrap();
        let (media, gone, events) = media.remove_track(track, now).unwrap();
        write(&store, async move |tx| {
            tx.save_tracks(&media, &events).await?;
            tx.discard_track(&media, &gone, now).await
        })
        .await
        .unwrap();
        assert_eq!(store.renditions_without_media(None, 9).await.unwrap().len(), 1);
        let delete = JobKind::DeleteObjects { source: attempt };
        assert!(claim(&store, JobQueue::Maintenance).await.contains(&delete));
        world.clock.advance(31 * SECOND);
        assert!(!claim(&store, JobQueue::Download).await.contains(&fetch), "the worker has lost its lease");
        let forget = async move |tx: &mut Tx| tx.delete_rendition(rendition).await;
        write(&store, forget).await.unwrap();
    }
}
