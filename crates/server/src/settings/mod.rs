//! Configuration: flags over environment over `kinora.toml` over defaults.

mod base;
mod database;
mod file;
mod given;
mod role;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use kinora_blob::StorageUrl;
use kinora_web::rate_limit::{NoRateLimit, RateLimit};
use kinora_web::roles::Roles;
use serde::{Deserialize, Serialize};

use crate::addresses::ServedAddresses;
use crate::command::Problem;
use base::{base, default_public_url};
use file::read_file;

pub use database::DatabaseUrl;
pub(crate) use given::Given;
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

/// What is in force.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of what is not elsewhere: the database and the key, the objects.
    pub data_dir: PathBuf,
    /// Somebody said which folder.
    pub has_own_data_dir: bool,
    /// The database; `None`: a file in the data folder.
    pub database_url: Option<DatabaseUrl>,
    /// Where the objects lie; `None`: in the data folder.
    pub storage_url: Option<StorageUrl>,
    /// What this process does.
    pub roles: Roles,
    /// Where the server listens.
    pub listen: SocketAddr,
    /// How clients reach it, without a slash at the end.
    pub public_url: String,
    /// Base of manifests and segments.
    pub stream_url: String,
    /// Base of pictures.
    pub images_url: String,
    /// Private networks that sources and webhooks may lie in.
    pub allow_private: Vec<IpNet>,
    /// Proxies in front of the server that say truly who asks through them.
    pub trusted_proxies: Vec<IpNet>,
    /// Header names that repeat `Service-Signature`.
    pub signature_headers: Vec<String>,
    /// Path of ffmpeg; `None`: the one in `PATH`.
    pub ffmpeg: Option<PathBuf>,
    /// Whether a server that others can reach starts although ffmpeg is not confined.
    pub allow_unconfined: bool,
    /// What encoded renditions may take; `None`: whatever the disk has.
    pub cache_bytes: Option<u64>,
    /// Whether the first segment that players ask for is encoded before it is watched.
    pub prepare_start: bool,
    /// How many requests an access token may send; `None`: as many as it likes.
    pub rate_limit: Option<RateLimit>,
    /// For how many seconds caches in between may keep what lies below a signed path; `None`: not at all.
    pub shared_max_age_s: Option<u32>,
    /// What is logged.
    pub log: String,
    /// How it is logged.
    pub log_format: LogFormat,
    /// Keys that seal secrets; `None`: the file in the data folder.
    pub secret_key: Option<String>,
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
    /// What a person should know about these settings.
    pub warnings: Vec<String>,
}

impl Settings {
    /// The defaults for a server on this folder and address; its public URL is that address. Reads no file
    /// and no environment, and is for those who start a [`Server`](crate::Server) in their own process.
    pub fn for_folder(data_dir: PathBuf, listen: SocketAddr) -> Self {
        let given = Given { data_dir: Some(data_dir), listen: Some(listen), ..Given::default() };
        Self::merge(given, Given::default(), None)
            .expect("only a base address can be wrong, and none was given")
    }

    /// What is in force, from what was given and the file.
    pub(crate) fn resolve(given: Given, file: Option<&Path>) -> Result<Self, Problem> {
        let (from_file, file) = read_file(file)?;
        Self::merge(given, from_file, file)
    }

    /// As [`resolve`](Self::resolve), for a command beside a server: where nothing says how the server is
    /// reached, it is as the server of the data folder says itself.
    pub(crate) fn resolve_beside_server(given: Given, file: Option<&Path>) -> Result<Self, Problem> {
        let (from_file, file) = read_file(file)?;
        let is_said = |given: &Given| given.public_url.is_some() || given.listen.is_some();
        let is_silent = !is_said(&given) && !is_said(&from_file);
        let mut settings = Self::merge(given, from_file, file)?;
        let served = settings.has_folder().then(|| ServedAddresses::read(&settings.data_dir)).flatten();
        if let Some(served) = served.filter(|_| is_silent) {
            (settings.public_url, settings.stream_url, settings.images_url) =
                (served.public_url, served.stream_url, served.images_url);
        }
        Ok(settings)
    }

