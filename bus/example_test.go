package bus_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// A program that embeds the broker publishes and serves through a Local, while
// any client of the protocol connects to it.
func Example() {
	server, err := bus.New(bus.Config{Port: -1, DenyPublish: []string{"fence.>"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}

	local := server.Local("search")
	if _, err := local.Subscribe("paddock.search.*", "", func(msgs []bus.Msg) {
		for _, m := range msgs { // must not block: real work goes to a bounded queue
			local.Publish(m.Reply, "", nil, append([]byte("nothing at "), m.Data...))
		}
	}); err != nil {
		log.Fatal(err)
	}

	client, err := nats.Connect(server.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	answer, err := client.Request("paddock.search.zones", []byte("-73.98,40.75"), 5*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer.Data))
	client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: nothing at -73.98,40.75
}
