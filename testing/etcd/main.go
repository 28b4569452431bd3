// The etcd that long tests run against, from the Go module proxy: Debian has an older one.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