    fn merge(given: Given, from_file: Given, file: Option<PathBuf>) -> Result<Self, Problem> {
        let listen = given.listen.or(from_file.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080)));
        let mut warnings = Vec::new();
        let public_url = match given.public_url.or(from_file.public_url) {
            Some(url) => base("public-url", &url)?,
            None => default_public_url(listen, &mut warnings),
        };
        let database_url = given.database_url.or(from_file.database_url);
        let database_url = database_url.map(|url| DatabaseUrl::parse(&url)).transpose()?;
        let storage_url = given.storage_url.or(from_file.storage_url);
        let storage_url = storage_url
            .map(|url| StorageUrl::parse(&url))
            .transpose()
            .map_err(|problem| Problem::new(format!("--storage-url cannot be used: {problem}")))?;
        let rate_limit = given.rate_limit.or(from_file.rate_limit);
        let rate_limit = rate_limit.map(|text| rate_limit_of(&text)).transpose()?;
        let shared_max_age_s = given.shared_max_age.or(from_file.shared_max_age);
        let shared_max_age_s = shared_max_age_s.map(shared_max_age_of).transpose()?;
        let roles = role::roles(given.role.or(from_file.role))?;
        if roles != Roles::ALL && (database_url.is_none() || storage_url.is_none()) {
            let had = roles.names().join(", ");
            warnings.push(format!(
                "only {had} run, and no other process can serve what lies in a folder: roles are for PostgreSQL with S3"
            ));
        }
        let data_dir = given.data_dir.or(from_file.data_dir);
        let or_public =
            |name, url: Option<String>| url.map_or(Ok(public_url.clone()), |url| base(name, &url));
        Ok(Self {
            has_own_data_dir: data_dir.is_some(),
            data_dir: data_dir.unwrap_or_else(|| PathBuf::from("./data")),
            database_url,
            storage_url,
            roles,
            listen,
            stream_url: or_public("stream-url", given.stream_url.or(from_file.stream_url))?,
            images_url: or_public("images-url", given.images_url.or(from_file.images_url))?,
            public_url,
            allow_private: given.allow_private.or(from_file.allow_private).unwrap_or_default(),
            trusted_proxies: given.trusted_proxy.or(from_file.trusted_proxy).unwrap_or_default(),
            signature_headers: given.signature_header.or(from_file.signature_header).unwrap_or_default(),
            ffmpeg: given.ffmpeg.or(from_file.ffmpeg),
            allow_unconfined: given.allow_unconfined.or(from_file.allow_unconfined).unwrap_or(false),
            cache_bytes: given.cache_bytes.or(from_file.cache_bytes),
            prepare_start: given.prepare_start.or(from_file.prepare_start).unwrap_or(true),
            rate_limit,
            shared_max_age_s,
            log: given.log.or(from_file.log).unwrap_or_else(|| "info".to_owned()),
            log_format: given.log_format.or(from_file.log_format).unwrap_or(LogFormat::Text),
            secret_key: given.secret_key.or(from_file.secret_key),
            file,
            warnings,
        })
    }

    /// Every setting with its value, secrets hidden.
    pub(crate) fn shown(&self) -> serde_json::Value {
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

    /// Whether anything lies in the data folder.
    pub(crate) fn has_folder(&self) -> bool {
        self.database_url.is_none() || self.storage_url.is_none()
    }

    /// Where the rows are, in words for people.
    pub(crate) fn database_place(&self) -> String {
        self.database_url.as_ref().map_or_else(|| self.data_dir.display().to_string(), ToString::to_string)
    }

    /// Where the objects are, in words for people.
    pub(crate) fn storage_place(&self) -> String {
        let folder = || self.objects_dir().display().to_string();
        self.storage_url.as_ref().map_or_else(folder, ToString::to_string)
    }

    /// The folder of the objects, where they lie in one.
    pub(crate) fn objects_dir(&self) -> PathBuf {
        self.data_dir.join("objects")
    }

    /// Where rows and objects are, in words for people.
    pub(crate) fn place(&self) -> String {
        if self.database_url.is_none() && self.storage_url.is_none() {
            return self.database_place();
        }
        format!("{} and {}", self.database_place(), self.storage_place())
    }

    /// The address of the demonstration clip, read from the store and not through a socket.
    pub(crate) fn demo_url(&self) -> String {
        format!("{}/demo/clip.mp4", self.public_url)
    }
}

fn rate_limit_of(text: &str) -> Result<RateLimit, Problem> {
    let wrong = |refused: NoRateLimit| Problem::new(format!("--rate-limit {refused}, not {text:?}"));
    text.parse().map_err(wrong)
}

/// A day: what is taken back should not play on for longer, and what is watched within a day is what a cache
/// is for.
const SHARED_MAX_AGE_S_MAX: u32 = 24 * 60 * 60;

fn shared_max_age_of(seconds: u32) -> Result<u32, Problem> {
    let is_kept = (1..=SHARED_MAX_AGE_S_MAX).contains(&seconds);
    let wrong = || {
        Problem::new(format!("--shared-max-age must be 1 to {SHARED_MAX_AGE_S_MAX} seconds, not {seconds}"))
    };
    is_kept.then_some(seconds).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
