//! The access restrictions of a media (domains and user agents), as JSON in a row or an event.

use kinora_domain::{AccessRestrictions, DefaultPolicy, Restriction};
use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Serialize, Deserialize)]
pub(crate) struct RestrictionsJson {
    domains: RestrictionJson,
    user_agents: RestrictionJson,
}

#[derive(Serialize, Deserialize)]
struct RestrictionJson {
    default: String,
    allow: Vec<String>,
    deny: Vec<String>,
}

impl RestrictionsJson {
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("texts are always JSON")
    }
}

impl From<&AccessRestrictions> for RestrictionsJson {
    fn from(restrictions: &AccessRestrictions) -> Self {
        Self { domains: (&restrictions.domains).into(), user_agents: (&restrictions.user_agents).into() }
    }
}

impl TryFrom<RestrictionsJson> for AccessRestrictions {
    type Error = Error;

    fn try_from(json: RestrictionsJson) -> Result<Self, Error> {
        Ok(Self { domains: json.domains.try_into()?, user_agents: json.user_agents.try_into()? })
    }
}

impl From<&Restriction> for RestrictionJson {
    fn from(restriction: &Restriction) -> Self {
        Self {
            default: restriction.default_policy.as_str().to_owned(),
            allow: restriction.allow.clone(),
            deny: restriction.deny.clone(),
        }
    }
}

impl TryFrom<RestrictionJson> for Restriction {
    type Error = Error;

    fn try_from(json: RestrictionJson) -> Result<Self, Error> {
        let default_policy = DefaultPolicy::from_text(&json.default)
            .ok_or_else(|| Error::internal("unknown default policy"))?;
        Ok(Self { default_policy, allow: json.allow, deny: json.deny })
    }
}
