//! A server with people, and their browsers.

use std::sync::{Arc, Mutex};

use kinora_domain::{
    Actor, AuditAction, AuditEntry, Clock as _, DEVELOPMENT, Email, LinkKind, Member, PRODUCTION,
    PasswordHash, RequestOrigin, Role, WorkspaceId,
};
use kinora_server::{Roles, SystemClock, SystemRandom};
use kinora_service::{MadeLink, NewPerson, Service, SignIn};
use kinora_store::AuditFilter;
use kinora_testkit::MovableClock;
use serde_json::Value;

use crate::support::{Answer, Options, Request, TestApp};

/// The prefix of the operations.
pub(super) const API: &str = "/dashboard/api";
/// A password that meets the rule.
pub(super) const PASSWORD: &str = "correct horse battery";
/// The hash of [`PASSWORD`] with less memory.
const OUTDATED: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$BwcHBwcHBwcHBwcHBwcHBw$WLRGUa13/B3MXznFse33FId4O++DaYL6ulYUMEhpRqE";
/// The name of the cookie over plain HTTP.
pub(super) const COOKIE: &str = "kinora";

/// A server whose clock stands still, and the service on its database.
pub(super) struct World {
    pub(super) app: TestApp,
    pub(super) clock: MovableClock,
    pub(super) service: Service,
}

impl World {
    pub(super) async fn start() -> Self {
        Self::start_with(|options| options).await
    }

    pub(super) async fn start_with(change: impl FnOnce(Options) -> Options) -> Self {
        let clock = MovableClock::at(SystemClock.now());
        // Jobs change nothing here.
        let roles = Roles { worker: false, ..Roles::ALL };
        let options = TestApp::options().without_webhook().roles(roles).clock(clock.clone());
        let app = change(options).start().await;
        let service = Service::new(app.store.clone(), Arc::new(clock.clone()), Arc::new(SystemRandom));
        Self { app, clock, service }
    }

    /// A person with an unknown password.
    pub(super) async fn person(&self, email: &str, role: Role) -> Member {
        self.person_with(email, role, unknown_hash()).await
    }

    /// A person with the password [`PASSWORD`].
    pub(super) async fn person_with_password(&self, email: &str, role: Role) -> Member {
        self.person_with(email, role, PasswordHash::of(PASSWORD, [7; 16])).await
    }

    /// A person with the password [`PASSWORD`], whose hash has the parameters of an earlier version.
    pub(super) async fn person_with_outdated_hash(&self, email: &str) -> Member {
        self.person_with(email, Role::Viewer, PasswordHash::from_text(OUTDATED).unwrap()).await
    }

    async fn person_with(&self, email: &str, role: Role, password: PasswordHash) -> Member {
        let new = NewPerson {
            email: Email::parse(email).unwrap(),
            name: Some("Ada".to_owned()),
            role,
            password: Some(password),
        };
        self.service.create_person(&Actor::command_line(), new).await.unwrap().member
    }

