//! Configuration: flags over environment over `kinora.toml` over defaults.

mod arguments;
mod base_url;
mod database;
mod file;
mod role;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use kinora_blob::StorageUrl;
use kinora_web::rate_limit::{InvalidRateLimit, RateLimit};
use kinora_web::roles::Roles;
use serde::{Deserialize, Serialize};

use crate::command::CommandError;
use crate::served_urls::ServedUrls;
use base_url::{default_public_url, parse_base_url};
use file::read_file;

pub(crate) use arguments::{RoleArgs, SettingsArgs};
pub use database::DatabaseUrl;
pub(crate) use role::Role;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// The effective settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of all data without a location of its own: the database and the key, the objects.
    pub data_dir: PathBuf,
    /// Whether the data folder was set explicitly.
    pub is_data_dir_set: bool,
    /// The database; `None`: a file in the data folder.
    pub database_url: Option<DatabaseUrl>,
    /// Location of the objects; `None`: in the data folder.
    pub storage_url: Option<StorageUrl>,
    /// The roles of this process.
    pub roles: Roles,
    /// Address and port to listen on.
    pub listen: SocketAddr,
    /// Base of the API and the pages, without a slash at the end.
    pub public_url: String,
    /// Base of manifests and segments.
    pub stream_url: String,
    /// Base of images.
    pub images_url: String,
    /// Private networks that sources and webhooks may be in.
    pub allow_private: Vec<IpNet>,
    /// Proxies in front of the server whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Further origins at which people open the dashboard.
    pub dashboard_origins: Vec<String>,
    /// Header names that repeat `Service-Signature`.
    pub signature_headers: Vec<String>,
    /// Path of ffmpeg; `None`: the one in `PATH`.
    pub ffmpeg: Option<PathBuf>,
    /// Whether a server that others can reach starts although ffmpeg is not confined.
    pub allow_unconfined: bool,
    /// Bytes that encoded renditions may use; `None`: the disk is the only limit.
    pub cache_bytes: Option<u64>,
    /// Whether the first segment that players request is encoded before it is watched.
    pub prepare_start: bool,
    /// Requests that an access token may send; `None`: no limit.
    pub rate_limit: Option<RateLimit>,
    /// Seconds for which shared caches may store responses below a signed path; `None`: not at all.
    pub shared_max_age_s: Option<u32>,
    /// Filter of log events.
    pub log: String,
    /// Format of log lines.
    pub log_format: LogFormat,
    /// Keys that seal secrets; `None`: the file in the data folder.
    pub secret_key: Option<String>,
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
    /// Warnings about these settings, for people.
    pub warnings: Vec<String>,
}

impl Settings {
    /// The defaults for a server on this folder and address; its public URL is that address.
    ///
    /// Reads no file and no environment. For programs that start a [`Server`](crate::Server) in their own
    /// process.
    pub fn for_folder(data_dir: PathBuf, listen: SocketAddr) -> Self {
        let args = SettingsArgs { data_dir: Some(data_dir), listen: Some(listen), ..SettingsArgs::default() };
        Self::merge(args, SettingsArgs::default(), None)
            .expect("only a base address can be wrong, and none was given")
    }

    /// The effective settings, from the given ones and the file.
    pub(crate) fn resolve(args: SettingsArgs, file: Option<&Path>) -> Result<Self, CommandError> {
        let (from_file, file) = read_file(file)?;
        Self::merge(args, from_file, file)
    }

    /// Like [`resolve`](Self::resolve), for a command on the data of a server. Without a setting of the
    /// server's address it uses the addresses that the server has stored in the data folder.
    pub(crate) fn resolve_with_served_urls(
        args: SettingsArgs,
        file: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let (from_file, file) = read_file(file)?;
        let has_address = |given: &SettingsArgs| given.public_url.is_some() || given.listen.is_some();
        let has_no_address = !has_address(&args) && !has_address(&from_file);
        let mut settings = Self::merge(args, from_file, file)?;
        let served = settings.uses_data_dir().then(|| ServedUrls::read(&settings.data_dir)).flatten();
        if let Some(served) = served.filter(|_| has_no_address) {
            (settings.public_url, settings.stream_url, settings.images_url) =
                (served.public_url, served.stream_url, served.images_url);
        }
        Ok(settings)
    }

