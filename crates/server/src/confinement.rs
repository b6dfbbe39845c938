//! Decides whether a server may start with the confinement of its ffmpeg on this machine. D-0107.
//!
//! Begin with [`check`], the rule; [`measure`] is its input.

use std::net::IpAddr;

use kinora_engine::{Confinement, Engine, Protection};
use kinora_web::health::Problem;
use url::{Host, Url};

use crate::command::CommandError;
use crate::settings::Settings;

/// The guarantees that must hold before a server that others can reach starts.
const REQUIRED: [&str; 2] = ["files", "network"];
/// The page for operators.
const PAGE: &str = "docs/confinement.md";
/// What to do about an absent guarantee.
const ADVICE: &str = "see docs/confinement.md";

/// Measures each guarantee. One that cannot be measured does not hold.
pub(crate) async fn measure(engine: &Engine) -> Confinement {
    engine
        .confinement()
        .await
        .unwrap_or_else(|error| Confinement::unknown(&format!("it cannot be measured: {error}")))
}

/// Why others can reach a server, from its settings; `None` when only this machine can.
pub(crate) fn exposure(settings: &Settings) -> Option<String> {
    let listen = settings.listen;
    let urls = [
        ("public", &settings.public_url),
        ("stream", &settings.stream_url),
        ("images", &settings.images_url),
    ];
    if !listen.ip().to_canonical().is_loopback() {
        Some(format!("it listens on {listen}"))
    } else if let Some((name, url)) = urls.into_iter().find(|(_, url)| !is_on_loopback(url)) {
        Some(format!("its {name} URL is {url}"))
    } else if let Some(proxy) = settings.trusted_proxies.first() {
        Some(format!("it trusts the proxy {proxy}"))
    } else if settings.database_url.is_some() {
        Some("its database is PostgreSQL".to_owned())
    } else {
        None
    }
}

/// Rejects a server that others can reach and whose ffmpeg is not confined, unless the operator allows it.
pub(crate) fn check(
    confinement: &Confinement,
    exposure: Option<&str>,
    is_unconfined_allowed: bool,
) -> Result<(), CommandError> {
    let Some(exposure) = exposure.filter(|_| !is_unconfined_allowed) else { return Ok(()) };
    let absent = absent(confinement).filter(|(name, _)| REQUIRED.contains(name));
    let absent: Vec<_> = absent.map(|(name, reason)| format!("{name}: {reason}")).collect();
    if absent.is_empty() {
        return Ok(());
    }
    Err(CommandError::new(format!(
        "ffmpeg is not confined on this machine ({}), and others can reach this server: {exposure}. A \
            malicious file could read all data that this server can read. Use a kernel with Landlock and \
            seccomp; {PAGE} has the usual causes. If every source is your own, start with --allow-unconfined",
        absent.join("; ")
    )))
}

/// Warns of each guarantee that does not hold.
pub(crate) fn warn(confinement: &Confinement) {
    for (guarantee, reason) in absent(confinement) {
        tracing::warn!(
            guarantee,
            reason,
            "a guarantee of the confinement of ffmpeg does not hold; see {PAGE}"
        );
    }
}

/// Sets the metric of each guarantee: 1 where it holds, 0 where not.
pub(crate) fn set_metrics(confinement: &Confinement) {
    for (guarantee, protection) in confinement.parts() {
        let holds = if *protection == Protection::InForce { 1.0 } else { 0.0 };
        metrics::gauge!("kinora_confinement_in_force", "guarantee" => guarantee).set(holds);
    }
}

/// The problem with the confinement, for `/readyz`; `None` when all guarantees hold.
pub(crate) fn problem(confinement: &Confinement) -> Option<Problem> {
    let absent: Vec<_> = absent(confinement).map(|(name, reason)| format!("{name}: {reason}")).collect();
    let what = || format!("ffmpeg is not fully confined; {}", absent.join("; "));
    (!absent.is_empty()).then(|| Problem::new(what(), ADVICE))
}

/// The guarantees that do not hold, with the reasons.
fn absent(confinement: &Confinement) -> impl Iterator<Item = (&'static str, &str)> {
    confinement.parts().into_iter().filter_map(|(name, protection)| match protection {
        Protection::InForce => None,
        Protection::Absent(reason) => Some((name, reason.as_str())),
    })
}

