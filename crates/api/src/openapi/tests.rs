use std::collections::BTreeSet;

use super::*;

fn documented() -> Value {
    let server = "http://server.test".to_owned();
    document(&BaseUrls { public: server.clone(), stream: server.clone(), images: server })
}

/// A new path is described in the `doc.rs` of its resource. Tests of the whole server compare the methods.
#[test]
fn document_has_exactly_the_served_paths() {
    let served: BTreeSet<_> = crate::paths().into_iter().collect();
    let document = documented();
    let described: BTreeSet<_> = document["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        served.difference(&described).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "served, not described"
    );
    assert_eq!(
        described.difference(&served).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "described, not served"
    );
}

#[test]
fn document_refs_resolve_and_components_are_used() {
    let document = documented();
    let mut pointed = BTreeSet::new();
    collect(&document, &mut pointed);
    for reference in &pointed {
        let pointer = reference.strip_prefix('#').expect("it points into itself");
        assert!(document.pointer(pointer).is_some(), "{reference} is not there");
    }
    for group in ["schemas", "responses", "headers"] {
        for name in document["components"][group].as_object().unwrap().keys() {
            let place = format!("#/components/{group}/{name}");
            assert!(pointed.contains(&place), "nothing points to {place}");
        }
    }
}

fn collect(value: &Value, pointed: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            pointed.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| collect(field, pointed));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, pointed)),
        _ => {}
    }
}

#[test]
fn operations_have_unique_ids_known_tags_and_responses() {
    let document = documented();
    let groups: BTreeSet<_> = TAGS.into_iter().map(|(name, _)| name).collect();
    let (mut names, mut used) = (BTreeSet::new(), BTreeSet::new());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            let group =
                operation["tags"][0].as_str().unwrap_or_else(|| panic!("{method} {path} has no group"));
            assert!(groups.contains(group), "{group} of {method} {path} is not listed");
            used.insert(group);
            // Each part of the path in braces is described, and no other.
            let parts: BTreeSet<_> =
                path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let described: BTreeSet<_> = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            assert_eq!(parts, described, "{method} {path}");
        }
    }
    assert_eq!(used, groups, "a group without operations");
}
