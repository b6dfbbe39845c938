//! A server on a kernel that cannot confine ffmpeg.

use crate::command::Machine;
use crate::support::without_landlock;

/// The reason that the engine reports.
const NO_LANDLOCK: &str =
    "files: the kernel enforces no Landlock rules; it needs 5.13 or newer, with landlock in its lsm list";

#[test]
fn exposed_unconfined_server_does_not_start() {
    without_landlock(async || {
        let machine = Machine::new().await;
        let exposures = [
            (["--listen", "0.0.0.0:0"], "it listens on 0.0.0.0:0"),
            (["--public-url", "https://video.example.com"], "its public URL is https://video.example.com"),
            (["--trusted-proxy", "127.0.0.1/32"], "it trusts the proxy 127.0.0.1/32"),
        ];
        for (setting, exposure) in exposures {
            let refused = machine.kinora(&["serve"]).args(setting).run().await;
            assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
            let sentence = format!(
                "kinora: ffmpeg is not confined on this machine ({NO_LANDLOCK}), and others can reach this server: \
                 {exposure}. A malicious file could read all data that this server can read. Use a kernel with Landlock \
                 and seccomp; docs/confinement.md has the usual causes. If every source is your own, start with \
                 --allow-unconfined"
            );
            assert_eq!(refused.stderr.lines().last(), Some(sentence.as_str()), "{refused:?}");
            assert!(!refused.stderr.contains("kinora is ready"), "{refused:?}");
        }
    });
}

#[test]
fn unconfined_server_on_loopback_or_allowed_warns() {
    without_landlock(async || {
        let machine = Machine::new().await;
        let allowed = ["--public-url", "https://video.example.com", "--allow-unconfined"];
        for arguments in [&[][..], &allowed] {
            let server = machine.serve(arguments).await;
            let ready = machine.fetch("/readyz").await;
            let expected = format!(
                "{{\"name\":\"confinement\",\"ok\":false,\"reason\":\"ffmpeg is not fully confined; {NO_LANDLOCK}; \
                 see docs/confinement.md\"}}"
            );
            assert!(ready.text().contains(&expected) && ready.json()["ready"] == true, "{ready:?}");
            let metrics = machine.fetch("/metrics").await.text();
            for (guarantee, value) in [("files", 0), ("network", 1), ("calls", 1)] {
                let line = format!("kinora_confinement_in_force{{guarantee=\"{guarantee}\"}} {value}\n");
                assert!(metrics.contains(&line), "{line}: {metrics}");
            }
            let log = server.stop().await.ok().stderr;
            let warnings: Vec<_> = log.lines().filter(|line| line.contains("WARN")).collect();
            assert!(warnings.iter().any(|line| line.contains("guarantee=\"files\"")), "{log}");
        }
    });
}

#[test]
fn doctor_reports_a_missing_guarantee() {
    without_landlock(async || {
        let machine = Machine::new().await;
        let run = machine.run(&["doctor"]).await;
        let line = format!("NO  confinement {}", NO_LANDLOCK.replacen(": ", ": NOT in force, ", 1));
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stdout.contains(&format!("{line}; docs/confinement.md has the remedies\n")), "{run:?}");
    });
}
