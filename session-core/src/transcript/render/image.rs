//! Images by reference.

use crate::transcript::fields::quote;
use crate::transcript::native::Image;

/// The address of an image, base64 as a `data:` address.
fn url(image: &Image<'_>) -> Option<String> {
    match image {
        Image::Url(url) => Some(url.clone().into_owned()),
        Image::Base64 { media, data } => Some(format!("data:{media};base64,{data}")),
        Image::Opaque => None,
    }
}

pub(super) fn chat(image: &Image<'_>) -> Option<String> {
    let url = quote(&url(image)?);
    Some(format!(
        "{{\"type\":\"image_url\",\"image_url\":{{\"url\":{url}}}}}"
    ))
}

pub(super) fn responses(image: &Image<'_>) -> Option<String> {
    let url = quote(&url(image)?);
    Some(format!("{{\"type\":\"input_image\",\"image_url\":{url}}}"))
}

pub(super) fn anthropic(image: &Image<'_>) -> Option<String> {
    let url = url(image)?;
    let source = match url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    {
        Some((media, data)) => format!(
            "{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}",
            quote(media),
            quote(data)
        ),
        None => format!("{{\"type\":\"url\",\"url\":{}}}", quote(&url)),
    };
    Some(format!("{{\"type\":\"image\",\"source\":{source}}}"))
}
