//! What `kinora storage check` finds.

use kinora_blob::{Blob, CheckOutcome, CheckStep, check};
use kinora_testkit::SeededRandom;

use crate::odd_server::{OddServer, Oddity};
use crate::world::{World, on_both};

/// The steps that failed or were not tried, with what was said.
async fn complaints(blob: &Blob) -> Vec<(CheckStep, Option<(String, String)>)> {
    let mut told = Vec::new();
    let steps = check(blob, &SeededRandom::new(1), |step| told.push(step.clone())).await;
    assert_eq!(told, steps);
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
    async fn a_good_store_passes_and_nothing_stays(world: World) {
        world.put_foreign("source/README");
        assert_eq!(complaints(&world.blob).await, []);
        world.blob.delete(crate::world::segment(0, 0)).await.unwrap();
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        while world.everything() != ["source/README".to_owned()].into() {
            ticks.tick().await; // the note of the upload goes behind our back
        }
    }
}

#[tokio::test]
async fn a_store_that_overwrites_is_found_out() {
    let server = OddServer::start(|_, _| Oddity::Careless).await;
    let found = complaints(&server.blob()).await;
    let [(CheckStep::ConditionalWrite, Some((problem, remedy)))] = &found[..] else { panic!("{found:?}") };
    assert!(problem.contains("second write"), "{problem}");
    assert!(remedy.contains("If-None-Match"), "{remedy}");
    assert!(server.objects().iter().all(|name| !name.starts_with("check/")));
}

#[tokio::test]
async fn a_store_that_refuses_everything_says_why_once_for_each_step_that_was_tried() {
    let server = OddServer::start(|_, _| Oddity::Refusal(403, "InvalidAccessKeyId")).await;
    let found = complaints(&server.blob()).await;
    assert_eq!(found.len(), CheckStep::ALL.len());
    for (step, said) in found {
        match step {
            CheckStep::Write | CheckStep::Multipart | CheckStep::Delete => {
                let (problem, remedy) = said.expect("it was tried");
                assert!(problem.contains("InvalidAccessKeyId"), "{problem}");
                assert!(remedy.contains("AWS_ACCESS_KEY_ID"), "{remedy}");
                assert!(!problem.contains(&remedy), "{problem}");
            }
            _ => assert_eq!(said, None, "{step:?}"),
        }
    }
}

#[tokio::test]
async fn a_store_without_uploads_in_parts_fails_that_step_alone() {
    let server = OddServer::start(|asked, _| {
        if asked.query.contains("uploads") { Oddity::Refusal(501, "NotImplemented") } else { Oddity::None }
    })
    .await;
    let found = complaints(&server.blob()).await;
    assert!(matches!(&found[..], [(CheckStep::Multipart, Some(_))]), "{found:?}");
}

#[tokio::test]
async fn a_store_without_conditional_writes_fails_at_the_first_write() {
    let server = OddServer::start(|asked, _| {
        let is_conditional = asked.headers.to_lowercase().contains("if-none-match");
        if is_conditional { Oddity::Refusal(501, "NotImplemented") } else { Oddity::None }
    })
    .await;
    let found = complaints(&server.blob()).await;
    let Some((CheckStep::Write, Some((problem, remedy)))) = found.first() else { panic!("{found:?}") };
    assert!(problem.contains("501"), "{problem}");
    assert!(remedy.contains("a newer version"), "{remedy}");
}
