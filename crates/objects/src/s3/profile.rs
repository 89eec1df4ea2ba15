//! The files of the AWS tools: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::HashMap;
use std::io;

/// The settings of one section, by name; nested settings of a service are named `service.setting`.
pub(super) type Section = HashMap<String, String>;

/// Returns all sections of a file, by the names in brackets.
pub(super) fn parse(text: &str) -> HashMap<String, Section> {
    let mut sections: HashMap<String, Section> = HashMap::new();
    let (mut section, mut above) = (None, String::new());
    for line in text.lines() {
        let setting = line.trim();
        if setting.is_empty() || setting.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = setting.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            section = Some(sections.entry(name).or_default());
            continue;
        }
        let (Some(section), Some((name, value))) = (section.as_mut(), setting.split_once('='))
        else {
            continue;
        };
        // A comment begins only after a space: keys and secrets may contain the character.
        let value = value.split(" #").next().unwrap_or_default();
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        if line.starts_with([' ', '\t']) {
            section.insert(format!("{above}.{name}"), value);
        } else {
            above.clone_from(&name);
            section.insert(name, value);
        }
    }
    sections
}

/// Returns the settings of a profile. Settings in the credentials file override those in the config
/// file. `None` if no file has the profile.
///
/// # Errors
/// If a file exists but can't be read.
pub(super) fn find(
    profile: &str,
    credentials: io::Result<String>,
    config: io::Result<String>,
) -> io::Result<Option<Section>> {
    let text = |read: io::Result<String>| match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    };
    let (mut credentials, mut config) = (parse(&text(credentials)?), parse(&text(config)?));
    let section = match profile {
        "default" => config.remove("default").or_else(|| config.remove("profile default")),
        _ => config.remove(&format!("profile {profile}")),
    };
    let (first, second) = (credentials.remove(profile), section);
    if first.is_none() && second.is_none() {
        return Ok(None);
    }
    let mut found = second.unwrap_or_default();
    let services =
        found.get("services").and_then(|name| config.remove(&format!("services {name}")));
    if let Some(endpoint) = services.and_then(|mut all| all.remove("s3.endpoint_url")) {
        found.insert("endpoint_url".to_owned(), endpoint);
    }
    found.extend(first.unwrap_or_default());
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "# mine\n[default]\naws_access_key_id=A\naws_secret_access_key = \
                               s/+=#x # a comment\n\n[other]\naws_access_key_id = B\nregion = x\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile other]\nregion = eu-west-2\n\
                          s3 =\n  endpoint_url = http://nested\n  use_x = 1\nservices = local\n\
                          [services local]\ns3 =\n  endpoint_url = http://localhost:9000\n";

    fn found(profile: &str) -> Option<Section> {
        find(profile, Ok(CREDENTIALS.to_owned()), Ok(CONFIG.to_owned())).unwrap()
    }

    #[test]
    fn a_profile_is_made_of_both_files() {
        let default = found("default").unwrap();
        assert_eq!(default["aws_access_key_id"], "A");
        assert_eq!(default["aws_secret_access_key"], "s/+=#x");
        assert_eq!(default["region"], "eu-west-1");
        let other = found("other").unwrap();
        assert_eq!((other["region"].as_str(), other["aws_access_key_id"].as_str()), ("x", "B"));
        assert_eq!(other["endpoint_url"], "http://localhost:9000");
        assert_eq!(found("third"), None);
    }

    #[test]
    fn files_that_are_not_there_have_no_profiles() {
        let missing = || Err(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(find("default", missing(), missing()).unwrap(), None);
        assert!(find("default", Err(io::Error::other("x")), missing()).is_err());
    }
}
