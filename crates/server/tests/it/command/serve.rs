//! Start and end of the server process.

use std::net::TcpListener;
use std::sync::Arc;

use kinora_blob::ObjectKey;
use kinora_domain::{Actor, Clock, Email, PasswordHash, Role};
use kinora_server::{SystemClock, SystemRandom};
use kinora_service::{NewPerson, Service};
use kinora_store::{Opener, Store};
use kinora_testkit::{Source, SourceServer, fixture};

use super::Machine;
use crate::support::{text, until};

#[tokio::test]
async fn killed_server_restarts_with_the_same_folder_and_port() {
    let machine = Machine::new().await;
    let sources = SourceServer::start().await;
    let token = machine.token("Development", "read-write").await;
    let url = sources.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let mut server = machine.serve(&["--allow-private", "127.0.0.0/8"]).await;
    let made =
        machine.json(&["media", "create", "--workspace", "Development", "--url", &url, "--wait"]).await;
    let path = format!("/v1/on-demand/{}", text(&made["id"]));
    // A media is ready before its blurHash is computed.
    let before = until("its BlurHash was computed", async || {
        let answer = machine.request("GET", &path).token(&token).send().await;
        answer.data().get("blurHash").is_some().then_some(answer)
    })
    .await;

    for _ in 0..3 {
        let killed = server.kill().await;
        assert_eq!(killed.code, None, "a signal ended it: {killed:?}");
        server = machine.serve(&[]).await;
    }
    let after = machine.request("GET", &path).token(&token).send().await;
    assert_eq!((after.status, after.body), (200, before.body));
    let manifest = format!("/{}.m3u8", text(&made["playbackIds"][0]["id"]));
    assert_eq!(machine.fetch(&manifest).await.status, 200);
    server.stop().await.ok();
}

#[tokio::test]
async fn sigterm_stops_cleanly_and_is_logged() {
    let machine = Machine::new().await;
    let ended = machine.serve(&[]).await.stop().await.ok();
    assert_eq!(ended.stdout, "", "a server has no result");
    assert!(ended.stderr.contains("kinora is ready") && ended.stderr.contains("stopped"), "{ended:?}");
    machine.request("GET", "/healthz").try_send().await.expect_err("the listener is closed");
}

#[tokio::test]
async fn log_names_the_command_until_a_person_can_sign_in() {
    let machine = Machine::new().await;
    let (sentence, command) = ("nobody can sign in to the dashboard yet", kinora_dashboard::CREATE_COMMAND);
    let first = machine.serve(&[]).await.stop().await.ok().stderr;
    assert!(first.contains(sentence) && first.contains(command), "{first}");
    let worker = machine.serve(&["--role", "worker"]).await.stop().await.ok().stderr;
    assert!(!worker.contains(sentence), "{worker}");

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Store::open(machine.ground.store_options(Opener::Command, &clock)).await.unwrap();
    let service = Service::new(store.clone(), Arc::clone(&clock), Arc::new(SystemRandom));
    let new = NewPerson {
        email: Email::parse("ada@example.com").unwrap(),
        name: None,
        role: Role::Admin,
        password: Some(PasswordHash::of("correct horse battery", [7; 16])),
    };
    service.create_person(&Actor::command_line(), new).await.unwrap();
    store.close().await;
    let second = machine.serve(&[]).await.stop().await.ok().stderr;
    assert!(!second.contains(sentence), "{second}");
}

#[tokio::test]
async fn changed_ffmpeg_decoders_are_logged_at_start() {
    let machine = Machine::new().await;
    let sentence = "this ffmpeg has other decoders than that of the process that started before";
    let first = machine.serve(&[]).await.stop().await.ok();
    assert!(!first.stderr.contains(sentence), "{first:?}");

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Store::open(machine.ground.store_options(Opener::Command, &clock)).await.unwrap();
    let exchange =
        async |own: String| store.write(async move |tx| tx.exchange_decoders(&own).await).await.unwrap();
    let noted = exchange("none".into()).await.expect("the first server noted them");
    assert!(noted.split(',').any(|name| name == "h264"), "{noted}");
    assert_eq!(exchange(noted.replace(",h264,", ",a_new_one,")).await.as_deref(), Some("none"));
    store.close().await;

    let second = machine.serve(&[]).await.stop().await.ok();
    assert!(second.stderr.contains(sentence), "{second:?}");
    assert!(second.stderr.contains("a_new_one") && second.stderr.contains("h264"), "{second:?}");
    let third = machine.serve(&[]).await.stop().await.ok();
    assert!(!third.stderr.contains(sentence), "{third:?}");
}

#[tokio::test]
async fn objects_owned_by_another_database_are_not_served() {
    let machine = Machine::new().await;
    let blob = machine.ground.blob().await;
    let server = machine.serve(&[]).await;
    let owner = until("the first sweep has recorded the owners of the objects", async || {
        blob.get(ObjectKey::Owner).await.expect("the objects answer")
    })
    .await;
    assert_eq!(owner.len(), 36, "the id of an organisation");
    server.stop().await.ok();
    machine.serve(&[]).await.stop().await.ok();

    blob.delete(ObjectKey::Owner).await.unwrap();
    blob.put_once(ObjectKey::Owner, "another".into()).await.unwrap();
    let refused = machine.kinora(&["serve", "--listen", "127.0.0.1:0"]).run().await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let sentence = "the objects belong to the database of organisation another";
    assert!(refused.stderr.contains(sentence), "{refused:?}");
}

#[tokio::test]
async fn port_in_use_is_reported_and_releases_the_folder() {
    let machine = Machine::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let run = machine.kinora(&["serve", "--listen", &address]).run().await;
    assert_eq!(run.code, Some(1), "{run:?}");
    let expected = format!("cannot listen on {address}; choose another address with --listen");
    assert!(run.stderr.contains(&expected), "{run:?}");
    machine.serve(&[]).await.stop().await.ok();
}
