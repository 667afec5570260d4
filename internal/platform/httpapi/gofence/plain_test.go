package gofence

import (
	"fmt"
	"testing"
	"time"

	"paddock/internal/netio/plainhttp"
)

const busBody = `{"type":"Feature","properties":{"line":"MTA NYCT_M2","vehicle":"MTA NYCT_3846","bearing":53.790543,"ts":"2016-03-12T11:16:45.000-05:00"},"geometry":{"type":"Point","coordinates":[-73.95860612345678,40.781142]}}`

// plainSearches are requests that are answered without net/http.
var plainSearches = map[string]string{
	"POST": fmt.Sprintf("POST /fence/world/search HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(busBody), busBody),
	"GET":  "GET /fence/world/search?lat=40.781142&lon=-73.95860612345678 HTTP/1.1\r\nHost: x\r\n\r\n",
}

// searching returns a function that answers one of them.
func searching(t testing.TB, request string) func() []byte {
	h, ok := worldOf(t, `"f"`, `{"name":"everywhere"}`)
	if !ok {
		t.Fatal("no fence")
	}
	r := plainhttp.Read(request, time.Now())
	var out []byte
	return func() []byte {
		out = h.AppendAnswer(out[:0], r)
		return out
	}
}

func BenchmarkPlain(b *testing.B) {
	for name, request := range plainSearches {
		b.Run(name, func(b *testing.B) {
			search := searching(b, request)
			b.ReportAllocs()
			for b.Loop() {
				search()
			}
		})
	}
}
