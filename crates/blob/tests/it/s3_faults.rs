//! The guarantees with a server that loses responses, is busy, returns wrong data, or never responds.

use std::error::Error as _;
use std::time::Duration;

use futures_util::{FutureExt as _, TryStreamExt};
use kinora_blob::{Blob, Error, ObjectKey, PutOutcome, S3Limits};
use tokio::time::Instant;

use crate::s3_fault_server::{Fault, FaultyS3, fast_retries};
use crate::test_store::{MIB, PART, noise, segment, source};

const KEY: fn() -> ObjectKey = || segment(1, 0);

/// The tries of one request.
const TRIES: usize = 4;

/// More than timers lose by counting whole milliseconds.
const SLACK: Duration = Duration::from_secs(1);

/// An error with its causes.
fn error_chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn retried_put_recognizes_own_object() {
    let server = FaultyS3::start(|request, before| match (request.method.as_str(), before) {
        ("PUT", 0) => Fault::LostAnswer,
        _ => Fault::None,
    })
    .await;
    assert_eq!(server.blob().put_once(KEY(), "ours".into()).await.unwrap(), PutOutcome::Written);
    assert_eq!(server.request_names(), ["PUT segment", "PUT segment", "GET segment"]);
}

#[tokio::test]
async fn retried_put_does_not_claim_foreign_object() {
    let server = FaultyS3::start(|request, before| match (request.method.as_str(), before) {
        ("PUT", 1) => Fault::Refusal(500, "InternalError"),
        ("PUT", 2) => Fault::LostAnswer,
        _ => Fault::None,
    })
    .await;
    let blob = server.blob();
    blob.put_once(KEY(), "theirs".into()).await.unwrap();
    assert_eq!(blob.put_once(KEY(), "ours!!".into()).await.unwrap(), PutOutcome::AlreadyThere);
    assert_eq!(blob.get(KEY()).await.unwrap().unwrap(), "theirs");
}

#[tokio::test]
async fn small_streamed_put_survives_lost_response() {
    let server = FaultyS3::start(|request, before| match (request.method.as_str(), before) {
        ("PUT", 0) => Fault::LostAnswer,
        _ => Fault::None,
    })
    .await;
    let mut writer = server.blob().writer(KEY()).await.unwrap();
    writer.write("bytes".into()).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), 5);
}

#[tokio::test]
async fn multipart_survives_lost_response_at_every_step() {
    for lost in ["POST begin source", "PUT multipart", "PUT part source", "POST upload source"] {
        let server = FaultyS3::start(move |request, before| match before {
            0 if request.what() == lost => Fault::LostAnswer,
            _ => Fault::None,
        })
        .await;
        let key = ObjectKey::Source(source(1));
        let bytes = noise(PART + 9);
        let mut writer = server.blob().writer(key).await.unwrap();
        writer.write(bytes.clone()).await.unwrap();
        assert_eq!(writer.finish().await.unwrap(), bytes.len() as u64, "{lost}");
        assert!(server.blob().get(key).await.unwrap().unwrap() == bytes, "{lost}");
        assert!(server.request_names().iter().filter(|what| *what == lost).count() >= 2, "{lost}");
    }
}

#[tokio::test]
async fn busy_store_is_retried() {
    for busy in [
        Fault::Refusal(503, "SlowDown"),
        Fault::Refusal(500, "InternalError"),
        Fault::Refusal(429, ""),
        Fault::Refusal(409, "ConditionalRequestConflict"),
        Fault::Refusal(400, "RequestTimeout"),
    ] {
        let server =
            FaultyS3::start(move |_, before| if before + 1 < TRIES { busy } else { Fault::None }).await;
        let blob = server.blob();
        assert_eq!(blob.put_once(KEY(), "x".into()).await.unwrap(), PutOutcome::Written, "{busy:?}");
        assert_eq!(blob.get(KEY()).await.unwrap().unwrap(), "x");
        assert_eq!(server.request_names().len(), 2 * TRIES);
    }
}

