//! What the document of the API says of playback IDs.

use kinora_domain::{Media, PlaybackHandle, Resolution, TooManyPlaybackIds};
use kinora_web::openapi::schema::{object, said, words};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::view::PlaybackIdView;
use crate::error;
use crate::example;
use crate::on_demand::doc::{no_restrictions, one, requests};
use crate::view::RestrictionView;

const ALL: &str = "/on-demand/{mediaId}/playback-ids";
const ONE: &str = "/on-demand/{mediaId}/playback-ids/{playbackId}";

/// Every operation on playback IDs.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (playback, rule) = (schemas.of::<PlaybackIdView>(), schemas.of::<RestrictionView>());
    let new = request(schemas);
    let (domains, user_agents) = (requests::rule(requests::DOMAINS), requests::rule(requests::USER_AGENTS));
    let (domains, user_agents) =
        (schemas.named("DomainRule", domains), schemas.named("UserAgentRule", user_agents));
    let list = json!({"type": "array", "maxItems": Media::PLAYBACK_IDS_MAX, "items": playback});
    let all = [
        one(Operation::post(ALL, "createPlaybackId", "Make a playback ID"))
            .says("A further way to watch a media, in whatever state that is. A private one asks for a playback token, `?token=`.")
            .takes(
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
            .refuses(error::too_many_playback_ids(TooManyPlaybackIds)),
        one(Operation::get(ALL, "listPlaybackIds", "List the playback IDs of a media"))
            .says("All of them, oldest first.")
            .answers(list, json!([playback_example()])),
        Operation::delete(ALL, "deletePlaybackId", "Delete a playback ID")
            .id("mediaId", "The id of a media.", example::MEDIA)
            .conditional()
            .says("Nobody watches through it any more. It may be the last one.")
            .query("playbackId", true, json!({"type": "string", "format": "uuid"}), "The playback ID.")
            .answers_done()
            .refuses(error::media_playback_not_found()),
        of_playback(Operation::get(ONE, "getPlaybackId", "Read a playback ID"))
            .answers(playback, playback_example()),
        of_playback(Operation::patch(
            "/on-demand/{mediaId}/playback-ids/{playbackId}/domains",
            "updateDomainRule",
            "Say on pages of which hosts a media plays",
        ))
        .says("Replaces the rule whole: what is not sent is the default. In force within 2 s, also for those who are watching.")
        .takes(domains, &[("shop", json!({"defaultPolicy": "deny", "allow": ["shop.example"]}))])
        .sets(rule.clone(), json!({"defaultPolicy": "deny", "allow": ["shop.example"], "deny": []})),
        of_playback(Operation::patch(
            "/on-demand/{mediaId}/playback-ids/{playbackId}/user-agents",
            "updateUserAgentRule",
            "Say in which user agents a media plays",
        ))
        .says("Replaces the rule whole: what is not sent is the default. In force within 2 s, also for those who are watching.")
        .takes(user_agents, &[("bots", json!({"deny": ["curl/", "python-requests"]}))])
        .sets(rule, json!({"defaultPolicy": "allow", "allow": [], "deny": ["curl/", "python-requests"]})),
    ];
    all.into_iter().map(|operation| operation.tagged("Playback IDs")).collect()
}

/// What is asked of one playback ID.
fn of_playback(operation: Operation) -> Operation {
    operation
        .id("mediaId", "The id of a media.", example::MEDIA)
        .id("playbackId", "The playback ID.", example::PLAYBACK)
        .conditional()
        .refuses(error::media_playback_not_found())
}

fn request(schemas: &mut Schemas) -> Value {
    let caps = words(PlaybackHandle::CAPS.map(Resolution::as_str));
    let drm = json!({"type": "string", "format": "uuid"});
    let body = object(
        &[],
        [
            ("accessPolicy", requests::policy()),
            ("accessRestrictions", requests::restrictions()),
            (
                "resolution",
                said(caps, "Nothing larger is played; left out, the media's own bound alone holds."),
            ),
            ("encryption", requests::encryption()),
            ("drmConfigurationId", said(drm, "Without effect: there is no licence service.")),
        ],
    );
    schemas.named("CreatePlaybackId", body)
}

fn playback_example() -> Value {
    json!({"id": example::PLAYBACK, "accessPolicy": "public", "accessRestrictions": no_restrictions()})
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::reading::check_fields;

    use super::super::{request as new, restrict};
    use super::*;
    use crate::on_demand::rules::Entries;

    #[test]
    fn what_is_read_of_a_playback_id_is_described_and_nothing_else() {
        check_fields(request, |body| drop(new::parse(body)));
        for entries in [Entries::Domains, Entries::UserAgents] {
            check_fields(|_| requests::rule(""), |body| drop(restrict::parse(body, entries)));
        }
    }
}
