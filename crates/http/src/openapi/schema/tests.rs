use super::*;

#[test]
fn what_is_not_required_may_be_null() {
    let found = object(
        &["a"],
        [
            ("a", words(["x"])),
            ("b", words(["x"])),
            ("c", json!({"type": "boolean", "const": false})),
            ("d", json!({"$ref": "#/components/schemas/D"})),
        ],
    );
    let expected = json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "enum": ["x"]},
            "b": {"type": ["string", "null"], "enum": ["x", null]},
            "c": {"type": ["boolean", "null"], "enum": [false, null]},
            "d": {"anyOf": [{"$ref": "#/components/schemas/D"}, {"type": "null"}]},
        },
    });
    assert_eq!(found, expected);
}
