//! Configuration: flags over environment over `kinora.toml` over defaults.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::addresses::ServedAddresses;
use crate::command::Problem;

/// What may be set on the command line or by the environment. All of it may stand in the file, too, with the same names.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Given {
    /// Folder of the database, the key and the objects [default: ./data]
    #[arg(long, global = true, env = "KINORA_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, global = true, env = "KINORA_LISTEN", value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// How clients reach the server [default: http:// and the listen address]
    #[arg(long, global = true, env = "KINORA_PUBLIC_URL", value_name = "URL")]
    public_url: Option<String>,
    /// Base of manifests and segments [default: the public URL]
    #[arg(long, global = true, env = "KINORA_STREAM_URL", value_name = "URL")]
    stream_url: Option<String>,
    /// Base of pictures [default: the public URL]
    #[arg(long, global = true, env = "KINORA_IMAGES_URL", value_name = "URL")]
    images_url: Option<String>,
    /// A private network that sources and webhooks may lie in; may be given several times
    #[arg(long, global = true, env = "KINORA_ALLOW_PRIVATE", value_name = "CIDR", value_delimiter = ',')]
    allow_private: Option<Vec<IpNet>>,
    /// A further header that repeats Service-Signature; may be given several times
    #[arg(long, global = true, env = "KINORA_SIGNATURE_HEADER", value_name = "NAME", value_delimiter = ',')]
    signature_header: Option<Vec<String>>,
    /// Path of ffmpeg [default: the one in PATH]
    #[arg(long, global = true, env = "KINORA_FFMPEG", value_name = "FILE")]
    ffmpeg: Option<PathBuf>,
    /// What is logged [default: info]
    #[arg(long, global = true, env = "KINORA_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// How it is logged [default: text]
    #[arg(long, global = true, env = "KINORA_LOG_FORMAT", value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// Keys that seal secrets, Base64 of 32 bytes, several separated by commas. Never on the command line, which all users of the
    /// machine see.
    #[arg(skip)]
    secret_key: Option<String>,
}

impl Given {
    /// The same with the keys of the environment.
    pub(crate) fn with_secret_key(self, secret_key: Option<String>) -> Self {
        Self { secret_key, ..self }
    }
}

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
    /// Folder of the database, the key and the objects.
    pub data_dir: PathBuf,
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
    /// Header names that repeat `Service-Signature`.
    pub signature_headers: Vec<String>,
    /// Path of ffmpeg; `None`: the one in `PATH`.
    pub ffmpeg: Option<PathBuf>,
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

/// The file that is read when there is one and none was named.
const FILE: &str = "kinora.toml";
/// A configuration file has some lines.
const FILE_BYTES_MAX: u64 = 1 << 20;

impl Settings {
    /// The defaults for a server on this folder and address; its public URL is that address. Reads no file and no environment,
    /// and is for those who start a [`Server`](crate::Server) in their own process.
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

