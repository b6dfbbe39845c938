//! The routes of the API at a second mount, as in the dashboard: `/x/workspaces/{workspaceId}` in addition
//! to `/v1`.

use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts as _, RawPathParams, Request as HttpRequest};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use kinora_api::{ApiParts, ApiState, KeyPairs, OpenApiState, ResponseCache};
use kinora_domain::{Clock, DEVELOPMENT, PRODUCTION, Permission, WorkspaceId};
use kinora_intake::{Intake, IntakeOptions, ScanLimits, StallLimit};
use kinora_server::{SystemClock, SystemKeys, SystemRandom};
use kinora_service::{Caller, Principal, Service};
use kinora_store::WorkerId;
use kinora_testkit::MovableClock;
use kinora_web::assets::Assets;
use kinora_web::auth::{Access, Authenticator};
use kinora_web::base_urls::BaseUrls;
use kinora_web::gzip::GzipCache;
use kinora_web::idempotency::Idempotency;
use kinora_web::middleware::{layer_fn, next_response, respond_with};
use kinora_web::observe::{self, Observer};
use kinora_web::rate_limit::RateLimits;
use kinora_web::roles::Roles;
use kinora_web::serve::{ServeOptions, serve};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::{Answer, Request, TestApp, Token, text};

/// The header with the principal of a request to the second mount: the id of an access token, or
/// `command-line`.
const PRINCIPAL: &str = "x-test-principal";
/// The header that makes the principal read-only.
const READ_ONLY: &str = "x-test-read-only";
const PREFIX: &str = "/x/workspaces/{workspaceId}";
const COMMAND_LINE: &str = "command-line";
const REPLAYED: &str = "idempotent-replayed";

/// The API at both mounts, on the database of a running server.
struct TwoMounts {
    app: TestApp,
    address: SocketAddr,
    workspace: WorkspaceId,
    _running: DropGuard,
}

struct NoAssets;

impl Assets for NoAssets {
    fn get(&self, _: &str) -> Option<Cow<'static, [u8]>> {
        None
    }
}

impl TwoMounts {
    async fn start() -> Self {
        Self::limited(None).await
    }

    async fn limited(limit: Option<&str>) -> Self {
        // No job changes a media between two requests.
        let roles = Roles { worker: false, ..Roles::ALL };
        let app = TestApp::options().without_webhook().roles(roles).start().await;
        let workspace = workspace(&app, DEVELOPMENT).await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let stop = CancellationToken::new();
        let router = router(&app, address, limit).await;
        tokio::spawn(serve(listener, router, ServeOptions::default(), stop.clone()));
        Self { app, address, workspace, _running: stop.drop_guard() }
    }

    /// A request to the first mount, with the token of the workspace Development.
    fn first_mount(&self, method: &str, path: &str) -> Request {
        Request::new(self.address, method, &format!("/v1{path}")).token(&self.app.token)
    }

    /// The same request to the second mount, without credentials.
    fn second_mount(&self, method: &str, path: &str, principal: &str) -> Request {
        let target = format!("/x/workspaces/{}{path}", self.workspace);
        Request::new(self.address, method, &target).header(PRINCIPAL, principal)
    }

    /// A request to the second mount with the principal of the token.
    fn second_mount_of_token(&self, method: &str, path: &str) -> Request {
        self.second_mount(method, path, &self.app.token.id)
    }

    async fn media_count(&self) -> Value {
        let list = self.first_mount("GET", "/on-demand").send().await;
        list.json()["pagination"]["totalRecords"].take()
    }
}

async fn workspace(app: &TestApp, name: &str) -> WorkspaceId {
    let workspace = app.store.workspace_by_name(name).await.expect("the database answers");
    workspace.expect("every installation begins with it").id
}

