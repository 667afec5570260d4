package load_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"paddock/load"
	"paddock/load/http1"
)

// An open run: requests are due at 200 a second, and one that is answered late counts from the
// time at which it was due.
func Example() {
	service := httptest.NewServer(http.NotFoundHandler())
	defer service.Close()
	requests, err := http1.Compile([]http1.Request{{URL: service.URL}}, nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	good, err := http1.ParseStatuses("404")
	if err != nil {
		log.Fatal(err)
	}
	result, err := load.Run(context.Background(), load.Plan{
		Network:  "tcp",
		Address:  service.Listener.Addr().String(),
		Codec:    &http1.Codec{Requests: requests, Good: good},
		Conns:    4,
		Threads:  1,
		Arrivals: load.Constant{PerSecond: 200},
		Count:    20,
		Grace:    5 * time.Second,
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Total.Done, "answers,", result.Total.Errors(), "errors")
	// result.Total.Response.Quantile(0.99) is the 99th percentile of the response time.
	// Output: 20 answers, 0 errors
}