#[tokio::test]
async fn complete_multipart_error_in_200_body_is_retried() {
    let server = FaultyS3::start(|request, before| match (request.what().as_str(), before) {
        ("POST upload source", 0) => Fault::ErrorInBody("InternalError"),
        _ => Fault::None,
    })
    .await;
    let key = ObjectKey::Source(source(1));
    let mut writer = server.blob().writer(key).await.unwrap();
    writer.write(noise(PART + 1)).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), PART as u64 + 1);
}

#[tokio::test]
async fn busy_store_is_unavailable_after_the_last_retry() {
    for (fault, expected) in [(Fault::Refusal(503, "SlowDown"), "503 SlowDown"), (Fault::LostAnswer, "")] {
        let server = FaultyS3::start(move |_, _| fault).await;
        let error = server.blob().get(KEY()).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable { action: "read an object", .. }), "{error:?}");
        assert!(error_chain(&error).contains(expected), "{}", error_chain(&error));
        assert_eq!(server.request_names().len(), TRIES, "{fault:?}");
    }
}

/// The clock jumps from timer to timer, since the store never responds.
#[tokio::test]
async fn silent_store_is_unavailable_within_the_read_timeout() {
    let server = FaultyS3::start(|_, _| Fault::Silence).await;
    let (blob, begun) = (server.blob(), Instant::now());
    tokio::time::pause();
    let error = blob.get(KEY()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { action: "read an object", .. }), "{error:?}");
    assert!(error_chain(&error).contains("no response within"), "{}", error_chain(&error));
    assert!(server.request_names().len() <= TRIES);
    assert!(begun.elapsed() <= fast_retries().read_timeout + SLACK, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn reads_of_a_hanging_store_end_at_read_timeout() {
    for fault in [Fault::Silence, Fault::StalledBody] {
        let server =
            FaultyS3::start(move |request, _| if request.method == "GET" { fault } else { Fault::None })
                .await;
        // One response takes longer, as for jobs, than all reads together may.
        let limits = S3Limits {
            response_timeout: 100 * fast_retries().read_timeout,
            bytes_per_second_min: 1,
            ..fast_retries()
        };
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
            assert!(matches!(error, Error::Unavailable { .. }), "{fault:?}: {error:?}");
        }
        assert!(begun.elapsed() < limits.response_timeout, "{fault:?}: {:?}", begun.elapsed());
        tokio::time::resume();
    }
    let server = FaultyS3::start(|_, _| Fault::Silence).await;
    let blob = server.blob();
    tokio::time::pause();
    assert!(matches!(blob.reader(KEY()).await, Err(Error::Unavailable { .. })));
}

#[tokio::test]
async fn ping_bypasses_cache_and_reports_missing_bucket() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let is_gone = Arc::new(AtomicBool::new(false));
    let server = FaultyS3::start({
        let is_gone = Arc::clone(&is_gone);
        move |request, _| match is_gone.load(Ordering::SeqCst) {
            false => Fault::None,
            // A response to HEAD has no body, so a missing bucket looks like a missing object.
            true if request.method == "HEAD" => Fault::Refusal(404, ""),
            true => Fault::Refusal(404, "NoSuchBucket"),
        }
    })
    .await;
    let blob = server.blob();
    blob.ping().await.unwrap();
    blob.put_once(KEY(), "x".into()).await.unwrap();
    blob.reader(KEY()).await.unwrap().unwrap();
    blob.ping().await.unwrap();

    is_gone.store(true, Ordering::SeqCst);
    assert!(blob.reader(KEY()).await.unwrap().is_some(), "metadata of the object is still cached");
    let error = blob.ping().await.unwrap_err();
    assert!(matches!(error, Error::Rejected { .. }), "{error:?}");
    assert!(error_chain(&error).contains("create the bucket"), "{}", error_chain(&error));
}

