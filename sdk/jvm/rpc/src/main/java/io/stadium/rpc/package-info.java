/** Methods, messages and errors: what a service and its callers share. */
package io.stadium.rpc;
