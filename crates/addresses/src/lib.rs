//! Addresses of peers: bounds on what one of them may hold or do, networks that are trusted, and
//! the origins of web pages.
//!
//! An address here is the part that stands for one subscriber, see [`Prefix`]. Every table has a
//! bound that does not depend on the peers. Time comes from the caller.

mod buckets;
mod networks;
mod origin;
mod places;
mod prefix;

pub use buckets::{Buckets, Limit};
pub use networks::{Networks, WrongNetwork};
pub use origin::origin_is_allowed;
pub use places::{Place, Places};
pub use prefix::Prefix;
