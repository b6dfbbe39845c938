//! What becomes of growing objects when a server loses answers, forgets, or is slow; and what is asked of it
//! at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinora_blob::{Blob, Error, GrowingObject, ObjectKey, S3Limits};

use crate::ledger::Book;
use crate::odd_server::{OddServer, Oddity, impatient};
use crate::world::{MIB, PART, noise, source};

const KEY: fn() -> ObjectKey = || ObjectKey::Source(source(1));

/// A store there that keeps pieces only when it is asked to.
fn patient(server: &OddServer) -> Blob {
    let limits = S3Limits { piece_within: Duration::from_secs(24 * 60 * 60), ..impatient() };
    Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap()
}

/// Lets everything run that can, while no clock moves.
async fn settle() {
    for _ in 0..2000 {
        tokio::task::yield_now().await;
    }
}

async fn until_kept(growing: &GrowingObject, kept: u64) {
    while growing.kept() < kept {
        tokio::task::yield_now().await;
    }
    assert_eq!(growing.kept(), kept);
}

fn count(server: &OddServer, what: &str) -> usize {
    server.asked().iter().filter(|asked| *asked == what).count()
}

#[tokio::test]
async fn a_slow_line_is_kept_in_time_though_nobody_calls() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let mut growing = Book::new().grow(&server.blob(), source(1)).await.unwrap();
    /// What is worth a request.
    const WORTH: usize = MIB / 2;
    let bytes = noise(3 * WORTH);
    tokio::time::pause();
    growing.write(bytes.slice(..WORTH - 1)).await.unwrap();
    settle().await;
    tokio::time::advance(Duration::from_secs(5)).await;
    settle().await;
    assert_eq!((growing.kept(), count(&server, "PUT piece")), (0, 0), "it is not worth a request yet");
    // The oldest byte has waited for long enough.
    growing.write(bytes.slice(WORTH - 1..WORTH)).await.unwrap();
    until_kept(&growing, WORTH as u64).await;
    assert_eq!(count(&server, "PUT piece"), 1);

    growing.write(bytes.slice(WORTH..2 * WORTH)).await.unwrap();
    settle().await;
    assert_eq!(growing.kept(), WORTH as u64, "no time has passed");
    // Timers count whole milliseconds.
    tokio::time::advance(S3Limits::default().piece_within + Duration::from_millis(1)).await;
    until_kept(&growing, 2 * WORTH as u64).await;
    assert_eq!(count(&server, "PUT piece"), 2);
    assert_eq!(count(&server, "PUT part source"), 0);
}

#[tokio::test]
async fn the_usual_way_asks_for_nothing_that_is_not_needed() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let blob = patient(&server);
    let (book, bytes) = (Book::new(), noise(PART + MIB));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..MIB)).await.unwrap();
    growing.keep().await.unwrap();
    drop(growing);
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.announce(Some(bytes.len() as u64));
    growing.write(bytes.slice(MIB..)).await.unwrap();
    growing.finish().await.unwrap();
    let asked = server.asked();
    let needed = [
        // The first writer: nothing is there, not even the object.
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
        asked.iter().map(String::as_str).filter(|asked| *asked != "DELETE piece").collect();
    assert_eq!(without_removals, needed);
    assert!(blob.get(KEY()).await.unwrap().unwrap() == bytes);
}

#[tokio::test]
async fn every_step_survives_a_lost_answer() {
    for lost in ["PUT piece", "GET piece", "POST begin source", "PUT part source", "POST upload source"] {
        let server = OddServer::start(move |asked, before| match before {
            0 if asked.what() == lost => Oddity::LostAnswer,
            _ => Oddity::None,
        })
        .await;
        let blob = patient(&server);
        let (book, bytes) = (Book::new(), noise(PART + 9));
        for end in [1000, bytes.len()] {
            let mut growing = book.grow(&blob, source(1)).await.unwrap();
            let at = usize::try_from(growing.kept()).unwrap();
            growing.write(bytes.slice(at..end)).await.unwrap();
            assert_eq!(growing.keep().await.unwrap(), end as u64);
        }
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64, "{lost}");
        assert!(blob.get(KEY()).await.unwrap().unwrap() == bytes, "{lost}");
        assert!(count(&server, lost) >= 2, "{lost}");
    }
}

#[tokio::test]
async fn a_whole_put_whose_answer_was_lost_is_known_as_ours() {
    let server = OddServer::start(|asked, before| match (asked.what().as_str(), before) {
        ("PUT source", 0) => Oddity::LostAnswer,
        _ => Oddity::None,
    })
    .await;
    let mut growing = Book::new().grow(&server.blob(), source(1)).await.unwrap();
    growing.write("bytes".into()).await.unwrap();
    assert_eq!(growing.finish().await.unwrap(), 5);
}

