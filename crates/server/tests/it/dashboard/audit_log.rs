//! The audit log: its entries, filters, pages and export.

use kinora_domain::{Actor, Clock as _, Role};
use serde_json::{Value, json};

use super::support::{Browser, World, problem};
use crate::support::{Answer, text};

async fn entries(browser: &Browser<'_>, query: &str) -> Vec<Value> {
    let answer = browser.get(&format!("/audit{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.data()["entries"].as_array().unwrap().clone()
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| text(&entry["action"])).collect()
}

/// The entries of an export.
fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn change_is_one_entry_with_actor_address_and_request() {
    let world = World::start_with(|options| options.trusted_proxies(&["127.0.0.0/8"])).await;
    let ada = world.person("ada@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&ada).await;
    let [development, _] = world.workspace_ids().await;
    let before = entries(&browser, "").await.len();
    let body = json!({"name": "Shop", "workspaceId": development, "permission": "read-only"});
    let request = browser.request("POST", "/access-tokens").header("X-Forwarded-For", "203.0.113.9");
    let created = browser.send(request.json(&body)).await;

    let found = entries(&browser, "").await;
    assert_eq!(found.len(), before + 1);
    let expected = json!({
        "id": found[0]["id"],
        "at": world.clock.now().to_string(),
        "actor": {"kind": "person", "id": ada.person.id.to_string(), "name": "Ada"},
        "action": "access_token.created",
        "object": {"kind": "access_token", "id": created.data()["id"], "name": "Shop"},
        "workspace": {"id": development, "name": "Development"},
        "details": {"permission": "read-only"},
        "address": "203.0.113.9",
        "requestId": created.header("x-request-id"),
    });
    assert_eq!(found[0], expected);
}

/// Callers are cached by token, and each request has its own client.
#[tokio::test]
async fn change_in_a_workspace_has_the_address_of_its_client() {
    let world = World::start_with(|options| options.trusted_proxies(&["127.0.0.0/8"])).await;
    let browser = world.browser_of(Role::Admin).await;
    let [development, _] = world.workspace_ids().await;
    let mut expected = Vec::new();
    for address in ["203.0.113.9", "203.0.113.10", "2001:db8::1"] {
        let media = world.app.create("http://127.0.0.1/a.mp4").await;
        let path = format!("/v1/on-demand/{}", text(&media["id"]));
        let answer = world.app.call("DELETE", &path).header("X-Forwarded-For", address).send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        expected.insert(0, json!(["access_token", address]));
    }
    let media = world.app.create("http://127.0.0.1/a.mp4").await;
    let path = format!("/workspaces/{development}/on-demand/{}", text(&media["id"]));
    let request = browser.request("DELETE", &path).header("X-Forwarded-For", "203.0.113.11");
    assert_eq!(browser.send(request).await.status, 200);
    expected.insert(0, json!(["person", "203.0.113.11"]));
    let found = entries(&browser, "?action=media.deleted").await;
    let found: Vec<_> = found.iter().map(|entry| json!([entry["actor"]["kind"], entry["address"]])).collect();
    assert_eq!(found, expected);
}

/// What a person does on the pages of the organisation, and the entries of it.
#[tokio::test]
async fn every_action_is_one_entry() {
    let world = World::start().await;
    let ada = world.person("ada@example.com", Role::Admin).await;
    let eve = format!("/people/{}", world.person("eve@example.com", Role::Viewer).await.person.id);
    let browser = world.browser_of_person(&ada).await;
    let created = async |path: &str, body: Value| {
        let answer = browser.post(path, &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        format!("{path}/{}", text(&answer.data()["id"]))
    };
    let workspace = created("/workspaces", json!({"name": "Archive"})).await;
    let workspace_id = workspace.rsplit('/').next().unwrap();
    let new = json!({"name": "Shop", "workspaceId": workspace_id, "permission": "read-write"});
    let token = created("/access-tokens", new).await;
    let invitation = created("/invitations", json!({"email": "zoe@example.com", "role": "member"})).await;
    let answers = [
        browser.patch(&token, &json!({"name": "Other"})).await,
        browser.delete(&token).await,
        browser.delete(&invitation).await,
        browser.patch(&workspace, &json!({"name": "Old"})).await,
        browser.delete(&workspace).await,
        browser.patch("/organisation", &json!({"name": "Studio"})).await,
        browser.post(&format!("{eve}/reset"), &json!({})).await,
        browser.patch(&eve, &json!({"role": "member"})).await,
        browser.patch(&eve, &json!({"isDisabled": true})).await,
        browser.patch(&eve, &json!({"isDisabled": false, "role": "viewer"})).await,
        browser.delete(&eve).await,
    ];
    for answer in &answers {
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    }
    let found = entries(&browser, &format!("?actor={}", ada.person.id)).await;
    let expected = [
        "person.removed",
        "person.enabled",
        "person.role_changed",
        "person.disabled",
        "person.role_changed",
        "link.created",
        "organisation.renamed",
        "workspace.deleted",
        "workspace.renamed",
        "link.revoked",
        "access_token.revoked",
        "access_token.renamed",
        "link.created",
        "access_token.created",
        "workspace.created",
        "person.signed_in",
    ];
    assert_eq!(actions(&found), expected);
    for entry in &found[..found.len() - 1] {
        assert!(entry["requestId"].is_string(), "{entry}");
    }
    assert_eq!(found[7]["workspace"]["name"], Value::Null, "the workspace exists no longer: {}", found[7]);
    assert_eq!(found[7]["object"]["name"], "Old");
}

#[tokio::test]
async fn filters_are_combined() {
    let world = World::start().await;
    let ada = world.person("ada@example.com", Role::Admin).await;
    world.clock.advance_seconds(60);
    let eve = world.person("eve@example.com", Role::Viewer).await;
    let signed_in_at = world.clock.now();
    world.clock.advance_seconds(60);
    let browser = world.browser_of_person(&ada).await;
    world.service.set_role(&Actor::command_line(), eve.person.id, Role::Member).await.unwrap();

    let check = async |query: String, expected: &[&str]| {
        let found = entries(&browser, &query).await;
        assert_eq!(actions(&found), expected, "{query}");
        let export = browser.get(&format!("/audit.jsonl{query}")).await;
        assert_eq!(lines(&export), found, "{query}");
    };
    let (id, other) = (ada.person.id, eve.person.id);
    let all = ["person.role_changed", "person.signed_in", "person.created", "person.created"];
    check(String::new(), &all).await;
    check("?action=person".to_owned(), &all).await;
    check("?action=person.created".to_owned(), &all[2..]).await;
    check("?action=link".to_owned(), &[]).await;
    check(format!("?actor={id}"), &["person.signed_in"]).await;
    check("?actor=command".to_owned(), &[all[0], all[2], all[3]]).await;
    check(format!("?object={other}"), &[all[0], all[2]]).await;
    check(format!("?object={other}&action=person.created&actor=command"), &all[2..3]).await;
    check(format!("?object={other}&actor={id}"), &[]).await;
    check(format!("?from={signed_in_at}"), &all[..3]).await;
    check(format!("?to={signed_in_at}"), &all[3..]).await;
    let next = signed_in_at.plus_seconds(1);
    check(format!("?from={signed_in_at}&to={next}"), &all[2..3]).await;
    check(format!("?from={next}&to={signed_in_at}"), &[]).await;
}

#[tokio::test]
async fn pages_are_complete_while_entries_are_added() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let rename = async |name: usize| {
        let answer = browser.patch("/organisation", &json!({"name": format!("Name {name}")})).await;
        assert_eq!(answer.status, 200);
    };
    for name in 0..7 {
        rename(name).await;
    }
    let expected = entries(&browser, "").await;
    assert_eq!(expected.len(), 9);

    let (mut found, mut cursor, mut sizes) = (Vec::new(), None, Vec::new());
    loop {
        let query = match &cursor {
            None => "?limit=2".to_owned(),
            Some(cursor) => format!("?limit=2&cursor={cursor}"),
        };
        let page = browser.get(&format!("/audit{query}")).await.data();
        let entries = page["entries"].as_array().unwrap();
        sizes.push(entries.len());
        found.extend(entries.iter().cloned());
        // It comes before the first page.
        rename(100 + found.len()).await;
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(found, expected);
    assert_eq!(sizes, [2, 2, 2, 2, 1]);
    let last = browser.get("/audit?action=person.created&limit=1").await.data();
    assert_eq!(last["nextCursor"], Value::Null, "a full last page: {last}");
}

#[tokio::test]
async fn export_has_all_entries_as_json_lines() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    // More than two pages of the export.
    for number in 0..450 {
        world.service.rename_organisation(&Actor::command_line(), &format!("{number}")).await.unwrap();
    }
    let export = browser.get("/audit.jsonl").await;
    let headers = ["content-type", "content-disposition", "cache-control"].map(|name| export.header(name));
    let expected = ["application/x-ndjson", "attachment; filename=\"kinora-audit.jsonl\"", "no-store"];
    assert_eq!(headers, expected.map(Some));
    assert_eq!(export.header("content-length"), None, "it is streamed");

    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = browser.get(&format!("/audit?limit=100{cursor}")).await.data();
        pages.extend(page["entries"].as_array().unwrap().iter().cloned());
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(pages.len(), 452);
    assert_eq!(lines(&export), pages, "newest first, as the pages");
    let none = browser.get("/audit.jsonl?action=webhook").await;
    assert_eq!((none.status, none.text().as_str()), (200, ""));
}

#[tokio::test]
async fn invalid_parameter_is_422_with_its_name() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    for (query, name) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("cursor=last", "cursor"),
        ("action=person.flew", "action"),
        ("action=", "action"),
        ("actor=ada", "actor"),
        ("object=", "object"),
        ("object=%00", "object"),
        ("from=yesterday", "from"),
        ("to=2026-13-01T00:00:00Z", "to"),
        ("from=2026-01-01T00:00:00Z&from=2026-01-02T00:00:00Z", "from"),
        ("offset=2", "offset"),
        ("Action=person", "Action"),
    ] {
        assert_eq!(problem(&browser.get(&format!("/audit?{query}")).await), (422, vec![name.to_owned()]));
        let export = browser.get(&format!("/audit.jsonl?{query}")).await;
        assert_eq!(problem(&export), (422, vec![name.to_owned()]), "{query}");
    }
    let export = browser.get("/audit.jsonl?limit=5&cursor=a").await;
    assert_eq!(problem(&export), (422, vec!["limit".to_owned(), "cursor".to_owned()]));
}
