//! Servers on PostgreSQL on a kernel that cannot confine ffmpeg.

use crate::command::Machine;
use crate::support::without_landlock;

#[test]
fn unconfined_server_on_postgresql_does_not_start() {
    without_landlock(async || {
        let machine = Machine::new().await;
        let refused = machine.run(&["serve"]).await;
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let reason = "others can reach this server: its database is PostgreSQL";
        assert!(refused.stderr.contains(reason), "{refused:?}");
        machine.serve(&["--allow-unconfined"]).await.stop().await.ok();
    });
}