    /// As [`resolve`](Self::resolve), for a command beside a server: where nothing says how the server is reached, it is as the
    /// server of the data folder says itself.
    pub(crate) fn resolve_beside_server(given: Given, file: Option<&Path>) -> Result<Self, Problem> {
        let (from_file, file) = read_file(file)?;
        let is_said = |given: &Given| given.public_url.is_some() || given.listen.is_some();
        let is_silent = !is_said(&given) && !is_said(&from_file);
        let mut settings = Self::merge(given, from_file, file)?;
        if let Some(served) = ServedAddresses::read(&settings.data_dir).filter(|_| is_silent) {
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
        let or_public =
            |name, url: Option<String>| url.map_or(Ok(public_url.clone()), |url| base(name, &url));
        Ok(Self {
            data_dir: given.data_dir.or(from_file.data_dir).unwrap_or_else(|| PathBuf::from("./data")),
            listen,
            stream_url: or_public("stream-url", given.stream_url.or(from_file.stream_url))?,
            images_url: or_public("images-url", given.images_url.or(from_file.images_url))?,
            public_url,
            allow_private: given.allow_private.or(from_file.allow_private).unwrap_or_default(),
            signature_headers: given.signature_header.or(from_file.signature_header).unwrap_or_default(),
            ffmpeg: given.ffmpeg.or(from_file.ffmpeg),
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
            "listen": self.listen,
            "public-url": self.public_url,
            "stream-url": self.stream_url,
            "images-url": self.images_url,
            "allow-private": self.allow_private.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "signature-header": self.signature_headers,
            "ffmpeg": self.ffmpeg,
            "log": self.log,
            "log-format": self.log_format,
            "secret-key": if self.secret_key.is_some() { "(hidden)" } else { "(the file secret.key)" },
            "config": self.file,
        })
    }

    /// The address of the demonstration clip, read from the store and not through a socket.
    pub(crate) fn demo_url(&self) -> String {
        format!("{}/demo/clip.mp4", self.public_url)
    }
}

fn read_file(named: Option<&Path>) -> Result<(Given, Option<PathBuf>), Problem> {
    let path = named.unwrap_or(Path::new(FILE));
    if named.is_none() && !path.exists() {
        return Ok((Given::default(), None));
    }
    let shown = path.display();
    let size = std::fs::metadata(path)
        .map_err(|error| Problem::with_cause(format!("cannot read {shown}"), error))?;
    if size.len() > FILE_BYTES_MAX {
        return Err(Problem::new(format!(
            "{shown} is larger than a configuration file may be ({FILE_BYTES_MAX} bytes)"
        )));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::with_cause(format!("cannot read {shown}"), error))?;
    let given = toml::from_str(&text)
        .map_err(|error| Problem::new(format!("{shown} is not a valid configuration: {error}")))?;
    Ok((given, Some(path.to_owned())))
}

/// `http://` and the listen address; 0.0.0.0 is no address that anybody can open (contract decision 38).
fn default_public_url(listen: SocketAddr, warnings: &mut Vec<String>) -> String {
    let mut reachable = listen;
    if listen.ip().is_unspecified() {
        let loopback =
            if listen.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        reachable.set_ip(loopback);
        warnings.push(format!(
            "answers will name http://{reachable}; set --public-url to how clients reach this server"
        ));
    }
    format!("http://{reachable}")
}

/// A base address: http or https, no query, no slash at the end.
fn base(name: &str, text: &str) -> Result<String, Problem> {
    let wrong = || {
        Problem::new(format!("--{name} must be an address such as https://video.example.com, not {text:?}"))
    };
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    let is_base = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if is_base { Ok(text.trim_end_matches('/').to_owned()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_answers_come_from_the_settings() {
        let resolve = |given| Settings::resolve(given, None).unwrap();
        let settings = resolve(Given::default());
        assert_eq!(settings.public_url, "http://127.0.0.1:8080");
        assert_eq!(settings.stream_url, settings.public_url);
        assert!(settings.warnings.is_empty());

        let settings = resolve(Given { listen: Some("0.0.0.0:9000".parse().unwrap()), ..Given::default() });
        assert_eq!(settings.public_url, "http://127.0.0.1:9000");
        assert_eq!(settings.warnings.len(), 1);

        let given = Given {
            public_url: Some("https://video.example.com/".into()),
            images_url: Some("https://images.example.com".into()),
            ..Given::default()
        };
        let settings = resolve(given);
        assert_eq!(settings.stream_url, "https://video.example.com");
        assert_eq!(settings.images_url, "https://images.example.com");
        assert_eq!(settings.demo_url(), "https://video.example.com/demo/clip.mp4");
    }

    #[test]
    fn a_command_takes_the_addresses_of_the_server_it_works_beside() {
        let folder = tempfile::tempdir().unwrap();
        let beside = |given: Given| {
            let given = Given { data_dir: Some(folder.path().to_owned()), ..given };
            Settings::resolve_beside_server(given, None).unwrap().public_url
        };
        assert_eq!(beside(Given::default()), "http://127.0.0.1:8080", "no server has run there");
        let served = Settings::for_folder(folder.path().to_owned(), "127.0.0.1:9999".parse().unwrap());
        ServedAddresses::of(&served).write(folder.path()).unwrap();
        assert_eq!(beside(Given::default()), "http://127.0.0.1:9999");
        let listen = Some("127.0.0.1:7777".parse().unwrap());
        assert_eq!(
            beside(Given { listen, ..Given::default() }),
            "http://127.0.0.1:7777",
            "what is said counts"
        );
    }

    #[test]
    fn a_base_that_is_none_is_refused_with_its_name() {
        for text in
            ["video.example.com", "ftp://a.example", "https://a.example/?q", "https://me:pw@a.example", ""]
        {
            let given = Given { public_url: Some(text.into()), ..Given::default() };
            let problem = Settings::resolve(given, None).unwrap_err();
            assert!(problem.to_string().contains("--public-url must be an address"), "{text}: {problem}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let given = Given { secret_key: Some("c2VjcmV0".into()), ..Given::default() };
        let shown = Settings::resolve(given, None).unwrap().shown().to_string();
        assert!(!shown.contains("c2VjcmV0"), "{shown}");
    }
}
