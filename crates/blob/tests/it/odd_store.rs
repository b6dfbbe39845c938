//! What becomes of the promises when a server loses answers, is busy, lies, or says nothing.

use std::error::Error as _;
use std::time::Duration;

use futures_util::{FutureExt as _, TryStreamExt};
use kinora_blob::{Blob, Error, ObjectKey, PutOutcome, S3Limits};
use tokio::time::Instant;

use crate::odd_server::{OddServer, Oddity, impatient};
use crate::world::{MIB, PART, noise, segment, source};

const KEY: fn() -> ObjectKey = || segment(1, 0);

/// The tries of one request.
const TRIES: usize = 4;

/// More than timers lose by counting whole milliseconds.
const SLACK: Duration = Duration::from_secs(1);

/// An error with its causes.
fn said(error: &Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}

#[tokio::test]
async fn a_put_whose_answer_was_lost_is_known_as_ours() {
    let server = OddServer::start(|asked, before| match (asked.method.as_str(), before) {
        ("PUT", 0) => Oddity::LostAnswer,
        _ => Oddity::None,
    })
    .await;
    assert_eq!(server.blob().put_once(KEY(), "ours".into()).await.unwrap(), PutOutcome::Written);
    assert_eq!(server.asked(), ["PUT segment", "PUT segment", "GET segment"]);
}

#[tokio::test]
async fn a_put_whose_answer_was_lost_does_not_claim_what_others_wrote() {
    let server = OddServer::start(|asked, before| match (asked.method.as_str(), before) {
        ("PUT", 1) => Oddity::Refusal(500, "InternalError"),
        ("PUT", 2) => Oddity::LostAnswer,
        _ => Oddity::None,
    })
    .await;
    let blob = server.blob();
    blob.put_once(KEY(), "theirs".into()).await.unwrap();
    assert_eq!(blob.put_once(KEY(), "ours!!".into()).await.unwrap(), PutOutcome::AlreadyThere);
    assert_eq!(blob.get(KEY()).await.unwrap().unwrap(), "theirs");
}

#[tokio::test]
async fn a_small_streamed_object_survives_a_lost_answer() {
    let server = OddServer::start(|asked, before| match (asked.method.as_str(), before) {
        ("PUT", 0) => Oddity::LostAnswer,
        _ => Oddity::None,
    })
    .await;
    let mut writer = server.blob().writer(KEY()).await.unwrap();
    writer.write("bytes".into()).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), 5);
}

#[tokio::test]
async fn every_step_of_a_long_object_survives_a_lost_answer() {
    for lost in ["POST begin source", "PUT multipart", "PUT part source", "POST upload source"] {
        let server = OddServer::start(move |asked, before| match before {
            0 if asked.what() == lost => Oddity::LostAnswer,
            _ => Oddity::None,
        })
        .await;
        let key = ObjectKey::Source(source(1));
        let bytes = noise(PART + 9);
        let mut writer = server.blob().writer(key).await.unwrap();
        writer.write(bytes.clone()).await.unwrap();
        assert_eq!(writer.finish().await.unwrap(), bytes.len() as u64, "{lost}");
        assert!(server.blob().get(key).await.unwrap().unwrap() == bytes, "{lost}");
        assert!(server.asked().iter().filter(|what| *what == lost).count() >= 2, "{lost}");
    }
}

#[tokio::test]
async fn a_busy_store_is_asked_again() {
    for busy in [
        Oddity::Refusal(503, "SlowDown"),
        Oddity::Refusal(500, "InternalError"),
        Oddity::Refusal(429, ""),
        Oddity::Refusal(409, "ConditionalRequestConflict"),
        Oddity::Refusal(400, "RequestTimeout"),
    ] {
        let server =
            OddServer::start(move |_, before| if before + 1 < TRIES { busy } else { Oddity::None }).await;
        let blob = server.blob();
        assert_eq!(blob.put_once(KEY(), "x".into()).await.unwrap(), PutOutcome::Written, "{busy:?}");
        assert_eq!(blob.get(KEY()).await.unwrap().unwrap(), "x");
        assert_eq!(server.asked().len(), 2 * TRIES);
    }
}

