package gofence

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"paddock/internal/httpapi/front"
)

// Takes reports whether ServeHot answers a request: /engarde and both searches,
// for the names that stand in a path as they are. Who asks is not checked.
func (h *Handler) Takes(r *front.Head) bool {
	if _, ok := searchName(r.Path); ok {
		return true
	}
	return !r.Post && string(r.Path) == "/engarde"
}

// ServeHot answers what Takes takes, as ServeHTTP does.
//
// hot: BenchmarkHot, TestHotAllocatesNothing
func (h *Handler) ServeHot(ctx *fasthttp.RequestCtx) {
	path, query, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte("?"))
	name, ok := searchName(path)
	if !ok {
		respondHot(ctx, "text/plain", []byte(touche))
		return
	}
	a := answers.Get().(*answer)
	var err error
	if ctx.IsPost() {
		err = h.toBody(a, name, ctx.Request.Body())
	} else {
		err = h.toQuery(a, name, string(query))
	}
	if err != nil {
		refuseHot(ctx, err)
	} else {
		respondHot(ctx, "application/json", nil)
		a.text = ctx.Response.SwapBody(a.text) // one buffer for another, instead of a copy
	}
	a.release()
}

// searchName is the name in the path of a search.
func searchName(path []byte) (name []byte, ok bool) {
	const before, after = "/fence/", "/search"
	if len(path) <= len(before)+len(after) || string(path[:len(before)]) != before || string(path[len(path)-len(after):]) != after {
		return nil, false
	}
	name = path[len(before) : len(path)-len(after)]
	return name, bytes.IndexByte(name, '/') < 0
}

// respondHot is respond for the hot side.
func respondHot(ctx *fasthttp.RequestCtx, contentType string, body []byte) {
	header := &ctx.Response.Header
	header.SetServer("gofence")
	header.SetContentType(contentType)
	header.SetCanonical(connection, keepAlive)
	ctx.Response.SetBody(body)
}

var (
	connection = []byte(fasthttp.HeaderConnection)
	keepAlive  = []byte("keep-alive")
)

// refuseHot is refuse for the hot side.
func refuseHot(ctx *fasthttp.RequestCtx, err error) {
	ctx.SetStatusCode(statusOf(err))
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
	ctx.SetBodyString(err.Error() + "\n")
}
