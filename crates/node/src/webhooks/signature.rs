//! How a webhook's receiver knows that a message is ours: the symmetric signature of the Standard Webhooks.
//!
//! `webhook-signature: v1,BASE64(HMAC-SHA256(secret, "ID.TIMESTAMP.BODY"))`: the time is signed too, so that an old message cannot be sent again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// The value of `webhook-signature`.
pub(super) fn sign(secret: &[u8], id: &str, timestamp: u64, body: &[u8]) -> String {
    let mut signed = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
    signed.update(format!("{id}.{timestamp}.").as_bytes());
    signed.update(body);
    format!("v1,{}", STANDARD.encode(signed.sign()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_signed_as_in_the_standard() {
        // github.com/standard-webhooks, libraries' test vector.
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("base64");
        let signature =
            sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
