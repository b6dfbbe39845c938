//! The workspace file: all that a program needs to use the API of one workspace, as JSON and as `.env`.
//!
//! The dashboard and `kinora token create --file` give the same bytes. Keys are only ever added.

use kinora_domain::{AccessToken, Secret, Workspace};
use serde::Serialize;

use crate::shell::{is_plain, shell_word};

/// Most characters of the name of a workspace in a file name.
const FILE_NAME_CHARS_MAX: usize = 40;

/// The content of the file. It contains the secret, so it is never stored.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceFile<'a> {
    /// The address of the server, without a slash at its end.
    pub public_url: &'a str,
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The access token.
    pub token: &'a AccessToken,
    /// Its secret.
    pub secret: &'a Secret,
}

/// A text with the name of its file.
#[derive(Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The name. Safe in every file system.
    pub name: String,
    /// The text, with a line break at its end.
    pub text: String,
}

/// Omits the text: it contains a secret.
impl std::fmt::Debug for NamedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedFile").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileJson<'a> {
    kinora: u32,
    base_url: String,
    workspace: WorkspaceJson<'a>,
    access_token: TokenJson<'a>,
    created_at: String,
    example: String,
}

#[derive(Serialize)]
struct WorkspaceJson<'a> {
    id: String,
    name: &'a str,
}

#[derive(Serialize)]
struct TokenJson<'a> {
    id: String,
    secret: &'a str,
    permission: &'static str,
}

impl WorkspaceFile<'_> {
    /// The file as JSON.
    pub fn json(&self) -> NamedFile {
        let file = FileJson {
            kinora: 1,
            base_url: self.base_url(),
            workspace: WorkspaceJson { id: self.workspace.id.to_string(), name: &self.workspace.name },
            access_token: TokenJson {
                id: self.token.id.to_string(),
                secret: self.secret.reveal(),
                permission: self.token.permission.as_str(),
            },
            created_at: self.token.created_at.to_string(),
            example: self.example(),
        };
        let text = serde_json::to_string_pretty(&file).expect("texts are always JSON");
        NamedFile { name: self.file_name("json"), text: text + "\n" }
    }

    /// The file as variables, for shells and for libraries that read `.env`.
    pub fn env(&self) -> NamedFile {
        let base_url = self.base_url();
        let base_url = if is_plain(&base_url) { base_url } else { env_quote(&base_url) };
        let text = format!(
            "KINORA_BASE_URL={base_url}\nKINORA_WORKSPACE_ID={}\nKINORA_WORKSPACE_NAME={}\nKINORA_TOKEN_ID={}\n\
             KINORA_TOKEN_SECRET={}\n",
            self.workspace.id,
            env_quote(&self.workspace.name),
            self.token.id,
            self.secret.reveal(),
        );
        NamedFile { name: self.file_name("env"), text }
    }

    /// A command that lists the media of the workspace.
    pub fn example(&self) -> String {
        let url = shell_word(&format!("{}/on-demand", self.base_url()));
        format!("curl -u '{}:{}' {url}", self.token.id, self.secret.reveal())
    }

    fn base_url(&self) -> String {
        format!("{}/v1", self.public_url)
    }

    /// Tells files of several workspaces and tokens apart.
    fn file_name(&self, extension: &str) -> String {
        let id = self.token.id.to_string();
        format!("kinora-{}-{}.{extension}", file_name_part(&self.workspace.name), &id[..8])
    }
}

/// Letters and digits of a name in lower case; a dash replaces each run of others.
fn file_name_part(name: &str) -> String {
    let mut part = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        if letter.is_alphanumeric() {
            part.push(letter);
        } else if !part.is_empty() && !part.ends_with('-') {
            part.push('-');
        }
    }
    let part: String = part.chars().take(FILE_NAME_CHARS_MAX).collect();
    let part = part.trim_matches('-');
    if part.is_empty() { "workspace".to_owned() } else { part.to_owned() }
}

