package io.stadium.rpc.discovery;

import java.util.List;

/**
 * The instances of a service, as a watcher gets them.
 *
 * @param instances all instances, in an order that is the same for every watcher
 * @param isKnown whether the source has answered at all. If not, the list is empty and is not used:
 *     nothing is known, which is not the same as nobody
 * @param isLive whether the list is current; a list that is not is still used
 * @param freshness how far the list can be trusted, for people, such as {@code live}
 */
public record Instances(
        List<Instance> instances, boolean isKnown, boolean isLive, String freshness) {
    /**
     * Copies the list.
     *
     * @param instances the instances
     * @param isKnown whether the source has answered
     * @param isLive whether the list is current
     * @param freshness how far it can be trusted
     */
    public Instances {
        instances = List.copyOf(instances);
    }
}
