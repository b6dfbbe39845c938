use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::daemon::{Daemon, ReadyCheck};
use super::server_dir::{ServerDir, free_ports, password};
use super::{Durability, Environment};

/// The folder of `initdb` and `postgres`, if it is not found automatically.
const FOLDER_VARIABLE: &str = "KINORA_TEST_POSTGRES_BIN";
/// The folder in which Debian installs the servers of all versions, each in `VERSION/bin`.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Every test has its own database with a pool of connections, and tests run concurrently.
const CONNECTIONS_MAX: &str = "max_connections=400";
/// Durability that tests do not need: no data here outlives the machine, and a killed server loses no commit
/// by these settings.
const UNSAFE_AND_FAST: [&str; 4] =
    ["fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0"];
/// An SSLRequest: the only message that gets a response (one byte) before authentication. PostgreSQL 15,
/// 55.2.10: length 8, code 80877103.
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// One PostgreSQL: its programs, its port, and the password of its owner.
pub(super) struct Settings {
    programs: PathBuf,
    data: PathBuf,
    port: u16,
    password: String,
}

impl Settings {
    pub(super) fn new(dir: &ServerDir) -> Result<Self, String> {
        let programs = find_programs().ok_or_else(|| {
            format!("no PostgreSQL server is installed: apt install postgresql, or name its folder in {FOLDER_VARIABLE}")
        })?;
        let [port] = free_ports()?;
        Ok(Self { programs, data: dir.make_folder("postgres")?, port, password: password()? })
    }

    /// Creates the files of an empty server.
    pub(super) async fn initialise(&self, dir: &ServerDir) -> Result<(), String> {
        let password = dir.make_file("postgres.password", &self.password)?;
        let output = dir
            .command(&self.programs.join("initdb"), "KILL")
            .args(["--username=kinora", "--auth=password", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .arg(format!("--pwfile={}", password.display()))
            .arg(format!("--pgdata={}", self.data.display()))
            .output()
            .await
            .map_err(|error| format!("initdb does not start: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("initdb: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end()))
    }

    pub(super) fn start(&self, dir: &ServerDir, commits: Durability) -> Result<Daemon, String> {
        // QUIT stops it at once: its data is temporary and need not be flushed.
        let mut command = dir.command(&self.programs.join("postgres"), "QUIT");
        command.arg("-D").arg(&self.data).arg("-p").arg(self.port.to_string());
        if commits == Durability::Fast {
            for setting in UNSAFE_AND_FAST {
                command.arg("-c").arg(setting);
            }
        }
        command.args([
            "-c",
            CONNECTIONS_MAX,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
        ]);
        let answers = vec![ReadyCheck::Bytes { port: self.port, question: SSL_REQUEST }];
        Daemon::start("PostgreSQL", command, Signal::QUIT, &dir.path().join("postgres.log"), answers)
    }

    pub(super) fn environment(&self) -> Environment {
        let url = format!("postgres://kinora:{}@127.0.0.1:{}/postgres", self.password, self.port);
        vec![("KINORA_TEST_DATABASE_URL", url)]
    }
}

fn find_programs() -> Option<PathBuf> {
    let holds_server =
        |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let named = env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    named
        .into_iter()
        .chain(env::split_paths(&path))
        .chain(debian_folders(Path::new(DEBIAN)))
        .find(holds_server)
}

/// The folders of all versions, the newest first.
fn debian_folders(root: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut versions: Vec<u32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    versions.iter().map(|version| root.join(version.to_string()).join("bin")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_is_first() {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["9", "15", "14", "common"] {
            fs::create_dir(root.path().join(name)).expect("made");
        }
        let expected: Vec<PathBuf> =
            ["15/bin", "14/bin", "9/bin"].iter().map(|name| root.path().join(name)).collect();
        assert_eq!(debian_folders(root.path()), expected);
        assert_eq!(debian_folders(Path::new("/nowhere/at/all")), Vec::<PathBuf>::new());
    }
}
