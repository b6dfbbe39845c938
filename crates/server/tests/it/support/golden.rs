use std::collections::HashMap;

use serde_json::Value;

use super::Answer;

/// Replaces values that differ between runs, so that whole bodies can be compared with snapshots.
///
/// Ids become `[id 1]`, `[id 2]`, … in the order of their first use; one id has one name. Times become
/// `[time]`, and URLs of the servers of the test get a fixed name. The rest is unchanged.
pub(crate) struct Golden {
    names: Vec<(String, String)>,
    ids: HashMap<String, usize>,
}

impl Golden {
    pub(super) fn new(names: Vec<(String, String)>) -> Self {
        Self { names, ids: HashMap::new() }
    }

    /// Gives another value that differs between runs a name.
    pub(crate) fn name(&mut self, value: &str, name: &str) {
        self.names.push((value.to_owned(), name.to_owned()));
    }

    /// A response as comparable text: status, headers, and the body if it is text.
    pub(crate) fn answer(&mut self, answer: &Answer) -> String {
        let mut text = format!("{}\n", answer.status);
        for (name, value) in answer.headers() {
            match name.as_str() {
                "date" | "connection" => {} // of the transport
                "x-request-id" => text += "x-request-id: [request id]\n",
                // The client has compared it with the body; its value depends on the digits of a port.
                "content-length" => text += "content-length: [length]\n",
                // In the API it is a hash of ids and times; for streams of a fixture it is compared.
                "etag" if has_json(answer) => text += "etag: [etag]\n",
                _ => text += &format!("{name}: {value}\n"),
            }
        }
        match std::str::from_utf8(&answer.body) {
            Ok("") => {}
            Ok(body) => text += &format!("\n{body}\n"),
            Err(_) => text += "\n[bytes]\n",
        }
        self.text(&text)
    }

    /// A JSON body as comparable text, with sorted field names.
    pub(crate) fn json(&mut self, body: &Value) -> String {
        let mut body = body.clone();
        self.walk(&mut body);
        serde_json::to_string_pretty(&body).expect("JSON stays JSON")
    }

    /// A comparable text.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, name) in &self.names {
            text = text.replace(value, name);
        }
        self.replace(&text)
    }

    fn walk(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.walk(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn replace(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(id) = rest.get(..UUID.len()).filter(|id| has_form(id, UUID)) {
                let next = self.ids.len() + 1;
                let number = *self.ids.entry(id.to_owned()).or_insert(next);
                out += &format!("[id {number}]");
                rest = &rest[UUID.len()..];
            } else if rest.get(..INSTANT.len()).is_some_and(|instant| has_form(instant, INSTANT)) {
                out += "[time]";
                rest = &rest[INSTANT.len()..];
            } else {
                let first = rest.chars().next().expect("it is not empty");
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out
    }
}

fn has_json(answer: &Answer) -> bool {
    answer.header("content-type") == Some("application/json")
}

/// Lower case with hyphens, as the contract writes ids (C-114); `x` stands for a hexadecimal digit.
const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
/// UTC with microseconds, the format of times in the contract (C-116, C-4); `0` stands for a digit.
const INSTANT: &str = "0000-00-00T00:00:00.000000Z";

fn has_form(text: &str, form: &str) -> bool {
    text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
        b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        b'0' => byte.is_ascii_digit(),
        _ => byte == form,
    })
}
