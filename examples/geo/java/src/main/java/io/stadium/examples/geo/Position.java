package io.stadium.examples.geo;

import io.stadium.rpc.server.Refusal;

/**
 * A place on the ground. Both angles are finite and within their bounds; {@link #of} checks them.
 *
 * @param latitude degrees north
 * @param longitude degrees east
 */
record Position(double latitude, double longitude) {
    /** The mean radius of the earth. */
    private static final double EARTH_RADIUS_M = 6_371_009;

    /** Checks both angles: GEO-001 is the latitude, GEO-002 the longitude. */
    static Position of(double latitude, double longitude) throws Refusal {
        // Not a number is between nothing.
        if (!(-90 <= latitude && latitude <= 90)) {
            throw Refusal.rejected("GEO-001",
                    "latitude " + Flags.shown(latitude) + " is not between -90 and 90");
        }
        if (!(-180 <= longitude && longitude <= 180)) {
            throw Refusal.rejected("GEO-002",
                    "longitude " + Flags.shown(longitude) + " is not between -180 and 180");
        }
        return new Position(latitude, longitude);
    }

    /** Metres along the ground, by the haversine formula on a sphere; right within 0.5%. */
    double distanceM(Position other) {
        double from = Math.toRadians(latitude);
        double to = Math.toRadians(other.latitude);
        double north = Math.sin((to - from) / 2);
        double east = Math.sin(Math.toRadians(other.longitude - longitude) / 2);
        double half = north * north + Math.cos(from) * Math.cos(to) * east * east;
        return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(half));
    }
}
