//! Files of the data folder that other users of the machine must not read or write.

use std::fs::{Permissions, metadata, remove_file, set_permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::command::Machine;

#[tokio::test]
async fn doctor_reports_unsafe_key_and_folder_permissions() {
    let machine = Machine::new().await;
    machine.serve(&[]).await.stop().await.ok();
    let folder = machine.data_dir();
    let key = folder.join("secret.key");
    let about = async || {
        let run = machine.run(&["doctor"]).await;
        let lines = run.stdout.lines().filter(|line| line[4..].starts_with("private"));
        (run.code, lines.map(str::to_owned).collect::<Vec<_>>())
    };
    let (folder_shown, key_shown) = (folder.display(), key.display());
    let is_well = |path: &dyn std::fmt::Display| format!("ok  private     {path} is private to its user");
    assert_eq!(about().await, (Some(0), vec![is_well(&folder_shown), is_well(&key_shown)]));

    set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    set_permissions(&folder, Permissions::from_mode(0o770)).unwrap();
    let expected = vec![
        format!(
            "NO  private     other users may write into {folder_shown} (mode 770): chmod 700 {folder_shown}"
        ),
        format!(
            "NO  private     other users may read or change {key_shown} (mode 644): chmod 600 {key_shown}"
        ),
    ];
    assert_eq!(about().await, (Some(1), expected));

    set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    remove_file(&key).unwrap();
    symlink(&key, &key).unwrap();
    let (code, lines) = about().await;
    let unknown = format!("NO  private     {key_shown} cannot be checked: ");
    assert_eq!((code, &lines[0]), (Some(1), &is_well(&folder_shown)));
    assert!(lines[1].starts_with(&unknown), "{lines:?}");
}

#[tokio::test]
async fn addresses_and_scratch_are_private_to_the_user() {
    let machine = Machine::new().await;
    machine.serve(&[]).await.stop().await.ok();
    let mode = |name: &str| metadata(machine.data_dir().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["addresses.json", "scratch", "secret.key"].map(mode), [0o600, 0o700, 0o600]);
}
