//! Certificates from an ACME server.

crate::definition::section! { "Certificates"
    ACME_EXPIRES = Gauge "acme_certificate_expiry_timestamp" in Seconds when Acme:
        "When the certificate from the ACME server ends, seconds since 1970; 0 while there is none",
        rises "The certificate was renewed.",
        act "Less than a third of the certificate's life from now means that renewals fail: look at `stadium_acme_failing`.",
        set by "acme.domains";
    ACME_CERTIFICATES = Counter "acme_certificates" when Acme: "Certificates obtained from the ACME server",
        rises "A certificate is renewed at two thirds of its life.",
        act "Nothing.",
        set by "acme.domains";
    ACME_FAILURES = Counter "acme_failures" when Acme: "Orders of a certificate that failed",
        rises "The ACME server is away, refuses, or does not reach port 80 of a domain.",
        act "Look at the log, which has the reason. The server tries again by itself.",
        set by "acme.retry_s";
    ACME_FAILING = Gauge "acme_failing" when Acme:
        "1 while the last order of a certificate failed; the log has the reason",
        rises "The last order failed.",
        act "Look at the log. Port 80 of each domain must reach `acme.listen`.",
        set by "acme.listen" "acme.domains";
}