#[tokio::test]
async fn unreachable_store_is_unavailable_with_one_reason() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let blob = server.blob();
    drop(server);
    tokio::task::yield_now().await;
    let error = blob.put_once(KEY(), "x".into()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    assert_eq!(error_chain(&error).matches("Connection refused").count(), 1, "{}", error_chain(&error));
}

#[tokio::test]
async fn rejected_request_names_remedy_without_store_text() {
    for (status, code, remedy) in [
        (403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        (403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
        (403, "AccessDenied", "allow the access key"),
        (403, "RequestTimeTooSkewed", "clock"),
        (400, "ExpiredToken", "AWS_SESSION_TOKEN"),
        (404, "NoSuchBucket", "create the bucket"),
        (400, "AuthorizationHeaderMalformed", "region="),
        (501, "NotImplemented", "does not support a required call"),
        (400, "SomethingElse", "endpoint"),
    ] {
        let server = FaultyS3::start(move |_, _| Fault::Refusal(status, code)).await;
        let blob = server.blob();
        let put = blob.put_once(KEY(), "x".into()).await.unwrap_err();
        let read = blob.get(KEY()).await.unwrap_err();
        for error in [put, read] {
            let message = error_chain(&error);
            assert!(matches!(error, Error::Rejected { .. }), "{code}: {error:?}");
            assert!(message.contains(remedy) && message.contains(code), "{message}");
            assert!(!message.contains("hush") && !format!("{error:?}").contains("hush"), "{message}");
        }
        assert_eq!(server.request_names().len(), 2, "{code} is not tried again");
    }
}

#[tokio::test]
async fn storage_full_and_quota_exceeded_are_error_full() {
    for (status, code) in [(507, ""), (507, "XMinioStorageFull"), (403, "QuotaExceeded")] {
        let server = FaultyS3::start(move |_, _| Fault::Refusal(status, code)).await;
        assert!(
            matches!(server.blob().put_once(KEY(), "x".into()).await, Err(Error::Full)),
            "{status} {code}"
        );
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    static ELSEWHERE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let elsewhere = FaultyS3::start(|_, _| Fault::None).await;
    let to = elsewhere.url().replace("s3://bucket?endpoint=", "") + "/bucket/x";
    let to: &'static str = ELSEWHERE.get_or_init(|| to);
    let server = FaultyS3::start(move |_, _| Fault::Redirect(to)).await;
    let error = server.blob().put_once(KEY(), "x".into()).await.unwrap_err();
    assert!(matches!(error, Error::Rejected { .. }), "{error:?}");
    assert!(error_chain(&error).contains("endpoint="), "{}", error_chain(&error));
    assert_eq!(elsewhere.request_names().len(), 0);
}

#[tokio::test]
async fn truncated_body_is_read_again() {
    let server = FaultyS3::start(|request, before| match (request.method.as_str(), before) {
        ("GET", 0) => Fault::CutBody,
        _ => Fault::None,
    })
    .await;
    let blob = server.blob();
    blob.put_once(KEY(), "0123456789".into()).await.unwrap();
    let reader = blob.reader(KEY()).await.unwrap().unwrap();
    assert_eq!(reader.read_at(2..9).await.unwrap(), "2345678");
    assert_eq!(server.request_names().iter().filter(|what| *what == "GET segment").count(), 2);
}

#[tokio::test]
async fn truncated_or_mismatched_range_response_is_an_error() {
    for fault in [Fault::CutBody, Fault::WrongRange, Fault::WholeObject, Fault::Refusal(416, "InvalidRange")]
    {
        let server =
            FaultyS3::start(move |request, _| if request.method == "GET" { fault } else { Fault::None })
                .await;
        let blob = server.blob();
        blob.put_once(KEY(), "0123456789".into()).await.unwrap();
        let reader = blob.reader(KEY()).await.unwrap().unwrap();
        assert!(reader.read_at(2..9).await.is_err(), "{fault:?}");
        assert!(reader.read_many(&[0..1, 2..9]).await.is_err(), "{fault:?}");
        let streamed: Result<Vec<_>, _> = reader.stream(2..9).unwrap().try_collect().await;
        assert!(streamed.is_err(), "{fault:?}");
    }
}

#[tokio::test]
async fn oversized_object_is_rejected_before_reading() {
    const LEN: u64 = 3 << 30;
    let server = FaultyS3::start(|request, _| match request.method.as_str() {
        "GET" | "HEAD" => Fault::HugeObject(LEN),
        _ => Fault::None,
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
async fn adjacent_ranges_share_one_get_and_length_is_cached() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let blob = server.blob();
    blob.put_once(KEY(), noise(MIB)).await.unwrap();
    let ranges = [0..10, 10..20, 50_000..50_100, 500_000..500_001, 499_000..499_001];
    let reader = blob.reader(KEY()).await.unwrap().unwrap();
    reader.read_many(&ranges).await.unwrap();
    blob.reader(KEY()).await.unwrap().unwrap().read_at(7..7).await.unwrap();
    let mut requests: Vec<(String, String)> = server
        .requests()
        .iter()
        .skip(1)
        .map(|request| {
            let range = request.headers.lines().find_map(|line| line.strip_prefix("range: "));
            (request.method.clone(), range.unwrap_or_default().to_owned())
        })
        .collect();
    requests.sort();
    let expected = [
        ("GET", "bytes=0-50099"),
        ("GET", "bytes=499000-499000"),
        ("GET", "bytes=500000-500000"),
        ("HEAD", ""),
    ];
    assert_eq!(requests, expected.map(|(method, range)| (method.to_owned(), range.to_owned())));
}

#[tokio::test]
async fn dropped_stream_sends_no_further_requests() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let blob = server.blob();
    blob.put_once(KEY(), noise(32 * MIB)).await.unwrap();
    let reader = blob.reader(KEY()).await.unwrap().unwrap();
    let mut stream = reader.stream(0..32 << 20).unwrap();
    assert!(stream.try_next().await.unwrap().is_some());
    drop(stream);
    // The first window, and the read-ahead one, if its request was sent.
    let gets = server.request_names().iter().filter(|what| *what == "GET segment").count();
    assert!((1..=2).contains(&gets), "{gets}");
}

#[tokio::test]
async fn failed_part_aborts_the_multipart_upload() {
    let server = FaultyS3::start(|request, _| match request.what().as_str() {
        "PUT part source" => Fault::Refusal(507, ""),
        _ => Fault::None,
    })
    .await;
    let blob = server.blob();
    let mut writer = blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    writer.write(noise(PART + 1)).await.unwrap();
    assert!(matches!(writer.finish().await, Err(Error::Full)));
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    while !server.request_names().contains(&"DELETE multipart".to_owned()) {
        ticks.tick().await;
    }
    assert!(server.request_names().contains(&"DELETE upload source".to_owned()));
    assert_eq!(server.objects(), [""; 0]);
    let Blob::S3(store) = &blob else { panic!("it is a bucket") };
    assert_eq!(store.parts_memory_in_use(), 0);
}

#[tokio::test]
async fn writers_wait_for_memory_and_never_for_each_other() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let mut limits = fast_retries();
    limits.parts_memory = 3 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits.clone()).unwrap();
    let Blob::S3(store) = blob.clone() else { panic!("it is a bucket") };
    // One upload at a time: `FaultyS3` stores the parts of one. The others are a part long at most.
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (blob, store, memory) = (blob.clone(), store.clone(), limits.parts_memory);
        tasks.spawn(async move {
            let key = ObjectKey::Source(source(n));
            let mut writer = blob.writer(key).await.unwrap();
            let pieces = if n == 0 { 26 } else { 10 };
            for _ in 0..pieces {
                writer.write(noise(PART / 10)).await.unwrap();
                assert!(store.parts_memory_in_use() <= memory);
                tokio::task::yield_now().await;
            }
            assert_eq!(writer.finish().await.unwrap(), (pieces * (PART / 10)) as u64);
        });
    }
    tasks.join_all().await;
    assert_eq!(store.parts_memory_in_use(), 0);
    assert_eq!(server.objects().iter().filter(|name| name.starts_with("source/")).count(), 12);
}

#[tokio::test]
async fn writers_fill_a_second_part_only_while_memory_is_plentiful() {
    let server = FaultyS3::without_answers_to_parts().await;
    let mut limits = fast_retries();
    limits.parts_memory = 32 * limits.part_len;
    let part_len = limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let Blob::S3(store) = &blob else { panic!("it is a bucket") };
    let (mut writers, mut parts) = (Vec::new(), Vec::new());
    for n in 0..6 {
        let mut writer = blob.writer(ObjectKey::Source(source(n))).await.unwrap();
        // The third part waits for the first one, which never gets a response.
        assert!(writer.write(noise(2 * PART + 1)).now_or_never().is_none());
        parts.push(store.parts_memory_in_use() / part_len);
        writers.push(writer);
    }
    assert_eq!(parts, [2, 4, 5, 6, 7, 8]);
}

#[tokio::test]
async fn writers_of_one_workspace_leave_memory_for_another_one() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let mut limits = fast_retries();
    limits.parts_memory = 4 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let [loud, quiet] = ["019a492c-41f3-7001-8203-040506070801", "019a492c-41f3-7001-8203-040506070802"]
        .map(|id| blob.for_workspace(Some(id.parse().unwrap())));
    let mut open_writers = Vec::new();
    for n in 0..3 {
        let mut writer = loud.writer(ObjectKey::Source(source(n))).await.unwrap();
        writer.write("a slow source".into()).await.unwrap();
        open_writers.push(writer);
    }
    let mut fourth = loud.writer(ObjectKey::Source(source(3))).await.unwrap();
    let mut waits = Box::pin(fourth.write("no memory is left for it".into()));
    assert!((&mut waits).now_or_never().is_none());
    let mut writer = quiet.writer(ObjectKey::Source(source(4))).await.unwrap();
    writer.write("there is for another workspace".into()).await.unwrap();
    assert_eq!(writer.finish().await.unwrap(), 30);
    assert!((&mut waits).now_or_never().is_none());
    open_writers.pop();
    waits.await.unwrap();
}

