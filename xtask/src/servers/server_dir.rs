use std::fs::{self, File};
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::process::Command;

/// Users for the servers if this runs as root, the first that exists: PostgreSQL refuses to run as root.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];
/// Bytes of randomness in a password.
const PASSWORD_BYTES: usize = 16;
/// The ports of the servers. Linux gives the ports from 32768 to connections and to programs that ask for
/// any port (ip(7), `ip_local_port_range`). With a port from there, a server that ended might not start
/// again: a test could have its port by then.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The temporary folder of a run, and its owner. Removed on drop.
pub(super) struct ServerDir {
    folder: TempDir,
    /// The user of the servers, if it differs from that of this process.
    user: Option<User>,
}

/// A user and its group, by number.
#[derive(Debug, PartialEq, Eq)]
struct User {
    id: u32,
    group: u32,
}

impl ServerDir {
    /// Creates the folder.
    pub(super) fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("kinora-servers-")
            .tempdir()
            .map_err(|error| format!("a temporary folder cannot be made: {error}"))?;
        let user = if rustix::process::geteuid().is_root() { Some(unprivileged_user()?) } else { None };
        let dir = Self { folder, user };
        dir.change_owner(dir.folder.path()).map_err(|error| format!("{}: {error}", dir.path().display()))?;
        Ok(dir)
    }

    /// The folder's path, absolute.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Free space of its disk, for reports, such as `1200 MB free`.
    pub(super) fn free_space(&self) -> String {
        rustix::fs::statvfs(self.path()).map_or_else(
            |error| format!("free space unknown: {error}"),
            |disk| format!("{} MB free", disk.f_bavail.saturating_mul(disk.f_frsize) / 1_000_000),
        )
    }

    /// Creates a subfolder that the servers may write to.
    pub(super) fn make_folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path().join(name);
        fs::create_dir(&path)
            .and_then(|()| self.change_owner(&path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Writes a file that only the servers may read.
    pub(super) fn make_file(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path().join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)))
            .and_then(|()| self.change_owner(&path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// A program that the user of this folder may run: the original, or a copy if only root may run the
    /// original.
    pub(super) fn runnable(&self, program: PathBuf) -> Result<PathBuf, String> {
        if self.user.is_none() || program.ancestors().all(is_open_to_all) {
            return Ok(program);
        }
        let name = program.file_name().unwrap_or_default();
        let copy = self.path().join(name);
        fs::copy(&program, &copy)
            .and_then(|_| fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)))
            .map_err(|error| format!("{} cannot be copied: {error}", program.display()))?;
        Ok(copy)
    }

    /// A command that runs this program as the user of this folder, inside the folder, in a new process
    /// group, so that the terminal's Ctrl-C does not reach it. The kernel sends it `signal` if this process
    /// dies.
    pub(super) fn command(&self, program: &Path, signal: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a task of the workspace, no part of the product")]
        let mut command = Command::new("setpriv");
        command.arg(format!("--pdeathsig={signal}"));
        if let Some(User { id, group }) = &self.user {
            command.arg(format!("--reuid={id}")).arg(format!("--regid={group}")).arg("--clear-groups");
        }
        command.arg("--").arg(program).current_dir(self.path()).process_group(0);
        command.env("HOME", self.path());
        command
    }

    fn change_owner(&self, path: &Path) -> io::Result<()> {
        match &self.user {
            Some(User { id, group }) => chown(path, Some(*id), Some(*group)),
            None => Ok(()),
        }
    }
}

/// Whether all users may enter this folder or run this program.
fn is_open_to_all(path: &Path) -> bool {
    const EXECUTE_FOR_OTHERS: u32 = 0o001;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & EXECUTE_FOR_OTHERS != 0)
}

fn unprivileged_user() -> Result<User, String> {
    let users = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    UNPRIVILEGED.iter().find_map(|name| find_user(&users, name)).ok_or_else(|| {
        format!("root may not run PostgreSQL, and there is no user {}", UNPRIVILEGED.join(" or "))
    })
}

/// Finds a user. Its line is `name:password:id:group:...`, passwd(5).
fn find_user(users: &str, name: &str) -> Option<User> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let mut numbers = fields.skip(1).map_while(|field| field.parse().ok());
        Some(User { id: numbers.next()?, group: numbers.next()? })
    })
}

/// Distinct ports of 127.0.0.1 in [`PORTS`] on which no process listens. The search begins at a random port,
/// so that two runs at the same time rarely choose the same ones.
pub(super) fn free_ports<const N: usize>() -> Result<[u16; N], String> {
    let count = PORTS.end - PORTS.start;
    let first = u16::from_ne_bytes(random_bytes()?) % count;
    let mut candidates = (0..count).map(|step| PORTS.start + (first + step) % count);
    let mut ports = [0; N];
    let mut listeners = Vec::new(); // until all are found, or the same one could come twice
    for port in &mut ports {
        let (free, listener) = candidates
            .find_map(|port| Some((port, TcpListener::bind(("127.0.0.1", port)).ok()?)))
            .ok_or_else(|| format!("no free port on 127.0.0.1 from {} to {}", PORTS.start, PORTS.end - 1))?;
        *port = free;
        listeners.push(listener);
    }
    Ok(ports)
}

/// An unpredictable password of hexadecimal digits: other users may run programs on this machine too.
pub(super) fn password() -> Result<String, String> {
    let bytes: [u8; PASSWORD_BYTES] = random_bytes()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random_bytes<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_lookup_matches_the_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\npostgres2:x:7:7::/:\npostgres:x:101:104:PostgreSQL,,,:/var:/bin/sh\nodd:x\n";
        assert_eq!(find_user(users, "postgres"), Some(User { id: 101, group: 104 }));
        assert_eq!(find_user(users, "nobody"), None);
        assert_eq!(find_user(users, "odd"), None);
    }

    #[test]
    fn ports_are_different_and_free() {
        let [first, second] = free_ports().expect("there are free ports");
        assert_ne!(first, second);
        for port in [first, second] {
            assert!(PORTS.contains(&port), "{port}");
            TcpListener::bind(("127.0.0.1", port)).expect("free");
        }
    }

    #[test]
    fn server_dir_is_removed_on_drop() {
        let dir = ServerDir::new().expect("made");
        let file = dir.make_file("secret", "text").expect("written");
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(dir);
        assert!(!file.exists());
    }
}
