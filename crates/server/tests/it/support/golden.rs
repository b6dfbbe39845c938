use std::collections::HashMap;

use serde_json::Value;

/// Replaces what differs from run to run, so that whole bodies can be compared with those in the repository.
///
/// Ids become `[id 1]`, `[id 2]`, … in the order in which they appear, the same id always the same; instants become `[time]`; addresses of the
/// test's own servers get a fixed name. Nothing else is touched.
pub(crate) struct Golden {
    addresses: Vec<(String, String)>,
    ids: HashMap<String, usize>,
}

impl Golden {
    pub(super) fn new(addresses: Vec<(String, String)>) -> Self {
        Self { addresses, ids: HashMap::new() }
    }

    /// A body, ready to be compared. Names of fields are sorted.
    pub(crate) fn json(&mut self, body: &Value) -> String {
        let mut body = body.clone();
        self.walk(&mut body);
        serde_json::to_string_pretty(&body).expect("JSON stays JSON")
    }

    /// A text, ready to be compared.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (address, name) in &self.addresses {
            text = text.replace(address, name);
        }
        self.ids_in(&text)
    }

    fn walk(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if is_instant(text) => "[time]".clone_into(text),
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.walk(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn ids_in(&mut self, text: &str) -> String {
        const LEN: usize = 36;
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(id) = rest.get(..LEN).filter(|id| is_uuid(id)) {
                let next = self.ids.len() + 1;
                let number = *self.ids.entry(id.to_owned()).or_insert(next);
                out += &format!("[id {number}]");
                rest = &rest[LEN..];
            } else {
                let first = rest.chars().next().expect("it is not empty");
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out
    }
}

/// Lower case with hyphens, as the contract writes them (1.5).
fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    })
}

/// UTC with microseconds and `Z`, as the contract writes them (1.5, decision 4): `2025-11-03T10:03:48.595604Z`.
pub(crate) fn is_instant(text: &str) -> bool {
    const FORM: &str = "0000-00-00T00:00:00.000000Z";
    text.len() == FORM.len()
        && text.bytes().zip(FORM.bytes()).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        })
}
