//! Profiles of the AWS tools.

use std::path::PathBuf;

use sessionlog_core::{Error, Result};

use super::settings::Settings;

/// The options of the chosen profile, under the names of the client's options; none where the
/// variables have credentials already, or there is no profile.
pub(crate) fn options(settings: &Settings) -> Result<Vec<(&'static str, String)>> {
    let given = settings.given().find(|(name, _)| *name == "profile");
    let wanted = given.map(|(_, value)| value);
    let var = |name: &str| settings.vars.get(name).map(String::as_str);
    let elsewhere = CREDENTIALS.iter().any(|name| var(name).is_some())
        || settings
            .given()
            .any(|(name, _)| name.ends_with("access_key_id"));
    if wanted.is_none() && elsewhere {
        return Ok(Vec::new());
    }
    let named = wanted.or(var("AWS_PROFILE"));
    let name = named.unwrap_or("default");
    let home = var("HOME").or(var("USERPROFILE"));
    let file = |name: &str, default: &str| match (var(name), home) {
        (Some(path), _) => Some(PathBuf::from(path)),
        (None, Some(home)) => Some(PathBuf::from(home).join(".aws").join(default)),
        (None, None) => None,
    };
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let config = file("AWS_CONFIG_FILE", "config");
    let mut found = section(config, &[&format!("profile {name}"), name]);
    found.extend(section(credentials, &[name]));
    let known = found
        .iter()
        .filter_map(|(k, v)| Some((KEYS.iter().find(|(file, _)| file == k)?.1, v.clone())));
    let known: Vec<_> = known.collect();
    if named.is_some() && !known.iter().any(|(key, _)| *key == "aws_access_key_id") {
        return Err(Error::invalid(format!(
            "this profile has no access key in the files of the AWS tools; profiles that refer to a \
             role, a program or a sign-in are not followed, export their credentials to the \
             environment: {name}"
        )));
    }
    Ok(known)
}

/// Variables that say where credentials come from.
const CREDENTIALS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// Names in the files, and those of the client.
const KEYS: &[(&str, &str)] = &[
    ("aws_access_key_id", "aws_access_key_id"),
    ("aws_secret_access_key", "aws_secret_access_key"),
    ("aws_session_token", "aws_session_token"),
    ("region", "aws_region"),
    ("endpoint_url", "aws_endpoint_url"),
];

/// The lines `name = value` of the sections with one of these titles. A file that can't be read has
/// none.
fn section(file: Option<PathBuf>, titles: &[&str]) -> Vec<(String, String)> {
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.unwrap_or_default().lines() {
        // What is indented belongs to the line above it.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        let title = line
            .trim()
            .strip_prefix('[')
            .and_then(|t| t.strip_suffix(']'));
        if let Some(title) = title {
            inside = titles.contains(&title.trim());
        } else if let Some((name, value)) = line.split_once('=').filter(|_| inside) {
            found.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    found
}
