// mochi-mqtt as a bench peer: one TCP listener, anonymous, no logging, queues wide enough that nothing is dropped.
package main

import (
	"io"
	"log"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"syscall"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: mochi HOST:PORT")
	}
	capabilities := mqtt.NewDefaultServerCapabilities()
	capabilities.MaximumClientWritesPending = 1 << 16
	capabilities.MaximumInflight = math.MaxUint16
	capabilities.ReceiveMaximum = math.MaxUint16
	server := mqtt.New(&mqtt.Options{
		Capabilities:           capabilities,
		Logger:                 slog.New(slog.NewTextHandler(io.Discard, nil)),
		SysTopicResendInterval: 3600,
	})
	if err := server.AddHook(new(auth.AllowHook), nil); err != nil {
		log.Fatal(err)
	}
	if err := server.AddListener(listeners.NewTCP(listeners.Config{ID: "bench", Address: os.Args[1]})); err != nil {
		log.Fatal(err)
	}
	if err := server.Serve(); err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
}
