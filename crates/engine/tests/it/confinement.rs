//! The confinement as the engine measures it: on this kernel, for an ordinary user, and on kernels that lack
//! parts of it.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use kinora_engine::{Confinement, Protection};
use kinora_testkit::on_kernel_without;
use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};

use crate::fixture::engine;

/// Whether this kernel supports it, tested without the engine.
fn kernel_has_landlock() -> bool {
    let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    strict.handle_access(AccessFs::from_all(ABI::V1)).is_ok_and(|rules| rules.create().is_ok())
}

fn kernel_has_filters() -> bool {
    std::fs::exists("/proc/sys/kernel/seccomp/actions_avail").unwrap()
}

#[tokio::test]
async fn every_sandbox_layer_is_in_force() {
    let found = engine().await.confinement().await.unwrap();
    let holds = |guard: &Protection| *guard == Protection::InForce;
    assert_eq!(holds(&found.files), kernel_has_landlock(), "{found:?}");
    assert_eq!(holds(&found.network), kernel_has_filters(), "{found:?}");
    assert_eq!(holds(&found.calls), kernel_has_filters(), "{found:?}");
    assert_eq!(holds(&found.group), kernel_has_filters(), "{found:?}");
    assert!(holds(&found.privileges) && holds(&found.limits), "{found:?}");
    assert_eq!(found.is_complete(), kernel_has_landlock() && kernel_has_filters());
}

#[tokio::test]
async fn unprivileged_server_has_the_same_sandbox() {
    if !rustix::process::geteuid().is_root() {
        return; // Then every other test here shows it.
    }
    // In a folder that the user `nobody` can read.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let tests = folder.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the same tests as another user")]
    let mut command = Command::new(tests);
    command.uid(65534).gid(65534).env("TMPDIR", "/tmp").current_dir("/").args([
        "--exact",
        "confinement::every_sandbox_layer_is_in_force",
        "thumbnails::single_keyframe_is_thumbnail_of_every_time",
        "demo::demo_clip_is_h264_and_aac_mp4",
    ]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("3 passed"), "{text}");
}

/// Measures the confinement on a kernel without `calls`.
fn measured_without(calls: &[i64]) -> Confinement {
    on_kernel_without(calls, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { engine().await.confinement().await.unwrap() })
    })
}

fn reason(guard: &Protection) -> &str {
    match guard {
        Protection::InForce => "in force",
        Protection::Absent(reason) => reason,
    }
}

#[test]
fn missing_landlock_is_reported() {
    let found = measured_without(&[libc::SYS_landlock_create_ruleset]);
    let expected =
        "the kernel enforces no Landlock rules; it needs 5.13 or newer, with landlock in its lsm list";
    assert_eq!(reason(&found.files), expected);
    assert_eq!(
        [&found.network, &found.calls, &found.privileges, &found.limits, &found.group],
        [&Protection::InForce; 5]
    );
    assert!(!found.is_complete());
}

#[test]
fn missing_seccomp_is_reported() {
    if !kernel_has_landlock() {
        return; // Then TCP is not refused either.
    }
    let found = measured_without(&[libc::SYS_seccomp]);
    // The thread has a filter, the one that hides the call. That its children inherit it proves nothing.
    let missing = "the kernel accepted no filter of system calls (seccomp)";
    assert_eq!(reason(&found.network), format!("only TCP is refused; {missing}"));
    assert_eq!(reason(&found.calls), format!("a child may call socket; {missing}"));
    assert_eq!(reason(&found.group), format!("a child could leave its group; {missing}"));
    assert_eq!(
        (&found.files, &found.privileges, &found.limits),
        (&Protection::InForce, &Protection::InForce, &Protection::InForce)
    );
}
