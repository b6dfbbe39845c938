//! Tests of buckets only: multipart uploads with their notes, memory for parts, wrong credentials.

use kinora_blob::{Blob, Error, ObjectKey, S3Limits, StorageUrl};
use kinora_domain::Timestamp;
use kinora_testkit::S3Bucket;

use crate::test_store::{MIB, PART, TestBlob, far_ahead, noise, segment, source};

#[tokio::test]
async fn writer_buffers_two_parts_and_reports_acknowledged_bytes() {
    let world = TestBlob::bucket();
    let Blob::S3(store) = &world.blob else { panic!("it is a bucket") };
    let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    let chunk = noise(MIB);
    let mut most = 0;
    for _ in 0..64 {
        writer.write(chunk.clone()).await.unwrap();
        most = most.max(store.parts_memory_in_use());
        assert!(writer.written() - writer.synced() <= 2 * PART as u64);
        assert_eq!(writer.synced() % PART as u64, 0);
    }
    assert!((PART as u64..=2 * PART as u64).contains(&most), "{most}");
    assert!(writer.synced() > 0);
    assert_eq!(writer.finish().await.unwrap(), 64 << 20);
    assert_eq!(store.parts_memory_in_use(), 0);
}

#[tokio::test]
async fn sweep_keeps_markers_of_active_writers() {
    let world = TestBlob::bucket();
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
    world.wait_for_objects(&[key]).await;
}

#[tokio::test]
async fn sweep_removes_marker_of_completed_multipart() {
    let world = TestBlob::bucket();
    let key = ObjectKey::Source(source(1));
    let mut writer = world.blob.writer(key).await.unwrap();
    writer.write(noise(2 * PART + 1)).await.unwrap();
    writer.finish().await.unwrap();
    world.wait_for_objects(&[key]).await;
    // As if the process had died before it removed the note.
    world.in_bucket().put(&format!("multipart/{key}"), b"0123456789abcdef");
    assert_eq!(world.blob.sweep_temporary(far_ahead()).await.unwrap(), 1);
    assert_eq!(world.everything(), [key.to_string()].into());
    assert_eq!(world.blob.get(key).await.unwrap().unwrap().len(), 2 * PART + 1);
}

#[tokio::test]
async fn concurrent_writers_of_one_key_leak_no_multipart() {
    let world = TestBlob::bucket();
    let key = ObjectKey::Source(source(1));
    let mut first = world.blob.writer(key).await.unwrap();
    first.write(noise(2 * PART + 1)).await.unwrap();
    let mut second = world.blob.writer(key).await.unwrap();
    second.write(noise(PART + 1)).await.unwrap();
    assert!(matches!(second.finish().await, Err(Error::AlreadyThere(existing)) if existing == key));
    assert_eq!(first.finish().await.unwrap(), 2 * PART as u64 + 1);
    world.wait_for_objects(&[key]).await;
}

#[tokio::test]
async fn externally_deleted_object_is_gone() {
    let world = TestBlob::bucket();
    let key = segment(1, 0);
    world.blob.put_once(key, "bytes".into()).await.unwrap();
    let reader = world.blob.reader(key).await.unwrap().unwrap();
    world.in_bucket().remove(&key.to_string());
    // Its length is cached, so only a read detects the deletion and evicts it.
    assert!(world.blob.reader(key).await.unwrap().is_some());
    assert!(matches!(reader.read_at(0..5).await, Err(Error::Gone(gone)) if gone == key));
    assert!(world.blob.reader(key).await.unwrap().is_none());
}

#[tokio::test]
async fn bucket_is_shared_without_files_or_free_space() {
    let world = TestBlob::bucket();
    assert!(world.blob.is_shared());
    assert!(!TestBlob::folder().await.blob.is_shared());
    assert_eq!(world.blob.free_space().await.unwrap(), None);
    world.blob.put_once(segment(1, 0), "x".into()).await.unwrap();
    assert!(world.blob.reader(segment(1, 0)).await.unwrap().unwrap().as_file().is_none());
}

#[tokio::test]
async fn prefixes_isolate_objects() {
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
