//! Credentials that are fetched and renewed: from the security token services and metadata services of the clouds. The one
//! place of this crate that does I/O; nothing here runs on the path of a request.

mod secret;
pub use secret::Secret;

mod spec;
pub use spec::{
    AssumeRole, Authorization, AwsSource, AwsSpec, EntraSource, EntraSpec, GoogleSource, GoogleSpec, Origins,
    Spec,
};

mod place;
pub use place::{check_container, check_metadata, check_service};

mod ready;
pub use ready::{AwsKeys, Fetched, Ready};

mod live;
pub use live::{Live, NotReady};

mod schedule;

mod files;

mod http;

mod fetch;

mod aws;

mod google;

mod entra;

mod keeper;
pub use keeper::{Keeper, Seen, Wanted};