    fn merge(
        args: SettingsArgs,
        from_file: SettingsArgs,
        file: Option<PathBuf>,
    ) -> Result<Self, CommandError> {
        let listen = args.listen.or(from_file.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080)));
        let mut warnings = Vec::new();
        let public_url = match args.public_url.or(from_file.public_url) {
            Some(url) => parse_base_url("public-url", &url)?,
            None => default_public_url(listen, &mut warnings),
        };
        let database_url = args.database_url.or(from_file.database_url);
        let database_url = database_url.map(|url| DatabaseUrl::parse(&url)).transpose()?;
        let storage_url = args.storage_url.or(from_file.storage_url);
        let storage_url = storage_url
            .map(|url| StorageUrl::parse(&url))
            .transpose()
            .map_err(|problem| CommandError::new(format!("--storage-url cannot be used: {problem}")))?;
        let rate_limit = args.rate_limit.or(from_file.rate_limit);
        let rate_limit = rate_limit.map(|text| rate_limit_of(&text)).transpose()?;
        let shared_max_age_s = args.shared_max_age.or(from_file.shared_max_age);
        let shared_max_age_s = shared_max_age_s.map(shared_max_age_of).transpose()?;
        let roles = role::roles(args.role.or(from_file.role))?;
        if roles != Roles::ALL && (database_url.is_none() || storage_url.is_none()) {
            let role_names = roles.names().join(", ");
            warnings.push(format!(
                "only {role_names} would run, and no other process can serve a data folder; leave out --role, or use PostgreSQL with S3"
            ));
        }
        let data_dir = args.data_dir.or(from_file.data_dir);
        let dashboard_origins = args.dashboard_origin.or(from_file.dashboard_origin).unwrap_or_default();
        let dashboard_origins: Result<_, _> =
            dashboard_origins.iter().map(|url| parse_base_url("dashboard-origin", url)).collect();
        let or_public =
            |name, url: Option<String>| url.map_or(Ok(public_url.clone()), |url| parse_base_url(name, &url));
        Ok(Self {
            is_data_dir_set: data_dir.is_some(),
            data_dir: data_dir.unwrap_or_else(|| PathBuf::from("./data")),
            database_url,
            storage_url,
            roles,
            listen,
            stream_url: or_public("stream-url", args.stream_url.or(from_file.stream_url))?,
            images_url: or_public("images-url", args.images_url.or(from_file.images_url))?,
            public_url,
            allow_private: args.allow_private.or(from_file.allow_private).unwrap_or_default(),
            trusted_proxies: args.trusted_proxy.or(from_file.trusted_proxy).unwrap_or_default(),
            dashboard_origins: dashboard_origins?,
            signature_headers: args.signature_header.or(from_file.signature_header).unwrap_or_default(),
            ffmpeg: args.ffmpeg.or(from_file.ffmpeg),
            allow_unconfined: args.allow_unconfined.or(from_file.allow_unconfined).unwrap_or(false),
            cache_bytes: args.cache_bytes.or(from_file.cache_bytes),
            prepare_start: args.prepare_start.or(from_file.prepare_start).unwrap_or(true),
            rate_limit,
            shared_max_age_s,
            log: args.log.or(from_file.log).unwrap_or_else(|| "info".to_owned()),
            log_format: args.log_format.or(from_file.log_format).unwrap_or(LogFormat::Text),
            secret_key: args.secret_key.or(from_file.secret_key),
            file,
            warnings,
        })
    }

    /// Every setting with its value, secrets hidden.
    pub(crate) fn redacted_json(&self) -> serde_json::Value {
        serde_json::json!({
            "data-dir": self.data_dir,
            "database-url": self.database_url.as_ref().map(ToString::to_string),
            "storage-url": self.storage_url.as_ref().map(ToString::to_string),
            "role": self.roles.names(),
            "listen": self.listen,
            "public-url": self.public_url,
            "stream-url": self.stream_url,
            "images-url": self.images_url,
            "allow-private": self.allow_private.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "trusted-proxy": self.trusted_proxies.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "dashboard-origin": self.dashboard_origins,
            "signature-header": self.signature_headers,
            "ffmpeg": self.ffmpeg,
            "allow-unconfined": self.allow_unconfined,
            "cache-bytes": self.cache_bytes,
            "prepare-start": self.prepare_start,
            "rate-limit": self.rate_limit.map(|limit| limit.to_string()),
            "shared-max-age": self.shared_max_age_s,
            "log": self.log,
            "log-format": self.log_format,
            "secret-key": match (&self.secret_key, &self.database_url) {
                (Some(_), _) => "(hidden)",
                (None, None) => "(the file secret.key)",
                (None, Some(_)) => "(missing: PostgreSQL needs one)",
            },
            "config": self.file,
        })
    }

    /// Whether any data is in the data folder.
    pub(crate) fn uses_data_dir(&self) -> bool {
        self.database_url.is_none() || self.storage_url.is_none()
    }

    /// The option that a printed command needs to find the same database, with a space before it. The URL of
    /// a PostgreSQL database is never printed.
    pub(crate) fn data_option(&self) -> String {
        if self.database_url.is_some() {
            return String::new();
        }
        let folder = std::path::absolute(&self.data_dir);
        let folder = folder.as_deref().unwrap_or(&self.data_dir).display().to_string();
        format!(" --data-dir {}", kinora_service::shell_word(&folder))
    }

    /// Location of the database, in words for people.
    pub(crate) fn database_location(&self) -> String {
        self.database_url.as_ref().map_or_else(|| self.data_dir.display().to_string(), ToString::to_string)
    }

    /// Location of the objects, in words for people.
    pub(crate) fn storage_location(&self) -> String {
        let folder = || self.objects_dir().display().to_string();
        self.storage_url.as_ref().map_or_else(folder, ToString::to_string)
    }

    /// The folder of the objects, if they are in one.
    pub(crate) fn objects_dir(&self) -> PathBuf {
        self.data_dir.join("objects")
    }

    /// Location of the database and the objects, in words for people.
    pub(crate) fn locations(&self) -> String {
        if self.database_url.is_none() && self.storage_url.is_none() {
            return self.database_location();
        }
        format!("{} and {}", self.database_location(), self.storage_location())
    }

    /// The address of the demonstration clip, which is read from the store and not over the network.
    pub(crate) fn demo_url(&self) -> String {
        format!("{}/demo/clip.mp4", self.public_url)
    }
}

fn rate_limit_of(text: &str) -> Result<RateLimit, CommandError> {
    let wrong =
        |refused: InvalidRateLimit| CommandError::new(format!("--rate-limit {refused}, not {text:?}"));
    text.parse().map_err(wrong)
}

/// A day: after access is revoked, cached segments should not play for longer. A cache is for segments that
/// are requested again within a day.
const SHARED_MAX_AGE_S_MAX: u32 = 24 * 60 * 60;

fn shared_max_age_of(seconds: u32) -> Result<u32, CommandError> {
    let is_valid = (1..=SHARED_MAX_AGE_S_MAX).contains(&seconds);
    let wrong = || {
        CommandError::new(format!(
            "--shared-max-age must be 1 to {SHARED_MAX_AGE_S_MAX} seconds, not {seconds}"
        ))
    };
    is_valid.then_some(seconds).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
