//! The OpenAPI descriptions of direct uploads.

use kinora_domain::{CorsOrigin, Upload};
use kinora_web::error::ApiError;
use kinora_web::openapi::schema::{object, text, with_default, with_description};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::deprecated::{SINCE, SUNSET};
use super::view::{CancelledUpload, UploadView};
use crate::error;
use crate::example;
use crate::on_demand::doc::{no_restrictions, requests};

/// Every operation on uploads.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let body = request(schemas);
    let (upload, cancelled) = (schemas.of::<UploadView>(), schemas.of::<CancelledUpload>());
    let examples = [
        ("least", json!({"corsOrigin": "*"})),
        (
            "more",
            json!({
                "corsOrigin": "https://shop.example",
                "timeout": 3600,
                "pushMediaSettings": {"accessPolicy": "public", "title": "A talk", "metadata": {"season": "2"}},
            }),
        ),
    ];
    let all = [
        Operation::post("/on-demand/upload", "createUpload", "Create a direct upload")
            .description(
                "The signed `url` accepts the file by plain `PUT`, tus 1.0, the `x-goog-resumable` protocol \
                    of web uploaders, or the IETF draft for resumable uploads. A browser that opens it shows \
                    an upload page. It needs no access token. The upload and its media have the same id.",
            )
            .request_body(body.clone(), &examples)
            .creates(upload.clone(), upload_example()),
        Operation::post("/on-demand/uploads", "createLimitedUpload", "Create a direct upload of at most 500 MB")
            .description("Use `POST /on-demand/upload`, which has no such limit.")
            .deprecated([
                ("Deprecation", "Date of the deprecation (RFC 9745).", SINCE),
                ("Sunset", "Earliest date of removal (RFC 8594).", SUNSET),
                ("Link", "The operation to use instead.", "<https://video.example.com/v1/on-demand/upload>; rel=\"successor-version\""),
            ])
            .request_body(body, &examples)
            .creates(upload.clone(), upload_example()),
        Operation::get("/on-demand/uploads", "listUploads", "List incomplete uploads")
            .description("`url` is signed only for read-write tokens.")
            .lists(upload, upload_example()),
        Operation::put("/on-demand/upload/{uploadId}/cancel", "cancelUpload", "Cancel a direct upload")
            .description("The upload accepts no more bytes, and its media is deleted if there is one. 400 once the upload has ended.")
            .id("uploadId", "The id of an upload.", example::MEDIA)
            .responds_with_data(cancelled, cancelled_example())
            .error(error::upload_not_found())
            .error(ApiError::upload_ended_already("cancelled")),
    ];
    all.into_iter().map(|operation| operation.tagged("Direct uploads")).collect()
}

fn request(schemas: &mut Schemas) -> Value {
    let timeout = json!({"type": "integer", "minimum": Upload::TIMEOUT_MIN_S, "maximum": Upload::LIFE_MAX_S});
    let timeout = with_description(
        timeout,
        "Seconds until the first byte must arrive. Each stored byte restarts the timeout, for at most seven days in all.",
    );
    let origin = "Origin of the pages that may upload: `https://shop.example`, or `*` for any.";
    let body = object(
        &["corsOrigin"],
        [
            ("corsOrigin", with_description(text(CorsOrigin::LEN_MAX), origin)),
            ("timeout", with_default(timeout, Upload::TIMEOUT_DEFAULT_S)),
            ("pushMediaSettings", requests::push_media_settings()),
        ],
    );
    schemas.add("CreateUpload", body)
}

fn upload_example() -> Value {
    json!({
        "uploadId": example::MEDIA,
        "trial": false,
        "status": "waiting",
        "url": format!("https://video.example.com/upload/{}", example::MEDIA),
        "timeout": Upload::TIMEOUT_DEFAULT_S,
        "corsOrigin": "*",
        "pushMediaSettings": {
            "playbackIds": [{"accessPolicy": "public", "accessRestrictions": no_restrictions()}],
            "metadata": {},
            "mediaQuality": "standard",
            "sourceAccess": false,
            "optimizeAudio": false,
            "maxResolution": "1080p",
        },
    })
}

fn cancelled_example() -> Value {
    json!({
        "uploadId": example::MEDIA,
        "trial": false,
        "status": "cancelled",
        "url": format!("https://video.example.com/upload/{}", example::MEDIA),
        "timeout": Upload::TIMEOUT_DEFAULT_S,
        "corsOrigin": "*",
        "maxResolution": "1080p",
        "accessPolicy": "public",
        "metadata": {},
        "title": null,
        "creatorId": null,
    })
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::check_fields::check_fields;

    use super::super::request::parse;
    use super::*;

    #[test]
    fn upload_schema_has_exactly_the_parsed_fields() {
        let workspace = example::WORKSPACE.parse().unwrap();
        check_fields(request, |body| drop(parse(body, workspace, None)));
    }
}
