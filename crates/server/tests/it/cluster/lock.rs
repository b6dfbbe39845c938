//! Which servers may share a database: several, if their objects are where all of them find them.

use crate::command::Machine;
use crate::support::text;

#[tokio::test]
async fn folder_storage_rejects_second_server_and_allows_commands() {
    let machine = Machine::new().await;
    let first = machine.kinora(&["serve"]).without("KINORA_STORAGE_URL").start();
    machine.wait_until_ready().await;
    // A second server with its own folder, or with the bucket: neither finds the objects of the first one.
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
async fn bucket_storage_allows_several_servers_without_folder_storage() {
    let machine = Machine::new().await;
    let first = machine.serve(&[]).await;
    let other_machine = Machine::on_data_of(&machine);
    let second = other_machine.serve(&["--role", "delivery,worker"]).await;
    let roles = other_machine.fetch("/readyz").await.json()["roles"].clone();
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
