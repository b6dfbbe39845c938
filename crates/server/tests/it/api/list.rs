//! `GET /on-demand`: pages of media (contract 1.3, decision 22).

use serde_json::{Value, json};

use crate::support::{TestApp, text};

/// A page, as the ids on it and its pagination.
async fn page(app: &TestApp, query: &str) -> (Vec<String>, Value) {
    let answer = app.call("GET", &format!("/v1/on-demand{query}")).send().await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    let body = answer.json();
    let items = body["data"].as_array().expect("data is a list");
    let ids = items.iter().map(|item| text(&item["id"]).to_owned()).collect();
    (ids, body["pagination"].clone())
}

fn pagination(total: u64, offset: u64, pages: u64) -> Value {
    json!({"totalRecords": total, "currentOffset": offset, "offsetCount": pages})
}

#[tokio::test]
async fn pages_hold_every_media_once_in_the_order_asked_for() {
    // Sources are refused at once: the list is about rows.
    let app = TestApp::options().allow_loopback(false).start().await;
    assert_eq!(page(&app, "").await, (Vec::new(), pagination(0, 1, 0)));

    let mut oldest_first = Vec::new();
    for n in 0..12 {
        let media = app.create(&format!("http://127.0.0.1/{n}.mp4")).await;
        oldest_first.push(text(&media["id"]).to_owned());
    }
    let newest_first: Vec<_> = oldest_first.iter().rev().cloned().collect();

    let check = async |query: &str, ids: &[String], expected: Value| {
        assert_eq!(page(&app, query).await, (ids.to_vec(), expected), "{query}");
    };
    check("", &newest_first[..10], pagination(12, 1, 2)).await;
    check("?offset=2", &newest_first[10..], pagination(12, 2, 2)).await;
    check("?offset=3", &[], pagination(12, 3, 2)).await;
    check("?offset=4294967295", &[], pagination(12, 4_294_967_295, 2)).await;
    check("?limit=50", &newest_first, pagination(12, 1, 1)).await;
    check("?limit=12&orderBy=asc", &oldest_first, pagination(12, 1, 1)).await;
    check("?limit=1&offset=12&orderBy=desc", &oldest_first[..1], pagination(12, 12, 12)).await;
    for number in 1..=3 {
        let at = (number - 1) * 5;
        let ids = &oldest_first[at..(at + 5).min(12)];
        let query = format!("?orderBy=asc&limit=5&offset={number}");
        check(&query, ids, pagination(12, u64::try_from(number).unwrap(), 3)).await;
    }
}

#[tokio::test]
async fn an_item_of_a_list_is_the_media_as_it_is_read() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
    let list = app.call("GET", "/on-demand").send().await.json();
    assert_eq!(list, json!({"success": true, "data": [media], "pagination": pagination(1, 1, 1)}));
}
