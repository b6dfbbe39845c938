//! One operation of the API, as its `doc.rs` describes it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::refusals::Refusals;
use crate::error::ApiError;
use crate::extract::{BODY_BYTES_MAX, PageQuery};
use crate::once::IDEMPOTENCY_KEY_MAX;
use crate::rate_limit::RateLimit;

/// What is to be known of an operation. Begin with [`Operation::get`] and its neighbours, which add the
/// refusals that all have.
pub struct Operation {
    path: &'static str,
    method: &'static str,
    about: Map<String, Value>,
    parameters: Vec<Value>,
    body: Option<Value>,
    answer: Option<(u16, Value)>,
    /// What was not there is made, and 201 says so (RFC 9110, 9.3.4).
    may_create: bool,
    refusals: Refusals,
    /// Headers of every answer, beside those that all operations have.
    headers: Map<String, Value>,
    /// Judges the conditions of requests.
    is_conditional: bool,
}

impl Operation {
    /// What is read, with any token. `id` names it in generated clients.
    pub fn get(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("get", path, id, summary)
    }

    /// What is made, with a read-write token.
    pub fn post(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("post", path, id, summary).writes()
    }

    /// What is done to something, with a read-write token.
    pub fn put(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("put", path, id, summary).writes()
    }

    /// What is changed, with a read-write token.
    pub fn patch(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("patch", path, id, summary).writes()
    }

