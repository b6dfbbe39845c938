//! Who may serve a database: several, if what they write is where all of them find it.

use crate::command::Machine;
use crate::support::text;

#[tokio::test]
async fn with_objects_in_a_folder_a_second_server_is_refused_and_commands_are_not() {
    let machine = Machine::new().await;
    let first = machine.kinora(&["serve"]).without("KINORA_STORAGE_URL").start();
    machine.wait_until_ready().await;
    // With a folder of its own or with the bucket: neither would find what the first one has.
    for without in ["KINORA_STORAGE_URL", "KINORA_NOTHING"] {
        let second = machine.kinora(&["serve", "--listen", "127.0.0.1:0"]).without(without).run().await;
        assert_eq!(second.code, Some(1), "{second:?}");
        assert!(second.stderr.contains("another kinora serve uses this database"), "{second:?}");
    }
    let command = async |arguments: &[&str]| {
        machine.kinora(arguments).without("KINORA_STORAGE_URL").args(["--json"]).run().await.json()
    };
    let made = command(&["workspace", "create", "Staging"]).await;
    let listed = command(&["workspace", "list"]).await;
    assert!(listed.as_array().expect("a list").iter().any(|one| one["id"] == made["id"]), "{listed}");
    assert_eq!(machine.fetch("/readyz").await.status, 200);
    first.stop().await.ok();
}

#[tokio::test]
async fn with_objects_in_a_bucket_several_serve_and_one_with_a_folder_is_refused() {
    let machine = Machine::new().await;
    let first = machine.serve(&[]).await;
    let beside = Machine::beside(&machine);
    let second = beside.serve(&["--role", "delivery,worker"]).await;
    let roles = beside.fetch("/readyz").await.json()["roles"].clone();
    assert_eq!(roles, serde_json::json!(["delivery", "worker"]));

    let third =
        machine.kinora(&["serve", "--listen", "127.0.0.1:0"]).without("KINORA_STORAGE_URL").run().await;
    assert_eq!(third.code, Some(1), "{third:?}");
    assert!(third.stderr.contains("another kinora serve uses this database"), "{third:?}");
    let token = machine.token("Development", "read-write").await;
    let list = machine.request("GET", "/v1/on-demand").token(&token).send().await;
    assert_eq!((list.status, text(&list.json()["data"].to_string().into())), (200, "[]"));
    for server in [first, second] {
        server.stop().await.ok();
    }
}
