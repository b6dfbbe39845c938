//! What may be set, and where.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ipnet::IpNet;
use serde::Deserialize;

use super::{LogFormat, Role};

/// What may be set on the command line or by the environment. All of it may stand in the file, too, with the
/// same names.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Given {
    /// Folder of the database, the key and the objects [default: ./data]
    #[arg(long, global = true, env = "KINORA_DATA_DIR", value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// PostgreSQL to use in place of a file in the data folder: postgres://user:password@host:5432/name.
    /// Everybody on the machine sees the command line: a password belongs into the environment or the file
    #[arg(long, global = true, env = "KINORA_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(super) database_url: Option<String>,
    /// Bucket to use in place of a folder: s3://bucket/prefix?endpoint=https://...&region=..., with the usual
    /// AWS_ variables
    #[arg(long, global = true, env = "KINORA_STORAGE_URL", value_name = "URL")]
    pub(super) storage_url: Option<String>,
    /// What this process does; may be given several times, or as a list with commas [default: all of it]
    #[arg(long, global = true, env = "KINORA_ROLE", value_name = "ROLE", value_delimiter = ',')]
    pub(super) role: Option<Vec<Role>>,
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, global = true, env = "KINORA_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) listen: Option<SocketAddr>,
    /// How clients reach the server [default: http:// and the listen address]
    #[arg(long, global = true, env = "KINORA_PUBLIC_URL", value_name = "URL")]
    pub(super) public_url: Option<String>,
    /// Base of manifests and segments [default: the public URL]
    #[arg(long, global = true, env = "KINORA_STREAM_URL", value_name = "URL")]
    pub(super) stream_url: Option<String>,
    /// Base of pictures [default: the public URL]
    #[arg(long, global = true, env = "KINORA_IMAGES_URL", value_name = "URL")]
    pub(super) images_url: Option<String>,
    /// A private network that sources and webhooks may lie in; may be given several times
    #[arg(long, global = true, env = "KINORA_ALLOW_PRIVATE", value_name = "CIDR", value_delimiter = ',')]
    pub(super) allow_private: Option<Vec<IpNet>>,
    /// A proxy in front of the server, or a network of them, whose X-Forwarded-For says who asks; may be
    /// given several times
    #[arg(long, global = true, env = "KINORA_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub(super) trusted_proxy: Option<Vec<IpNet>>,
    /// A further header that repeats Service-Signature; may be given several times
    #[arg(long, global = true, env = "KINORA_SIGNATURE_HEADER", value_name = "NAME", value_delimiter = ',')]
    pub(super) signature_header: Option<Vec<String>>,
    /// Path of ffmpeg [default: the one in PATH]
    #[arg(long, global = true, env = "KINORA_FFMPEG", value_name = "FILE")]
    pub(super) ffmpeg: Option<PathBuf>,
    /// Serve although ffmpeg is not confined on this machine: a damaged file may read what the server can
    /// read. Only where every source is your own [default: false]
    #[arg(
        long,
        global = true,
        env = "KINORA_ALLOW_UNCONFINED",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(super) allow_unconfined: Option<bool>,
    /// Bytes that encoded renditions may take; what was not watched for the longest is let go [default:
    /// whatever the disk has]
    #[arg(long, global = true, env = "KINORA_CACHE_BYTES", value_name = "BYTES")]
    pub(super) cache_bytes: Option<u64>,
    /// Encode the first segment that players ask for before it is watched: of media without a copy, or
    /// whose copy is too large to begin with [default: true]
    #[arg(
        long,
        global = true,
        env = "KINORA_PREPARE_START",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(super) prepare_start: Option<bool>,
    /// How many requests one access token may send, and within how many seconds, such as 600/60; each process
    /// counts for itself [default: as many as it likes]
    #[arg(long, global = true, env = "KINORA_RATE_LIMIT", value_name = "REQUESTS/SECONDS")]
    pub(super) rate_limit: Option<String>,
    /// Seconds for which caches between server and viewers may keep segments of private media, up to a day:
    /// what is taken back plays on for so long there [default: they may not]
    #[arg(long, global = true, env = "KINORA_SHARED_MAX_AGE", value_name = "SECONDS")]
    pub(super) shared_max_age: Option<u32>,
    /// What is logged [default: info]
    #[arg(long, global = true, env = "KINORA_LOG", value_name = "FILTER")]
    pub(super) log: Option<String>,
    /// How it is logged [default: text]
    #[arg(long, global = true, env = "KINORA_LOG_FORMAT", value_name = "FORMAT")]
    pub(super) log_format: Option<LogFormat>,
    /// Keys that seal secrets, Base64 of 32 bytes, several separated by commas. Never on the command line,
    /// which all users of the machine see.
    #[arg(skip)]
    pub(super) secret_key: Option<String>,
}

impl Given {
    /// The same with the keys of the environment.
    pub(crate) fn with_secret_key(self, secret_key: Option<String>) -> Self {
        Self { secret_key, ..self }
    }
}
