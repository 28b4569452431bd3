//! Stadium's http.
