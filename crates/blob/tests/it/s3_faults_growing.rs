//! Growing objects when a server loses responses, loses objects, or is slow; and the requests that it gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinora_blob::{Blob, Error, GrowingObject, ObjectKey, S3Limits};

use crate::multipart_log::FakeMultipartLog;
use crate::s3_fault_server::{Fault, FaultyS3, fast_retries};
use crate::test_store::{MIB, PART, noise, source};

const KEY: fn() -> ObjectKey = || ObjectKey::Source(source(1));

/// A store on the server that creates pieces only after a call of `sync`.
fn store_without_timer(server: &FaultyS3) -> Blob {
    let limits = S3Limits { sync_interval: Duration::from_secs(24 * 60 * 60), ..fast_retries() };
    Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap()
}

/// Runs all tasks that can run, while the clock is paused.
async fn settle() {
    for _ in 0..2000 {
        tokio::task::yield_now().await;
    }
}

async fn until_synced(growing: &GrowingObject, synced: u64) {
    while growing.synced() < synced {
        tokio::task::yield_now().await;
    }
    assert_eq!(growing.synced(), synced);
}

fn count(server: &FaultyS3, what: &str) -> usize {
    server.request_names().iter().filter(|request| *request == what).count()
}

#[tokio::test]
async fn slow_upload_is_synced_on_timer() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let mut growing = FakeMultipartLog::new().grow(&server.blob(), source(1)).await.unwrap();
    /// The least bytes that are worth a request.
    const WORTH: usize = MIB / 2;
    let bytes = noise(3 * WORTH);
    tokio::time::pause();
    growing.write(bytes.slice(..WORTH - 1)).await.unwrap();
    settle().await;
    tokio::time::advance(Duration::from_secs(5)).await;
    settle().await;
    assert_eq!((growing.synced(), count(&server, "PUT piece")), (0, 0), "it is not worth a request yet");
    // The oldest byte has waited for long enough.
    growing.write(bytes.slice(WORTH - 1..WORTH)).await.unwrap();
    until_synced(&growing, WORTH as u64).await;
    assert_eq!(count(&server, "PUT piece"), 1);

    growing.write(bytes.slice(WORTH..2 * WORTH)).await.unwrap();
    settle().await;
    assert_eq!(growing.synced(), WORTH as u64, "no time has passed");
    // Timers count whole milliseconds.
    tokio::time::advance(S3Limits::default().sync_interval + Duration::from_millis(1)).await;
    until_synced(&growing, 2 * WORTH as u64).await;
    assert_eq!(count(&server, "PUT piece"), 2);
    assert_eq!(count(&server, "PUT part source"), 0);
}

#[tokio::test]
async fn normal_upload_sends_no_extra_requests() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let blob = store_without_timer(&server);
    let (book, bytes) = (FakeMultipartLog::new(), noise(PART + MIB));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..MIB)).await.unwrap();
    growing.sync().await.unwrap();
    drop(growing);
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.announce(Some(bytes.len() as u64));
    growing.write(bytes.slice(MIB..)).await.unwrap();
    growing.finish().await.unwrap();
    let requests = server.request_names();
    let needed = [
        // The first writer: nothing exists, not even the object.
        "GET ",
        "HEAD source",
        "PUT piece",
        // The second one reads the piece back.
        "GET ",
        "GET piece",
        "POST begin source",
        "PUT part source",
        "PUT part source",
        "POST upload source",
    ];
    let without_removals: Vec<&str> =
        requests.iter().map(String::as_str).filter(|request| *request != "DELETE piece").collect();
    assert_eq!(without_removals, needed);
    assert!(blob.get(KEY()).await.unwrap().unwrap() == bytes);
}

#[tokio::test]
async fn growing_object_survives_lost_response_at_every_step() {
    for lost in ["PUT piece", "GET piece", "POST begin source", "PUT part source", "POST upload source"] {
        let server = FaultyS3::start(move |request, before| match before {
            0 if request.what() == lost => Fault::LostAnswer,
            _ => Fault::None,
        })
        .await;
        let blob = store_without_timer(&server);
        let (book, bytes) = (FakeMultipartLog::new(), noise(PART + 9));
        for end in [1000, bytes.len()] {
            let mut growing = book.grow(&blob, source(1)).await.unwrap();
            let at = usize::try_from(growing.synced()).unwrap();
            growing.write(bytes.slice(at..end)).await.unwrap();
            assert_eq!(growing.sync().await.unwrap(), end as u64);
        }
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64, "{lost}");
        assert!(blob.get(KEY()).await.unwrap().unwrap() == bytes, "{lost}");
        assert!(count(&server, lost) >= 2, "{lost}");
    }
}

#[tokio::test]
async fn retried_whole_put_recognizes_own_object() {
    let server = FaultyS3::start(|request, before| match (request.what().as_str(), before) {
        ("PUT source", 0) => Fault::LostAnswer,
        _ => Fault::None,
    })
    .await;
    let mut growing = FakeMultipartLog::new().grow(&server.blob(), source(1)).await.unwrap();
    growing.write("bytes".into()).await.unwrap();
    assert_eq!(growing.finish().await.unwrap(), 5);
}

