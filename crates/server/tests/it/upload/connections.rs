//! Several connections of one upload, connections that break, stop or are slow, and a full disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinora_blob::FaultAction;
use kinora_intake::StallLimit;
use kinora_testkit::fixture;

use super::{Upload, long};
use crate::support::{Faults, TestApp, until};

#[tokio::test]
async fn newer_connection_supersedes_older_upload() {
    let app = TestApp::start().await;
    let file = long();
    let older = |upload: &Upload, protocol: &str| match protocol {
        "gcs" => upload.chunk(&app, &file, 0..file.len()),
        "tus" => {
            let request =
                upload.request(&app, "PATCH").header("Tus-Resumable", "1.0.0").header("Upload-Offset", "0");
            request.header("Content-Type", "application/offset+octet-stream").body(file.clone())
        }
        "draft" => upload.request(&app, "POST").header("Upload-Complete", "?1").body(file.clone()),
        _ => upload.request(&app, "PUT").body(file.clone()),
    };
    for (protocol, status) in [("plain", 409), ("gcs", 503), ("tus", 409), ("draft", 409)] {
        let upload = Upload::new(&app).await;
        let stalled = upload.stall_after_first_bytes(&app, older(&upload, protocol)).await;
        let newer = upload.chunk(&app, &file, 0..file.len()).send().await;
        assert_eq!(newer.status, 200, "{protocol}: {newer:?}");
        let answer = stalled.answer().await;
        assert_eq!(answer.status, status, "{protocol}: {answer:?}");
        assert_eq!(answer.header("retry-after"), (status == 503).then_some("1"), "{protocol}");
        upload.ready(&app).await;
    }
}

#[tokio::test]
async fn cancel_ends_a_running_chunk() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, long());
    let stalled = upload.stall_after_first_bytes(&app, upload.chunk(&app, &file, 0..file.len())).await;
    assert_eq!(upload.cancel(&app).await.status, 200);
    assert_eq!(app.get(&upload.id).await.status, 404, "the media is gone");
    let answer = stalled.answer().await;
    assert!(matches!(answer.status, 410 | 503), "{answer:?}");
    let later = upload.chunk(&app, &file, 0..10).send().await;
    assert_eq!(later.refusal(), (410, "gone".to_owned()));
    until("nothing of it is left", async || app.objects().await.is_empty().then_some(())).await;
    assert_eq!(app.get(&upload.id).await.status, 404, "and stays gone");
    assert_eq!(upload.listed(&app).await.expect("no file came of it")["status"], "cancelled");
}

#[tokio::test]
async fn bytes_before_disconnect_are_stored() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, long());
    drop(upload.stall_after_first_bytes(&app, upload.chunk(&app, &file, 0..file.len())).await);
    let (offset, is_complete) = upload.offset(&app).await;
    let offset = usize::try_from(offset).unwrap();
    assert!(0 < offset && offset < file.len() && !is_complete, "{offset}");
    let rest = upload.chunk(&app, &file, offset..file.len()).send().await;
    assert_eq!(rest.status, 200, "{rest:?}");
    upload.ready(&app).await;
}

#[tokio::test]
async fn slow_client_times_out_and_bytes_are_stored() {
    let pace_min = StallLimit { bytes: 1 << 20, within: Duration::from_millis(300) };
    let app = TestApp::options().pace_min(pace_min).start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let dripping = upload.chunk(&app, &file, 0..file.len()).begin(5000).await;
    let answer = dripping.answer().await;
    assert_eq!(answer.refusal(), (408, "request timeout".to_owned()));
    assert_eq!(upload.offset(&app).await, (5000, false));
}

#[tokio::test]
async fn disk_full_is_507_and_upload_resumes() {
    let is_full = Arc::new(AtomicBool::new(false));
    let disk = Arc::clone(&is_full);
    let decide = move |_| {
        if disk.load(Ordering::SeqCst) { FaultAction::Full } else { FaultAction::Proceed }
    };
    let faults = Faults::new(None, Some(Arc::new(kinora_blob::Faults::new(decide))));
    let app = TestApp::options().faults(faults).start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    assert_eq!(upload.chunk(&app, &file, 0..5000).send().await.status, 308);

    is_full.store(true, Ordering::SeqCst);
    let refused = upload.chunk(&app, &file, 5000..file.len()).send().await;
    assert_eq!(refused.refusal(), (507, "insufficient storage".to_owned()));
    assert_eq!(refused.header("retry-after"), Some("30"));

    is_full.store(false, Ordering::SeqCst);
    let (offset, is_complete) = upload.offset(&app).await;
    assert!(offset >= 5000 && !is_complete, "acknowledged bytes are stored: {offset}");
    let rest = upload.chunk(&app, &file, 5000..file.len()).send().await;
    assert_eq!(rest.status, 200, "{rest:?}");
    upload.ready(&app).await;
}
