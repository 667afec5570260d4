package gofence

import (
	"testing"

	"github.com/valyala/fasthttp"
)

const busBody = `{"type":"Feature","properties":{"line":"MTA NYCT_M2","vehicle":"MTA NYCT_3846","bearing":53.790543,"ts":"2016-03-12T11:16:45.000-05:00"},"geometry":{"type":"Point","coordinates":[-73.95860612345678,40.781142]}}`

// searching returns a function that answers one search on the hot side, and what
// it answered.
func searching(t testing.TB) (search func(), ctx *fasthttp.RequestCtx) {
	h, ok := worldOf(t, `"f"`, `{"name":"everywhere"}`)
	if !ok {
		t.Fatal("no fence")
	}
	ctx = new(fasthttp.RequestCtx)
	ctx.Request.Header.SetMethod(fasthttp.MethodPost)
	ctx.Request.SetRequestURI("/fence/world/search")
	ctx.Request.SetBodyString(busBody)
	return func() { ctx.Response.Reset(); h.ServeHot(ctx) }, ctx
}

func BenchmarkHot(b *testing.B) {
	search, _ := searching(b)
	b.ReportAllocs()
	for b.Loop() {
		search()
	}
}
