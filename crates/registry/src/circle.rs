//! Whether a place is within a circle on Earth, taken to be a sphere.
//!
//! Sine and cosine are computed here with the four operations only, which are exact to the last bit on every machine: two shards, or
//! a replay on another processor, never differ about who was in an audience.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::{Circle, Location};

/// The mean radius of the Earth (IUGG), in metres.
const EARTH_M: f64 = 6_371_008.8;

/// Ten-millionths of a degree to radians.
const UNIT: f64 = PI / 180.0 / 1e7;

/// Sine of -π/2 to π/2.
fn sine(x: f64) -> f64 {
    let square = x * x;
    let mut term = x;
    let mut sum = x;
    // The twelfth term is below 10^-18 of the sum.
    for n in 1..12 {
        term = -term * square / f64::from(2 * n * (2 * n + 1));
        sum += term;
    }
    sum
}

/// A circle, prepared for many places.
pub(crate) struct Round {
    centre: Location,
    cosine: f64,
    /// Square of the sine of half the angle that the radius is; beyond 1 where that is all of the Earth.
    reach: f64,
    /// Latitudes beyond are outside.
    latitudes: (i32, i32),
}

impl Round {
    pub(crate) fn new(circle: &Circle) -> Self {
        let angle = f64::from(circle.radius_m) / EARTH_M;
        let reach = if angle >= PI { 2.0 } else { sine(angle / 2.0) };
        let latitude = f64::from(circle.centre.latitude);
        // A little more than needed, so that rounding excludes nobody.
        let span = angle / UNIT + 2.0;
        Self {
            centre: circle.centre,
            cosine: cosine(circle.centre.latitude),
            reach: reach * reach,
            latitudes: ((latitude - span) as i32, (latitude + span) as i32),
        }
    }

    /// Square of the sine of half the angle between the centre and a place (haversine).
    fn half_chord(&self, place: Location) -> f64 {
        let north = sine(f64::from(place.latitude - self.centre.latitude) * UNIT / 2.0);
        let mut east = (i64::from(place.longitude) - i64::from(self.centre.longitude)).abs();
        if east > 1_800_000_000 {
            east = 3_600_000_000 - east;
        }
        let east = sine(east as f64 * UNIT / 2.0);
        north * north + self.cosine * cosine(place.latitude) * east * east
    }

    pub(crate) fn contains(&self, place: Location) -> bool {
        (self.latitudes.0..=self.latitudes.1).contains(&place.latitude)
            && self.half_chord(place) <= self.reach
    }

    /// Metres from the centre, for people.
    pub(crate) fn distance(&self, place: Location) -> f64 {
        2.0 * EARTH_M * self.half_chord(place).min(1.0).sqrt().asin()
    }
}

fn cosine(latitude: i32) -> f64 {
    sine(FRAC_PI_2 - f64::from(latitude.abs()) * UNIT)
}

#[cfg(test)]
mod tests {
    use super::Round;
    use crate::{Circle, Location};

    fn place(latitude: f64, longitude: f64) -> Location {
        Location::new(latitude, longitude).expect("a place")
    }

    #[test]
    fn distances_are_those_of_the_map() {
        let berlin = place(52.520_008, 13.404_954);
        for (there, metres) in [
            (place(48.856_613, 2.352_222), 877_463.0),
            (place(-33.868_820, 151.209_290), 16_089_600.0),
            (place(52.520_008, 13.404_954), 0.0),
            (place(52.520_098, 13.404_954), 10.0),
        ] {
            let measured = Round::new(&Circle { centre: berlin, radius_m: 1 }).distance(there);
            assert!((measured - metres).abs() <= metres * 0.002 + 0.1, "{measured} and {metres}");
        }
    }

    #[test]
    fn a_circle_ends_where_its_radius_does() {
        let within = |centre, radius_m, there| Round::new(&Circle { centre, radius_m }).contains(there);
        let berlin = place(52.520_008, 13.404_954);
        let paris = place(48.856_613, 2.352_222);
        assert!(within(berlin, 878_500, paris) && !within(berlin, 876_500, paris));
        // Over the date line, over a pole, around the whole Earth.
        assert!(within(place(0.0, 179.999), 300, place(0.0, -179.999)));
        assert!(!within(place(0.0, 179.999), 200, place(0.0, -179.999)));
        assert!(within(place(89.999, 0.0), 230, place(89.999, 180.0)));
        assert!(within(place(0.0, 0.0), 20_100_000, place(0.0, 180.0)));
        assert!(within(berlin, 1, berlin));
    }
}
