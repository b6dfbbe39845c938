use serde_json::json;

use super::{Machine, fields};

#[tokio::test]
async fn new_data_folder_has_default_workspaces_and_accepts_more() {
    let machine = Machine::new().await;
    let made = machine.json(&["workspace", "create", "Staging"]).await;
    assert_eq!((fields(&made), &made["name"]), (vec!["id", "name"], &json!("Staging")));
    let listed = machine.json(&["workspace", "list"]).await;
    let names: Vec<_> =
        listed.as_array().unwrap().iter().map(|workspace| workspace["name"].clone()).collect();
    assert_eq!(names, ["Development", "Production", "Staging"]);
    assert_eq!(listed[2], made);

    let text = machine.run(&["workspace", "list"]).await.ok();
    let lines: Vec<_> = text.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{text:?}");
    assert!(lines[0].starts_with("ID ") && lines[3].ends_with("Staging"), "{text:?}");
    assert_eq!(text.stderr, "", "a result is all there is to say");
}
