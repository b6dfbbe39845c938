//! What lies around routes: a layer of a function, as `axum::middleware::from_fn` makes one, that costs a
//! request only what it does.
//!
//! That of axum copies all routes below it for each request and boxes them anew, which took longer than to
//! answer from memory.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::response::Response;
use axum::routing::Route;
use axum::routing::future::RouteFuture;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Either};
use tower::{Layer, Service};

/// What lies below: answers a request that is handed on.
pub type Below = Route<Infallible>;

/// An answer that is on its way: that of what lies below, or another.
pub type Answering = Either<RouteFuture<Infallible>, BoxFuture<'static, Result<Response, Infallible>>>;

/// A layer of this function.
#[derive(Clone)]
pub struct Around<F>(F);

/// A route with that function around it.
#[derive(Clone)]
pub struct Surrounded<F> {
    run: F,
    below: Below,
}

/// A layer of a function that is given each request and what lies below.
pub fn around<F: Fn(Request, &mut Below) -> Answering>(run: F) -> Around<F> {
    Around(run)
}

/// Hands a request on, and has nothing more to do with it.
pub fn hand_on(request: Request, below: &mut Below) -> Answering {
    Either::Left(below.call(request))
}

/// Hands a request on, and has to do with its answer.
pub fn answer_of(request: Request, below: &mut Below) -> impl Future<Output = Response> + Send + use<> {
    below.call(request).map(|Ok(response)| response)
}

/// An answer that is made by this.
pub fn answer_by(making: impl Future<Output = Response> + Send + 'static) -> Answering {
    Either::Right(making.map(Ok).boxed())
}

impl<F: Clone> Layer<Below> for Around<F> {
    type Service = Surrounded<F>;

    fn layer(&self, below: Below) -> Self::Service {
        Surrounded { run: self.0.clone(), below }
    }
}

impl<F: Fn(Request, &mut Below) -> Answering> Service<Request> for Surrounded<F> {
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    /// Routes are always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        (self.run)(request, &mut self.below)
    }
}
