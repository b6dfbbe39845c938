//! The results of `kinora storage check`.

use kinora_blob::{Blob, CheckOutcome, CheckStep, check};
use kinora_testkit::SeededRandom;

use crate::s3_fault_server::{Fault, FaultyS3};
use crate::test_store::{TestBlob, on_both};

/// The steps that failed or were not tried, with their problems and remedies.
async fn complaints(blob: &Blob) -> Vec<(CheckStep, Option<(String, String)>)> {
    let mut reported = Vec::new();
    let steps = check(blob, &SeededRandom::new(1), |step| reported.push(step.clone())).await;
    assert_eq!(reported, steps);
    assert_eq!(steps.iter().map(|checked| checked.step).collect::<Vec<_>>(), CheckStep::ALL);
    steps
        .into_iter()
        .filter_map(|checked| match checked.outcome {
            CheckOutcome::Passed => None,
            CheckOutcome::NotTried => Some((checked.step, None)),
            CheckOutcome::Failed { problem, remedy } => Some((checked.step, Some((problem, remedy)))),
        })
        .collect()
}

on_both! {
    async fn check_passes_and_leaves_no_objects(world: TestBlob) {
        world.put_foreign("source/README");
        assert_eq!(complaints(&world.blob).await, []);
        world.blob.delete(crate::test_store::segment(0, 0)).await.unwrap();
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        while world.everything() != ["source/README".to_owned()].into() {
            ticks.tick().await; // the note of the upload goes behind our back
        }
    }
}

#[tokio::test]
async fn check_detects_ignored_conditional_writes() {
    let server = FaultyS3::start(|_, _| Fault::Careless).await;
    let found = complaints(&server.blob()).await;
    let [(CheckStep::ConditionalWrite, Some((problem, remedy)))] = &found[..] else { panic!("{found:?}") };
    assert!(problem.contains("second write"), "{problem}");
    assert!(remedy.contains("If-None-Match"), "{remedy}");
    assert!(server.objects().iter().all(|name| !name.starts_with("check/")));
}

#[tokio::test]
async fn check_reports_rejection_once_per_step() {
    let server = FaultyS3::start(|_, _| Fault::Refusal(403, "InvalidAccessKeyId")).await;
    let found = complaints(&server.blob()).await;
    assert_eq!(found.len(), CheckStep::ALL.len());
    for (step, complaint) in found {
        match step {
            CheckStep::Write | CheckStep::Multipart | CheckStep::Delete => {
                let (problem, remedy) = complaint.expect("it was tried");
                assert!(problem.contains("InvalidAccessKeyId"), "{problem}");
                assert!(remedy.contains("AWS_ACCESS_KEY_ID"), "{remedy}");
                assert!(!problem.contains(&remedy), "{problem}");
            }
            _ => assert_eq!(complaint, None, "{step:?}"),
        }
    }
}

#[tokio::test]
async fn missing_multipart_upload_fails_only_the_multipart_step() {
    let server = FaultyS3::start(|request, _| {
        if request.query.contains("uploads") { Fault::Refusal(501, "NotImplemented") } else { Fault::None }
    })
    .await;
    let found = complaints(&server.blob()).await;
    assert!(matches!(&found[..], [(CheckStep::Multipart, Some(_))]), "{found:?}");
}

#[tokio::test]
async fn missing_conditional_writes_fail_the_write_step() {
    let server = FaultyS3::start(|request, _| {
        let is_conditional = request.headers.to_lowercase().contains("if-none-match");
        if is_conditional { Fault::Refusal(501, "NotImplemented") } else { Fault::None }
    })
    .await;
    let found = complaints(&server.blob()).await;
    let Some((CheckStep::Write, Some((problem, remedy)))) = found.first() else { panic!("{found:?}") };
    assert!(problem.contains("501"), "{problem}");
    assert!(remedy.contains("a newer version"), "{remedy}");
}
