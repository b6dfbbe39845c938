//! The OpenAPI descriptions of playback IDs.

use kinora_domain::{Media, PlaybackIdSettings, Resolution, TooManyPlaybackIds};
use kinora_web::openapi::schema::{object, string_enum, with_description};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::view::PlaybackIdView;
use crate::error;
use crate::example;
use crate::on_demand::doc::{media_operation, no_restrictions, requests};
use crate::view::RestrictionView;

const COLLECTION_PATH: &str = "/on-demand/{mediaId}/playback-ids";
const ITEM_PATH: &str = "/on-demand/{mediaId}/playback-ids/{playbackId}";

/// Every operation on playback IDs.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (playback, rule) = (schemas.of::<PlaybackIdView>(), schemas.of::<RestrictionView>());
    let new = request(schemas);
    let (domains, user_agents) =
        (requests::rule(requests::DOMAINS_DESCRIPTION), requests::rule(requests::USER_AGENTS_DESCRIPTION));
    let (domains, user_agents) =
        (schemas.add("DomainRule", domains), schemas.add("UserAgentRule", user_agents));
    let list = json!({"type": "array", "maxItems": Media::PLAYBACK_IDS_MAX, "items": playback});
    let all = [
        media_operation(Operation::post(COLLECTION_PATH, "createPlaybackId", "Create a playback ID"))
            .description("Adds a playback ID to a media in any state. A private playback ID needs a playback token in `?token=`.")
            .request_body(
                new,
                &[
                    ("public", json!({"accessPolicy": "public"})),
                    (
                        "restricted",
                        json!({
                            "accessPolicy": "private",
                            "accessRestrictions": {"domains": {"defaultPolicy": "deny", "allow": ["shop.example"]}},
                            "resolution": "720p",
                        }),
                    ),
                    ("encrypted", json!({"accessPolicy": "private", "encryption": "aes-128"})),
                ],
            )
            .creates(playback.clone(), playback_example())
            .error(error::too_many_playback_ids(TooManyPlaybackIds)),
        media_operation(Operation::get(COLLECTION_PATH, "listPlaybackIds", "List the playback IDs of a media"))
            .description("Returns all of them, oldest first.")
            .responds_with_data(list, json!([playback_example()])),
        Operation::delete(COLLECTION_PATH, "deletePlaybackId", "Delete a playback ID")
            .id("mediaId", "The id of a media.", example::MEDIA)
            .conditional()
            .description("Playback through this playback ID stops. The last one can be deleted too.")
            .query("playbackId", true, json!({"type": "string", "format": "uuid"}), "The playback ID.")
            .responds_empty()
            .error(error::media_playback_not_found()),
        playback_id_operation(Operation::get(ITEM_PATH, "getPlaybackId", "Read a playback ID"))
            .responds_with_data(playback, playback_example()),
        playback_id_operation(Operation::patch(
            "/on-demand/{mediaId}/playback-ids/{playbackId}/domains",
            "updateDomainRule",
            "Set the domain rules of a playback ID",
        ))
        .description("Replaces the whole rule: fields that are left out get their defaults. Applies within 2 s, also to running playback.")
        .request_body(domains, &[("shop", json!({"defaultPolicy": "deny", "allow": ["shop.example"]}))])
        .responds_with_warnings(rule.clone(), json!({"defaultPolicy": "deny", "allow": ["shop.example"], "deny": []})),
        playback_id_operation(Operation::patch(
            "/on-demand/{mediaId}/playback-ids/{playbackId}/user-agents",
            "updateUserAgentRule",
            "Set the user agent rules of a playback ID",
        ))
        .description("Replaces the whole rule: fields that are left out get their defaults. Applies within 2 s, also to running playback.")
        .request_body(user_agents, &[("bots", json!({"deny": ["curl/", "python-requests"]}))])
        .responds_with_warnings(rule, json!({"defaultPolicy": "allow", "allow": [], "deny": ["curl/", "python-requests"]})),
    ];
    all.into_iter().map(|operation| operation.tagged("Playback IDs")).collect()
}

/// The parameters and errors of an operation on one playback ID.
fn playback_id_operation(operation: Operation) -> Operation {
    operation
        .id("mediaId", "The id of a media.", example::MEDIA)
        .id("playbackId", "The playback ID.", example::PLAYBACK)
        .conditional()
        .error(error::media_playback_not_found())
}

fn request(schemas: &mut Schemas) -> Value {
    let caps = string_enum(PlaybackIdSettings::CAPS.map(Resolution::as_str));
    let drm = json!({"type": "string", "format": "uuid"});
    let body = object(
        &[],
        [
            ("accessPolicy", requests::policy()),
            ("accessRestrictions", requests::restrictions()),
            (
                "resolution",
                with_description(
                    caps,
                    "Largest resolution that this playback ID plays. If left out, only the limit of the media applies.",
                ),
            ),
            ("encryption", requests::encryption()),
            (
                "drmConfigurationId",
                with_description(drm, "Has no effect: this server has no licence service."),
            ),
        ],
    );
    schemas.add("CreatePlaybackId", body)
}

fn playback_example() -> Value {
    json!({"id": example::PLAYBACK, "accessPolicy": "public", "accessRestrictions": no_restrictions()})
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::check_fields::check_fields;

    use super::super::{request as new, restrict};
    use super::*;
    use kinora_web::access_restrictions::RestrictionKind;

    #[test]
    fn playback_id_schema_has_exactly_the_parsed_fields() {
        check_fields(request, |body| drop(new::parse(body)));
        for entries in [RestrictionKind::Domains, RestrictionKind::UserAgents] {
            check_fields(|_| requests::rule(""), |body| drop(restrict::parse(body, entries)));
        }
    }
}
