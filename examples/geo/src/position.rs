//! Coordinates that cannot be wrong, and the distance between two of them.

use stadium_rpc::Refusal;

/// A place on the ground. Both angles are finite and within their bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    latitude: f64,
    longitude: f64,
}

impl Position {
    /// Checks both angles, in degrees.
    ///
    /// # Errors
    /// `GEO-001` for the latitude, `GEO-002` for the longitude.
    pub fn new(latitude: f64, longitude: f64) -> Result<Self, Refusal> {
        // Not a number is between nothing.
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(Refusal::rejected(
                "GEO-001",
                format!("latitude {latitude} is not between -90 and 90"),
            ));
        }
        if !(-180.0..=180.0).contains(&longitude) {
            return Err(Refusal::rejected(
                "GEO-002",
                format!("longitude {longitude} is not between -180 and 180"),
            ));
        }
        Ok(Self { latitude, longitude })
    }

    /// Degrees north.
    #[must_use]
    pub fn latitude(self) -> f64 {
        self.latitude
    }

    /// Degrees east.
    #[must_use]
    pub fn longitude(self) -> f64 {
        self.longitude
    }

    /// Metres along the ground, by the haversine formula on a sphere; right within 0.5%.
    #[must_use]
    pub fn distance_m(self, other: Self) -> f64 {
        let (from, to) = (self.latitude.to_radians(), other.latitude.to_radians());
        let north = ((to - from) / 2.0).sin().powi(2);
        let east = ((other.longitude - self.longitude).to_radians() / 2.0).sin().powi(2);
        2.0 * EARTH_RADIUS_M * (north + from.cos() * to.cos() * east).sqrt().asin()
    }
}

/// The mean radius of the earth.
const EARTH_RADIUS_M: f64 = 6_371_009.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn place(latitude: f64, longitude: f64) -> Position {
        Position::new(latitude, longitude).expect("a place on earth")
    }

    fn code(latitude: f64, longitude: f64) -> String {
        match Position::new(latitude, longitude) {
            Err(Refusal::Rejected { code, .. }) => code.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn angles_outside_their_bounds_are_rejected_by_name() {
        assert_eq!(code(95.0, 0.0), "GEO-001");
        assert_eq!(code(f64::NAN, 0.0), "GEO-001");
        assert_eq!(code(0.0, -180.5), "GEO-002");
        assert_eq!(code(0.0, f64::INFINITY), "GEO-002");
        for (latitude, longitude) in [(90.0, 180.0), (-90.0, -180.0), (0.0, 0.0)] {
            assert!(Position::new(latitude, longitude).is_ok());
        }
    }

    #[test]
    fn distances_are_those_of_the_map() {
        let athens_to_berlin = place(37.98, 23.73).distance_m(place(52.52, 13.40));
        assert!((1_795_000.0..1_812_000.0).contains(&athens_to_berlin), "{athens_to_berlin}");
        assert!(place(0.0, 179.9).distance_m(place(0.0, -179.9)) < 23_000.0, "the date line is no wall");
    }
}
