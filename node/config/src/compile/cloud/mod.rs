//! Credentials of clouds: what the document and the environment say becomes a specification of how they are fetched.

mod reader;
pub(super) use reader::Reader;

mod aws;
pub(super) use aws::aws;

mod google;
pub(super) use google::google;

mod entra;
pub(super) use entra::entra;
