//! What a request would cost at a target, as far as that can be known before.

use crate::{Endpoint, prepare::Prepared, receive::Ask, upstream::Outgoing};
use trestle_catalog::{Counts, Unit};
use trestle_config::TargetConfig;
use trestle_provider::Operation;

/// A token for so many bytes of a body: what English text and JSON come to, for most tokenizers.
const TOKEN_BYTES: u64 = 4;

/// What a request would cost, at the standard prices of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreseen {
    /// Input tokens, estimated from the length of the text that would be sent; media in it are not counted.
    pub input_tokens: u64,
    /// Output tokens: as many as the request allows, else as many as the model can give. One answer.
    pub output_tokens: u64,
    /// What both cost, in nano-USD.
    pub nano_usd: u64,
}

/// What it would cost; `None` where the price or what is to be charged is not known.
pub(crate) fn foresee(ask: &Ask, target: &TargetConfig, prepared: &Prepared) -> Option<Foreseen> {
    let known = target.known.as_ref()?;
    let bytes = prepared.calls().map(Outgoing::held).sum::<u64>();
    let counts = Counts::default().with(Unit::PerRequest, prepared.calls().count() as u64);
    let counts = match ask.endpoint {
        Endpoint::Generate(_) => {
            let request = ask.decoded().ok()?;
            let text = bytes.saturating_sub(request.media_bytes());
            let most = request.max_tokens.into_iter().chain(known.output_max).min()?;
            counts.with(Unit::Input, text.div_ceil(TOKEN_BYTES)).with(Unit::Output, most)
        }
        Endpoint::Embed(_) => counts.with(Unit::Input, bytes.div_ceil(TOKEN_BYTES)),
        Endpoint::Pass(Operation::Rerank) => {
            known.price.rates.get(Unit::PerQuery)?;
            counts.with(Unit::PerQuery, 1)
        }
        // What the others are charged by is in their answers, or in members that are passed on unread.
        _ => return None,
    };
    if known.price.unpriced(&counts).next().is_some() {
        return None;
    }
    Some(Foreseen {
        input_tokens: counts.get(Unit::Input),
        output_tokens: counts.get(Unit::Output),
        nano_usd: known.price.cost(&counts),
    })
}
