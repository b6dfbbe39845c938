//! The events of a media with their deliveries.

use kinora_domain::{
    Attempt, AttemptId, AttemptOutcome, AttemptResponse, Clock as _, DEVELOPMENT, Event, EventKind, MediaId,
    Role, WebhookId,
};
use kinora_server::SystemRandom;
use kinora_store::{ClaimDeliveries, NextDeliveryState, WorkerId};
use serde_json::{Value, json};

use super::support::{Browser, World, problem};
use crate::support::{Answer, text};

const SECRET_URL: &str = "https://hooks.example/T0/path-secret?key=query-secret";

async fn events(browser: &Browser<'_>, workspace: &str, media: &Value, query: &str) -> Answer {
    let id = text(&media["id"]);
    browser.get(&format!("/workspaces/{workspace}/media/{id}/events{query}")).await
}

async fn media(world: &World) -> Value {
    world.app.create("http://127.0.0.1/a.mp4").await
}

async fn push(world: &World, media: &Value) {
    let (workspace, id): (_, MediaId) = (world.development().await, text(&media["id"]).parse().unwrap());
    let event = Event { workspace, kind: EventKind::MediaUpdated(id), at: world.clock.now() };
    let pushed = world.app.store.write(async move |tx| tx.push_event(&event).await);
    pushed.await.map_err(|error: kinora_store::Error| error.to_string()).unwrap();
}

/// Ends the next attempt of a webhook.
async fn attempt(world: &World, webhook: WebhookId, outcome: AttemptOutcome, next: NextDeliveryState) {
    let now = world.clock.now();
    let claim = ClaimDeliveries {
        webhook,
        owner: WorkerId::new(&SystemRandom),
        now,
        lease_until: now.plus_seconds(30),
        limit: 1,
    };
    let delivery = world.app.store.claim_deliveries(claim).await.unwrap().remove(0);
    let id = AttemptId::new(now, &SystemRandom);
    let attempt = Attempt { id, at: now, address: SECRET_URL.to_owned(), outcome };
    let finished = world.app.store.write(async move |tx| tx.finish_delivery(&delivery, &attempt, next).await);
    finished.await.map_err(|error: kinora_store::Error| error.to_string()).unwrap();
}

#[tokio::test]
async fn event_has_the_body_that_webhooks_get() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let media = media(&world).await;
    let browser = world.browser_of(Role::Viewer).await;
    let answer = events(&browser, &development, &media, "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let page = answer.data();
    assert_eq!(page["nextCursor"], Value::Null);
    let [event] = &page["events"].as_array().unwrap()[..] else { panic!("{page}") };
    assert_eq!((text(&event["type"]), &event["deliveries"]), ("video.media.created", &json!([])));
    let body = &event["data"];
    assert_eq!(
        (&body["id"], &body["type"], &body["createdAt"]),
        (&event["id"], &event["type"], &event["at"])
    );
    assert_eq!(body["data"]["id"], media["id"]);
    assert_eq!((&body["object"]["type"], &body["attempts"]), (&json!("media"), &json!([])));
}

#[tokio::test]
async fn sources_have_their_query_only_for_people_who_change_media() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let url = "http://127.0.0.1/a.mp4?signature=query-secret";
    let subtitle = json!({"type": "subtitle", "url": "http://127.0.0.1/a.vtt?key=query-secret",
        "languageCode": "en", "languageName": "English"});
    let body = json!({"inputs": [{"type": "video", "url": url}, subtitle]});
    let created = world.app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(created.status, 201, "{created:?}");
    let media = created.data();
    for role in Role::ALL {
        let answer = events(&world.browser_of(role).await, &development, &media, "").await;
        let page = answer.data();
        let created =
            page["events"].as_array().unwrap().iter().find(|it| it["type"] == "video.media.created");
        let inputs = created.unwrap()["data"]["data"]["inputs"].as_array().unwrap().clone();
        let shown: Vec<_> = inputs.iter().map(|input| text(&input["url"])).collect();
        if role == Role::Viewer {
            assert_eq!(shown, ["http://127.0.0.1/a.mp4", "http://127.0.0.1/a.vtt"]);
            assert!(!answer.text().contains("-secret"), "{answer:?}");
        } else {
            assert_eq!(shown, [url, "http://127.0.0.1/a.vtt?key=query-secret"], "{role:?}");
        }
    }
}