    /// A person of this role in a new browser, signed in.
    pub(super) async fn browser_of(&self, role: Role) -> Browser<'_> {
        let member = self.person(&format!("{}@example.com", role.as_str()), role).await;
        self.browser_of_person(&member).await
    }

    /// A person in a new browser, signed in without the work of a password hash.
    pub(super) async fn browser_of_person(&self, member: &Member) -> Browser<'_> {
        let sign_in = SignIn {
            person: member.person.id,
            verified: member.person.password.clone().unwrap(),
            rehash: None,
            origin: RequestOrigin::default(),
        };
        let secret = self.service.sign_in(sign_in).await.unwrap().secret;
        self.browser_with(secret.reveal())
    }

    /// A browser with the secret of a session in its cookie.
    pub(super) fn browser_with(&self, secret: &str) -> Browser<'_> {
        let browser = self.browser();
        *browser.secret.lock().unwrap() = Some(secret.to_owned());
        browser
    }

    /// A browser without a cookie.
    pub(super) fn browser(&self) -> Browser<'_> {
        Browser { app: &self.app, secret: Mutex::default() }
    }

    /// The first link of a new person.
    pub(super) async fn setup_link(&self, email: &str, name: Option<&str>) -> MadeLink {
        let new = NewPerson {
            email: Email::parse(email).unwrap(),
            name: name.map(str::to_owned),
            role: Role::Admin,
            password: None,
        };
        let link = self.service.create_person(&Actor::command_line(), new).await.unwrap().link.unwrap();
        assert_eq!(link.link.kind, LinkKind::Setup);
        link
    }

    /// The actions of the audit log, oldest first.
    pub(super) async fn audit(&self) -> Vec<AuditAction> {
        self.audit_entries().await.into_iter().map(|entry| entry.action).collect()
    }

    /// The audit log, oldest first.
    pub(super) async fn audit_entries(&self) -> Vec<AuditEntry> {
        let entries = self.app.store.audit_entries(&AuditFilter::default(), None, 1000).await.unwrap();
        entries.into_iter().rev().map(|(_, entry)| entry).collect()
    }

    /// The ID of the workspace Development.
    pub(super) async fn development(&self) -> WorkspaceId {
        self.app.store.workspace_by_name(DEVELOPMENT).await.unwrap().unwrap().id
    }

    /// The IDs of the workspaces Development and Production.
    pub(super) async fn workspace_ids(&self) -> [String; 2] {
        let production = self.app.store.workspace_by_name(PRODUCTION).await.unwrap().unwrap().id;
        [self.development().await.to_string(), production.to_string()]
    }

    pub(super) fn origin(&self) -> String {
        self.app.url("")
    }
}

/// A browser on a page of the dashboard, with its cookie.
pub(super) struct Browser<'a> {
    app: &'a TestApp,
    secret: Mutex<Option<String>>,
}

impl Browser<'_> {
    /// The secret in the cookie.
    pub(super) fn secret(&self) -> String {
        self.secret.lock().unwrap().clone().expect("it has a cookie")
    }

    /// A request below [`API`], as a page of the dashboard sends it.
    pub(super) fn request(&self, method: &str, path: &str) -> Request {
        self.bare_request(method, path).header("Sec-Fetch-Site", "same-origin")
    }

    /// The same, without the headers that browsers add.
    pub(super) fn bare_request(&self, method: &str, path: &str) -> Request {
        let request = self.app.request(method, &format!("{API}{path}"));
        match &*self.secret.lock().unwrap() {
            Some(secret) => request.header("Cookie", &format!("other=1; {COOKIE}={secret}")),
            None => request,
        }
    }

    /// Sends a request and stores the cookie of the response.
    pub(super) async fn send(&self, request: Request) -> Answer {
        let answer = request.send().await;
        if let Some(secret) = secret_of(&answer) {
            *self.secret.lock().unwrap() = Some(secret).filter(|secret| !secret.is_empty());
        }
        answer
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path)).await
    }

    pub(super) async fn delete(&self, path: &str) -> Answer {
        self.send(self.request("DELETE", path)).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request("POST", path).json(body)).await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request("PATCH", path).json(body)).await
    }
}

/// The secret in the cookie that a response sets; empty when it removes the cookie.
pub(super) fn secret_of(answer: &Answer) -> Option<String> {
    let cookie = answer.header("set-cookie")?;
    let (name, rest) = cookie.split_once('=').expect("a cookie has a value");
    assert_eq!(name, COOKIE);
    Some(rest.split(';').next().unwrap_or_default().to_owned())
}

/// The error of a response: its status, and the names of its fields or its description.
pub(super) fn problem(answer: &Answer) -> (u16, Vec<String>) {
    let (status, _) = answer.refusal();
    let error = &answer.json()["error"];
    let names = match error["fields"].as_array() {
        Some(fields) => fields.iter().map(|field| field["field"].as_str().unwrap().to_owned()).collect(),
        None => vec![error["description"].as_str().unwrap().to_owned()],
    };
    (status, names)
}

/// A valid hash of no known password, which costs nothing to make.
fn unknown_hash() -> PasswordHash {
    let text =
        "$argon2id$v=19$m=65536,t=3,p=1$BwcHBwcHBwcHBwcHBwcHBw$Kr0FM2HEdHfAExiW5d1sFTlN1TXHcr8F5BeyZ3b1bTk";
    PasswordHash::from_text(text).unwrap()
}
