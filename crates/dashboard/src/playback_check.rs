//! Whether the rules of a playback ID would admit a page and a player.

use axum::Extension;
use axum::extract::State;
use kinora_delivery::page_of_address;
use kinora_domain::{
    AccessRestrictions, EmbeddingPage, MediaId, Page, PlaybackDenied, PlaybackId, PlaybackIdSettings,
    PlaybackPolicy,
};
use kinora_web::access_restrictions::{is_header_char, restrictions};
use kinora_web::auth::Access;
use kinora_web::base_urls::BaseUrls;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathIds};
use kinora_web::fields::{Fields, Problems};
use serde::Serialize;
use serde_json::Value;

use crate::DashboardState;
use crate::media::find_media;
use crate::parameters::reject_unknown_fields;

/// Longest address of a page, in characters. Browsers send no longer `Referer`.
const PAGE_CHARS_MAX: usize = 4096;
/// Longest user agent, in characters. Those of players have some hundred.
const USER_AGENT_CHARS_MAX: usize = 2048;

/// The fields of the body, of the rules in it, and of each rule.
const FIELDS: [&str; 3] = ["page", "userAgent", "accessRestrictions"];
const RULES: [&str; 2] = ["domains", "userAgents"];
const RULE_FIELDS: [&str; 3] = ["defaultPolicy", "allow", "deny"];

/// The decision about a page and a player.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckView {
    is_allowed: bool,
    /// `domains` or `userAgents`.
    rejected_by: Option<&'static str>,
    message: String,
}

/// A page and a player that ask to play.
struct CheckRequest {
    page: Page,
    user_agent: Option<String>,
    /// Rules to judge in place of the stored ones.
    restrictions: Option<AccessRestrictions>,
}

/// `POST /media/{mediaId}/playback-ids/{playbackId}/check`: whether a viewer with a valid token would be
/// admitted. It changes nothing.
///
/// 404 for a media of another workspace and for a playback ID of another media; 422 names each wrong field,
/// and each unknown one: a misspelled rule would admit all viewers.
pub(crate) async fn check(
    State(app): State<DashboardState>,
    Extension(access): Extension<Access>,
    PathIds(media, playback): PathIds<MediaId, PlaybackId>,
    JsonBody(body): JsonBody,
) -> Result<Data<CheckView>, ApiError> {
    let request = CheckRequest::parse(&body, &app.base_urls)?;
    let media = find_media(&app, access, media).await?;
    let stored = media.playback_id(playback).ok_or_else(ApiError::playback_not_found)?;
    let restrictions = request.restrictions.clone().unwrap_or_else(|| stored.restrictions.clone());
    let policy = PlaybackPolicy::of(&PlaybackIdSettings { restrictions, ..stored.clone() });
    // A page that embeds the player is judged as one that plays the media itself.
    let decision = policy.check_restrictions(&request.page, None, request.user_agent.as_deref());
    Ok(Data::ok(CheckView::of(decision, &request)))
}

impl CheckRequest {
    fn parse(body: &Value, base_urls: &BaseUrls) -> Result<Self, ApiError> {
        let problems = Problems::default();
        let request = Fields::of_body(body, &problems).map(|fields| {
            reject_unknown_fields(&fields, &FIELDS);
            Self {
                page: page(&fields, base_urls),
                user_agent: user_agent(&fields),
                restrictions: fields.object("accessRestrictions").and_then(|object| rules(&object)),
            }
        });
        problems.into_result(request)
    }
}

/// The rules to judge. Their objects have no other fields.
fn rules(fields: &Fields<'_>) -> Option<AccessRestrictions> {
    reject_unknown_fields(fields, &RULES);
    // Those that are no objects are reported below.
    let objects =
        fields.entries().filter(|(name, value)| RULES.contains(&name.as_str()) && value.is_object());
    for rule in objects.filter_map(|(name, _)| fields.object(name)) {
        reject_unknown_fields(&rule, &RULE_FIELDS);
    }
    restrictions(fields)
}

/// The page; unknown where none was sent.
fn page(fields: &Fields<'_>, base_urls: &BaseUrls) -> Page {
    let Some(address) = fields.text("page", PAGE_CHARS_MAX) else { return Page::Unknown };
    let page = match address.trim() {
        // Parsers of addresses ignore line ends, which no header has.
        address if address.chars().all(is_header_char) => page_of_address(address, base_urls),
        _ => Page::Unknown,
    };
    if page == Page::Unknown {
        fields.reject("page", "must be the address of a page, such as https://shop.example/a, or null");
    }
    page
}

/// The user agent, as a server gets it in a header.
fn user_agent(fields: &Fields<'_>) -> Option<String> {
    let agent = fields.text("userAgent", USER_AGENT_CHARS_MAX)?;
    if !agent.chars().all(is_header_char) {
        fields.reject("userAgent", "must not have control characters other than tab");
    }
    Some(agent.trim_matches([' ', '\t']).to_owned())
}

impl CheckView {
    fn of(decision: Result<(), PlaybackDenied>, request: &CheckRequest) -> Self {
        let page = match &request.page {
            Page::Own => "a page of this server".to_owned(),
            Page::Of(host) => EmbeddingPage(Some(host.clone())).to_string(),
            Page::Unknown => "a request that names no page".to_owned(),
        };
        let (rejected_by, message) = match decision {
            Ok(()) => (None, format!("The rules admit {page} with this player.")),
            Err(PlaybackDenied::UserAgent) => {
                let player = match &request.user_agent {
                    Some(agent) if !agent.is_empty() => "this player",
                    _ => "a player without a user agent",
                };
                (Some("userAgents"), format!("The rules on user agents deny {player}."))
            }
            Err(
                PlaybackDenied::Domain
                | PlaybackDenied::Token(_)
                | PlaybackDenied::Pass(_)
                | PlaybackDenied::Path(_),
            ) => (Some("domains"), format!("The rules on domains deny {page}.")),
        };
        Self { is_allowed: rejected_by.is_none(), rejected_by, message }
    }
}