#[tokio::test]
async fn a_completion_that_fails_behind_a_success_is_tried_again() {
    let server = OddServer::start(|asked, before| match (asked.what().as_str(), before) {
        ("POST upload source", 0) => Oddity::ErrorInBody("InternalError"),
        _ => Oddity::None,
    })
    .await;
    let key = ObjectKey::Source(source(1));
    let mut writer = server.blob().writer(key).await.unwrap();
    writer.write(noise(PART + 1)).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), PART as u64 + 1);
}

#[tokio::test]
async fn store_that_stays_busy_is_unavailable_after_the_last_try() {
    for (oddity, expected) in [(Oddity::Refusal(503, "SlowDown"), "503 SlowDown"), (Oddity::LostAnswer, "")] {
        let server = OddServer::start(move |_, _| oddity).await;
        let error = server.blob().get(KEY()).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable { action: "read an object", .. }), "{error:?}");
        assert!(said(&error).contains(expected), "{}", said(&error));
        assert_eq!(server.asked().len(), TRIES, "{oddity:?}");
    }
}

/// The clock jumps from timer to timer, since the store never answers.
#[tokio::test]
async fn silent_store_is_unavailable_within_the_time_for_a_read() {
    let server = OddServer::start(|_, _| Oddity::Silence).await;
    let (blob, begun) = (server.blob(), Instant::now());
    tokio::time::pause();
    let error = blob.get(KEY()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { action: "read an object", .. }), "{error:?}");
    assert!(said(&error).contains("no answer within"), "{}", said(&error));
    assert!(server.asked().len() <= TRIES);
    assert!(begun.elapsed() <= impatient().read + SLACK, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn reads_from_a_frozen_store_end_within_the_time_for_a_read() {
    for oddity in [Oddity::Silence, Oddity::StalledBody] {
        let server =
            OddServer::start(move |asked, _| if asked.method == "GET" { oddity } else { Oddity::None }).await;
        // One answer, as jobs wait for it, takes longer than all reads together may.
        let limits = S3Limits { answer: 100 * impatient().read, bytes_per_second_min: 1, ..impatient() };
        let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits.clone()).unwrap();
        blob.put_once(KEY(), "0123456789".into()).await.unwrap();
        let reader = blob.reader(KEY()).await.unwrap().unwrap();

        tokio::time::pause();
        let begun = Instant::now();
        let streamed: Result<Vec<_>, _> = reader.stream(0..10).unwrap().try_collect().await;
        for error in [
            blob.get(KEY()).await.unwrap_err(),
            reader.read_at(0..10).await.unwrap_err(),
            reader.read_many(&[0..3, 5..10]).await.unwrap_err(),
            streamed.unwrap_err(),
        ] {
            assert!(matches!(error, Error::Unavailable { .. }), "{oddity:?}: {error:?}");
        }
        assert!(begun.elapsed() < limits.answer, "{oddity:?}: {:?}", begun.elapsed());
        tokio::time::resume();
    }
    let server = OddServer::start(|_, _| Oddity::Silence).await;
    let blob = server.blob();
    tokio::time::pause();
    assert!(matches!(blob.reader(KEY()).await, Err(Error::Unavailable { .. })));
}

#[tokio::test]
async fn a_ping_answers_from_the_store_and_not_from_memory() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let is_gone = Arc::new(AtomicBool::new(false));
    let server = OddServer::start({
        let is_gone = Arc::clone(&is_gone);
        move |asked, _| match is_gone.load(Ordering::SeqCst) {
            false => Oddity::None,
            // No body comes with the answer to HEAD, so nobody can tell a missing bucket from a missing
            // object.
            true if asked.method == "HEAD" => Oddity::Refusal(404, ""),
            true => Oddity::Refusal(404, "NoSuchBucket"),
        }
    })
    .await;
    let blob = server.blob();
    blob.ping().await.unwrap();
    blob.put_once(KEY(), "x".into()).await.unwrap();
    blob.reader(KEY()).await.unwrap().unwrap();
    blob.ping().await.unwrap();

    is_gone.store(true, Ordering::SeqCst);
    assert!(blob.reader(KEY()).await.unwrap().is_some(), "what is known of the object is still known");
    let error = blob.ping().await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(said(&error).contains("create the bucket"), "{}", said(&error));
}