    /// What is taken away, with a read-write token.
    pub fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new("delete", path, id, summary).writes()
    }

    fn new(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Self {
        let mut about = Map::new();
        about.insert("operationId".to_owned(), id.into());
        about.insert("summary".to_owned(), summary.into());
        let operation = Self {
            path,
            method,
            about,
            parameters: Vec::new(),
            body: None,
            answer: None,
            may_create: false,
            refusals: Refusals::default(),
            headers: Map::new(),
            is_conditional: false,
        };
        operation
            .refuses(ApiError::unauthorized())
            .refuses(ApiError::rate_limited(RateLimit::EXAMPLE.requests(), RateLimit::EXAMPLE.window_s(), 1))
            .refuses(ApiError::fault())
            .refuses(ApiError::busy())
    }

    fn writes(self) -> Self {
        self.refuses(ApiError::read_only()).refuses(ApiError::full())
    }

    /// That it is done once, however often a client that names it asks. To tell requests apart the body is
    /// read, also where the operation itself takes none.
    fn named_by_its_client(mut self) -> Self {
        self.parameters.push(json!({"name": "Idempotency-Key", "in": "header", "required": false,
            "description": "A name of your own making for this request, in visible characters of ASCII, bare or in quotes. For 24 hours \
                the same request, sent with the same access token, is answered as the first time, with `Idempotent-Replayed: true`, and done \
                once. With another path, body or token the key is refused with 422.",
            "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX}}));
        self.refuses(ApiError::request_under_way())
            .refuses(ApiError::idempotency_key_reused())
            .refuses(ApiError::too_many_kept_answers())
            .refuses(ApiError::bad_request("the request body broke off"))
            .refuses(ApiError::body_timeout())
            .refuses(ApiError::body_too_large(BODY_BYTES_MAX))
    }

    /// Further words for people, in Markdown.
    pub fn says(mut self, description: &str) -> Self {
        self.about.insert("description".to_owned(), description.into());
        self
    }

    /// The group it is shown in.
    pub fn tagged(mut self, tag: &str) -> Self {
        self.about.insert("tags".to_owned(), json!([tag]));
        self
    }

    /// That there is another one to use, and the headers that say so.
    pub fn deprecated(mut self, headers: [(&str, &str, &str); 3]) -> Self {
        self.about.insert("deprecated".to_owned(), true.into());
        let described = headers.map(|(name, description, example)| {
            let header = json!({"description": description, "schema": {"type": "string"}, "required": true, "example": example});
            (name.to_owned(), header)
        });
        self.headers.extend(described);
        self
    }

    /// Judges the conditions of requests by the tag of what it is about.
    pub fn conditional(mut self) -> Self {
        for (name, description) in [
            (
                "If-Match",
                "Only of what has one of these tags: those of answers that you know. What has no `GET` of its own goes by the tag of what it is \
                 a part of.",
            ),
            ("If-None-Match", "Only of what has none of these tags."),
        ] {
            let schema = json!({"type": "string"});
            let place = json!({"name": name, "in": "header", "required": false, "description": description,
                "schema": schema});
            self.parameters.push(place);
        }
        self.is_conditional = true;
        self.refuses(ApiError::precondition_failed())
            .refuses(ApiError::bad_request("if-match must be * or up to 32 tags such as \"33a64df5\""))
    }

    /// A part of the path that is an id of ours.
    pub fn id(self, name: &str, description: &str, example: &str) -> Self {
        let schema = json!({"type": "string", "format": "uuid"});
        self.part(name, schema, description, example)
            .refuses(ApiError::bad_request("the path is not valid UTF-8"))
            .refuses(ApiError::invalid_field(name, "must be a UUID"))
    }

    /// A part of the path.
    pub fn part(mut self, name: &str, schema: Value, description: &str, example: &str) -> Self {
        let place = json!({"name": name, "in": "path", "required": true, "description": description,
            "schema": schema, "example": example});
        self.parameters.push(place);
        self
    }

    /// Each part of the path that was not described: whatever it is, it makes no difference.
    pub fn with_any_parts(mut self) -> Self {
        let parts = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        for name in parts {
            let place = json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}});
            self.parameters.push(place);
        }
        self
    }

    /// A parameter behind the question mark.
    pub fn query(mut self, name: &str, is_required: bool, schema: Value, description: &str) -> Self {
        let place = json!({"name": name, "in": "query", "required": is_required, "description": description,
            "schema": schema});
        self.parameters.push(place);
        self
    }

    /// The parameters of a list, and the refusal of wrong ones.
    pub(crate) fn paged(self) -> Self {
        let (limit, max) = (PageQuery::LIMIT_DEFAULT, PageQuery::LIMIT_MAX);
        let limit = json!({"type": "integer", "minimum": 1, "maximum": max, "default": limit});
        let offset = json!({"type": "integer", "minimum": 1, "maximum": u32::MAX, "default": 1});
        let order = json!({"type": "string", "enum": PageQuery::ORDERS, "default": "desc"});
        self.query("limit", false, limit, "Records on a page.")
            .query("offset", false, offset, "Number of the page, from 1.")
            .query("orderBy", false, order, "By creation time: `desc` has the newest first.")
            .query(
                "cursor",
                false,
                json!({"type": "string"}),
                "Of the `Link` header of another page, in place of `offset` and `orderBy`.",
            )
            .refuses(ApiError::invalid_field("limit", format!("must be a whole number from 1 to {max}")))
    }

    /// A JSON body, with examples by their names, each of which a test sends.
    pub fn takes(mut self, schema: Value, examples: &[(&str, Value)]) -> Self {
        let examples: Map<_, _> =
            examples.iter().map(|(name, value)| ((*name).to_owned(), json!({"value": value}))).collect();
        let content = json!({"application/json": {"schema": schema, "examples": examples}});
        self.body = Some(json!({"required": true, "content": content}));
        self.refuses(ApiError::bad_request("the body is not valid JSON at line 1, column 1"))
            .refuses(ApiError::body_timeout())
            .refuses(ApiError::body_too_large(BODY_BYTES_MAX))
            .refuses(ApiError::unsupported_media_type())
            .refuses(ApiError::invalid_field("inputs[0].url", "must not be null"))
    }

    /// 200 with this payload as `data`.
    pub fn answers(self, data: Value, example: Value) -> Self {
        self.enveloped(200, Envelope::Data, data, &example)
    }

    /// 200 with this payload as `data`, and perhaps warnings.
    pub fn sets(self, data: Value, example: Value) -> Self {
        self.enveloped(200, Envelope::Warned, data, &example)
    }

    /// 201 with this payload, and perhaps warnings.
    pub fn creates(self, data: Value, example: Value) -> Self {
        self.named_by_its_client().enveloped(201, Envelope::Warned, data, &example)
    }

    /// 200 with this payload as `data`, and 201 where it was not there before.
    pub fn puts(mut self, data: Value, example: Value) -> Self {
        self.may_create = true;
        self.answers(data, example)
    }

    /// 200 with one page of a list of these.
    pub fn lists(self, item: Value, example: Value) -> Self {
        let list = json!({"type": "array", "maxItems": PageQuery::LIMIT_MAX, "items": item});
        self.paged().enveloped(200, Envelope::Page, list, &json!([example]))
    }

    /// 200 with a page on which nothing can be yet.
    pub fn lists_nothing(self) -> Self {
        let list = json!({"type": "array", "maxItems": 0});
        self.paged().enveloped(200, Envelope::Page, list, &json!([]))
    }

    /// 200 without a payload.
    pub fn answers_done(mut self) -> Self {
        let schema =
            json!({"type": "object", "required": ["success"], "properties": {"success": {"const": true}}});
        self.answer = Some((200, json_content(schema, &json!({"success": true}))));
        self
    }

    fn enveloped(mut self, status: u16, envelope: Envelope, data: Value, example: &Value) -> Self {
        let mut properties = json!({"success": {"type": "boolean", "const": true}, "data": data});
        let mut required = vec!["success", "data"];
        let mut body = json!({"success": true, "data": example});
        match envelope {
            Envelope::Data => {}
            Envelope::Warned => {
                properties["warnings"] = json!({"type": "array", "items": {"type": "string"},
                    "description": "What was accepted and has no effect yet, and what else you should know."});
            }
            Envelope::Page => {
                required.push("pagination");
                properties["pagination"] = json!({"$ref": "#/components/schemas/Pagination"});
                let count = example.as_array().map_or(0, Vec::len);
                body["pagination"] = json!({"totalRecords": count, "currentOffset": 1, "offsetCount": count});
            }
        }
        let schema = json!({"type": "object", "required": required, "properties": properties});
        self.answer = Some((status, json_content(schema, &body)));
        self
    }

    /// A refusal that it may answer.
    pub fn refuses(mut self, refusal: ApiError) -> Self {
        self.refusals.add(refusal);
        self
    }

    /// Puts it where it belongs below `paths`. Refusals that others have too are kept once, below
    /// `responses`.
    pub(super) fn write(self, paths: &mut Map<String, Value>, responses: &mut Map<String, Value>) {
        let Self {
            path,
            method,
            about,
            parameters,
            body,
            answer,
            may_create,
            refusals,
            headers,
            is_conditional,
        } = self;
        let mut answers = BTreeMap::new();
        if let Some((status, content)) = answer {
            if may_create {
                answers.insert(201, json!({"description": "Made.", "content": content}));
            }
            let description = if status == 201 { "Made." } else { "Done." };
            answers.insert(status, json!({"description": description, "content": content}));
        }
        if is_conditional && method == "get" {
            answers.insert(304, json!({"description": "You have it."}));
        }
        for (status, response) in refusals.into_responses() {
            answers.insert(status, response);
        }
        let answers: Map<String, Value> = answers
            .into_iter()
            .map(|(status, mut response)| {
                for (name, place) in [("X-Request-Id", "RequestId"), ("Cache-Control", "NoStore")] {
                    response["headers"][name] = json!({"$ref": format!("#/components/headers/{place}")});
                }
                // Who is not known has no limit of its own.
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
                let response = if is_shared { share(status, response, responses) } else { response };
                (status.to_string(), response)
            })
            .collect();

        let mut operation = about;
        if !parameters.is_empty() {
            operation.insert("parameters".to_owned(), parameters.into());
        }
        if let Some(body) = body {
            operation.insert("requestBody".to_owned(), body);
        }
        operation.insert("responses".to_owned(), answers.into());
        let item = paths.entry(path).or_insert_with(|| json!({}));
        let before = item.as_object_mut().and_then(|item| item.insert(method.to_owned(), operation.into()));
        assert!(before.is_none(), "{method} {path} is described twice");
    }
}

/// What stands beside `data`.
#[derive(Clone, Copy)]
enum Envelope {
    Data,
    Warned,
    Page,
}

pub(super) fn json_content(schema: Value, example: &Value) -> Value {
    json!({"application/json": {"schema": schema, "example": example}})
}

/// Keeps a response under a name, the first free one, or finds the same one there; answers where it is.
fn share(status: u16, response: Value, responses: &mut Map<String, Value>) -> Value {
    let name = (1..)
        .map(|n| if n == 1 { format!("Refusal{status}") } else { format!("Refusal{status}-{n}") })
        .find(|name| responses.get(name).is_none_or(|found| *found == response))
        .expect("there is a free one");
    let place = json!({"$ref": format!("#/components/responses/{name}")});
    responses.entry(name).or_insert(response);
    place
}
