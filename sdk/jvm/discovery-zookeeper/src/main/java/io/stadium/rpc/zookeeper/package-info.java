/** Services that register themselves in ZooKeeper, and clients that find them there. */
package io.stadium.rpc.zookeeper;
