//! One operation of the API, as its `doc.rs` describes it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::error_responses::ErrorResponses;
use crate::error::ApiError;
use crate::extract::{BODY_BYTES_MAX, PageQuery};
use crate::idempotency::IDEMPOTENCY_KEY_MAX;
use crate::rate_limit::RateLimit;

/// The description of an operation. Begin with [`Operation::get`] and its neighbours, which add the errors
/// that all operations share.
pub struct Operation {
    path: &'static str,
    method: &'static str,
    object: Map<String, Value>,
    parameters: Vec<Value>,
    body: Option<Value>,
    success_response: Option<(u16, Value)>,
    /// A missing resource is created, with 201 (RFC 9110, 9.3.4).
    may_create: bool,
    error_responses: ErrorResponses,
    /// Headers of every response, in addition to those of all operations.
    headers: Map<String, Value>,
    /// Evaluates conditional requests.
    is_conditional: bool,
}

impl Operation {
    /// An operation that reads, with any token. `id` is its name in generated clients.
    pub fn get(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("get", path, id, summary)
    }

    /// An operation that creates, with a read-write token.
    pub fn post(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("post", path, id, summary).with_write_errors()
    }

    /// An operation that acts on a resource, with a read-write token.
    pub fn put(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("put", path, id, summary).with_write_errors()
    }

    /// An operation that changes, with a read-write token.
    pub fn patch(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("patch", path, id, summary).with_write_errors()
    }