#[tokio::test]
async fn a_store_that_is_not_there_is_unavailable_and_says_why_once() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let blob = server.blob();
    drop(server);
    tokio::task::yield_now().await;
    let error = blob.put_once(KEY(), "x".into()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    assert_eq!(said(&error).matches("Connection refused").count(), 1, "{}", said(&error));
}

#[tokio::test]
async fn what_the_store_refuses_is_said_with_the_remedy_and_without_its_text() {
    for (status, code, remedy) in [
        (403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        (403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
        (403, "AccessDenied", "allow the access key"),
        (403, "RequestTimeTooSkewed", "clock"),
        (400, "ExpiredToken", "AWS_SESSION_TOKEN"),
        (404, "NoSuchBucket", "create the bucket"),
        (400, "AuthorizationHeaderMalformed", "region="),
        (501, "NotImplemented", "does not know a call"),
        (400, "SomethingElse", "endpoint"),
    ] {
        let server = OddServer::start(move |_, _| Oddity::Refusal(status, code)).await;
        let blob = server.blob();
        let put = blob.put_once(KEY(), "x".into()).await.unwrap_err();
        let read = blob.get(KEY()).await.unwrap_err();
        for error in [put, read] {
            let said = said(&error);
            assert!(matches!(error, Error::Refused { .. }), "{code}: {error:?}");
            assert!(said.contains(remedy) && said.contains(code), "{said}");
            assert!(!said.contains("hush") && !format!("{error:?}").contains("hush"), "{said}");
        }
        assert_eq!(server.asked().len(), 2, "{code} is not tried again");
    }
}

#[tokio::test]
async fn a_full_store_is_told_apart() {
    for (status, code) in [(507, ""), (507, "XMinioStorageFull"), (403, "QuotaExceeded")] {
        let server = OddServer::start(move |_, _| Oddity::Refusal(status, code)).await;
        assert!(
            matches!(server.blob().put_once(KEY(), "x".into()).await, Err(Error::Full)),
            "{status} {code}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    static ELSEWHERE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let elsewhere = OddServer::start(|_, _| Oddity::None).await;
    let to = elsewhere.url().replace("s3://bucket?endpoint=", "") + "/bucket/x";
    let to: &'static str = ELSEWHERE.get_or_init(|| to);
    let server = OddServer::start(move |_, _| Oddity::Redirect(to)).await;
    let error = server.blob().put_once(KEY(), "x".into()).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(said(&error).contains("endpoint="), "{}", said(&error));
    assert_eq!(elsewhere.asked().len(), 0);
}

#[tokio::test]
async fn a_body_that_was_cut_is_read_again() {
    let server = OddServer::start(|asked, before| match (asked.method.as_str(), before) {
        ("GET", 0) => Oddity::CutBody,
        _ => Oddity::None,
    })
    .await;
    let blob = server.blob();
    blob.put_once(KEY(), "0123456789".into()).await.unwrap();
    let reader = blob.reader(KEY()).await.unwrap().unwrap();
    assert_eq!(reader.read_at(2..9).await.unwrap(), "2345678");
    assert_eq!(server.asked().iter().filter(|what| *what == "GET segment").count(), 2);
}

#[tokio::test]
async fn wrong_bytes_are_an_error_and_never_bytes() {
    for oddity in
        [Oddity::CutBody, Oddity::WrongRange, Oddity::WholeObject, Oddity::Refusal(416, "InvalidRange")]
    {
        let server =
            OddServer::start(move |asked, _| if asked.method == "GET" { oddity } else { Oddity::None }).await;
        let blob = server.blob();
        blob.put_once(KEY(), "0123456789".into()).await.unwrap();
        let reader = blob.reader(KEY()).await.unwrap().unwrap();
        assert!(reader.read_at(2..9).await.is_err(), "{oddity:?}");
        assert!(reader.read_many(&[0..1, 2..9]).await.is_err(), "{oddity:?}");
        let streamed: Result<Vec<_>, _> = reader.stream(2..9).unwrap().try_collect().await;
        assert!(streamed.is_err(), "{oddity:?}");
    }
}

#[tokio::test]
async fn an_object_too_long_for_the_memory_is_refused_before_it_is_read() {
    const LEN: u64 = 3 << 30;
    let server = OddServer::start(|asked, _| match asked.method.as_str() {
        "GET" | "HEAD" => Oddity::HugeObject(LEN),
        _ => Oddity::None,
    })
    .await;
    let blob = server.blob();
    blob.put_once(KEY(), "x".into()).await.unwrap();
    assert!(matches!(blob.get(KEY()).await, Err(Error::TooLong { len: LEN })));
    let reader = blob.reader(KEY()).await.unwrap().unwrap();
    assert!(matches!(reader.read_at(0..LEN).await, Err(Error::TooLong { len: LEN })));
    assert!(matches!(reader.read_many(&[0..LEN / 2, LEN / 2..LEN]).await, Err(Error::TooLong { len: LEN })));
}

#[tokio::test]
async fn neighbours_are_read_by_one_request_and_lengths_are_asked_for_once() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let blob = server.blob();
    blob.put_once(KEY(), noise(MIB)).await.unwrap();
    let ranges = [0..10, 10..20, 50_000..50_100, 500_000..500_001, 499_000..499_001];
    let reader = blob.reader(KEY()).await.unwrap().unwrap();
    reader.read_many(&ranges).await.unwrap();
    blob.reader(KEY()).await.unwrap().unwrap().read_at(7..7).await.unwrap();
    let mut asked: Vec<(String, String)> = server
        .requests()
        .iter()
        .skip(1)
        .map(|asked| {
            let range = asked.headers.lines().find_map(|line| line.strip_prefix("range: "));
            (asked.method.clone(), range.unwrap_or_default().to_owned())
        })
        .collect();
    asked.sort();
    let expected = [
        ("GET", "bytes=0-50099"),
        ("GET", "bytes=499000-499000"),
        ("GET", "bytes=500000-500000"),
        ("HEAD", ""),
    ];
    assert_eq!(asked, expected.map(|(method, range)| (method.to_owned(), range.to_owned())));
}

#[tokio::test]
async fn a_stream_that_is_dropped_asks_for_no_more() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let blob = server.blob();
    blob.put_once(KEY(), noise(32 * MIB)).await.unwrap();
    let reader = blob.reader(KEY()).await.unwrap().unwrap();
    let mut stream = reader.stream(0..32 << 20).unwrap();
    assert!(stream.try_next().await.unwrap().is_some());
    drop(stream);
    // The first window, and the one that was read ahead, if its request came out.
    let gets = server.asked().iter().filter(|what| *what == "GET segment").count();
    assert!((1..=2).contains(&gets), "{gets}");
}

#[tokio::test]
async fn a_part_that_cannot_be_sent_ends_the_writer_and_its_upload() {
    let server = OddServer::start(|asked, _| match asked.what().as_str() {
        "PUT part source" => Oddity::Refusal(507, ""),
        _ => Oddity::None,
    })
    .await;
    let blob = server.blob();
    let mut writer = blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    writer.write(noise(PART + 1)).await.unwrap();
    assert!(matches!(writer.finish().await, Err(Error::Full)));
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    while !server.asked().contains(&"DELETE multipart".to_owned()) {
        ticks.tick().await;
    }
    assert!(server.asked().contains(&"DELETE upload source".to_owned()));
    assert_eq!(server.objects(), [""; 0]);
    let Blob::S3(store) = &blob else { panic!("it is a bucket") };
    assert_eq!(store.parts_held(), 0);
}

#[tokio::test]
async fn writers_wait_for_memory_and_never_for_each_other() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let mut limits = impatient();
    limits.parts_memory = 3 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits.clone()).unwrap();
    let Blob::S3(store) = blob.clone() else { panic!("it is a bucket") };
    // One upload at a time: the odd server keeps the parts of one. The others are a part long at most.
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (blob, store, memory) = (blob.clone(), store.clone(), limits.parts_memory);
        tasks.spawn(async move {
            let key = ObjectKey::Source(source(n));
            let mut writer = blob.writer(key).await.unwrap();
            let pieces = if n == 0 { 26 } else { 10 };
            for _ in 0..pieces {
                writer.write(noise(PART / 10)).await.unwrap();
                assert!(store.parts_held() <= memory);
                tokio::task::yield_now().await;
            }
            assert_eq!(writer.finish().await.unwrap(), (pieces * (PART / 10)) as u64);
        });
    }
    tasks.join_all().await;
    assert_eq!(store.parts_held(), 0);
    assert_eq!(server.objects().iter().filter(|name| name.starts_with("source/")).count(), 12);
}

