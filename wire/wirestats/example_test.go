package wirestats_test

import (
	"expvar"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/wire"
	"paddock/wire/wirestats"
)

// The statistics of a server, on a mux of the program's own.
func ExampleHandler() {
	server := &wire.Server{} // and Serve
	mux := http.NewServeMux()
	mux.Handle("/wire/", http.StripPrefix("/wire", wirestats.Handler(server)))
	prometheus.MustRegister(wirestats.Collector(server))
	expvar.Publish("wire", wirestats.Var{Source: server})

	web := httptest.NewServer(mux)
	defer web.Close()
	for _, path := range []string{"/wire/transports", "/wire/statistics?keys=n_rxpost,n_flushes", "/wire/statistics?name=acceptor-9"} {
		res, err := http.Get(web.URL + path)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		fmt.Print(res.StatusCode, " ", string(body))
		if err != nil {
			log.Fatal(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// 200 []
	// 200 {"n_flushes":0,"n_rxpost":0}
	// 404 no open connection has the name "acceptor-9"
}
