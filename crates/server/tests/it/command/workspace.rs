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

#[tokio::test]
async fn loudness_target_is_shown_and_set_within_its_range() {
    let machine = Machine::new().await;
    let shown = machine.json(&["workspace", "loudness", "Development"]).await;
    assert_eq!((&shown["name"], &shown["loudnessTarget"]), (&json!("Development"), &json!(-16)));
    let set = machine.json(&["workspace", "loudness", "Development", "--target", "-23"]).await;
    assert_eq!(set["loudnessTarget"], -23);
    for wrong in ["-25", "-13", "16", "-16.5", "quiet", ""] {
        let refused = machine.run(&["workspace", "loudness", "Development", "--target", wrong]).await;
        assert_ne!(refused.code, Some(0), "{wrong}");
        assert!(refused.stderr.contains("-24 to -14"), "{refused:?}");
    }
    let text = machine.run(&["workspace", "loudness", "Development"]).await.ok();
    assert_eq!(text.stdout.trim_end(), "workspace Development levels audio to -23 LUFS");
    let other = machine.json(&["workspace", "loudness", "Production"]).await;
    assert_eq!(other["loudnessTarget"], -16, "each workspace has its own");
}

#[tokio::test]
async fn workspace_is_renamed_and_deleted_while_empty() {
    let machine = Machine::new().await;
    let made = machine.json(&["workspace", "create", "Staging"]).await;
    let renamed = machine.json(&["workspace", "rename", "Staging", "Preview"]).await;
    assert_eq!(renamed, json!({"id": made["id"], "name": "Preview"}));
    let taken = machine.run(&["workspace", "rename", "Preview", "Production"]).await.problem();
    assert!(taken.contains("a workspace Production already exists"), "{taken}");
    let unknown = machine.run(&["workspace", "delete", "Staging"]).await.problem();
    assert!(unknown.contains("there is no workspace Staging"), "{unknown}");

    let token = machine.token("Preview", "read-only").await;
    let refused = machine.run(&["workspace", "delete", "Preview"]).await.problem();
    assert!(refused.contains("this one has active access tokens"), "{refused}");
    machine.run(&["token", "revoke", &token.id]).await.ok();
    let deleted = machine.json(&["workspace", "delete", "Preview"]).await;
    assert_eq!(deleted, json!({"id": made["id"], "deleted": true}));
    machine.run(&["workspace", "delete", "Development"]).await.ok();
    let last = machine.run(&["workspace", "delete", "Production"]).await.problem();
    assert!(last.contains("the last workspace cannot be deleted"), "{last}");
    let listed = machine.json(&["workspace", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
}
