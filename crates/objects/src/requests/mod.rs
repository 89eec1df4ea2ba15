//! Code shared by all stores over HTTP: requests and answers, errors in XML, and the encoding of
//! keys and checksums.
//!
//! Credentials and signatures come from the crate object_store. Its stores aren't used: they
//! normalise keys (`a//b`), hide the status that decides whether a request is worth repeating, and
//! can't complete an upload on the condition that there is no object yet.

pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod credentials;
pub(crate) mod encode;
pub(crate) mod exchange;
pub(crate) mod redirect;
pub(crate) mod stored;
pub(crate) mod transport;
pub(crate) mod xml;
