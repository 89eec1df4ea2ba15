//! The location of an object: the parts of its URL.
//!
//! The text after `s3://bucket/` is the key, byte for byte, as in the AWS tools: nothing in it is
//! decoded, so spaces, `+` and `%` mean themselves. The text after `https://` is a URL as in a
//! browser, and is sent unchanged.

use crate::failure::{Failure, Reason};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use xsort_disk::DisplayPath;

/// The kind of an object's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// `s3://`: Amazon S3, or another store with its interface.
    S3,
    /// `gs://`: Google's Cloud Storage.
    Gs,
    /// `az://`: Azure's Blob Storage, whose buckets are containers.
    Az,
    /// `https://`.
    Https,
    /// `http://`.
    Http,
}

impl Scheme {
    const ALL: [Scheme; 5] = [Scheme::S3, Scheme::Gs, Scheme::Az, Scheme::Https, Scheme::Http];

    /// Returns whether it has buckets of objects, which can be listed and written.
    pub fn is_store(self) -> bool {
        matches!(self, Scheme::S3 | Scheme::Gs | Scheme::Az)
    }

    /// Returns whether its uploads can be listed and aborted. Azure only has parts that belong to a
    /// name, are invisible, and vanish after a week.
    pub(crate) fn has_uploads(self) -> bool {
        matches!(self, Scheme::S3 | Scheme::Gs)
    }

    /// Returns the beginning of its URLs.
    pub fn prefix(self) -> &'static str {
        match self {
            Scheme::S3 => "s3://",
            Scheme::Gs => "gs://",
            Scheme::Az => "az://",
            Scheme::Https => "https://",
            Scheme::Http => "http://",
        }
    }
}

/// An object in a store, or a prefix of many objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The kind of URL.
    pub scheme: Scheme,
    /// The bucket; for HTTP the host, with its port if there is one.
    pub bucket: String,
    /// The key; for HTTP the path and the query. Without the slash in front of it.
    pub key: String,
}

impl Location {
    /// Parses a URL. An empty key means the whole bucket.
    ///
    /// # Errors
    /// If it is no URL of a supported store, or has no bucket, or its key can't be sent.
    pub fn parse(path: &Path) -> Result<Location, Failure> {
        let refuse = |text: &str| Failure::new(Reason::Unusable, text);
        let url = std::str::from_utf8(path.as_os_str().as_bytes())
            .map_err(|_| refuse("a URL must be UTF-8"))?;
        let found = Scheme::ALL
            .iter()
            .find_map(|scheme| Some((*scheme, url.strip_prefix(scheme.prefix())?)));
        let Some((scheme, rest)) = found else {
            return Err(refuse(
                "it is no URL of an object: s3://BUCKET/KEY, gs://..., az://... or https://...",
            ));
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(refuse("the URL names no bucket: s3://BUCKET/KEY"));
        }
        // Azure has containers $web and $logs.
        let others = if scheme == Scheme::Az { "-._$" } else { "-._" };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || others.contains(letter);
        if scheme.is_store() && !bucket.chars().all(is_plain) {
            return Err(refuse("no bucket has such a name: letters, digits, '-', '.' and '_'"));
        }
        // Every HTTP client treats such a segment as a step in a directory tree, however it is
        // encoded.
        let path = key.split(['?', '#']).next().filter(|_| !scheme.is_store()).unwrap_or(key);
        if path.split('/').any(|segment| segment == "." || segment == "..") {
            return Err(refuse("a key with the segment '.' or '..' can't be sent over HTTP"));
        }
        Ok(Location { scheme, bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// Parses the URL of an object, like [`parse`](Location::parse).
    ///
    /// # Errors
    /// The errors of [`parse`](Location::parse), or if the URL only names a bucket.
    pub fn of_object(path: &Path) -> Result<Location, Failure> {
        let location = Location::parse(path)?;
        if location.scheme.is_store() && location.key.is_empty() {
            return Err(Failure::new(Reason::Unusable, "the URL names a bucket, and no object"));
        }
        Ok(location)
    }

    /// Parses the URL of an object to be written, like [`of_object`](Location::of_object).
    ///
    /// # Errors
    /// The errors of [`of_object`](Location::of_object), or if the URL ends in a slash like a
    /// directory's.
    pub fn of_output(path: &Path) -> Result<Location, Failure> {
        let location = Location::of_object(path)?;
        if location.scheme.is_store() && location.key.ends_with('/') {
            let text = "a name that ends in a slash is a directory's; the output must be an object";
            return Err(Failure::new(Reason::Unusable, text));
        }
        Ok(location)
    }

    /// Returns the location of another key in the same bucket.
    pub fn with_key(&self, key: impl Into<String>) -> Location {
        Location { key: key.into(), ..self.clone() }
    }

    /// Returns the URL, which [`parse`](Location::parse) parses to this location.
    pub fn url(&self) -> PathBuf {
        PathBuf::from(self.text())
    }

    /// Returns the URL as a text, including any secrets in it: not for messages.
    pub fn text(&self) -> String {
        format!("{}{}/{}", self.scheme.prefix(), self.bucket, self.key)
    }
}

impl From<&Location> for PathBuf {
    fn from(location: &Location) -> PathBuf {
        location.url()
    }
}

impl fmt::Display for Location {
    /// Writes the URL for people, without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", DisplayPath(self.url()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_follows_the_bucket_byte_for_byte() {
        let keys =
            ["a", "a b+c%20d%zz", "größe/中.txt", "a//b", "/a", "a/", "?x=1#y", "a=b&c", "...", ""];
        for key in keys {
            let url = format!("s3://my.bucket-1/{key}");
            let location = Location::parse(Path::new(&url)).unwrap();
            assert_eq!((location.bucket.as_str(), location.key.as_str()), ("my.bucket-1", key));
            assert_eq!(location.url(), Path::new(&url));
        }
        let location = Location::parse(Path::new("http://[::1]:9000/x/../y?a=.."));
        assert!(location.is_err());
        let location = Location::parse(Path::new("http://[::1]:9000/x?a=../..")).unwrap();
        assert_eq!((location.bucket.as_str(), location.key.as_str()), ("[::1]:9000", "x?a=../.."));
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused_with_a_way_out() {
        let refused = [
            ("gs://", "names no bucket"),
            ("az://", "names no bucket"),
            ("s3://", "names no bucket"),
            ("s3:///k", "names no bucket"),
            ("s3://a b/k", "no bucket has such a name"),
            ("s3://b/a/../k", "'..'"),
            ("s3://b/.", "'.'"),
            ("/local", "no URL"),
        ];
        for (url, text) in refused {
            let failure = Location::parse(Path::new(url)).unwrap_err();
            assert!(failure.detail.contains(text), "{url}: {failure:?}");
        }
        assert!(Location::of_object(Path::new("s3://b")).is_err());
        assert!(Location::of_object(Path::new("s3://b/")).is_err());
        assert!(Location::of_object(Path::new("s3://b/k/")).is_ok());
        let failure = Location::of_output(Path::new("s3://b/k/")).unwrap_err();
        assert!(failure.detail.contains("is a directory's"), "{failure:?}");
        assert!(Location::of_output(Path::new("s3://b/k")).is_ok());
    }
}
