//! The rules on pages and user agents in request bodies (C-121, C-12, D-0067).

use kinora_domain::{AccessRestrictions, DefaultPolicy, HostPattern, Restriction};

use crate::fields::Fields;

/// The kind of the entries of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestrictionKind {
    /// Hosts of pages.
    Domains,
    /// Parts of user agents.
    UserAgents,
}

/// Both rules; a rule that was not sent restricts nothing. `None` when a field is wrong.
pub fn restrictions(fields: &Fields<'_>) -> Option<AccessRestrictions> {
    let rule = |name, kind| match fields.object(name) {
        Some(rule) => restriction(&rule, kind),
        None if fields.is_present(name) => None,
        None => Some(Restriction::default()),
    };
    let (domains, user_agents) =
        (rule("domains", RestrictionKind::Domains), rule("userAgents", RestrictionKind::UserAgents));
    Some(AccessRestrictions { domains: domains?, user_agents: user_agents? })
}

/// One complete rule; fields that were not sent have their defaults. `None` when a field is wrong.
pub fn restriction(fields: &Fields<'_>, kind: RestrictionKind) -> Option<Restriction> {
    let default_policy = fields.one_of("defaultPolicy", &["allow", "deny"], DefaultPolicy::from_text);
    let (allow, deny) = (parse_list(fields, "allow", kind), parse_list(fields, "deny", kind));
    if default_policy.is_none() && fields.is_present("defaultPolicy") {
        return None;
    }
    Some(Restriction { default_policy: default_policy.unwrap_or_default(), allow: allow?, deny: deny? })
}

/// Warnings about the lists of a rule that have no effect (C-163, C-14).
pub fn warnings(rule: &Restriction) -> Vec<String> {
    let warning = match rule.default_policy {
        DefaultPolicy::Allow if !rule.allow.is_empty() => {
            "the allow list has no effect with defaultPolicy allow; to allow only its entries, set defaultPolicy to deny"
        }
        DefaultPolicy::Deny if !rule.deny.is_empty() => {
            "the deny list has no effect with defaultPolicy deny; to deny only its entries, set defaultPolicy to allow"
        }
        DefaultPolicy::Allow | DefaultPolicy::Deny => return Vec::new(),
    };
    vec![warning.to_owned()]
}

fn parse_list(fields: &Fields<'_>, name: &str, kind: RestrictionKind) -> Option<Vec<String>> {
    if !fields.is_present(name) {
        return Some(Vec::new());
    }
    let items = fields.list(name)?;
    if items.len() > Restriction::ENTRIES_MAX {
        fields.reject(name, format!("must have at most {} items", Restriction::ENTRIES_MAX));
        return None;
    }
    let mut read = Some(Vec::new());
    for (at, item) in items.iter().enumerate() {
        let entry = item.as_str().ok_or_else(|| "must be a string".to_owned());
        match entry.and_then(|entry| check_entry(entry, kind).map(|()| entry)) {
            Ok(entry) => read.iter_mut().for_each(|read| read.push(entry.to_owned())),
            Err(problem) => {
                fields.reject(&format!("{name}[{at}]"), problem);
                read = None;
            }
        }
    }
    read
}

/// Rejects an entry that could never match: the rule would seem to apply, and does not.
fn check_entry(entry: &str, kind: RestrictionKind) -> Result<(), String> {
    if entry.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if entry.chars().count() > Restriction::ENTRY_CHARS_MAX {
        return Err(format!("must have at most {} characters", Restriction::ENTRY_CHARS_MAX));
    }
    if kind == RestrictionKind::Domains && HostPattern::parse(entry).is_none() {
        return Err(
            "must be one host such as example.com, or *.example.com for its subdomains only; add an entry for each further host".to_owned()
        );
    }
    if kind == RestrictionKind::UserAgents && !entry.chars().all(is_header_char) {
        return Err("must not have control characters other than tab".to_owned());
    }
    Ok(())
}