#[tokio::test]
async fn a_store_that_goes_away_ends_the_writer_and_keeps_what_is_kept() {
    let is_away = Arc::new(AtomicBool::new(false));
    let server = OddServer::start({
        let is_away = Arc::clone(&is_away);
        move |_, _| {
            if is_away.load(Ordering::SeqCst) { Oddity::Refusal(503, "SlowDown") } else { Oddity::None }
        }
    })
    .await;
    let blob = patient(&server);
    let (book, bytes) = (Book::new(), noise(2 * PART + 1));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..PART + 1)).await.unwrap();
    assert_eq!(growing.keep().await.unwrap(), PART as u64 + 1);
    is_away.store(true, Ordering::SeqCst);
    let away = async {
        growing.write(bytes.slice(PART + 1..)).await?;
        growing.keep().await
    };
    assert!(matches!(away.await, Err(Error::Unavailable { .. })));
    assert_eq!(growing.kept(), PART as u64 + 1);
    assert!(growing.finish().await.is_err());
    assert!(matches!(book.grow(&blob, source(1)).await, Err(Error::Unavailable { .. })));

    is_away.store(false, Ordering::SeqCst);
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!((growing.kept(), growing.readable_from()), (PART as u64 + 1, PART as u64));
    growing.write(bytes.slice(PART + 1..)).await.unwrap();
    growing.finish().await.unwrap();
    assert!(blob.get(KEY()).await.unwrap().unwrap() == bytes);
    let Blob::S3(store) = &blob else { panic!("it is a bucket") };
    assert_eq!(store.parts_held(), 0);
}

#[tokio::test]
async fn a_piece_that_went_meanwhile_is_looked_for_again() {
    // As when another writer has merged it just now.
    let server = OddServer::start(|asked, before| match (asked.what().as_str(), before) {
        ("GET piece", 0) => Oddity::Refusal(404, "NoSuchKey"),
        _ => Oddity::None,
    })
    .await;
    let blob = patient(&server);
    let book = Book::new();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write("0123456789".into()).await.unwrap();
    growing.keep().await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.read(2..9).await.unwrap(), "2345678");
    growing.write("more".into()).await.unwrap();
    growing.finish().await.unwrap();
    assert_eq!(blob.get(KEY()).await.unwrap().unwrap(), "0123456789more");
}

#[tokio::test]
async fn pieces_that_are_gone_for_good_are_told() {
    let server = OddServer::start(|asked, _| match asked.what().as_str() {
        "GET piece" => Oddity::Refusal(404, "NoSuchKey"),
        _ => Oddity::None,
    })
    .await;
    let blob = patient(&server);
    let book = Book::new();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write("0123456789".into()).await.unwrap();
    growing.keep().await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    for error in [growing.read(2..9).await.unwrap_err(), growing.finish().await.unwrap_err()] {
        assert!(matches!(error, Error::Gone(key) if key == ObjectKey::Growing(source(1))), "{error:?}");
    }
    assert!(blob.get(KEY()).await.unwrap().is_none());
}

#[tokio::test]
async fn an_upload_whose_parts_were_replaced_is_told() {
    for code in ["InvalidPart", "NoSuchUpload"] {
        let server = OddServer::start(move |asked, _| match asked.what().as_str() {
            "POST upload source" => Oddity::Refusal(if code == "InvalidPart" { 400 } else { 404 }, code),
            _ => Oddity::None,
        })
        .await;
        let mut growing = Book::new().grow(&patient(&server), source(1)).await.unwrap();
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
    let server = OddServer::without_answers_to_parts().await;
    let mut limits = S3Limits { piece_within: Duration::from_secs(24 * 60 * 60), ..impatient() };
    limits.parts_memory = 32 * limits.part_len;
    let part_len = limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let Blob::S3(store) = blob.clone() else { panic!("it is a bucket") };
    let mut writers = tokio::task::JoinSet::new();
    for (n, expected) in [2, 4, 5, 6, 7, 8].into_iter().enumerate() {
        let mut growing = Book::new().grow(&blob, source(n as u128)).await.unwrap();
        writers.spawn(async move {
            growing.write(noise(2 * PART + 1)).await.unwrap();
            // The third part waits for the first one, which is never answered.
            growing.keep().await.unwrap();
        });
        while store.parts_held() < expected * part_len {
            tokio::task::yield_now().await;
        }
        settle().await;
        assert_eq!(store.parts_held(), expected * part_len);
    }
}

#[tokio::test]
async fn writers_wait_for_memory_and_give_it_back() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let mut limits = S3Limits { piece_within: Duration::from_secs(24 * 60 * 60), ..impatient() };
    limits.parts_memory = 2 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits.clone()).unwrap();
    let Blob::S3(store) = blob.clone() else { panic!("it is a bucket") };
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let (blob, store, memory) = (blob.clone(), store.clone(), limits.parts_memory);
        tasks.spawn(async move {
            let book = Book::new();
            for _ in 0..2 {
                let mut growing = book.grow(&blob, source(n)).await.unwrap();
                growing.write(noise(PART / 4)).await.unwrap();
                assert!(store.parts_held() <= memory);
                growing.keep().await.unwrap();
            }
            let mut growing = book.grow(&blob, source(n)).await.unwrap();
            assert_eq!(growing.finish().await.unwrap(), 2 * (PART / 4) as u64);
        });
    }
    tasks.join_all().await;
    assert_eq!(store.parts_held(), 0);
}
