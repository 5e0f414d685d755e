//! What the gateway costs against nginx `proxy_pass`: whole processes, one core for the proxy, one for the rest.
//!
//! The speed of a machine swings by tens of percent within a minute, so figures are ratios: in a *duel* both proxies
//! are loaded at once on the same core and compared second by second; *in turns* each run of the gateway is compared
//! with the runs of nginx before and after it.

mod cases;
mod command;
mod duel;
mod gateway;
mod in_process;
mod latency;
mod memory;
mod nginx;
mod report;
mod side;
mod sizes;
mod spread;
mod stage;
mod turns;

pub use command::Command;
pub(crate) use gateway::{GATEWAY, build};
pub(crate) use stage::Folder;