fn is_on_loopback(url: &str) -> bool {
    let url = Url::parse(url);
    match url.as_ref().ok().and_then(Url::host) {
        // RFC 6761, 6.3: names below localhost are loopback too.
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::DatabaseUrl;

    use super::*;

    fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = Settings::for_folder("data".into(), "127.0.0.1:8080".parse().unwrap());
        change(&mut settings);
        settings
    }

    #[test]
    fn listen_address_url_proxy_or_database_expose_the_server() {
        let check = |change: fn(&mut Settings), expected: Option<&str>| {
            assert_eq!(exposure(&settings(change)).as_deref(), expected);
        };
        check(|_| {}, None);
        check(|settings| settings.listen = "[::1]:80".parse().unwrap(), None);
        check(|settings| settings.listen = "[::ffff:127.0.0.1]:80".parse().unwrap(), None);
        check(|settings| settings.public_url = "http://localhost:8080".into(), None);
        check(|settings| settings.public_url = "http://kinora.localhost".into(), None);
        check(|settings| settings.public_url = "http://[::1]:8080/video".into(), None);
        check(|settings| settings.listen = "0.0.0.0:80".parse().unwrap(), Some("it listens on 0.0.0.0:80"));
        check(|settings| settings.listen = "[::]:80".parse().unwrap(), Some("it listens on [::]:80"));
        check(|settings| settings.listen = "10.0.0.1:80".parse().unwrap(), Some("it listens on 10.0.0.1:80"));
        check(
            |settings| settings.public_url = "https://video.example.com".into(),
            Some("its public URL is https://video.example.com"),
        );
        check(
            |settings| settings.public_url = "https://localhost.example.com".into(),
            Some("its public URL is https://localhost.example.com"),
        );
        check(
            |settings| settings.stream_url = "https://stream.example.com".into(),
            Some("its stream URL is https://stream.example.com"),
        );
        check(
            |settings| settings.images_url = "https://images.example.com".into(),
            Some("its images URL is https://images.example.com"),
        );
        check(
            |settings| settings.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()],
            Some("it trusts the proxy 127.0.0.1/32"),
        );
        check(
            |settings| {
                settings.database_url = Some(DatabaseUrl::parse("postgres://127.0.0.1/kinora").unwrap())
            },
            Some("its database is PostgreSQL"),
        );
    }

    /// A confinement in which these guarantees do not hold.
    fn without(names: &[&str]) -> Confinement {
        let guard = |name: &str| match names.contains(&name) {
            true => Protection::Absent(format!("no {name} layer")),
            false => Protection::InForce,
        };
        Confinement {
            files: guard("files"),
            network: guard("network"),
            calls: guard("calls"),
            privileges: guard("privileges"),
            limits: guard("limits"),
            group: guard("group"),
        }
    }

    #[test]
    fn exposed_server_without_files_or_network_guard_is_rejected() {
        // Absent guarantees, exposed, allowed, and the guarantees in the error.
        let table: [(&[&str], bool, bool, Option<&str>); 10] = [
            (&[], true, false, None),
            (&["files"], true, false, Some("files: no files layer")),
            (&["network"], true, false, Some("network: no network layer")),
            (
                &["files", "network", "calls"],
                true,
                false,
                Some("files: no files layer; network: no network layer"),
            ),
            (&["calls"], true, false, None),
            (&["privileges", "limits", "group"], true, false, None),
            (&["files"], false, false, None),
            (&["network"], false, false, None),
            (&["files", "network"], true, true, None),
            (&["files"], false, true, None),
        ];
        for (absent, is_exposed, is_allowed, expected) in table {
            let exposure = is_exposed.then_some("it listens on 0.0.0.0:80");
            let checked = check(&without(absent), exposure, is_allowed);
            let expected = expected.map(|named| {
                format!(
                    "ffmpeg is not confined on this machine ({named}), and others can reach this server: it listens on \
                     0.0.0.0:80. A malicious file could read all data that this server can read. Use a kernel with Landlock \
                     and seccomp; docs/confinement.md has the usual causes. If every source is your own, start with \
                     --allow-unconfined"
                )
            });
            assert_eq!(checked.err().map(|problem| problem.to_string()), expected, "{absent:?} {is_exposed}");
        }
    }

    #[test]
    fn unknown_confinement_counts_as_absent() {
        let unknown = Confinement::unknown("it cannot be measured: the media engine is busy");
        assert!(check(&unknown, Some("it trusts the proxy 10.0.0.1/32"), false).is_err());
        assert!(check(&unknown, None, false).is_ok());
        assert!(problem(&unknown).is_some_and(|problem| problem.what.contains("the media engine is busy")));
        assert_eq!(problem(&without(&[])), None);
    }
}