    /// An operation that deletes, with a read-write token.
    pub fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("delete", path, id, summary).with_write_errors()
    }

    fn new(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Self {
        let mut object = Map::new();
        object.insert("operationId".to_owned(), id.into());
        object.insert("summary".to_owned(), summary.into());
        let operation = Self {
            path,
            method,
            object,
            parameters: Vec::new(),
            body: None,
            success_response: None,
            may_create: false,
            error_responses: ErrorResponses::default(),
            headers: Map::new(),
            is_conditional: false,
        };
        operation
            .error(ApiError::unauthorized())
            .error(ApiError::rate_limited(RateLimit::EXAMPLE.requests(), RateLimit::EXAMPLE.window_s(), 1))
            .error(ApiError::internal_example())
            .error(ApiError::busy())
    }

    fn with_write_errors(self) -> Self {
        self.error(ApiError::read_only()).error(ApiError::disk_full())
    }

    /// Accepts an idempotency key. The fingerprint includes the body, so the body is read even if the
    /// operation has none.
    fn accepts_idempotency_key(mut self) -> Self {
        self.parameters.push(json!({"name": "Idempotency-Key", "in": "header", "required": false,
            "description": "A unique key that you choose for this request: visible ASCII characters, with or \
                without quotes. For 24 hours, the same request with the same access token returns the stored \
                response with `Idempotent-Replayed: true` and runs only once. With another path, body or \
                token, the key is rejected with 422.",
            "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX}}));
        self.error(ApiError::request_in_progress())
            .error(ApiError::idempotency_key_reused())
            .error(ApiError::too_many_stored_responses())
            .error(ApiError::bad_request("the request body ended early; send the request again"))
            .error(ApiError::body_timeout())
            .error(ApiError::body_too_large(BODY_BYTES_MAX))
    }

    /// A longer description for people, in Markdown.
    pub fn description(mut self, description: &str) -> Self {
        self.object.insert("description".to_owned(), description.into());
        self
    }

    /// Adds it to a group (a tag of OpenAPI).
    pub fn tagged(mut self, tag: &str) -> Self {
        self.object.insert("tags".to_owned(), json!([tag]));
        self
    }

    /// Marks it as deprecated, with the headers that say so.
    pub fn deprecated(mut self, headers: [(&str, &str, &str); 3]) -> Self {
        self.object.insert("deprecated".to_owned(), true.into());
        let described = headers.map(|(name, description, example)| {
            let header = json!({"description": description, "schema": {"type": "string"}, "required": true, "example": example});
            (name.to_owned(), header)
        });
        self.headers.extend(described);
        self
    }

    /// Evaluates conditional requests by the entity tag of the resource.
    pub fn conditional(mut self) -> Self {
        for (name, description) in [
            (
                "If-Match",
                "Runs only if the resource has one of these ETags. A resource without a `GET` of its own uses \
                    the ETag of its parent resource.",
            ),
            ("If-None-Match", "Runs only if the resource has none of these ETags."),
        ] {
            let schema = json!({"type": "string"});
            let parameter = json!({"name": name, "in": "header", "required": false, "description": description,
                "schema": schema});
            self.parameters.push(parameter);
        }
        self.is_conditional = true;
        self.error(ApiError::precondition_failed())
            .error(ApiError::bad_request("if-match must be * or up to 32 tags such as \"33a64df5\""))
    }

    /// A path parameter that is an id.
    pub fn id(self, name: &str, description: &str, example: &str) -> Self {
        let schema = json!({"type": "string", "format": "uuid"});
        self.path_parameter(name, schema, description, example)
            .error(ApiError::bad_request("the path is not valid UTF-8"))
            .error(ApiError::invalid_field(name, "must be a UUID"))
    }

    /// A path parameter.
    pub fn path_parameter(mut self, name: &str, schema: Value, description: &str, example: &str) -> Self {
        let parameter = json!({"name": name, "in": "path", "required": true, "description": description,
            "schema": schema, "example": example});
        self.parameters.push(parameter);
        self
    }

    /// Describes all path parameters, whose values have no effect.
    pub fn with_path_parameters(mut self) -> Self {
        let names = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        for name in names {
            let parameter = json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}});
            self.parameters.push(parameter);
        }
        self
    }

    /// A query parameter.
    pub fn query(mut self, name: &str, is_required: bool, schema: Value, description: &str) -> Self {
        let parameter = json!({"name": name, "in": "query", "required": is_required, "description": description,
            "schema": schema});
        self.parameters.push(parameter);
        self
    }

    /// The parameters of a list, and the error for invalid ones.
    pub(crate) fn paged(self) -> Self {
        let (limit, max) = (PageQuery::LIMIT_DEFAULT, PageQuery::LIMIT_MAX);
        let limit = json!({"type": "integer", "minimum": 1, "maximum": max, "default": limit});
        let offset = json!({"type": "integer", "minimum": 1, "maximum": u32::MAX, "default": 1});
        let order = json!({"type": "string", "enum": PageQuery::ORDERS, "default": "desc"});
        self.query("limit", false, limit, "Records per page.")
            .query("offset", false, offset, "Page number, from 1.")
            .query("orderBy", false, order, "Sort order by creation time; `desc` returns the newest first.")
            .query(
                "cursor",
                false,
                json!({"type": "string"}),
                "Cursor from the `Link` header of another page. It replaces `offset` and `orderBy`.",
            )
            .error(ApiError::invalid_field("limit", format!("must be a whole number from 1 to {max}")))
    }

    /// A JSON body, with named examples; a test sends each of them.
    pub fn request_body(mut self, schema: Value, examples: &[(&str, Value)]) -> Self {
        let examples: Map<_, _> =
            examples.iter().map(|(name, value)| ((*name).to_owned(), json!({"value": value}))).collect();
        let content = json!({"application/json": {"schema": schema, "examples": examples}});
        self.body = Some(json!({"required": true, "content": content}));
        self.error(ApiError::bad_request("the body is not valid JSON at line 1, column 1"))
            .error(ApiError::body_timeout())
            .error(ApiError::body_too_large(BODY_BYTES_MAX))
            .error(ApiError::unsupported_media_type())
            .error(ApiError::invalid_field("inputs[0].url", "must not be null"))
    }

    /// 200 with this payload as `data`.
    pub fn responds_with_data(self, data: Value, example: Value) -> Self {
        self.enveloped(200, Envelope::Data, data, &example)
    }

    /// 200 with this payload as `data`, and perhaps warnings.
    pub fn responds_with_warnings(self, data: Value, example: Value) -> Self {
        self.enveloped(200, Envelope::WithWarnings, data, &example)
    }

    /// 201 with this payload, and perhaps warnings.
    pub fn creates(self, data: Value, example: Value) -> Self {
        self.accepts_idempotency_key().enveloped(201, Envelope::WithWarnings, data, &example)
    }

    /// 200 with this payload as `data`, and 201 where it was created.
    pub fn puts(mut self, data: Value, example: Value) -> Self {
        self.may_create = true;
        self.responds_with_data(data, example)
    }

    /// 200 with one page of a list of these.
    pub fn lists(self, item: Value, example: Value) -> Self {
        let list = json!({"type": "array", "maxItems": PageQuery::LIMIT_MAX, "items": item});
        self.paged().enveloped(200, Envelope::Page, list, &json!([example]))
    }

    /// 200 with a page that cannot have entries yet.
    pub fn lists_empty(self) -> Self {
        let list = json!({"type": "array", "maxItems": 0});
        self.paged().enveloped(200, Envelope::Page, list, &json!([]))
    }

    /// 200 without a payload.
    pub fn responds_empty(mut self) -> Self {
        let schema =
            json!({"type": "object", "required": ["success"], "properties": {"success": {"const": true}}});
        self.success_response = Some((200, json_content(schema, &json!({"success": true}))));
        self
    }

    fn enveloped(mut self, status: u16, envelope: Envelope, data: Value, example: &Value) -> Self {
        let mut properties = json!({"success": {"type": "boolean", "const": true}, "data": data});
        let mut required = vec!["success", "data"];
        let mut body = json!({"success": true, "data": example});
        match envelope {
            Envelope::Data => {}
            Envelope::WithWarnings => {
                properties["warnings"] = json!({"type": "array", "items": {"type": "string"},
                    "description": "Warnings, such as accepted fields that have no effect yet."});
            }
            Envelope::Page => {
                required.push("pagination");
                properties["pagination"] = json!({"$ref": "#/components/schemas/Pagination"});
                let count = example.as_array().map_or(0, Vec::len);
                body["pagination"] = json!({"totalRecords": count, "currentOffset": 1, "offsetCount": count});
            }
        }
        let schema = json!({"type": "object", "required": required, "properties": properties});
        self.success_response = Some((status, json_content(schema, &body)));
        self
    }

    /// An error that it may return.
    pub fn error(mut self, error: ApiError) -> Self {
        self.error_responses.add(error);
        self
    }

    /// Adds it to `paths`. An error response that several operations share is stored once, in `responses`.
    pub(super) fn write(self, paths: &mut Map<String, Value>, responses: &mut Map<String, Value>) {
        let Self {
            path,
            method,
            object,
            parameters,
            body,
            success_response,
            may_create,
            error_responses,
            headers,
            is_conditional,
        } = self;
        let mut by_status = BTreeMap::new();
        if let Some((status, content)) = success_response {
            if may_create {
                by_status.insert(201, json!({"description": "Made.", "content": content}));
            }
            let description = if status == 201 { "Made." } else { "Done." };
            by_status.insert(status, json!({"description": description, "content": content}));
        }
        if is_conditional && method == "get" {
            by_status.insert(304, json!({"description": "Not modified."}));
        }
        for (status, response) in error_responses.into_responses() {
            by_status.insert(status, response);
        }
        let operation_responses: Map<String, Value> = by_status
            .into_iter()
            .map(|(status, mut response)| {
                for (name, component) in [("X-Request-Id", "RequestId"), ("Cache-Control", "NoStore")] {
                    response["headers"][name] = json!({"$ref": format!("#/components/headers/{component}")});
                }
                // A caller that is not authenticated has no limit of its own.
                if status != 401 {
                    for (name, place) in [("RateLimit", "RateLimit"), ("RateLimit-Policy", "RateLimitPolicy")]
                    {
                        response["headers"][name] = json!({"$ref": format!("#/components/headers/{place}")});
                    }
                }
                for (name, header) in &headers {
                    response["headers"][name] = header.clone();
                }
                let is_shared = headers.is_empty() && status >= 400;
                let response =
                    if is_shared { add_shared_response(status, response, responses) } else { response };
                (status.to_string(), response)
            })
            .collect();

        let mut operation = object;
        if !parameters.is_empty() {
            operation.insert("parameters".to_owned(), parameters.into());
        }
        if let Some(body) = body {
            operation.insert("requestBody".to_owned(), body);
        }
        operation.insert("responses".to_owned(), operation_responses.into());
        let item = paths.entry(path).or_insert_with(|| json!({}));
        let before = item.as_object_mut().and_then(|item| item.insert(method.to_owned(), operation.into()));
        assert!(before.is_none(), "{method} {path} is described twice");
    }
}

/// Fields next to `data`.
#[derive(Clone, Copy)]
enum Envelope {
    Data,
    WithWarnings,
    Page,
}

pub(super) fn json_content(schema: Value, example: &Value) -> Value {
    json!({"application/json": {"schema": schema, "example": example}})
}

/// Stores a response under the first free name, or finds an equal one; returns a reference to it.
fn add_shared_response(status: u16, response: Value, responses: &mut Map<String, Value>) -> Value {
    let name = (1..)
        .map(|n| if n == 1 { format!("Refusal{status}") } else { format!("Refusal{status}-{n}") })
        .find(|name| responses.get(name).is_none_or(|found| *found == response))
        .expect("there is a free one");
    let reference = json!({"$ref": format!("#/components/responses/{name}")});
    responses.entry(name).or_insert(response);
    reference
}
