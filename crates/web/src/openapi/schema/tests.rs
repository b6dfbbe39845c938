use super::*;

#[test]
fn optional_fields_may_be_null() {
    let found = object(
        &["a"],
        [
            ("a", string_enum(["x"])),
            ("b", string_enum(["x"])),
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

#[test]
fn descriptions_omit_contract_and_decision_references() {
    let mut schema = json!({"properties": {"a": {"description": "Where a page lies (C-108, C-22)."},
        "description": {"description": "One (of two) (D-0017)."}}});
    strip_fact_ids(&mut schema);
    let expected = json!({"properties": {"a": {"description": "Where a page lies."},
        "description": {"description": "One (of two)."}}});
    assert_eq!(schema, expected);
}
