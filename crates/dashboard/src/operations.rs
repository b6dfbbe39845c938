//! The operations of the organisation: who may call each, and which need a confirmation.
//!
//! One table has all of them. [`router`] wraps each route in the check of its row, so no handler can leave
//! it out. The check runs before anything is read.

use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse as _;
use axum::routing::{MethodFilter, MethodRouter, on};
use kinora_domain::Action;
use kinora_web::error::ApiError;
use kinora_web::middleware::{Next, ResponseFuture, forward, layer_fn, respond_with};

use crate::authenticate::CurrentSession;
use crate::{
    API, DashboardState, access_tokens, audit, error, invitations, organisation, people, server, workspaces,
};

/// One operation.
pub struct Operation {
    method: Method,
    /// The path below the prefix of its table: `/dashboard/api`, or that of a workspace.
    pub path: &'static str,
    /// What a role must be allowed to do.
    pub action: Action,
    /// Whether the person must have given the password in the last 30 minutes.
    pub needs_confirmation: bool,
    route: fn(MethodFilter) -> MethodRouter<DashboardState>,
}

/// The methods of operations.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

use Action::{
    AccessTokensManage, AuditSee, MediaSee, OrganisationManage, PeopleManage, PeopleSee, ServerSee,
    WorkspacesManage,
};
use Method::{Delete, Get, Patch, Post};

type Route = fn(MethodFilter) -> MethodRouter<DashboardState>;

/// All operations. Those that give others a way in, take one away, or delete need a confirmation.
static TABLE: [Operation; 20] = [
    open(Get, "/access-tokens", AccessTokensManage, |method| on(method, access_tokens::list)),
    confirmed(Post, "/access-tokens", AccessTokensManage, |method| on(method, access_tokens::create)),
    open(Patch, "/access-tokens/{accessTokenId}", AccessTokensManage, |method| {
        on(method, access_tokens::rename)
    }),
    confirmed(Delete, "/access-tokens/{accessTokenId}", AccessTokensManage, |method| {
        on(method, access_tokens::revoke)
    }),
    open(Get, "/people", PeopleSee, |method| on(method, people::list)),
    confirmed(Patch, "/people/{personId}", PeopleManage, |method| on(method, people::change)),
    confirmed(Delete, "/people/{personId}", PeopleManage, |method| on(method, people::remove)),
    confirmed(Post, "/people/{personId}/reset", PeopleManage, |method| on(method, people::reset)),
    open(Get, "/invitations", PeopleManage, |method| on(method, invitations::list)),
    confirmed(Post, "/invitations", PeopleManage, |method| on(method, invitations::create)),
    open(Delete, "/invitations/{invitationId}", PeopleManage, |method| on(method, invitations::revoke)),
    open(Get, "/workspaces", MediaSee, |method| on(method, workspaces::list)),
    open(Post, "/workspaces", WorkspacesManage, |method| on(method, workspaces::create)),
    open(Patch, "/workspaces/{workspaceId}", WorkspacesManage, |method| on(method, workspaces::rename)),
    confirmed(Delete, "/workspaces/{workspaceId}", WorkspacesManage, |method| on(method, workspaces::delete)),
    open(Get, "/organisation", OrganisationManage, |method| on(method, organisation::read)),
    open(Patch, "/organisation", OrganisationManage, |method| on(method, organisation::rename)),
    open(Get, "/audit", AuditSee, |method| on(method, audit::page)),
    open(Get, "/audit.jsonl", AuditSee, |method| on(method, audit::export)),
    open(Get, "/server", ServerSee, |method| on(method, server::read)),
];

/// An operation without a confirmation.
pub(crate) const fn open(method: Method, path: &'static str, action: Action, route: Route) -> Operation {
    Operation { method, path, action, needs_confirmation: false, route }
}

/// An operation with a confirmation.
const fn confirmed(method: Method, path: &'static str, action: Action, route: Route) -> Operation {
    Operation { method, path, action, needs_confirmation: true, route }
}

/// The table of operations.
pub fn operations() -> &'static [Operation] {
    &TABLE
}

/// The routes of all operations, each behind its check. They need a [`CurrentSession`] in the request.
pub(crate) fn router(state: &DashboardState) -> Router<DashboardState> {
    router_of(&TABLE, API, state)
}

/// The routes of a table below a prefix.
pub(crate) fn router_of(
    table: &'static [Operation],
    prefix: &str,
    state: &DashboardState,
) -> Router<DashboardState> {
    table.iter().fold(Router::new(), |router, operation| {
        let state = state.clone();
        let check = layer_fn(move |request, next| operation.forward(&state, request, next));
        let route = (operation.route)(operation.method.filter()).route_layer(check);
        router.route(&format!("{prefix}{}", operation.path), route)
    })
}

impl Operation {
    /// The HTTP method.
    pub fn method(&self) -> &'static str {
        match self.method {
            Get => "GET",
            Post => "POST",
            Patch => "PATCH",
            Delete => "DELETE",
        }
    }

    /// Passes on a request that its person may send now.
    fn forward(&self, app: &DashboardState, request: Request, next: &mut Next) -> ResponseFuture {
        match self.check(app, request.extensions().get()) {
            Ok(()) => forward(request, next),
            Err(rejection) => respond_with(std::future::ready(rejection.into_response())),
        }
    }

    /// 403 for a role that may not do this, then 403 without a confirmation.
    fn check(&self, app: &DashboardState, current: Option<&CurrentSession>) -> Result<(), ApiError> {
        let CurrentSession { session, member } = current.ok_or_else(error::signed_out)?;
        if !member.role.may(self.action) {
            return Err(error::role_forbidden(member.role, self.action));
        }
        if self.needs_confirmation && !session.is_confirmed(app.clock.now()) {
            return Err(error::confirmation_needed());
        }
        Ok(())
    }
}

impl Method {
    fn filter(self) -> MethodFilter {
        match self {
            Get => MethodFilter::GET,
            Post => MethodFilter::POST,
            Patch => MethodFilter::PATCH,
            Delete => MethodFilter::DELETE,
        }
    }
}