#[tokio::test]
async fn paused_writers_use_at_most_a_quarter_of_memory() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let mut limits = fast_retries();
    limits.parts_memory = 16 * limits.part_len;
    let blob = Blob::open_s3_with(&server.url().parse().unwrap(), limits).unwrap();
    let [loud, quiet] = ["019a492c-41f3-7001-8203-040506070801", "019a492c-41f3-7001-8203-040506070802"]
        .map(|id| blob.for_workspace(Some(id.parse().unwrap())));
    let mut writers = Vec::new();
    for (n, blob) in [&loud, &loud, &loud, &loud, &quiet, &quiet].into_iter().enumerate() {
        let mut writer = blob.writer(ObjectKey::Source(source(n as u128))).await.unwrap();
        assert!(writer.try_idle().is_some(), "it holds no memory");
        writer.write("a source that was cut".into()).await.unwrap();
        writers.push(writer);
    }
    let mut paused: Vec<_> = writers.iter().map(kinora_blob::ObjectWriter::try_idle).collect();
    let is_paused: Vec<_> = paused.iter().map(Option::is_some).collect();
    assert_eq!(is_paused, [true, true, true, false, true, false]);
    paused[0] = None;
    assert!(writers[5].try_idle().is_some());
}

#[tokio::test]
async fn more_bytes_than_announced_are_an_error() {
    let server = FaultyS3::start(|_, _| Fault::None).await;
    let mut writer = server.blob().writer(KEY()).await.unwrap();
    writer.announce(Some(3));
    writer.write("abc".into()).await.unwrap();
    assert!(matches!(writer.write("d".into()).await, Err(Error::Internal { .. })));
    assert!(writer.finish().await.is_err());
    assert_eq!(server.request_names(), [""; 0]);
}