async fn router(app: &TestApp, address: SocketAddr, limit: Option<&str>) -> Router {
    // It stands still, so that no rate limit refills. It is near the clock of the running server, which
    // sweeps old rows.
    let clock: Arc<dyn Clock> = Arc::new(MovableClock::at(SystemClock.now()));
    let (random, store) = (Arc::new(SystemRandom), app.store.clone());
    let public = format!("http://{address}");
    let addresses = BaseUrls { public: public.clone(), stream: public.clone(), images: public.clone() };
    let addresses = Arc::new(addresses);
    let authenticator = Authenticator::new(store.clone(), Arc::clone(&clock));
    let intake = Intake::new(IntakeOptions {
        store: store.clone(),
        blob: app.ground.blob().await,
        clock: Arc::clone(&clock),
        random: random.clone(),
        worker: WorkerId::new(&*random),
        public_url: public.into(),
        stall_limit: StallLimit::default(),
        scan_limits: ScanLimits::new(std::env::temp_dir().into()),
    });
    let state = ApiState::new(ApiParts {
        store: store.clone(),
        service: Service::new(store.clone(), Arc::clone(&clock), random.clone()),
        intake,
        clock: Arc::clone(&clock),
        random: random.clone(),
        base_urls: Arc::clone(&addresses),
        authenticator: authenticator.clone(),
        idempotency: Idempotency::new(store.clone(), Arc::clone(&clock), authenticator),
        rate_limits: limit.map(|limit| RateLimits::new(limit.parse().expect("a limit"), clock)),
        response_cache: ResponseCache::default(),
        key_pairs: KeyPairs::new(Arc::new(SystemKeys)),
    });
    let gzip = Arc::new(GzipCache::default());
    let openapi = Arc::new(OpenApiState::new(addresses, Arc::new(NoAssets), Arc::clone(&gzip)));
    let second = kinora_api::mount(PREFIX, state.clone(), &gzip).route_layer(layer_fn(|request, next| {
        let mut next = next.clone();
        respond_with(async move {
            match authenticated(request).await {
                Some(request) => next_response(request, &mut next).await,
                None => StatusCode::UNAUTHORIZED.into_response(),
            }
        })
    }));
    let observer = Arc::new(Observer::new(&*random));
    let observe = layer_fn(move |request, next| observe::observe(&observer, request, next));
    kinora_api::router(state, &gzip, openapi).merge(second).layer(observe)
}

/// The request with the [`Access`] of its path and headers; `None` when they have none.
async fn authenticated(request: HttpRequest) -> Option<HttpRequest> {
    let (mut parts, body) = request.into_parts();
    let params = RawPathParams::from_request_parts(&mut parts, &()).await.ok()?;
    let (_, workspace) = params.iter().find(|(name, _)| *name == "workspaceId")?;
    let workspace = workspace.parse().ok()?;
    let principal = match parts.headers.get(PRINCIPAL)?.to_str().ok()? {
        COMMAND_LINE => Principal::CommandLine,
        token => Principal::AccessToken(token.parse().ok()?),
    };
    let is_reader = parts.headers.contains_key(READ_ONLY);
    let permission = if is_reader { Permission::ReadOnly } else { Permission::ReadWrite };
    parts.extensions.insert(Access { caller: Caller { workspace, principal, address: None }, permission });
    Some(HttpRequest::from_parts(parts, body))
}

/// A response without the headers that differ between two equal requests.
fn comparable(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let own = ["x-request-id", "date"];
    let headers = answer.headers().iter().filter(|(name, _)| !own.contains(&name.as_str()));
    (answer.status, headers.cloned().collect(), answer.text())
}

fn media_body(name: &str) -> Value {
    json!({"inputs": [{"type": "video", "url": format!("http://127.0.0.1/{name}.mp4")}]})
}

async fn with_key(request: Request, key: &str, body: &Value) -> Answer {
    request.header("Idempotency-Key", key).json(body).send().await
}

fn is_replayed(answer: &Answer) -> bool {
    answer.header(REPLAYED) == Some("true")
}