/// RFC 9110, 5.5: no control characters except the tab. Characters beyond ASCII are allowed.
pub fn is_header_char(letter: char) -> bool {
    letter == '\t' || !letter.is_ascii_control()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fields::Problems;

    fn read(body: &Value, entries: RestrictionKind) -> Result<Restriction, String> {
        let problems = Problems::default();
        let rule = Fields::of_body(body, &problems).and_then(|fields| restriction(&fields, entries));
        problems.into_result(rule).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn missing_restriction_fields_use_defaults() {
        for body in
            [json!({}), json!({"defaultPolicy": null, "allow": null, "deny": []}), json!({"other": 1})]
        {
            assert_eq!(read(&body, RestrictionKind::Domains), Ok(Restriction::default()), "{body}");
        }
        let body = json!({"defaultPolicy": "deny", "allow": ["b.example", "a.example", "b.example"]});
        let list = ["b.example", "a.example", "b.example"].map(str::to_owned).to_vec();
        let expected = Restriction { default_policy: DefaultPolicy::Deny, allow: list, deny: Vec::new() };
        assert_eq!(read(&body, RestrictionKind::Domains), Ok(expected), "as it was sent");
    }

    #[test]
    fn domains_are_hosts_or_wildcards() {
        let label = "a".repeat(63);
        let longest = format!("*.{label}.{label}.{label}.{}", "a".repeat(61));
        for host in [
            "example.com",
            "EXAMPLE.com.",
            "*.example.com",
            "localhost",
            "bücher.example",
            "xn--bcher-kva.example",
            "192.0.2.7",
            "[2001:db8::1]",
            "under_score.example",
            &longest,
        ] {
            assert!(read(&json!({"deny": [host]}), RestrictionKind::Domains).is_ok(), "{host}");
        }
        let too_long = format!("{longest}a");
        for other in [
            "",
            "*",
            "*.",
            "*.*.example.com",
            "a.*.example",
            "https://example.com",
            "example.com/path",
            "example.com:8080",
            "exa mple.com",
            "exa%6dple.com",
            "user@example.com",
            &too_long,
            "a.example,b.example",
            "a.example;b.example",
            "'none'",
            ".a.example",
            "a..example",
            "*.192.0.2.7",
            "*.[2001:db8::1]",
        ] {
            let refused =
                read(&json!({"allow": ["a.example", other]}), RestrictionKind::Domains).unwrap_err();
            assert!(refused.contains("field: \"allow[1]\""), "{other}: {refused}");
            if !other.is_empty() && other.len() < 255 {
                assert!(refused.contains("add an entry for each further host"), "{other}: {refused}");
            }
        }
    }

    #[test]
    fn list_without_effect_is_warned() {
        let check = |body: Value, word: Option<&str>| {
            let warnings = warnings(&read(&body, RestrictionKind::Domains).unwrap());
            assert_eq!(warnings.len(), usize::from(word.is_some()), "{body}: {warnings:?}");
            assert!(
                warnings.iter().zip(word).all(|(warning, word)| warning.starts_with(word)),
                "{warnings:?}"
            );
        };
        check(json!({}), None);
        check(json!({"deny": ["a.example"]}), None);
        check(json!({"defaultPolicy": "deny"}), None);
        check(json!({"defaultPolicy": "deny", "allow": ["a.example"]}), None);
        check(json!({"allow": ["a.example"]}), Some("the allow list"));
        check(json!({"allow": ["a.example"], "deny": ["b.example"]}), Some("the allow list"));
        check(json!({"defaultPolicy": "deny", "deny": ["a.example"]}), Some("the deny list"));
        check(
            json!({"defaultPolicy": "deny", "allow": ["a.example"], "deny": ["a.example"]}),
            Some("the deny list"),
        );
    }

    #[test]
    fn user_agents_accept_any_header_value() {
        let longest = "é".repeat(255);
        for agent in ["Mozilla/5.0 (X11; Linux)", "*", " ", "a\tb", "\u{85}", &longest] {
            assert!(read(&json!({"deny": [agent]}), RestrictionKind::UserAgents).is_ok(), "{agent}");
        }
        let long = "x".repeat(256);
        for other in ["", &long, "\0", "curl\0", "curl\n", "\r", "\u{1b}[m", "\u{7f}"] {
            let refused = read(&json!({"deny": ["a", other]}), RestrictionKind::UserAgents).unwrap_err();
            assert!(refused.contains("field: \"deny[1]\""), "{other:?}: {refused}");
        }
    }

    #[test]
    fn restriction_lists_are_bounded_arrays() {
        let entries = |count: usize| (0..count).map(|n| format!("{n}.example")).collect::<Vec<_>>();
        let restrictions =
            read(&json!({"allow": entries(100), "deny": entries(100)}), RestrictionKind::Domains).unwrap();
        assert_eq!((restrictions.allow.len(), restrictions.deny.len()), (100, 100));
        for (body, path) in [
            (json!({"deny": entries(101)}), "deny"),
            (json!({"allow": "a.example"}), "allow"),
            (json!({"allow": {}}), "allow"),
            (json!({"deny": [7]}), "deny[0]"),
            (json!({"deny": [null]}), "deny[0]"),
            (json!({"defaultPolicy": "Allow"}), "defaultPolicy"),
            (json!({"defaultPolicy": true}), "defaultPolicy"),
            (json!([]), "body"),
        ] {
            let refused = read(&body, RestrictionKind::UserAgents).unwrap_err();
            assert!(refused.contains(&format!("field: \"{path}\"")), "{body}: {refused}");
        }
    }
}
