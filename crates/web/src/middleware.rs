//! Middleware: a layer made of a function, like `axum::middleware::from_fn`, with little cost for a request.
//!
//! The layer of axum clones and boxes all routes below it for each request. That took longer than a response
//! from memory.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::response::Response;
use axum::routing::Route;
use axum::routing::future::RouteFuture;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Either};
use tower::{Layer, Service};

/// The inner service, which responds to each request that is passed on.
pub type Next = Route<Infallible>;

/// The future of a response: that of the inner service, or another one.
pub type ResponseFuture = Either<RouteFuture<Infallible>, BoxFuture<'static, Result<Response, Infallible>>>;

/// A layer that applies this function.
#[derive(Clone)]
pub struct MiddlewareLayer<F>(F);

/// A route wrapped in that function.
#[derive(Clone)]
pub struct MiddlewareService<F> {
    run: F,
    next: Next,
}

/// Makes a layer of a function that receives each request and the inner service.
pub fn layer_fn<F: Fn(Request, &mut Next) -> ResponseFuture>(run: F) -> MiddlewareLayer<F> {
    MiddlewareLayer(run)
}

/// Passes a request on and leaves its response unchanged.
pub fn forward(request: Request, next: &mut Next) -> ResponseFuture {
    Either::Left(next.call(request))
}

/// Passes a request on and returns its response.
pub fn next_response(request: Request, next: &mut Next) -> impl Future<Output = Response> + Send + use<> {
    next.call(request).map(|Ok(response)| response)
}

/// A response that this future makes.
pub fn respond_with(response: impl Future<Output = Response> + Send + 'static) -> ResponseFuture {
    Either::Right(response.map(Ok).boxed())
}

impl<F: Clone> Layer<Next> for MiddlewareLayer<F> {
    type Service = MiddlewareService<F>;

    fn layer(&self, next: Next) -> Self::Service {
        MiddlewareService { run: self.0.clone(), next }
    }
}

impl<F: Fn(Request, &mut Next) -> ResponseFuture> Service<Request> for MiddlewareService<F> {
    type Response = Response;
    type Error = Infallible;
    type Future = ResponseFuture;

    /// Routes are always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        (self.run)(request, &mut self.next)
    }
}
