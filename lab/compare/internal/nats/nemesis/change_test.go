package nemesis

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Every position is in one of the two fences of the set base, and never in that in which the
// position of its object before it was.
const (
	baseSet = `{"type":"FeatureCollection","features":[` +
		`{"type":"Feature","id":"a","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0.1],[1,0.1],[1,0.9],[0,0.9],[0,0.1]]]}},` +
		`{"type":"Feature","id":"b","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,1.1],[1,1.1],[1,1.9],[0,1.9],[0,1.1]]]}}]}`
	baseRule  = `{"set":"base","detect":["enter","exit"]}`
	countRule = `{"set":"base","count":{"at_least":12}}`
)

// changeEvery is the pause between two changes, and changesKept the number of sets that stay.
const (
	changeEvery = 250 * time.Millisecond
	changesKept = 20
)

// One set in bigEvery has so many fences more, far from all positions. Its documents are some
// megabytes, which take several messages of the log.
const (
	bigEvery  = 8
	bigFences = 500
)

// circle returns a fence as a Feature.
func circle(id string, lon, lat float64, metres int) string {
	return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{},"circle":{"lon":%g,"lat":%g,"radius_m":%d}}`, id, lon, lat, metres)
}

// prepare makes what the writers need.
func (s *site) prepare() {
	s.t.Helper()
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	for _, r := range [][2]string{
		{"/v1/webhooks/all", fmt.Sprintf(`{"url":%q,"format":"cloudevents-batch","secrets":[%q]}`, s.hook.server.URL, secret)},
		{"/v1/sets/base", baseSet},
		{"/v1/rules/base", baseRule},
		{"/v1/rules/count", countRule},
	} {
		s.await(r[0], func() bool {
			status, answer, err := request(s.t.Context(), answerWithin, http.MethodPut, s.nodes[0].url(r[0]), r[1])
			if err == nil && status/100 == 4 {
				s.t.Fatalf("PUT %s: %d %s", r[0], status, answer)
			}
			return err == nil && status/100 == 2
		})
	}
}

// changer changes sets and rules through one node after the other.
type changer struct {
	site   *site
	random *rand.Rand

	kept map[string]string // path of what was stored and not removed: the id of its fence, or its set
	done int
}

// run changes until stop is closed.
func (c *changer) run(ctx context.Context, stop <-chan struct{}) {
	c.kept = map[string]string{}
	for n := 1; ctx.Err() == nil; n++ {
		select {
		case <-stop:
			return
		case <-time.After(changeEvery):
		}
		set, fence := fmt.Sprintf("m-%d", n), fmt.Sprintf("f%d", n)
		features := []string{circle(fence, 0.5, 0.5+float64(n%2), 100+n%50)}
		if n%bigEvery == 0 {
			for i := range bigFences {
				features = append(features, circle(fmt.Sprint("far-", i), 50, float64(i)/100, 1_000_000))
			}
		}
		c.change(ctx, http.MethodPut, "/v1/sets/"+set, `{"type":"FeatureCollection","features":[`+strings.Join(features, ",")+`]}`, fence)
		c.change(ctx, http.MethodPut, fmt.Sprintf("/v1/rules/r-%d", n), fmt.Sprintf(`{"set":%q,"objects":"w1-*","detect":["enter","exit"]}`, set), set)
		if n > changesKept {
			c.change(ctx, http.MethodDelete, fmt.Sprintf("/v1/rules/r-%d", n-changesKept), "", "")
			c.change(ctx, http.MethodDelete, fmt.Sprintf("/v1/sets/m-%d", n-changesKept), "", "")
		}
	}
}

// change makes a change, again and again until it is acknowledged.
func (c *changer) change(ctx context.Context, method, path, body, kept string) {
	delete(c.kept, path) // it is not known until then whether it is there
	for ctx.Err() == nil {
		n := c.site.nodes[c.random.IntN(len(c.site.nodes))]
		status, answer, err := request(ctx, answerWithin, method, n.url(path), body)
		switch {
		case err != nil || status/100 == 5:
		case status/100 == 2 || method == http.MethodDelete && status == http.StatusNotFound:
			if c.done++; method == http.MethodPut {
				c.kept[path] = kept
			}
			return
		default:
			c.site.t.Errorf("%s %s at node %s: %d %s", method, path, n.name, status, answer)
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}
