//! Parses a JSON body field by field and collects all errors, each with its path.
//!
//! Unknown fields are ignored, `null` is the same as absent (C-10).

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::{ApiError, FieldError};

/// Collects validation errors.
#[derive(Default)]
pub struct Problems {
    found: RefCell<Vec<FieldError>>,
}

impl Problems {
    /// Most errors in one response; a long list of invalid inputs would only make it long.
    pub(crate) const REPORTED_MAX: usize = 32;

    /// Adds the error of a field; dropped beyond `REPORTED_MAX`.
    pub fn add(&self, field: impl Into<String>, message: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        if found.len() < Self::REPORTED_MAX {
            found.push(FieldError { field: field.into(), message: message.into() });
        }
    }

    /// `value` if there was no error, else a 422 that names every field.
    pub fn into_result<T>(self, value: Option<T>) -> Result<T, ApiError> {
        let found = self.found.into_inner();
        match value {
            Some(value) if found.is_empty() => Ok(value),
            _ => Err(ApiError::invalid(found)),
        }
    }
}

thread_local! {
    /// Paths of the fields that were read since [`fields_read_by`] began; `None` outside of it.
    static READ: RefCell<Option<BTreeSet<String>>> = const { RefCell::new(None) };
}

/// Paths of all fields that `read` reads on this thread. For tests that compare them with a schema.
pub(crate) fn fields_read_by(read: impl FnOnce()) -> BTreeSet<String> {
    READ.set(Some(BTreeSet::new()));
    read();
    READ.take().unwrap_or_default()
}

/// One JSON object of the body, with its path.
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
    problems: &'a Problems,
}

impl<'a> Fields<'a> {
    /// The body itself.
    pub fn of_body(body: &'a Value, problems: &'a Problems) -> Option<Self> {
        Self::of_value(body, "body", String::new(), problems)
    }

    fn of_value(value: &'a Value, name: &str, path: String, problems: &'a Problems) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self { object, path, problems }),
            _ => {
                problems.add(if path.is_empty() { name.to_owned() } else { path }, "must be an object");
                None
            }
        }
    }

    /// The path of one of its fields.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Adds an error of one of its fields.
    pub fn reject(&self, name: &str, message: impl Into<String>) {
        self.problems.add(self.path(name), message);
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        READ.with_borrow_mut(|read| read.as_mut().map(|read| read.insert(self.path(name))));
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// Whether the field was sent with a value other than `null`.
    pub fn is_present(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether it was sent as `null`, for the few fields where that has a meaning.
    pub fn is_null(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(Value::is_null)
    }

    /// All its entries, for an object whose keys the client chooses.
    pub fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object.iter()
    }

    /// A boolean.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.typed(name, "must be true or false", Value::as_bool)
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.typed(name, "must be a number", Value::as_f64)
    }

    /// A text of at most `max` characters.
    pub fn text(&self, name: &str, max: usize) -> Option<&'a str> {
        let text = self.typed(name, "must be a string", Value::as_str)?;
        if text.chars().count() > max {
            self.reject(name, format!("must have at most {max} characters"));
            return None;
        }
        Some(text)
    }

    /// A text that is stored. Databases store no NUL, so it is replaced here: responses, events and
    /// comparisons use the stored text.
    pub fn stored_text(&self, name: &str, max: usize) -> Option<String> {
        self.text(name, max).map(replace_nul)
    }

    /// One of a few words. `from_text` parses a word; the error of an unknown one lists `words`.
    pub fn one_of<T>(&self, name: &str, words: &[&str], from_text: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.typed(name, "must be a string", Value::as_str)?;
        let meaning = if words.contains(&text) { from_text(text) } else { None };
        if meaning.is_none() {
            self.reject(name, format!("must be one of {}", words.join(", ")));
        }
        meaning
    }

    /// An object.
    pub fn object(&self, name: &str) -> Option<Fields<'a>> {
        Self::of_value(self.get(name)?, name, self.path(name), self.problems)
    }

    /// A list of anything.
    pub fn list(&self, name: &str) -> Option<&'a [Value]> {
        self.typed(name, "must be an array", |value| value.as_array().map(Vec::as_slice))
    }

    /// The items of a list that must be objects; other items are reported and skipped.
    pub fn objects(&self, name: &str, max: usize) -> Option<Vec<Fields<'a>>> {
        let list = self.list(name)?;
        if list.len() > max {
            self.reject(name, format!("must have at most {max} items"));
            return None;
        }
        let items = list.iter().enumerate();
        Some(
            items
                .filter_map(|(at, item)| {
                    Self::of_value(item, name, format!("{}[{at}]", self.path(name)), self.problems)
                })
                .collect(),
        )
    }

    fn typed<T>(&self, name: &str, must: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.get(name)?;
        let typed = read(value);
        if typed.is_none() {
            self.reject(name, must);
        }
        typed
    }
}

/// A text as databases store it: a NUL becomes U+FFFD.
pub fn replace_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_name_each_field_by_path() {
        let body = json!({"title": 1, "word": "no", "list": [{"a": "x"}, 7, {"a": []}], "long": "four", "nothing": null});
        let problems = Problems::default();
        let fields = Fields::of_body(&body, &problems).unwrap();
        assert_eq!(fields.text("title", 9), None);
        assert_eq!(fields.text("long", 3), None);
        assert_eq!(fields.bool("nothing"), None);
        assert!(fields.is_null("nothing") && !fields.is_null("none") && !fields.is_null("title"));
        assert_eq!(fields.one_of("word", &["yes", "maybe"], |_| Some(())), None);
        let items = fields.objects("list", 3).unwrap();
        assert_eq!(items.iter().map(|item| item.text("a", 9)).collect::<Vec<_>>(), [Some("x"), None]);

        let found = problems.found.into_inner();
        let reported: Vec<_> =
            found.iter().map(|problem| (problem.field.as_str(), problem.message.as_str())).collect();
        assert_eq!(
            reported,
            [
                ("title", "must be a string"),
                ("long", "must have at most 3 characters"),
                ("word", "must be one of yes, maybe"),
                ("list[1]", "must be an object"),
                ("list[2].a", "must be a string"),
            ]
        );
    }

    #[test]
    fn non_object_body_is_rejected() {
        let (problems, body) = (Problems::default(), json!([1]));
        assert!(Fields::of_body(&body, &problems).is_none());
        assert_eq!(
            problems.found.into_inner(),
            [FieldError { field: "body".into(), message: "must be an object".into() }]
        );
    }
}
