//! Which calls of the ledger a command is about.

use super::client::encoded;

/// Which calls; all that fit everything that is said.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which calls")]
pub(super) struct Filter {
    /// Only calls that ended then or later: in UTC, such as 2027-01-31T10:00:00Z or 2027-01-31.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only calls that ended before.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only those of this customer.
    #[arg(long, value_name = "NAME")]
    customer: Option<String>,
    /// Only those of this team.
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
    /// Only those of this user.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only those of this key.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Only those for this model, as clients asked for it.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Only those of this provider.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Only those with this tag.
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those of this request: the x-request-id of its answer.
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Only those that ended so: ok, client_error, provider_error, timeout, cancelled, panicked, killed, broken, stopped.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
}

impl Filter {
    /// As parameters of the API, each with its `&` before it.
    pub(super) fn query(&self) -> String {
        let all = [
            ("from", &self.from),
            ("until", &self.until),
            ("customer", &self.customer),
            ("team", &self.team),
            ("user", &self.user),
            ("key", &self.key),
            ("model", &self.model),
            ("provider", &self.provider),
            ("tag", &self.tag),
            ("request_id", &self.request_id),
            ("outcome", &self.outcome),
        ];
        let said = all.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        said.map(|(name, value)| format!("&{name}={}", encoded(value))).collect()
    }
}