/// Every operation with ids in its path reads them by name.
#[tokio::test]
async fn operations_give_the_same_response_at_both_mounts() {
    let api = TwoMounts::start().await;
    let media = api.app.create("http://127.0.0.1/a.mp4").await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let unknown = "019a492c-41f3-7001-8203-040506070809";
    let playlist = json!({"name": "a", "type": "manual", "referenceId": "a"});
    let playlist = api.first_mount("POST", "/on-demand/playlists").json(&playlist).send().await.data();
    let playlist = text(&playlist["id"]);
    let empty = json!({});
    for (method, path, body) in [
        ("GET", format!("/on-demand/{id}"), None),
        ("GET", format!("/on-demand/{unknown}"), None),
        ("GET", "/on-demand/no-id".to_owned(), None),
        ("GET", format!("/on-demand/{id}/playback-ids/{playback}"), None),
        ("GET", format!("/on-demand/{id}/playback-ids/no-id"), None),
        ("GET", "/on-demand/no-id/playback-ids/no-id".to_owned(), None),
        ("PATCH", format!("/on-demand/{id}"), Some(json!({"title": "b"}))),
        ("PATCH", format!("/on-demand/{id}/playback-ids/{playback}/domains"), Some(empty.clone())),
        ("PATCH", format!("/on-demand/{id}/source-access"), Some(empty.clone())),
        ("DELETE", format!("/on-demand/{id}/tracks/{unknown}"), None),
        ("GET", format!("/on-demand/playlists/{playlist}"), None),
        ("PUT", format!("/on-demand/playlists/{playlist}/media"), Some(json!({"mediaIds": []}))),
        ("PUT", format!("/on-demand/upload/{unknown}/cancel"), None),
        ("PUT", "/on-demand/upload/no-id/cancel".to_owned(), None),
        ("GET", "/on-demand/a-stream/live-clips".to_owned(), None),
        ("GET", format!("/on-demand/drm-configurations/{unknown}"), None),
        ("GET", format!("/iam/signing-keys/{unknown}"), None),
        ("DELETE", "/iam/signing-keys/no-id".to_owned(), None),
        ("POST", "/on-demand/uploads".to_owned(), Some(empty.clone())),
        ("POST", format!("/on-demand/{id}/tracks/{unknown}/generate-subtitles"), Some(empty)),
        ("GET", format!("/on-demand/{id}/summary"), None),
        ("GET", "/data/viewlist/top-content".to_owned(), None),
    ] {
        let with = |request: Request| match &body {
            Some(body) => request.json(body),
            None => request,
        };
        let usual = with(api.first_mount(method, &path)).send().await;
        let second = with(api.second_mount_of_token(method, &path)).send().await;
        assert_eq!(comparable(&second), comparable(&usual), "{method} {path}");
    }
    // Only the pagination links contain the mount.
    let (usual, second) = (
        api.first_mount("GET", "/on-demand").send().await,
        api.second_mount_of_token("GET", "/on-demand").send().await,
    );
    assert_eq!((second.status, second.data()), (200, usual.data()));

    assert_eq!(api.second_mount_of_token("DELETE", &format!("/on-demand/{id}")).send().await.status, 200);
    assert_eq!(api.first_mount("GET", &format!("/on-demand/{id}")).send().await.status, 404);
}

#[tokio::test]
async fn metrics_count_an_operation_under_one_route() {
    let api = TwoMounts::start().await;
    let media = api.app.create("http://127.0.0.1/a.mp4").await;
    let path = format!("/on-demand/{}", text(&media["id"]));
    let count = async || {
        let metrics = api.app.fetch("/metrics").await.text();
        assert!(!metrics.contains("/x/workspaces"), "{metrics}");
        let series =
            r#"kinora_http_requests_total{method="GET",route="/v1/on-demand/{mediaId}",status="200"} "#;
        let value = metrics.lines().find_map(|line| line.strip_prefix(series));
        value.map_or(0, |value| value.parse::<u64>().expect("a whole number"))
    };
    let before = count().await;
    assert_eq!(api.second_mount_of_token("GET", &path).send().await.status, 200);
    assert_eq!(api.first_mount("GET", &path).send().await.status, 200);
    assert_eq!(count().await, before + 2);
}

#[tokio::test]
async fn stored_response_is_replayed_at_the_other_mount() {
    let api = TwoMounts::start().await;
    let first = with_key(api.first_mount("POST", "/on-demand"), "a", &media_body("a")).await;
    assert_eq!((first.status, is_replayed(&first)), (201, false));
    let again = with_key(api.second_mount_of_token("POST", "/on-demand"), "a", &media_body("a")).await;
    assert_eq!((again.status, is_replayed(&again), again.text()), (201, true, first.text()));

    let media = text(&first.data()["id"]).to_owned();
    let path = format!("/on-demand/{media}/playback-ids");
    let body = json!({"accessPolicy": "public"});
    let first = with_key(api.second_mount_of_token("POST", &path), "b", &body).await;
    let again = with_key(api.first_mount("POST", &path), "b", &body).await;
    assert_eq!((again.status, is_replayed(&again), again.text()), (201, true, first.text()));

    // Another path or another body with the same key is rejected at both mounts.
    for (path, body) in [("/on-demand", media_body("c")), ("/on-demand/upload", media_body("a"))] {
        let other = with_key(api.second_mount_of_token("POST", path), "a", &body).await;
        assert_eq!(other.refusal(), (422, "payload validation failed".to_owned()), "{path}");
    }
    assert_eq!(api.media_count().await, 1);
}

