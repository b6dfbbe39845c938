//! Counts and times of requests, by route.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};

/// The metrics of requests that have been needed so far.
///
/// Kept, for finding one by its labels takes longer than all else that is done for a small request but the
/// sending.
#[derive(Default)]
pub(super) struct RequestCounts {
    routes: RwLock<HashMap<Box<str>, Arc<RouteCounts>>>,
}

struct RouteCounts {
    seconds: Histogram,
    answers: RwLock<HashMap<(&'static str, StatusCode), Counter>>,
}

impl RequestCounts {
    /// Counts one answer. `route` is one of the router's, so that the number of metrics is bounded.
    pub(super) fn note(&self, route: &str, method: &Method, status: StatusCode, took: Duration) {
        let counts = self.route(route);
        counts.seconds.record(took.as_secs_f64());
        counts.answer(route, label(method), status).increment(1);
    }

    fn route(&self, route: &str) -> Arc<RouteCounts> {
        if let Some(counts) = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(route) {
            return Arc::clone(counts);
        }
        let new = || {
            let seconds = metrics::histogram!("kinora_http_request_seconds", "route" => route.to_owned());
            Arc::new(RouteCounts { seconds, answers: RwLock::default() })
        };
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(routes.entry(route.into()).or_insert_with(new))
    }
}

impl RouteCounts {
    fn answer(&self, route: &str, method: &'static str, status: StatusCode) -> Counter {
        let key = (method, status);
        if let Some(counter) = self.answers.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return counter.clone();
        }
        let new = || {
            let labels = [
                ("method", method.to_owned()),
                ("route", route.to_owned()),
                ("status", status.as_str().to_owned()),
            ];
            metrics::counter!("kinora_http_requests_total", &labels)
        };
        self.answers.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert_with(new).clone()
    }
}

/// The name of a method. A client may make up any number of others: these share one.
fn label(method: &Method) -> &'static str {
    const KNOWN: [Method; 7] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    KNOWN.iter().find(|known| *known == method).map_or("other", Method::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_a_client_made_up_share_one_label() {
        let check = |method: &str, expected| {
            assert_eq!(label(&Method::from_bytes(method.as_bytes()).unwrap()), expected, "{method}");
        };
        check("GET", "GET");
        check("DELETE", "DELETE");
        check("TRACE", "other");
        check("get", "other");
        check("X-1", "other");
    }
}