#[tokio::test]
async fn event_of_an_upload_shows_no_signed_url() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let body = json!({"corsOrigin": "*", "pushMediaSettings": {}});
    let upload = world.app.call("POST", "/v1/on-demand/upload").json(&body).send().await.data();
    // The first byte of the file creates the media, which has the id of its upload.
    let id: MediaId = text(&upload["uploadId"]).parse().unwrap();
    let listed = world.app.store.events_of_media(world.development().await, id, None, 9).await.unwrap();
    assert_eq!(listed[0].kind, "video.media.upload");
    let url = text(&upload["url"]);
    let target = url.strip_prefix(&world.app.url("")).unwrap();
    let sent = world.app.request("PUT", target).body(kinora_testkit::fixture::two_seconds()).send().await;
    assert!(matches!(sent.status, 200 | 201), "{sent:?}");
    let browser = world.browser_of(Role::Admin).await;
    let answer = events(&browser, &development, &json!({"id": id.to_string()}), "").await;
    let kinds: Vec<_> =
        answer.data()["events"].as_array().unwrap().iter().map(|it| it["type"].clone()).collect();
    assert!(kinds.contains(&json!("video.media.upload")), "{kinds:?}");
    let signature = url.rsplit('/').next().unwrap();
    assert!(!answer.text().contains(signature), "{answer:?}");
}

#[tokio::test]
async fn events_of_a_deleted_media_and_of_a_bare_upload_are_read() {
    let world = World::start().await;
    let [development, production] = world.workspace_ids().await;
    let media = media(&world).await;
    let path = format!("/v1/on-demand/{}", text(&media["id"]));
    assert_eq!(world.app.call("DELETE", &path).send().await.status, 200);
    let body = json!({"corsOrigin": "*", "pushMediaSettings": {}});
    let upload = world.app.call("POST", "/v1/on-demand/upload").json(&body).send().await.data();
    let upload = json!({"id": upload["uploadId"]});
    let viewer = world.browser_of(Role::Viewer).await;
    let kinds = |answer: &Answer| -> Vec<Value> {
        answer.data()["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect()
    };
    let deleted = events(&viewer, &development, &media, "").await;
    assert_eq!(kinds(&deleted), ["video.media.deleted", "video.media.created"]);
    let first = events(&viewer, &development, &media, "?limit=1").await.data();
    let cursor = text(&first["nextCursor"]);
    let rest = events(&viewer, &development, &media, &format!("?cursor={cursor}")).await;
    assert_eq!(kinds(&rest), ["video.media.created"]);
    let end = events(&viewer, &development, &media, "?cursor=0000000000000000").await;
    assert_eq!(kinds(&end), Vec::<Value>::new(), "a page after the last event");
    assert_eq!(kinds(&events(&viewer, &development, &upload, "").await), ["video.media.upload"]);

    let unknown = json!({"id": "019a492c-41f3-7001-8203-040506070809"});
    for (workspace, media) in [(&production, &media), (&production, &upload), (&development, &unknown)] {
        let answer = events(&viewer, workspace, media, "").await;
        assert_eq!(answer.refusal(), (404, "media workspace relation not found".to_owned()), "{media}");
    }
}

#[tokio::test]
async fn pages_have_each_event_once_while_others_are_added() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let (media, other) = (media(&world).await, media(&world).await);
    for _ in 0..6 {
        world.clock.advance_seconds(1);
        push(&world, &media).await;
        push(&world, &other).await;
    }
    let browser = world.browser_of(Role::Viewer).await;
    let ids = |page: &Value| -> Vec<Value> {
        page["events"].as_array().unwrap().iter().map(|event| event["id"].clone()).collect()
    };
    let expected = ids(&events(&browser, &development, &media, "").await.data());
    assert_eq!(expected.len(), 7);
    let (mut found, mut query, mut pages) = (Vec::new(), "?limit=2".to_owned(), 0);
    loop {
        let page = events(&browser, &development, &media, &query).await.data();
        found.extend(ids(&page));
        pages += 1;
        push(&world, &media).await;
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        query = format!("?limit=2&cursor={cursor}");
    }
    assert_eq!((found, pages), (expected, 4));
}