/// The text in quotes, for a line of `.env`. Line breaks and other control characters become spaces.
///
/// Shells expand `$`, `` ` `` and `\` in double quotes, and libraries differ in what they do there. In single
/// quotes all of them take the text as it is, but none can quote a single quote in the same way. So a text
/// with a single quote and such a character is quoted for shells.
fn env_quote(text: &str) -> String {
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let is_special = |letter: char| matches!(letter, '"' | '\\' | '$' | '`');
    if !text.contains(is_special) {
        return format!("\"{text}\"");
    }
    if !text.contains('\'') {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for letter in text.chars() {
        if is_special(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use kinora_domain::{Permission, Random, Timestamp};

    use super::*;

    struct Sevens;

    impl Random for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    const WORKSPACE: &str = "019a492c-41f3-7001-8203-040506070809";
    const TOKEN: &str = "019a592c-41f3-7001-8203-040506070809";
    const SECRET: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc";

    fn with_file<T>(public_url: &str, name: &str, check: impl FnOnce(WorkspaceFile<'_>) -> T) -> T {
        let now = Timestamp::from_micros(1_762_164_228_595_604);
        let secret = Secret::new(&Sevens);
        let workspace = Workspace {
            id: WORKSPACE.parse().expect("an id"),
            organisation: WORKSPACE.parse().expect("an id"),
            name: name.to_owned(),
            created_at: now,
        };
        let token = AccessToken {
            id: TOKEN.parse().expect("an id"),
            workspace: workspace.id,
            name: Some("Shop".to_owned()),
            made_by: None,
            permission: Permission::ReadWrite,
            secret: secret.hash(),
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        check(WorkspaceFile { public_url, workspace: &workspace, token: &token, secret: &secret })
    }

    #[test]
    fn files_have_these_bytes() {
        with_file("https://video.example.com", "Production", |file| {
            let (json, env) = (file.json(), file.env());
            assert_eq!(json.name, "kinora-production-019a592c.json");
            assert_eq!(env.name, "kinora-production-019a592c.env");
            let expected = format!(
                r#"{{
  "kinora": 1,
  "baseUrl": "https://video.example.com/v1",
  "workspace": {{
    "id": "{WORKSPACE}",
    "name": "Production"
  }},
  "accessToken": {{
    "id": "{TOKEN}",
    "secret": "{SECRET}",
    "permission": "read-write"
  }},
  "createdAt": "2025-11-03T10:03:48.595604Z",
  "example": "curl -u '{TOKEN}:{SECRET}' https://video.example.com/v1/on-demand"
}}
"#
            );
            assert_eq!(json.text, expected);
            let expected = format!(
                "KINORA_BASE_URL=https://video.example.com/v1\nKINORA_WORKSPACE_ID={WORKSPACE}\n\
                 KINORA_WORKSPACE_NAME=\"Production\"\nKINORA_TOKEN_ID={TOKEN}\nKINORA_TOKEN_SECRET={SECRET}\n"
            );
            assert_eq!(env.text, expected);
            assert!(!format!("{json:?} {env:?} {file:?}").contains(SECRET));
        });
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a shell shows that the quotes are right")]
    fn shell_and_json_read_the_name_as_it_is() {
        for name in [
            "Production",
            "It's",
            "a \"b\"",
            "$HOME `id` $(id) \\ !x",
            "'$HOME' `id` \"\\n\" \\\\",
            "#1; rm -rf / && true",
            " spaces ",
            "李 é",
            "*",
        ] {
            with_file("http://[::1]:8080", name, |file| {
                let json: serde_json::Value = serde_json::from_str(&file.json().text).expect("valid");
                assert_eq!(json["workspace"]["name"], name);
                let script = format!(
                    "set -eu\n{}printf '%s\\n' \"$KINORA_WORKSPACE_NAME\" \"$KINORA_BASE_URL\"",
                    file.env().text
                );
                let run = std::process::Command::new("sh").arg("-c").arg(script).output().expect("sh runs");
                let expected = format!("{name}\nhttp://[::1]:8080/v1\n");
                assert_eq!(String::from_utf8_lossy(&run.stdout), expected, "{run:?}");
            });
        }
    }

    #[test]
    fn control_characters_become_spaces() {
        with_file("https://a.example", "a\nKINORA_TOKEN_ID=x\r\0b", |file| {
            assert_eq!(file.env().text.lines().count(), 5);
            assert!(file.env().text.contains("\"a KINORA_TOKEN_ID=x  b\""));
        });
    }

    #[test]
    fn example_quotes_an_unusual_address() {
        with_file("http://[::1]:8080/it's", "a", |file| {
            let url = r"'http://[::1]:8080/it'\''s/v1/on-demand'";
            assert_eq!(file.example(), format!("curl -u '{TOKEN}:{SECRET}' {url}"));
        });
    }

    #[test]
    fn file_name_has_letters_digits_and_dashes() {
        for (name, part) in [
            ("Production", "production"),
            ("../../etc/passwd", "etc-passwd"),
            ("  Shop & Blog (2)  ", "shop-blog-2"),
            ("Überblick", "überblick"),
            ("…", "workspace"),
            (&"x".repeat(255), &"x".repeat(40)),
        ] {
            assert_eq!(file_name_part(name), part, "{name}");
        }
    }
}
