//! Levelled audio: the target of a workspace, and the jobs that follow each change of a media.

use kinora_domain::{
    AudioGain, Loudness, LoudnessTarget, Media, MediaChange, MediaLoudness, Mp4Support, TrackKind,
    TrackLoudness, WorkspaceId,
};
use kinora_store::{ClaimedJob, Error, JobKind, JobQueue, Store};

use crate::support::{TestStore, claim_jobs, insert, workspace, write};

suite!(
    each_workspace_has_its_own_loudness_target,
    ready_media_is_measured_if_it_wants_levelled_audio,
    measurement_queues_encodes_of_audio_and_files,
    switch_off_cancels_measurement_switch_on_queues_it,
    target_changed_during_measurement_is_measured_next,
    removed_media_cancels_its_measurement,
);

async fn each_workspace_has_its_own_loudness_target(world: TestStore) {
    let store = world.open().await;
    let id = workspace(&store).await;
    let other = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    assert_eq!(store.loudness_target(id).await.unwrap(), Some(LoudnessTarget::DEFAULT));
    for lufs in [LoudnessTarget::QUIETEST, LoudnessTarget::LOUDEST, -23] {
        set_target(&store, id, lufs).await;
        let found = store.loudness_target(id).await.unwrap();
        assert_eq!(found.map(LoudnessTarget::lufs), Some(lufs));
    }
    assert_eq!(store.loudness_target(other).await.unwrap(), Some(LoudnessTarget::DEFAULT));
    let unknown = WorkspaceId::new(world.now(), world.random.as_ref());
    assert_eq!(store.loudness_target(unknown).await.unwrap(), None);
    let set =
        async move |tx: &mut kinora_store::Tx| tx.set_loudness_target(unknown, LoudnessTarget::DEFAULT).await;
    assert!(!write(&store, set).await.unwrap());
}

async fn ready_media_is_measured_if_it_wants_levelled_audio(world: TestStore) {
    let store = world.open().await;
    for (wants, has_audio, expected) in [(true, true, 1), (false, true, 0), (true, false, 0)] {
        let media = ready(&world, &store, wants, has_audio).await;
        let jobs = claim_jobs(&world, &store, JobQueue::Loudness, 9).await;
        assert_eq!(jobs.len(), expected, "{wants} {has_audio}");
        assert!(jobs.iter().all(|job| job.kind == measurement(&media)));
    }
}

async fn measurement_queues_encodes_of_audio_and_files(world: TestStore) {
    let store = world.open().await;
    for wants_files in [false, true] {
        let media = ready(&world, &store, true, true).await;
        let (media, source) = (with_files(media, wants_files), measured_source(&world, &store).await);
        let (media, events) = media.set_loudness(source, loudness(), world.now()).unwrap();
        let (saved, now) = (media.clone(), world.now());
        write(&store, async move |tx| tx.save_loudness(&saved, &events, now).await).await.unwrap();

        let found = store.media_by_id(media.id).await.unwrap().unwrap();
        assert_eq!((found.loudness, found.version), (Some(loudness()), media.version + 1));
        let audio = claim_jobs(&world, &store, JobQueue::Audio, 9).await;
        assert_eq!(kinds(&audio), [JobKind::EncodeAudio { media: media.id, source }]);
        let files = claim_jobs(&world, &store, JobQueue::Loudness, 9).await;
        let refresh = JobKind::RefreshMp4 { media: media.id, source };
        assert_eq!(kinds(&files), if wants_files { vec![refresh] } else { vec![] });
    }
}

async fn switch_off_cancels_measurement_switch_on_queues_it(world: TestStore) {
    let store = world.open().await;
    let media = ready(&world, &store, true, true).await;
    let running = claim_jobs(&world, &store, JobQueue::Loudness, 9).await.remove(0);
    // Already on: nothing changes, and the worker keeps its job.
    let media = switch(&world, &store, media, true).await;
    complete(&store, &running).await.unwrap();

    let media = switch(&world, &store, switch(&world, &store, media, false).await, true).await;
    let running = claim_jobs(&world, &store, JobQueue::Loudness, 9).await.remove(0);
    let media = switch(&world, &store, media, false).await;
    assert!(matches!(complete(&store, &running).await, Err(Error::LeaseLost)));
    assert_eq!(kinds(&claim_jobs(&world, &store, JobQueue::Loudness, 9).await), []);

    // A measured media is measured again for another target only.
    let media = switch(&world, &store, media, true).await;
    let job = claim_jobs(&world, &store, JobQueue::Loudness, 9).await.remove(0);
    let (media, events) = media.set_loudness(media_source(&job), loudness(), world.now()).unwrap();
    let (saved, now) = (media.clone(), world.now());
    write(&store, async move |tx| {
        tx.complete_job(&job).await?;
        tx.save_loudness(&saved, &events, now).await
    })
    .await
    .unwrap();
    let media = Media { version: media.version + 1, ..media };
    let media = switch(&world, &store, switch(&world, &store, media, false).await, true).await;
    assert_eq!(kinds(&claim_jobs(&world, &store, JobQueue::Loudness, 9).await), []);
    set_target(&store, media.workspace, -20).await;
    let media = switch(&world, &store, switch(&world, &store, media, false).await, true).await;
    assert_eq!(kinds(&claim_jobs(&world, &store, JobQueue::Loudness, 9).await), [measurement(&media)]);
}

