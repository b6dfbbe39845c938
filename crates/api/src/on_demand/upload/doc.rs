//! What the document of the API says of direct uploads.

use kinora_domain::{CorsOrigin, Upload};
use kinora_web::error::ApiError;
use kinora_web::openapi::schema::{default, object, said, text};
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
        Operation::post("/on-demand/upload", "createUpload", "Make the address of a direct upload")
            .says(
                "The signed address in `url` takes the file by plain `PUT`, tus 1.0, the resumable protocol of the web uploaders, or \
                 the IETF draft for resumable uploads; a browser shows a page there. It needs no access token. Its id is that of the \
                 media.",
            )
            .takes(body.clone(), &examples)
            .creates(upload.clone(), upload_example()),
        Operation::post("/on-demand/uploads", "createLimitedUpload", "Make the address of a direct upload of at most 500 MB")
            .says("Use `POST /on-demand/upload`, which has no such limit.")
            .deprecated([
                ("Deprecation", "Since when (RFC 9745).", SINCE),
                ("Sunset", "When it may go, at the earliest (RFC 8594).", SUNSET),
                ("Link", "What to use.", "<https://video.example.com/v1/on-demand/upload>; rel=\"successor-version\""),
            ])
            .takes(body, &examples)
            .creates(upload.clone(), upload_example()),
        Operation::get("/on-demand/uploads", "listUploads", "List uploads of which no whole file came")
            .says("`url` is signed for read-write tokens only.")
            .lists(upload, upload_example()),
        Operation::put("/on-demand/upload/{uploadId}/cancel", "cancelUpload", "Cancel a direct upload")
            .says("Nothing more can come, and the media is gone if there was one. 400 once the upload has ended.")
            .id("uploadId", "The id of an upload.", example::MEDIA)
            .answers(cancelled, cancelled_example())
            .refuses(error::upload_not_found())
            .refuses(ApiError::upload_ended_already("cancelled")),
    ];
    all.into_iter().map(|operation| operation.tagged("Direct uploads")).collect()
}

fn request(schemas: &mut Schemas) -> Value {
    let timeout = json!({"type": "integer", "minimum": Upload::TIMEOUT_MIN_S, "maximum": Upload::LIFE_MAX_S});
    let timeout = said(
        timeout,
        "Seconds until the first byte must come; each kept byte begins them anew, within seven days.",
    );
    let origin = "Pages of which origin may send: `https://shop.example`, or `*` for any.";
    let body = object(
        &["corsOrigin"],
        [
            ("corsOrigin", said(text(CorsOrigin::LEN_MAX), origin)),
            ("timeout", default(timeout, Upload::TIMEOUT_DEFAULT_S)),
            ("pushMediaSettings", requests::push_media_settings()),
        ],
    );
    schemas.named("CreateUpload", body)
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
    use kinora_web::openapi::schema::reading::check_fields;

    use super::super::request::parse;
    use super::*;

    #[test]
    fn what_is_read_of_an_upload_is_described_and_nothing_else() {
        let workspace = example::WORKSPACE.parse().unwrap();
        check_fields(request, |body| drop(parse(body, workspace, None)));
    }
}
