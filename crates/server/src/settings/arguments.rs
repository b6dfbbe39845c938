//! Settings of the command line, the environment and the file.

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
pub(crate) struct SettingsArgs {
    /// Data folder: database, secret key and objects [default: ./data]
    #[arg(long, global = true, env = "KINORA_DATA_DIR", value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// PostgreSQL to use instead of SQLite in the data folder: postgres://user:password@host:5432/name. All
    /// users of the machine see the command line: put a password into the environment or the file
    #[arg(long, global = true, env = "KINORA_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(super) database_url: Option<String>,
    /// S3 bucket to use instead of a folder: s3://bucket/prefix?endpoint=https://...&region=..., with the
    /// usual AWS_ variables
    #[arg(long, global = true, env = "KINORA_STORAGE_URL", value_name = "URL")]
    pub(super) storage_url: Option<String>,
    /// Roles of this process: see [`RoleArgs`].
    #[arg(skip)]
    pub(super) role: Option<Vec<Role>>,
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, global = true, env = "KINORA_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) listen: Option<SocketAddr>,
    /// URL by which clients reach the server [default: http:// and the listen address]
    #[arg(long, global = true, env = "KINORA_PUBLIC_URL", value_name = "URL")]
    pub(super) public_url: Option<String>,
    /// Base URL of manifests and segments [default: the public URL]
    #[arg(long, global = true, env = "KINORA_STREAM_URL", value_name = "URL")]
    pub(super) stream_url: Option<String>,
    /// Base URL of thumbnails and other images [default: the public URL]
    #[arg(long, global = true, env = "KINORA_IMAGES_URL", value_name = "URL")]
    pub(super) images_url: Option<String>,
    /// A private network that sources and webhooks may be in; repeatable
    #[arg(long, global = true, env = "KINORA_ALLOW_PRIVATE", value_name = "CIDR", value_delimiter = ',')]
    pub(super) allow_private: Option<Vec<IpNet>>,
    /// A reverse proxy, or a network of them, whose X-Forwarded-For has the address of the client;
    /// repeatable
    #[arg(long, global = true, env = "KINORA_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub(super) trusted_proxy: Option<Vec<IpNet>>,
    /// A further origin at which people open the dashboard, besides the public URL; repeatable. Only needed
    /// over plain HTTP
    #[arg(long, global = true, env = "KINORA_DASHBOARD_ORIGIN", value_name = "URL", value_delimiter = ',')]
    pub(super) dashboard_origin: Option<Vec<String>>,
    /// A further header that repeats Service-Signature; repeatable
    #[arg(long, global = true, env = "KINORA_SIGNATURE_HEADER", value_name = "NAME", value_delimiter = ',')]
    pub(super) signature_header: Option<Vec<String>>,
    /// Path of ffmpeg [default: the one in PATH]
    #[arg(long, global = true, env = "KINORA_FFMPEG", value_name = "FILE")]
    pub(super) ffmpeg: Option<PathBuf>,
    /// Serve although ffmpeg is not confined on this machine. A malicious file may read all data that the
    /// server can read: use it only if every source is your own [default: false]
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
    /// Cache limit for encoded renditions in bytes; the least recently watched are evicted [default: the
    /// disk space]
    #[arg(long, global = true, env = "KINORA_CACHE_BYTES", value_name = "BYTES")]
    pub(super) cache_bytes: Option<u64>,
    /// Encode the first segment before the first playback, for media without a copy or with a copy that is
    /// too large to start with [default: true]
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
    /// Requests that one access token may send per number of seconds, such as 600/60; each process counts
    /// separately [default: no limit]
    #[arg(long, global = true, env = "KINORA_RATE_LIMIT", value_name = "REQUESTS/SECONDS")]
    pub(super) rate_limit: Option<String>,
    /// Seconds for which shared caches may store segments of private media, up to 86400; revoked media play
    /// that long from these caches [default: not stored]
    #[arg(long, global = true, env = "KINORA_SHARED_MAX_AGE", value_name = "SECONDS")]
    pub(super) shared_max_age: Option<u32>,
    /// Log filter [default: info]
    #[arg(long, global = true, env = "KINORA_LOG", value_name = "FILTER")]
    pub(super) log: Option<String>,
    /// Log format [default: text]
    #[arg(long, global = true, env = "KINORA_LOG_FORMAT", value_name = "FORMAT")]
    pub(super) log_format: Option<LogFormat>,
    /// Keys that seal secrets, Base64 of 32 bytes, several separated by commas. Never on the command line,
    /// which all users of the machine see.
    #[arg(skip)]
    pub(super) secret_key: Option<String>,
}

/// The roles of a process. An option of the commands that use it alone: `kinora user create` has another
/// `--role`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RoleArgs {
    /// Role of this process; repeatable, or a list with commas [default: all roles]
    #[arg(long, env = "KINORA_ROLE", value_name = "ROLE", value_delimiter = ',')]
    role: Option<Vec<Role>>,
}

impl SettingsArgs {
    /// These arguments with the roles of the process.
    pub(crate) fn with_roles(self, roles: &RoleArgs) -> Self {
        Self { role: roles.role.clone(), ..self }
    }

    /// These arguments with the secret keys of the environment.
    pub(crate) fn with_secret_key(self, secret_key: Option<String>) -> Self {
        Self { secret_key, ..self }
    }
}