async fn target_changed_during_measurement_is_measured_next(world: TestStore) {
    let store = world.open().await;
    let media = ready(&world, &store, true, true).await;
    let job = claim_jobs(&world, &store, JobQueue::Loudness, 9).await.remove(0);
    set_target(&store, media.workspace, -20).await;
    // The switch is on already, and its measurement runs.
    let media = switch(&world, &store, media, true).await;
    let (media, events) = media.set_loudness(media_source(&job), loudness(), world.now()).unwrap();
    let (saved, now) = (media.clone(), world.now());
    write(&store, async move |tx| {
        tx.complete_job(&job).await?;
        tx.save_loudness(&saved, &events, now).await
    })
    .await
    .unwrap();
    assert_eq!(kinds(&claim_jobs(&world, &store, JobQueue::Loudness, 9).await), [measurement(&media)]);
}

async fn removed_media_cancels_its_measurement(world: TestStore) {
    let store = world.open().await;
    let media = ready(&world, &store, true, true).await;
    let running = claim_jobs(&world, &store, JobQueue::Loudness, 9).await.remove(0);
    let now = world.now();
    write(&store, async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    assert!(matches!(complete(&store, &running).await, Err(Error::LeaseLost)));
}

/// A media that was just made ready, as it is stored.
async fn ready(world: &TestStore, store: &Store, optimize_audio: bool, has_audio: bool) -> Media {
    let (mut media, created) = world.media(workspace(store).await);
    media.settings.optimize_audio = optimize_audio;
    insert(store, &media, &created).await;
    let mut facts = world.facts();
    facts.tracks.retain(|track| has_audio || matches!(track.kind, TrackKind::Video { .. }));
    let (source, now) = (world.source(), world.now());
    let (media, event) = media.start_download(source, now).unwrap().finish(source, facts, now).unwrap();
    let saved = media.clone();
    write(store, async move |tx| tx.save_ready(&saved, &event, now).await).await.unwrap();
    Media { version: media.version + 1, ..media }
}

fn with_files(mut media: Media, wants_files: bool) -> Media {
    media.settings.mp4_support = Mp4Support { capped_4k: wants_files, audio_only: false };
    media
}

/// Switches the setting as a client does, and returns the media as it is stored.
async fn switch(world: &TestStore, store: &Store, media: Media, on: bool) -> Media {
    let now = world.now();
    let was_on = media.settings.optimize_audio;
    let change = MediaChange { optimize_audio: Some(on), ..MediaChange::default() };
    let (media, event) = media.update(change, now);
    let (saved, has_changed) = (media.clone(), was_on != on);
    write(store, async move |tx| {
        tx.save_update(&saved, event.as_ref(), now).await?;
        tx.follow_optimize_audio(&saved, has_changed, now).await
    })
    .await
    .unwrap();
    Media { version: media.version + i64::from(has_changed), ..media }
}

async fn set_target(store: &Store, workspace: WorkspaceId, lufs: i8) {
    let target = LoudnessTarget::new(lufs).unwrap();
    let set = async move |tx: &mut kinora_store::Tx| tx.set_loudness_target(workspace, target).await;
    assert!(write(store, set).await.unwrap());
}

/// Claims the measurement, and ends it.
async fn measured_source(world: &TestStore, store: &Store) -> kinora_domain::SourceId {
    let job = claim_jobs(world, store, JobQueue::Loudness, 9).await.remove(0);
    complete(store, &job).await.unwrap();
    media_source(&job)
}

fn media_source(job: &ClaimedJob) -> kinora_domain::SourceId {
    let JobKind::MeasureLoudness { source, .. } = job.kind else { panic!("another job: {job:?}") };
    source
}

async fn complete(store: &Store, job: &ClaimedJob) -> Result<(), Error> {
    let job = job.clone();
    write(store, async move |tx| tx.complete_job(&job).await).await
}

fn kinds(jobs: &[ClaimedJob]) -> Vec<JobKind> {
    jobs.iter().map(|job| job.kind).collect()
}

fn measurement(media: &Media) -> JobKind {
    JobKind::MeasureLoudness { media: media.id, source: media.source().unwrap() }
}

fn loudness() -> MediaLoudness {
    let before = Loudness { integrated: Some(-1_950), range: 0, true_peak: -900 };
    let gain = Some(AudioGain { centibels: 350, is_limited: false });
    let after = Loudness { integrated: Some(-1_600), ..before };
    let tracks = vec![Some(TrackLoudness { before, gain, after })];
    MediaLoudness { target: LoudnessTarget::DEFAULT, tracks }
}
