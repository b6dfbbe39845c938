//! `kinora token sign`: a playback token, signed with the private key in a file: the given one, or that of
//! `trial_key.rs`.

use std::path::{Path, PathBuf};

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use clap::Args;
use kinora_domain::{
    AccessPolicy, Clock as _, PlaybackId, PublicKey, SigningKey, SigningKeyId, Timestamp, WorkspaceId,
};
use kinora_store::{Opener, Page, Store};
use serde_json::{Value, json};

use super::trial_key;
use crate::backends;
use crate::command::print::print_notice;
use crate::command::{CommandContext, CommandError};
use crate::system::SystemClock;

/// A response with a key has some 2 KiB.
const FILE_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// The playback ID that it plays
    #[arg(long, value_name = "ID")]
    playback_id: PlaybackId,
    /// How long it is valid: 90s, 30m, 1h, 7d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds)]
    expires: i64,
    /// File with the private key: PEM, its Base64, or the API response that created it [default: a trial key
    /// of the workspace, created in the data folder]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Id of the key [default: the id in the file, else the matching key in the database]
    #[arg(long, value_name = "ID", requires = "key")]
    kid: Option<SigningKeyId>,
}

pub(super) async fn run(context: &CommandContext, arguments: Arguments) -> Result<(), CommandError> {
    let Arguments { playback_id, expires, key, kid } = arguments;
    let (pair, kid) = match key {
        None => {
            let store = backends::open_store(&context.settings, Opener::Command).await?;
            let workspace =
                workspace_of(&store, playback_id, "kinora media show ID lists the playback IDs of a media")
                    .await?;
            trial_key::find_or_create(context, &store, workspace).await?
        }
        Some(key) => {
            let (pair, stored_kid) = read_key_file(&key)?;
            let kid = match kid.or(stored_kid) {
                Some(kid) => kid,
                None => find_key_id(context, playback_id, &pair).await?,
            };
            (pair, kid)
        }
    };
    let now = SystemClock.now();
    let expires_at = now.plus_seconds(expires);
    let header = json!({"alg": "RS256", "typ": "JWT", "kid": kid.to_string()});
    let claims = json!({
        "kid": kid.to_string(),
        "aud": format!("media:{playback_id}"),
        "iat": now.as_seconds(),
        "exp": expires_at.as_seconds(),
    });
    let token = sign(&pair, &header, &claims)?;
    let url = format!("{}/{playback_id}.m3u8?token={token}", context.settings.stream_url);
    let expires_at = Timestamp::from_micros(expires_at.as_seconds() * Timestamp::SECOND);
    let json =
        json!({"token": token, "kid": kid.to_string(), "expiresAt": expires_at.to_string(), "url": url});
    context.print(&json, &format!("{token}\n\nplay it: {url}"));
    Ok(())
}

fn sign(pair: &RsaKeyPair, header: &Value, claims: &Value) -> Result<String, CommandError> {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let message = format!("{header}.{claims}");
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature)
        .map_err(|_| CommandError::new("the key cannot sign"))?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The key in a file, and its id if the file has one.
pub(super) fn read_key_file(path: &Path) -> Result<(RsaKeyPair, Option<SigningKeyId>), CommandError> {
    let problem = |what: &str| CommandError::new(format!("{}: {what}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| problem(&error.to_string()))?.len();
    if size > FILE_BYTES_MAX {
        return Err(problem("is too long for a key"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| problem(&error.to_string()))?;
    let (text, kid) = match serde_json::from_str::<Value>(&text) {
        Ok(answer) if answer.is_object() => {
            let data = answer.get("data").unwrap_or(&answer);
            let key = data["privateKey"].as_str().ok_or_else(|| problem("has no privateKey"))?;
            (key.to_owned(), data["id"].as_str().and_then(|id| id.parse().ok()))
        }
        _ => (text, None),
    };
    let pair = parse_private_key(text).ok_or_else(|| {
        problem("is not an RSA private key as POST /iam/signing-keys returns it (PKCS#8, PEM or its Base64)")
    })?;
    Ok((pair, kid))
}

/// The key of a PEM text, or of its Base64.
pub(super) fn parse_private_key(text: String) -> Option<RsaKeyPair> {
    let pem = if text.contains("-----BEGIN") {
        text
    } else {
        String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok()?
    };
    let body = pem.trim().strip_prefix("-----BEGIN PRIVATE KEY-----")?;
    let body = body.strip_suffix("-----END PRIVATE KEY-----")?;
    let body: String = body.split_ascii_whitespace().collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(body).ok()?).ok()
}

/// The public half as the database stores it.
pub(super) fn public_pem(pair: &RsaKeyPair) -> Result<String, CommandError> {
    let der: PublicKeyX509Der<'_> =
        pair.public_key().as_der().map_err(|_| CommandError::new("the key has no public key"))?;
    let public =
        PublicKey::from_spki(der.as_ref().to_vec()).map_err(|bad| CommandError::new(bad.to_string()))?;
    Ok(public.to_pem())
}

/// The workspace of a playback ID; the error of an unknown one contains `instead`. Prints a note if the
/// playback ID is public and needs no token.
async fn workspace_of(
    store: &Store,
    playback: PlaybackId,
    instead: &str,
) -> Result<WorkspaceId, CommandError> {
    let media = store.media_of_playback(playback).await?.ok_or_else(|| {
        CommandError::new(format!("there is no media with the playback ID {playback}; {instead}"))
    })?;
    let handle = media.playback_ids.iter().find(|handle| handle.id == playback);
    if handle.is_some_and(|handle| handle.policy == AccessPolicy::Public) {
        print_notice(&format!("the playback ID {playback} is public and needs no token"));
    }
    Ok(media.workspace)
}

/// The id of the key among those of the workspace that the playback ID belongs to.
async fn find_key_id(
    context: &CommandContext,
    playback: PlaybackId,
    pair: &RsaKeyPair,
) -> Result<SigningKeyId, CommandError> {
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    let workspace = workspace_of(&store, playback, "say --kid").await?;
    let public = public_pem(pair)?;
    let limit = u32::try_from(SigningKey::PER_WORKSPACE_MAX).unwrap_or(u32::MAX);
    let page = Page { limit, number: 1, newest_first: true };
    let keys = store.signing_key_page(workspace, page).await?;
    let found = keys.items.iter().find(|key| key.public_key == public);
    found.map(|key| key.id).ok_or_else(|| {
        CommandError::new(format!("the workspace of the playback ID {playback} has no signing key for this file; import its public key or choose another file with --key"))
    })
}

/// Seconds of `90s`, `30m`, `1h`, `7d`.
fn seconds(text: &str) -> Result<i64, String> {
    let must = || "must be a time such as 90s, 30m, 1h or 7d".to_owned();
    let unit = text.chars().next_back().ok_or_else(must)?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(must()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| must())?;
    Ok(i64::from(number) * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_is_a_number_with_a_unit() {
        let check = |text: &str, expected: Option<i64>| assert_eq!(seconds(text).ok(), expected, "{text}");
        check("90s", Some(90));
        check("30m", Some(1800));
        check("1h", Some(3600));
        check("7d", Some(604_800));
        check("4294967295d", Some(4_294_967_295 * 86_400));
        for none in ["", "h", "1", "1.5h", "-1h", "1w", "h1", "4294967296s", "1é"] {
            check(none, None);
        }
    }
}
