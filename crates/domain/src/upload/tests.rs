use super::*;
use crate::{EventKind, FailureCode};

struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * Timestamp::SECOND)
}

fn new() -> NewUpload {
    NewUpload {
        workspace: WorkspaceId::new(at(0), &Zeros),
        settings: MediaSettings::default(),
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        encryption: Encryption::None,
        tracks: Vec::new(),
        origin: CorsOrigin::Any,
        timeout_s: 100,
        size_max: Some(1000),
    }
}

fn waiting() -> Upload {
    Upload::create(new(), at(1), &Zeros).0
}

fn uploading() -> Upload {
    waiting().begin(10, "https://media.example/upload/1".into(), at(50), &Zeros).unwrap().0
}

fn failure() -> Failure {
    Failure::new(FailureCode::NotMedia, "the source is a text")
}

#[test]
fn states_are_waiting_then_uploading_then_completed() {
    let (upload, event) = Upload::create(new(), at(1), &Zeros);
    assert_eq!(event.kind, EventKind::UploadRegistered(Box::new(upload.clone())));
    assert_eq!((upload.state.name(), upload.offset()), ("waiting", 0));

    let address = "https://media.example/upload/1";
    let (upload, media, event) = upload.begin(10, address.into(), at(2), &Zeros).unwrap();
    assert_eq!((upload.state.name(), upload.offset()), ("uploading", 10));
    assert_eq!((media.id, media.inputs[0].url.as_str()), (upload.id, address));
    assert_eq!(event.kind, EventKind::MediaCreated(Box::new(media)));

    let upload = upload.renew(20, at(3)).unwrap().complete(30, at(4)).unwrap();
    assert_eq!((upload.state.name(), upload.offset(), upload.updated_at), ("completed", 30, at(4)));
    assert!(upload.is_settled() && upload.holds_source());
    let upload = upload.release_source(at(5)).unwrap();
    assert!(!upload.holds_source());
    assert!(upload.release_source(at(6)).is_err());
}

#[test]
fn each_byte_renews_the_deadline_up_to_seven_days() {
    assert_eq!(waiting().deadline(), Some(at(101)));
    assert_eq!(uploading().deadline(), Some(at(150)));
    let life_max = i64::from(Upload::LIFE_MAX_S);
    assert_eq!(uploading().renew(20, at(life_max)).unwrap().deadline(), Some(at(life_max + 1)));
    assert_eq!(waiting().claims().expires_at, at(life_max + 1));
    assert_eq!(uploading().complete(20, at(60)).unwrap().deadline(), None);
}

#[test]
fn upload_length_cannot_change() {
    let upload = waiting().set_length(500, at(2)).unwrap();
    assert_eq!(upload.length, Some(500));
    assert_eq!(upload.check_length(500, 0), Ok(()));
    assert_eq!(upload.check_length(501, 0), Err(LengthRejected::Changed { announced: 500 }));
    assert_eq!(upload.set_length(500, at(3)).unwrap().updated_at, at(2));
    assert_eq!(waiting().check_length(1001, 0), Err(LengthRejected::TooLarge { max: 1000 }));
    assert_eq!(waiting().check_length(0, 0), Err(LengthRejected::Empty));
    assert_eq!(waiting().check_length(9, 10), Err(LengthRejected::BelowOffset { kept: 10 }));
}

#[test]
fn settled_upload_rejects_transitions() {
    let settled = [
        uploading().complete(10, at(60)).unwrap(),
        waiting().cancel(at(60)).unwrap().0,
        uploading().time_out(at(60)).unwrap(),
        waiting().fail(failure(), at(60)).unwrap(),
    ];
    for upload in settled {
        let found = upload.state.name();
        let wrong = |action| Err(UploadWrongState { action, found });
        assert!(upload.is_settled(), "{found}");
        assert_eq!(upload.clone().cancel(at(70)).map(drop), wrong("cancel"));
        assert_eq!(upload.clone().time_out(at(70)).map(drop), wrong("time out"));
        assert_eq!(upload.clone().fail(failure(), at(70)).map(drop), wrong("fail"));
        assert_eq!(upload.clone().renew(1, at(70)).map(drop), wrong("renew"));
        assert_eq!(upload.clone().complete(1, at(70)).map(drop), wrong("complete"));
        assert_eq!(upload.clone().set_length(1, at(70)).map(drop), wrong("announce the length of"));
        assert_eq!(upload.begin(1, String::new(), at(70), &Zeros).map(drop), wrong("begin"));
    }
}

#[test]
fn cancelled_event_carries_the_previous_state() {
    let upload = uploading();
    let (cancelled, event) = upload.clone().cancel(at(60)).unwrap();
    assert_eq!(event.kind, EventKind::UploadCancelled(Box::new(upload)));
    assert_eq!(cancelled.state, UploadState::Cancelled { at: at(60) });
}

#[test]
fn pages_of_another_origin_may_not_send() {
    let one = CorsOrigin::from_text("https://shop.example");
    assert!(one.allows(Some("https://shop.example")) && one.allows(None));
    for other in ["http://shop.example", "https://shop.example:444", "https://a.shop.example", "null"] {
        assert!(!one.allows(Some(other)), "{other}");
        assert!(CorsOrigin::from_text("*").allows(Some(other)), "{other}");
    }
}

#[test]
fn uploaded_media_becomes_ready_once() {
    let (upload, media, _) = waiting().begin(10, String::new(), at(2), &Zeros).unwrap();
    assert_eq!(media.upload_completed_event(at(3)).kind, EventKind::UploadCompleted(Box::new(media.clone())));
    let facts = crate::media::tests::facts(None);
    let (media, event) = media.finish_upload(upload.source, facts.clone(), at(4)).unwrap();
    assert_eq!(event.kind, EventKind::MediaReady(Box::new(media.clone())));
    assert_eq!(media.source(), Some(upload.source));
    assert!(media.finish_upload(upload.source, facts, at(5)).is_err());
}
