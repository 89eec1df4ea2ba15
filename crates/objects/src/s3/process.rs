//! Credentials printed by a program (`credential_process` of a profile), kept until they expire.

use crate::failure::{Failure, Reason};
use jiff::Timestamp;
use object_store::aws::AwsCredential;
use parking_lot::Mutex;
use serde::Deserialize;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long before they expire credentials are replaced.
const SPARE_TIME: Duration = Duration::from_secs(300);

/// A program that prints credentials.
pub(super) struct CredentialProcess {
    command: String,
    cache: Mutex<Option<Cached>>,
}

struct Cached {
    credential: Arc<AwsCredential>,
    /// `None` if they never expire.
    ends: Option<SystemTime>,
}

/// The output of such a program.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

impl CredentialProcess {
    pub(super) fn new(command: &str) -> CredentialProcess {
        CredentialProcess { command: command.to_owned(), cache: Mutex::new(None) }
    }

    /// Returns credentials that are valid now.
    pub(super) fn credential(&self) -> Result<Arc<AwsCredential>, Failure> {
        let mut cache = self.cache.lock();
        let is_fresh =
            |cached: &&Cached| cached.ends.is_none_or(|ends| SystemTime::now() + SPARE_TIME < ends);
        if let Some(cached) = cache.as_ref().filter(is_fresh) {
            return Ok(Arc::clone(&cached.credential));
        }
        let cached = self.run()?;
        let credential = Arc::clone(&cached.credential);
        *cache = Some(cached);
        Ok(credential)
    }

    fn run(&self) -> Result<Cached, Failure> {
        let fail = |why: String| {
            let text = format!("the profile's credential_process {why}");
            Failure::new(Reason::NoCredentials, text)
        };
        let output = Command::new("sh")
            .args(["-c", &self.command])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| fail(format!("can't be started: {error}")))?;
        if !output.status.success() {
            return Err(fail(format!("failed: {}", output.status)));
        }
        // No part of the output may appear in a message.
        let printed: Printed = serde_json::from_slice(&output.stdout)
            .map_err(|_| fail("prints no credentials".to_owned()))?;
        let ends = printed.expiration.as_ref().map(|time| {
            let ends: Timestamp = time.parse()?;
            let seconds = u64::try_from(ends.as_second()).unwrap_or(0);
            Ok::<_, jiff::Error>(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        });
        Ok(Cached {
            credential: Arc::new(AwsCredential {
                key_id: printed.access_key_id,
                secret_key: printed.secret_access_key,
                token: printed.session_token,
            }),
            ends: ends.transpose().map_err(|_| fail("prints no time of their end".to_owned()))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_prints_is_kept_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let process = |expiration: &str| {
            let json = format!(
                r#"{{"Version":1,"AccessKeyId":"A","SecretAccessKey":"B",{0}{expiration}}}"#,
                r#""SessionToken":"C""#
            );
            CredentialProcess::new(&format!("echo x >>'{}'; echo '{json}'", count.display()))
        };
        let runs = || std::fs::read_to_string(&count).map_or(0, |text| text.lines().count());
        for (expiration, expected) in [
            ("", 1),
            (r#","Expiration":"2999-01-01T00:00:00Z""#, 2),
            (r#","Expiration":"2000-01-01T00:00:00+00:00""#, 4),
        ] {
            let process = process(expiration);
            let first = process.credential().unwrap();
            assert_eq!((first.key_id.as_str(), first.token.as_deref()), ("A", Some("C")));
            process.credential().unwrap();
            assert_eq!(runs(), expected, "{expiration}");
        }
    }

    #[test]
    fn a_program_that_fails_is_named_and_its_output_is_not() {
        for command in ["echo secret", "echo secret; exit 3", "/nonexistent/x"] {
            let failure = CredentialProcess::new(command).credential().unwrap_err();
            assert_eq!(failure.reason, Reason::NoCredentials);
            assert!(failure.detail.contains("credential_process"), "{failure:?}");
            assert!(!failure.detail.contains("secret"), "{failure:?}");
        }
    }
}