#[tokio::test]
async fn store_outage_ends_writer_and_preserves_stored_bytes() {
    let is_away = Arc::new(AtomicBool::new(false));
    let server = FaultyS3::start({
        let is_away = Arc::clone(&is_away);
        move |_, _| {
            if is_away.load(Ordering::SeqCst) { Fault::Refusal(503, "SlowDown") } else { Fault::None }
        }
    })
    .await;
    let blob = store_without_timer(&server);
    let (book, bytes) = (FakeMultipartLog::new(), noise(2 * PART + 1));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..PART + 1)).await.unwrap();
    assert_eq!(growing.sync().await.unwrap(), PART as u64 + 1);
    is_away.store(true, Ordering::SeqCst);
    let away = async {
        growing.write(bytes.slice(PART + 1..)).await?;
        growing.sync().await
    };
    assert!(matches!(away.await, Err(Error::Unavailable { .. })));
    assert_eq!(growing.synced(), PART as u64 + 1);
    assert!(growing.finish().await.is_err());
    assert!(matches!(book.grow(&blob, source(1)).await, Err(Error::Unavailable { .. })));

    is_away.store(false, Ordering::SeqCst);
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!((growing.synced(), growing.readable_from()), (PART as u64 + 1, PART as u64));
    growing.write(bytes.slice(PART + 1..)).await.unwrap();
    growing.finish().await.unwrap();
    assert!(blob.get(KEY()).await.unwrap().unwrap() == bytes);
    let Blob::S3(store) = &blob else { panic!("it is a bucket") };
    assert_eq!(store.parts_memory_in_use(), 0);
}

#[tokio::test]
async fn merged_piece_is_listed_again() {
    // As when another writer has merged it just now.
    let server = FaultyS3::start(|request, before| match (request.what().as_str(), before) {
        ("GET piece", 0) => Fault::Refusal(404, "NoSuchKey"),
        _ => Fault::None,
    })
    .await;
    let blob = store_without_timer(&server);
    let book = FakeMultipartLog::new();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write("0123456789".into()).await.unwrap();
    growing.sync().await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.read(2..9).await.unwrap(), "2345678");
    growing.write("more".into()).await.unwrap();
    growing.finish().await.unwrap();
    assert_eq!(blob.get(KEY()).await.unwrap().unwrap(), "0123456789more");
}

#[tokio::test]
async fn missing_pieces_are_an_error() {
    let server = FaultyS3::start(|request, _| match request.what().as_str() {
        "GET piece" => Fault::Refusal(404, "NoSuchKey"),
        _ => Fault::None,
    })
    .await;
    let blob = store_without_timer(&server);
    let book = FakeMultipartLog::new();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write("0123456789".into()).await.unwrap();
    growing.sync().await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    for error in [growing.read(2..9).await.unwrap_err(), growing.finish().await.unwrap_err()] {
        assert!(matches!(error, Error::Gone(key) if key == ObjectKey::Growing(source(1))), "{error:?}");
    }
    assert!(blob.get(KEY()).await.unwrap().is_none());
}

#[tokio::test]
async fn replaced_multipart_parts_are_an_error() {
    for code in ["InvalidPart", "NoSuchUpload"] {
        let server = FaultyS3::start(move |request, _| match request.what().as_str() {
            "POST upload source" => Fault::Refusal(if code == "InvalidPart" { 400 } else { 404 }, code),
            _ => Fault::None,
        })
        .await;
        let mut growing =
            FakeMultipartLog::new().grow(&store_without_timer(&server), source(1)).await.unwrap();
        growing.write(noise(PART + 1)).await.unwrap();
        let error = growing.finish().await.unwrap_err();
        assert!(
            matches!(error, Error::Gone(key) if key == ObjectKey::Growing(source(1))),
            "{code}: {error:?}"
        );
    }
}

#[tokio::test]
async fn writers_fill_a_second_part_only_while_memory_is_plentiful() {
    let server = FaultyS3::without_answers_to_parts().await;
    let mut limits = S3Limits { sync_interval: Duration::from_secs(24 * 60 * 60), ..fast_retries() };
    limits.parts_memory = 32 * limits.part_len;
    let part_len = limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let Blob::S3(store) = blob.clone() else { panic!("it is a bucket") };
    let mut writers = tokio::task::JoinSet::new();
    for (n, expected) in [2, 4, 5, 6, 7, 8].into_iter().enumerate() {
        let mut growing = FakeMultipartLog::new().grow(&blob, source(n as u128)).await.unwrap();
        writers.spawn(async move {
            growing.write(noise(2 * PART + 1)).await.unwrap();
            // The third part waits for the first one, which never gets a response.
            growing.sync().await.unwrap();
        });
        while store.parts_memory_in_use() < expected * part_len {
            tokio::task::yield_now().await;
        }
        settle().await;
        assert_eq!(store.parts_memory_in_use(), expected * part_len);
    }
}

#[tokio::test]
async fn writers_wait_for_memory_and_release_it() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let mut limits = S3Limits { sync_interval: Duration::from_secs(24 * 60 * 60), ..fast_retries() };
    limits.parts_memory = 2 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits.clone()).unwrap();
    let Blob::S3(store) = blob.clone() else { panic!("it is a bucket") };
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let (blob, store, memory) = (blob.clone(), store.clone(), limits.parts_memory);
        tasks.spawn(async move {
            let book = FakeMultipartLog::new();
            for _ in 0..2 {
                let mut growing = book.grow(&blob, source(n)).await.unwrap();
                growing.write(noise(PART / 4)).await.unwrap();
                assert!(store.parts_memory_in_use() <= memory);
                growing.sync().await.unwrap();
            }
            let mut growing = book.grow(&blob, source(n)).await.unwrap();
            assert_eq!(growing.finish().await.unwrap(), 2 * (PART / 4) as u64);
        });
    }
    tasks.join_all().await;
    assert_eq!(store.parts_memory_in_use(), 0);
}
