//! What only a bucket has: uploads in parts with their notes, memory for parts, wrong credentials.

use kinora_blob::{Blob, Error, ObjectKey, S3Limits, StorageUrl};
use kinora_domain::Timestamp;
use kinora_testkit::S3Bucket;

use crate::world::{MIB, PART, World, far_ahead, noise, segment, source};

#[tokio::test]
async fn a_writer_holds_two_parts_at_most_and_says_what_is_acknowledged() {
    let world = World::bucket();
    let Blob::S3(store) = &world.blob else { panic!("it is a bucket") };
    let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    let piece = noise(MIB);
    let mut most = 0;
    for _ in 0..64 {
        writer.write(piece.clone()).await.unwrap();
        most = most.max(store.parts_held());
        assert!(writer.written() - writer.synced() <= 2 * PART as u64);
        assert_eq!(writer.synced() % PART as u64, 0);
    }
    assert!((PART as u64..=2 * PART as u64).contains(&most), "{most}");
    assert!(writer.synced() > 0);
    assert_eq!(writer.finish().await.unwrap(), 64 << 20);
    assert_eq!(store.parts_held(), 0);
}

#[tokio::test]
async fn an_upload_has_a_note_and_writers_at_work_keep_theirs() {
    let world = World::bucket();
    let key = ObjectKey::Source(source(1));
    let mut writer = world.blob.writer(key).await.unwrap();
    writer.write(noise(2 * PART + 1)).await.unwrap();
    let expected = [format!("multipart/{key}"), format!("upload of {key}")].into();
    assert_eq!(world.everything(), expected);

    // Another process, now: the note is young.
    let now =
        Timestamp::from_micros(i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap());
    let other = Blob::open_s3(&world.in_bucket().url()).unwrap();
    let almost = now.plus_seconds(25 * 60 * 60 - 600);
    assert_eq!(other.sweep_temporary(now).await.unwrap(), 0);
    assert_eq!(other.sweep_temporary(almost).await.unwrap(), 0);
    assert_eq!(world.everything(), expected);
    writer.finish().await.unwrap();
    world.until_there_is(&[key]).await;
}

#[tokio::test]
async fn the_note_of_a_completed_upload_is_swept_and_its_object_stays() {
    let world = World::bucket();
    let key = ObjectKey::Source(source(1));
    let mut writer = world.blob.writer(key).await.unwrap();
    writer.write(noise(2 * PART + 1)).await.unwrap();
    writer.finish().await.unwrap();
    world.until_there_is(&[key]).await;
    // As if the process had died before it removed the note.
    world.in_bucket().put(&format!("multipart/{key}"), b"0123456789abcdef");
    assert_eq!(world.blob.sweep_temporary(far_ahead()).await.unwrap(), 1);
    assert_eq!(world.everything(), [key.to_string()].into());
    assert_eq!(world.blob.get(key).await.unwrap().unwrap().len(), 2 * PART + 1);
}

#[tokio::test]
async fn two_writers_of_one_key_cannot_lose_an_upload() {
    let world = World::bucket();
    let key = ObjectKey::Source(source(1));
    let mut first = world.blob.writer(key).await.unwrap();
    first.write(noise(2 * PART + 1)).await.unwrap();
    let mut second = world.blob.writer(key).await.unwrap();
    second.write(noise(PART + 1)).await.unwrap();
    assert!(matches!(second.finish().await, Err(Error::AlreadyThere(taken)) if taken == key));
    assert_eq!(first.finish().await.unwrap(), 2 * PART as u64 + 1);
    world.until_there_is(&[key]).await;
}

#[tokio::test]
async fn an_object_that_somebody_else_removed_is_gone_for_its_readers() {
    let world = World::bucket();
    let key = segment(1, 0);
    world.blob.put_once(key, "bytes".into()).await.unwrap();
    let reader = world.blob.reader(key).await.unwrap().unwrap();
    world.in_bucket().remove(&key.to_string());
    // Its length is remembered, so only a read finds out; after that it is known.
    assert!(world.blob.reader(key).await.unwrap().is_some());
    assert!(matches!(reader.read_at(0..5).await, Err(Error::Gone(gone)) if gone == key));
    assert!(world.blob.reader(key).await.unwrap().is_none());
}

#[tokio::test]
async fn a_bucket_is_shared_has_no_files_and_knows_no_end() {
    let world = World::bucket();
    assert!(world.blob.is_shared());
    assert!(!World::folder().await.blob.is_shared());
    assert_eq!(world.blob.free_space().await.unwrap(), None);
    world.blob.put_once(segment(1, 0), "x".into()).await.unwrap();
    assert!(world.blob.reader(segment(1, 0)).await.unwrap().unwrap().as_file().is_none());
}

#[tokio::test]
async fn objects_lie_below_the_prefix_and_two_prefixes_do_not_meet() {
    let bucket = S3Bucket::create();
    let blob = Blob::open_s3_with(&bucket.url(), S3Limits::default()).unwrap();
    let elsewhere: StorageUrl = bucket.url().to_string().replace("pre/fix", "elsewhere").parse().unwrap();
    let other = Blob::open_s3(&elsewhere).unwrap();
    let key = segment(1, 0);
    blob.put_once(key, "x".into()).await.unwrap();
    assert_eq!(bucket.objects(), [key.to_string()].into());
    assert!(other.get(key).await.unwrap().is_none());
    other.put_once(key, "y".into()).await.unwrap();
    assert_eq!(blob.get(key).await.unwrap().unwrap(), "x");
}
