//! Counts and times of requests, by route.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};

/// The metrics of requests, created on first use.
///
/// Cached, because a look-up by labels takes longer than all other work of a small request except sending.
#[derive(Default)]
pub(super) struct RequestMetrics {
    routes: RwLock<HashMap<Box<str>, Arc<RouteMetrics>>>,
}

struct RouteMetrics {
    seconds: Histogram,
    counters: RwLock<HashMap<(&'static str, StatusCode), Counter>>,
}

impl RequestMetrics {
    /// Counts one response. `route` is a route of the router, so that the number of metrics is bounded.
    pub(super) fn record(&self, route: &str, method: &Method, status: StatusCode, took: Duration) {
        let route_metrics = self.route(route);
        route_metrics.seconds.record(took.as_secs_f64());
        route_metrics.counter(route, method_label(method), status).increment(1);
    }

    fn route(&self, route: &str) -> Arc<RouteMetrics> {
        if let Some(route_metrics) = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(route) {
            return Arc::clone(route_metrics);
        }
        let new = || {
            let seconds = metrics::histogram!("kinora_http_request_seconds", "route" => route.to_owned());
            Arc::new(RouteMetrics { seconds, counters: RwLock::default() })
        };
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(routes.entry(route.into()).or_insert_with(new))
    }
}

impl RouteMetrics {
    fn counter(&self, route: &str, method: &'static str, status: StatusCode) -> Counter {
        let key = (method, status);
        if let Some(counter) = self.counters.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
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
        self.counters.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert_with(new).clone()
    }
}

/// The label of a method. Clients can invent any number of other methods: those share one label.
fn method_label(method: &Method) -> &'static str {
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
    fn unknown_methods_share_one_metric_label() {
        let check = |method: &str, expected| {
            assert_eq!(method_label(&Method::from_bytes(method.as_bytes()).unwrap()), expected, "{method}");
        };
        check("GET", "GET");
        check("DELETE", "DELETE");
        check("TRACE", "other");
        check("get", "other");
        check("X-1", "other");
    }
}
