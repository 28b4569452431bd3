// Publishes many messages at once with paho.mqtt.golang at its default settings, and subscribes to them likewise.
//
//	paho tcp://127.0.0.1:1883 QOS COUNT
//
// It prints one line: how many were acknowledged, how many different ones arrived, how many arrived again, and how many
// connections were lost.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// patience is the time for all of it: generous, because the machine may be busy with a build.
const patience = 90 * time.Second

var lost atomic.Int64

// connected returns a client whose options are the defaults, with a way to count lost connections.
func connected(broker, id string) mqtt.Client {
	options := mqtt.NewClientOptions().AddBroker(broker).SetClientID(id)
	options.SetConnectionLostHandler(func(_ mqtt.Client, err error) {
		lost.Add(1)
		fmt.Fprintf(os.Stderr, "%s: %v\n", id, err)
	})
	client := mqtt.NewClient(options)
	await(client.Connect(), "connect "+id)
	return client
}

// await ends the program where a token fails or is not complete in time.
func await(token mqtt.Token, what string) {
	if !token.WaitTimeout(patience) {
		fmt.Fprintln(os.Stderr, what, "is not complete in", patience)
		os.Exit(1)
	}
	if err := token.Error(); err != nil {
		fmt.Fprintln(os.Stderr, what, err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: paho BROKER QOS COUNT")
		os.Exit(2)
	}
	broker := os.Args[1]
	qos, err := strconv.ParseUint(os.Args[2], 10, 8)
	if err != nil {
		panic(err)
	}
	count, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	topic := "paho/" + os.Args[2]

	var lock sync.Mutex
	times := make(map[string]int)
	all := make(chan struct{})
	subscriber := connected(broker, "subscriber")
	await(subscriber.Subscribe(topic, byte(qos), func(_ mqtt.Client, message mqtt.Message) {
		lock.Lock()
		defer lock.Unlock()
		times[string(message.Payload())]++
		if len(times) == count && times[string(message.Payload())] == 1 {
			close(all)
		}
	}), "subscribe")

	publisher := connected(broker, "publisher")
	tokens := make([]mqtt.Token, count)
	for number := range tokens {
		tokens[number] = publisher.Publish(topic, byte(qos), false, strconv.Itoa(number))
	}
	acknowledged := 0
	for number, token := range tokens {
		await(token, fmt.Sprintf("publish %d", number))
		acknowledged++
	}
	select {
	case <-all:
	case <-time.After(patience):
		fmt.Fprintln(os.Stderr, "not all arrived in", patience)
	}
	publisher.Disconnect(250)
	subscriber.Disconnect(250)

	lock.Lock()
	defer lock.Unlock()
	again := 0
	for _, each := range times {
		again += each - 1
	}
	fmt.Printf("acknowledged=%d received=%d again=%d lost=%d\n", acknowledged, len(times), again, lost.Load())
}