#[tokio::test]
async fn idempotency_keys_are_separate_per_principal() {
    let api = TwoMounts::start().await;
    let (key, body) = ("a", media_body("a"));
    let of_token = with_key(api.first_mount("POST", "/on-demand"), key, &body).await;
    let of_command_line = with_key(api.second_mount("POST", "/on-demand", COMMAND_LINE), key, &body).await;
    assert_eq!((of_command_line.status, is_replayed(&of_command_line)), (201, false));
    assert_ne!(of_command_line.data()["id"], of_token.data()["id"]);
    // Tokens of a workspace share their idempotency keys, so the second token is rejected.
    let other = api.app.new_token(DEVELOPMENT, Permission::ReadWrite).await;
    let of_other = with_key(api.second_mount("POST", "/on-demand", &other.id), key, &body).await;
    assert_eq!(of_other.refusal(), (422, "payload validation failed".to_owned()));

    for (request, first) in [
        (api.second_mount_of_token("POST", "/on-demand"), of_token),
        (api.second_mount("POST", "/on-demand", COMMAND_LINE), of_command_line),
    ] {
        let again = with_key(request, key, &body).await;
        assert_eq!((is_replayed(&again), again.text()), (true, first.text()));
    }
    assert_eq!(api.media_count().await, 2);
}

#[tokio::test]
async fn rate_limit_counts_a_principal_at_both_mounts() {
    let api = TwoMounts::limited(Some("2/60")).await;
    let left = |answer: Answer| (answer.status, answer.header("ratelimit").map(str::to_owned));
    let within = |left: &str| (200, Some(format!("\"token\";r={left};t=30")));
    assert_eq!(left(api.first_mount("GET", "/on-demand").send().await), within("1"));
    assert_eq!(left(api.second_mount_of_token("GET", "/on-demand").send().await), within("0"));
    for over in [api.first_mount("GET", "/on-demand"), api.second_mount_of_token("GET", "/on-demand")] {
        assert_eq!(over.send().await.refusal(), (429, "too many requests".to_owned()));
    }
    assert_eq!(left(api.second_mount("GET", "/on-demand", COMMAND_LINE).send().await), within("1"));
    let other = api.app.new_token(DEVELOPMENT, Permission::ReadWrite).await;
    assert_eq!(left(api.second_mount("GET", "/on-demand", &other.id).send().await), within("1"));
}

#[tokio::test]
async fn auth_layer_of_a_mount_decides_access() {
    let api = TwoMounts::start().await;
    let media = api.app.create("http://127.0.0.1/a.mp4").await;
    let path = format!("/on-demand/{}", text(&media["id"]));
    let other = workspace(&api.app, PRODUCTION).await;
    let target = |workspace: WorkspaceId| format!("/x/workspaces/{workspace}{path}");
    let get = |target: &str| Request::new(api.address, "GET", target);

    // Only the layer authenticates; credentials in headers have no effect.
    assert_eq!(get(&target(api.workspace)).token(&api.app.token).send().await.status, 401);
    let foreign = get(&target(other)).header(PRINCIPAL, COMMAND_LINE).token(&api.app.token).send().await;
    assert_eq!(foreign.refusal(), (404, "media workspace relation not found".to_owned()));
    let reader =
        |method| api.second_mount_of_token(method, &path).header(READ_ONLY, "1").token(&api.app.token);
    assert_eq!(reader("GET").send().await.status, 200);
    assert_eq!(reader("DELETE").send().await.status, 403);

    // The headers of the second mount have no effect at the first one.
    let without_token = get(&format!("/v1{path}")).header(PRINCIPAL, COMMAND_LINE).send().await;
    assert_eq!(without_token.refusal(), (401, "unauthorized".to_owned()));
    let wrong_token = Token { id: api.app.token.id.clone(), secret: "wrong".to_owned() };
    let rejected =
        get(&format!("/v1{path}")).header(PRINCIPAL, COMMAND_LINE).token(&wrong_token).send().await;
    assert_eq!(rejected.refusal(), (401, "unauthorized".to_owned()));
    assert_eq!(api.first_mount("GET", &path).send().await.status, 200);
}
