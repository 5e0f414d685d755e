//! Who asks the admin API: the token of the request, and what it allows.

use super::Problem;
use crate::control::{Control, Origin, Role, Via};
use axum::extract::{ConnectInfo, FromRef, FromRequestParts};
use http::{header, request::Parts};
use std::{net::SocketAddr, time::SystemTime};

/// Who asks, for what.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    /// For the record.
    pub(super) origin: Origin,
    role: Role,
}

impl Asker {
    /// Refuses whoever has a lesser role.
    pub(super) fn needs(&self, role: Role) -> Result<(), Problem> {
        if self.role >= role {
            return Ok(());
        }
        Err(Problem::forbidden(format!(
            "this needs the role {role}, and the token `{}` has the role {}",
            self.origin.actor, self.role
        )))
    }
}

impl<S> FromRequestParts<S> for Asker
where
    Control: FromRef<S>,
    S: Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, sources: &S) -> Result<Self, Problem> {
        let value = parts.headers.get(header::AUTHORIZATION).ok_or_else(|| {
            Problem::unauthenticated("send an admin token as `authorization: Bearer TOKEN`")
        })?;
        let parts_of = value.to_str().ok().and_then(|value| value.split_once(' '));
        let secret = parts_of.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let (_, secret) =
            secret.ok_or_else(|| Problem::unauthenticated("`authorization` must be `Bearer TOKEN`"))?;
        let tokens = Control::from_ref(sources).tokens();
        let token = tokens.find(secret.trim(), SystemTime::now());
        let token = token.ok_or_else(|| Problem::unauthenticated("this admin token is not known here"))?;
        let from = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let action = format!("{} {}", parts.method, parts.uri.path());
        let origin =
            Origin { actor: token.name.clone(), role: Some(token.role), via: Via::Api, from, action };
        Ok(Self { origin, role: token.role })
    }
}
