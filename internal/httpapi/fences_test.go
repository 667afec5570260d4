package httpapi

import (
	"net/http"
	"testing"
)

// Ordinals keep their meaning while fences come and go.
func TestListFences(t *testing.T) {
	tw := newTown(t, options{})
	const path = "/v1/sets/squares/fences"
	tw.expect(tw.get(path), 200, `{"set":"squares","generation":1,"fences":[{"ordinal":0,"id":"a"},{"ordinal":1,"id":"b"}]}`)
	tw.expect(tw.get(path+"?properties=all&ordinals=1"), 200, `{"set":"squares","generation":1,"fences":[{"ordinal":1,"id":"b","properties":{"name":"b"}}]}`)
	tag := tw.get(path).header.Get("ETag")
	tw.expect(tw.get(path, "If-None-Match", tag), 304, "")

	tw.expect(tw.send(request{method: http.MethodDelete, path: path + "/a"}), 204, "")
	tw.expect(tw.send(request{method: http.MethodPut, path: path + "/c", body: triangle}), 201, "")
	tw.expect(tw.get(path, "If-None-Match", tag), 200, `{"set":"squares","generation":3,"fences":[{"ordinal":1,"id":"b"},{"ordinal":2,"id":"c"}]}`)
	tw.expect(tw.get(path+"?ordinals=2,0,1,9"), 200, `{"set":"squares","generation":3,"fences":[{"ordinal":2,"id":"c"},{"ordinal":1,"id":"b"}]}`)

	tw.problem(tw.get("/v1/sets/none/fences"), 404, `no set "none"; GET /v1/sets lists them`)
	for _, bad := range []string{"", "a", "1,", "-1", "4294967296"} {
		tw.expect(tw.get(path+"?ordinals="+bad), 400, "")
	}
	tw.problem(tw.get(path+"?ordinals=1,x"), 400, `query: ordinals: "x" is not a whole number below 2^32`)
	tw.problem(tw.get(path+"?properties=some"), 400, `query: properties "some": use all or none`)
}
