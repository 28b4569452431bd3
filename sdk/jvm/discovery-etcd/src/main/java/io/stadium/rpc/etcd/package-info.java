/** Services that register themselves in etcd, and clients that find them there. */
package io.stadium.rpc.etcd;
