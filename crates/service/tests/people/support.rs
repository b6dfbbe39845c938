//! A database of its own for each test, and people in it.

use std::sync::Arc;

use kinora_domain::{
    AccessPolicy, AccessRestrictions, Actor, AuditAction, AuditEntry, CorsOrigin, Email, Encryption, Media,
    MediaSettings, Member, NewMedia, NewPlaylist, NewUpload, PasswordHash, Permission, Playlist,
    RequestOrigin, Role, SecretHash, Session, Workspace, WorkspaceId,
};
use kinora_service::{
    Caller, CommitOnly, CreatedAccessToken, Error, MadeLink, NewAccessToken, NewPerson, OpenedSession,
    Service, SignIn, UseLink,
};
use kinora_store::{AuditFilter, DatabaseLocation, Opener, Store, StoreOptions};
use kinora_testkit::postgres::TestDatabase;
use kinora_testkit::{MovableClock, SeededRandom};
use tempfile::TempDir;

/// Base64 of 32 bytes.
const SECRET_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) service: Service,
    pub(crate) clock: MovableClock,
    _folder: TempDir,
    _database: Option<TestDatabase>,
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        Self::open(None).await
    }

    pub(crate) async fn postgres() -> Self {
        Self::open(Some(TestDatabase::create())).await
    }

    async fn open(database: Option<TestDatabase>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (clock, random) = (MovableClock::default(), Arc::new(SeededRandom::new(1)));
        let options = StoreOptions {
            database: match &database {
                Some(database) => DatabaseLocation::Postgres { url: database.url() },
                None => DatabaseLocation::Folder(folder.path().to_owned()),
            },
            opener: Opener::Server,
            secret_keys: database.as_ref().map(|_| SECRET_KEY.to_owned()),
            clock: Arc::new(clock.clone()),
            random: random.clone(),
            faults: None,
        };
        let store = Store::open(options).await.unwrap();
        let service = Service::new(store.clone(), Arc::new(clock.clone()), random);
        Self { store, service, clock, _folder: folder, _database: database }
    }

    /// A person with a password, `hash(1)`.
    pub(crate) async fn person(&self, email_text: &str, role: Role) -> Member {
        let new = NewPerson {
            email: email(email_text),
            name: Some(format!("Name of {email_text}")),
            role,
            password: Some(hash(1)),
        };
        self.service.create_person(&operator(), new).await.unwrap().member
    }

    /// A person without name and password, and their setup link.
    pub(crate) async fn newcomer(&self, email_text: &str, role: Role) -> (Member, MadeLink) {
        let new = NewPerson { email: email(email_text), name: None, role, password: None };
        let created = self.service.create_person(&operator(), new).await.unwrap();
        (created.member, created.link.unwrap())
    }

    pub(crate) async fn sign_in(
        &self,
        member: &Member,
        verified: PasswordHash,
    ) -> Result<OpenedSession, Error> {
        let person = member.person.id;
        self.service.sign_in(SignIn { person, verified, rehash: None, origin: origin() }).await
    }

    pub(crate) async fn use_link(&self, made: &MadeLink, name: Option<&str>) -> Result<OpenedSession, Error> {
        let name = name.map(str::to_owned);
        let request = UseLink { secret: made.secret.hash(), name, password: hash(2), origin: origin() };
        self.service.use_link(request).await
    }

    /// The workspace that every new database has.
    pub(crate) async fn workspace(&self) -> Workspace {
        self.store.workspace_by_name("Development").await.unwrap().unwrap()
    }

    /// A read-only token of that workspace, before it is created.
    pub(crate) async fn new_token(&self, name: &str) -> NewAccessToken {
        let workspace = self.workspace().await.id;
        NewAccessToken { workspace, name: name.to_owned(), permission: Permission::ReadOnly }
    }

    pub(crate) async fn token_by(&self, actor: &Actor, name: &str) -> CreatedAccessToken {
        self.service.create_access_token(actor, self.new_token(name).await).await.unwrap()
    }

    /// A media of the workspace. It is never fetched.
    pub(crate) async fn media(&self, caller: &Caller) -> Media {
        self.service.create_media(caller, new_media(caller.workspace), CommitOnly).await.unwrap().media
    }

    pub(crate) async fn playlist(&self, caller: &Caller) -> Playlist {
        self.service.create_playlist(caller, new_playlist(caller.workspace), CommitOnly).await.unwrap().0
    }

    /// The session of a secret that is accepted now.
    pub(crate) async fn session(&self, secret: &SecretHash) -> Option<Session> {
        let found = self.store.session(secret).await.unwrap();
        found.map(|(session, _)| session).filter(|session| session.accepts(secret, self.now()))
    }

    pub(crate) fn now(&self) -> kinora_domain::Timestamp {
        kinora_domain::Clock::now(&self.clock)
    }

    /// The rows of the audit log, oldest first.
    pub(crate) async fn audit(&self) -> Vec<AuditEntry> {
        let newest = self.store.audit_entries(&AuditFilter::default(), None, 1000).await.unwrap();
        newest.into_iter().rev().map(|(_, entry)| entry).collect()
    }

    /// What the audit log has.
    pub(crate) async fn actions(&self) -> Vec<AuditAction> {
        self.audit().await.into_iter().map(|entry| entry.action).collect()
    }
}

/// A media that is never fetched.
pub(crate) fn new_media(workspace: WorkspaceId) -> NewMedia {
    NewMedia {
        workspace,
        settings: MediaSettings { title: Some("A title".to_owned()), ..MediaSettings::default() },
        url: "https://example.com/a.mp4".to_owned(),
        clip_of: None,
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        encryption: Encryption::None,
        tracks: Vec::new(),
    }
}

pub(crate) fn new_playlist(workspace: WorkspaceId) -> NewPlaylist {
    NewPlaylist {
        workspace,
        name: "A list".to_owned(),
        reference_id: "a".to_owned(),
        description: String::new(),
        limit: Playlist::ITEMS_MAX,
        smart: None,
    }
}

pub(crate) fn new_upload(workspace: WorkspaceId) -> NewUpload {
    NewUpload {
        workspace,
        settings: MediaSettings::default(),
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        encryption: Encryption::None,
        tracks: Vec::new(),
        origin: CorsOrigin::One("https://shop.example".into()),
        timeout_s: 3600,
        size_max: None,
    }
}

pub(crate) fn operator() -> Actor {
    Actor::command_line()
}

pub(crate) fn origin() -> RequestOrigin {
    RequestOrigin {
        address: Some("192.0.2.7".to_owned()),
        client: Some("Firefox".to_owned()),
        request_id: Some("request-1".to_owned()),
    }
}

pub(crate) fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

/// A hash that was never computed: these tests compare passwords, they do not verify them.
pub(crate) fn hash(number: u8) -> PasswordHash {
    let salt =
        ["AAAAAAAAAAAAAAAAAAAAAA", "BwcHBwcHBwcHBwcHBwcHBw", "CAgICAgICAgICAgICAgICA"][usize::from(number)];
    let output = "Kr0FM2HEdHfAExiW5d1sFTlN1TXHcr8F5BeyZ3b1bTk";
    PasswordHash::from_text(&format!("$argon2id$v=19$m=65536,t=3,p=1${salt}${output}")).unwrap()
}
