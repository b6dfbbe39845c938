//! Health, readiness and metrics.

use kinora_testkit::fixture;

use crate::support::{TestApp, text};

#[tokio::test]
async fn healthz_and_readyz_are_200() {
    let app = TestApp::start().await;
    insta::assert_snapshot!("healthz", app.golden().answer(&app.fetch("/healthz").await));
    insta::assert_snapshot!("readyz", app.golden().answer(&app.fetch("/readyz").await));
}

#[tokio::test]
async fn readyz_of_unconfined_server_is_ready_and_lists_guarantees() {
    let app = TestApp::options().without_guarantee("files", "the kernel has no Landlock");
    let app = app.without_guarantee("calls", "the kernel has no seccomp").start().await;
    insta::assert_snapshot!("readyz_unconfined", app.golden().answer(&app.fetch("/readyz").await));
}

#[tokio::test]
async fn metrics_count_routes_without_ids_or_secrets() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    assert_eq!(app.fetch(&format!("/{playback}.m3u8")).await.status, 200);
    let answer = app.fetch("/metrics").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let metrics = answer.text();
    for part in [
        "kinora_http_requests_total{",
        r#"route="/v1/on-demand/{mediaId}""#,
        "kinora_http_request_seconds",
        r#"kinora_confinement_in_force{guarantee="files"} 1"#,
    ] {
        assert!(metrics.contains(part), "{part} is missing:\n{metrics}");
    }
    for secret in [playback, text(&media["id"]), &app.token.id, &app.token.secret] {
        assert!(!metrics.contains(secret), "{secret} is exposed:\n{metrics}");
    }
}