#[tokio::test]
async fn failed_attempts_are_shown_without_secrets_of_the_address() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let hook = world.app.new_hook(DEVELOPMENT, SECRET_URL).await;
    let media = media(&world).await;
    let (viewer, member) = (world.browser_of(Role::Viewer).await, world.browser_of(Role::Member).await);
    let delivery = async |browser: &Browser<'_>| {
        let answer = events(browser, &development, &media, "").await;
        assert!(!answer.text().contains("query-secret"), "{answer:?}");
        answer.data()["events"][0]["deliveries"][0].take()
    };
    let state = |delivery: &Value| {
        let names = ["state", "attempts", "lastStatus", "lastError", "lastAttemptAt", "nextAttemptAt"];
        names.map(|name| delivery[name].clone())
    };
    let now = world.clock.now();
    let waiting = delivery(&viewer).await;
    let expected =
        [json!("waiting"), json!(0), json!(null), json!(null), json!(null), json!(now.to_string())];
    assert_eq!(state(&waiting), expected);
    assert_eq!(waiting["webhook"], json!({"id": hook.id.to_string(), "url": "https://hooks.example"}));
    assert_eq!(delivery(&member).await["webhook"]["url"], "https://hooks.example/T0/path-secret");

    let refused = AttemptOutcome::Answered(AttemptResponse { status: 503, ..AttemptResponse::default() });
    let retry_at = now.plus_seconds(5);
    attempt(&world, hook.id, refused, NextDeliveryState::RetryAt(retry_at)).await;
    let expected = [
        json!("retrying"),
        json!(1),
        json!(503),
        json!("the receiver responded with status 503"),
        json!(now.to_string()),
        json!(retry_at.to_string()),
    ];
    assert_eq!(state(&delivery(&viewer).await), expected);

    world.clock.advance_seconds(5);
    let silent = AttemptOutcome::Unanswered("the receiver did not respond in time".to_owned());
    attempt(&world, hook.id, silent, NextDeliveryState::GivenUp).await;
    let expected = [
        json!("failed"),
        json!(2),
        json!(null),
        json!("the receiver did not respond in time"),
        json!(retry_at.to_string()),
        json!(null),
    ];
    assert_eq!(state(&delivery(&viewer).await), expected);
}

#[tokio::test]
async fn delivered_event_has_a_status_and_no_error() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let hook = world.app.new_hook(DEVELOPMENT, SECRET_URL).await;
    let media = media(&world).await;
    let accepted = AttemptOutcome::Answered(AttemptResponse { status: 204, ..AttemptResponse::default() });
    attempt(&world, hook.id, accepted, NextDeliveryState::Delivered).await;
    let browser = world.browser_of(Role::Viewer).await;
    let delivery = &events(&browser, &development, &media, "").await.data()["events"][0]["deliveries"][0];
    assert_eq!((&delivery["state"], &delivery["lastStatus"]), (&json!("delivered"), &json!(204)));
    assert_eq!((&delivery["lastError"], &delivery["nextAttemptAt"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn invalid_page_of_events_is_422() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let media = media(&world).await;
    let browser = world.browser_of(Role::Viewer).await;
    for (query, field) in [
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?limit=1&limit=2", "limit"),
        ("?cursor=a", "cursor"),
        ("?offset=2", "offset"),
    ] {
        let answer = events(&browser, &development, &media, query).await;
        assert_eq!(problem(&answer), (422, vec![field.to_owned()]), "{query}");
    }
    let answer = browser.get(&format!("/workspaces/{development}/media/7/events")).await;
    assert_eq!(problem(&answer), (422, vec!["mediaId".to_owned()]));
}