#[tokio::test]
async fn writers_fill_a_second_part_only_while_memory_is_plentiful() {
    let server = OddServer::without_answers_to_parts().await;
    let mut limits = impatient();
    limits.parts_memory = 32 * limits.part_len;
    let part_len = limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let Blob::S3(store) = &blob else { panic!("it is a bucket") };
    let (mut writers, mut held) = (Vec::new(), Vec::new());
    for n in 0..6 {
        let mut writer = blob.writer(ObjectKey::Source(source(n))).await.unwrap();
        // The third part waits for the first one, which is never answered.
        assert!(writer.write(noise(2 * PART + 1)).now_or_never().is_none());
        held.push(store.parts_held() / part_len);
        writers.push(writer);
    }
    assert_eq!(held, [2, 4, 5, 6, 7, 8]);
}

#[tokio::test]
async fn writers_of_one_workspace_leave_memory_for_another_one() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let mut limits = impatient();
    limits.parts_memory = 4 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let [loud, quiet] = ["019a492c-41f3-7001-8203-040506070801", "019a492c-41f3-7001-8203-040506070802"]
        .map(|id| blob.of_workspace(Some(id.parse().unwrap())));
    let mut held = Vec::new();
    for n in 0..3 {
        let mut writer = loud.writer(ObjectKey::Source(source(n))).await.unwrap();
        writer.write("a slow source".into()).await.unwrap();
        held.push(writer);
    }
    let mut fourth = loud.writer(ObjectKey::Source(source(3))).await.unwrap();
    let mut waits = Box::pin(fourth.write("no memory is left for it".into()));
    assert!((&mut waits).now_or_never().is_none());
    let mut writer = quiet.writer(ObjectKey::Source(source(4))).await.unwrap();
    writer.write("there is for another workspace".into()).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), 30);
    assert!((&mut waits).now_or_never().is_none());
    held.pop();
    waits.await.unwrap();
}

