//! Google's Cloud Storage, by its XML API, which is S3's with other headers: where it is, and how
//! requests are authorised. With HMAC keys it is reached as an S3, at the same address.

mod google;

pub(crate) use google::Google;
