//! Google's Cloud Storage, by its XML API, which is S3's with other headers: its address, and the
//! authorisation of requests. With HMAC keys it can be used as an S3, at the same address.

mod google;

pub(crate) use google::Google;