#[tokio::test]
async fn parked_writers_keep_a_quarter_of_the_memory() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let mut limits = impatient();
    limits.parts_memory = 16 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let [loud, quiet] = ["019a492c-41f3-7001-8203-040506070801", "019a492c-41f3-7001-8203-040506070802"]
        .map(|id| blob.of_workspace(Some(id.parse().unwrap())));
    let mut writers = Vec::new();
    for (n, blob) in [&loud, &loud, &loud, &loud, &quiet, &quiet].into_iter().enumerate() {
        let mut writer = blob.writer(ObjectKey::Source(source(n as u128))).await.unwrap();
        assert!(writer.try_park().is_some(), "it holds no memory");
        writer.write("a source that was cut".into()).await.unwrap();
        writers.push(writer);
    }
    let mut parked: Vec<_> = writers.iter().map(kinora_blob::ObjectWriter::try_park).collect();
    let is_parked: Vec<_> = parked.iter().map(Option::is_some).collect();
    assert_eq!(is_parked, [true, true, true, false, true, false]);
    parked[0] = None;
    assert!(writers[5].try_park().is_some());
}

#[tokio::test]
async fn more_bytes_than_announced_are_an_error() {
    let server = OddServer::start(|_, _| Oddity::None).await;
    let mut writer = server.blob().writer(KEY()).await.unwrap();
    writer.announce(Some(3));
    writer.write("abc".into()).await.unwrap();
    assert!(matches!(writer.write("d".into()).await, Err(Error::Internal { .. })));
    assert!(writer.finish().await.is_err());
    assert_eq!(server.asked(), [""; 0]);
}
