package busapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"paddock/bus"
	"paddock/fence"
	"paddock/fence/geometry"
)

// searchTest is a Search on a bus without network clients, and a client within the process.
type searchTest struct {
	*testing.T
	door    *Search
	client  *bus.Local
	answers []string
}

func newSearchTest(t *testing.T, c *fence.Catalog, maxPayload int) *searchTest {
	t.Helper()
	server, err := bus.New(bus.Config{MaxPayload: maxPayload})
	if err != nil {
		t.Fatal(err)
	}
	door, err := OpenSearch(server.Local("search"), c, maxPayload)
	if err != nil {
		t.Fatal(err)
	}
	k := &searchTest{T: t, door: door, client: server.Local("client")}
	for _, pattern := range []string{"inbox", "pos.>", "paddock.other"} {
		_, err := k.client.Subscribe(pattern, "", func(msgs []bus.Msg) {
			for _, m := range msgs {
				k.answers = append(k.answers, string(m.Header)+string(m.Data))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = server.Shutdown(t.Context()) })
	return k
}

func (k *searchTest) ask(subject, reply, body string) {
	k.Helper()
	if err := k.client.Publish(subject, reply, nil, []byte(body)); err != nil {
		k.Fatal(err)
	}
}

func (k *searchTest) expect(answers ...string) {
	k.Helper()
	if !slices.Equal(k.answers, answers) {
		k.Errorf("got  %q\nwant %q", k.answers, answers)
	}
	k.answers = nil
}

func TestSearch(t *testing.T) {
	k := newSearchTest(t, catalog(t), 1<<20)
	k.ask("paddock.search.one", "inbox", `[0.5,0.5]`)
	k.ask("paddock.search._", "inbox", `[0.5,0.5]`)
	k.ask("paddock.search._", "inbox", `{"set":"one","lon":0.5,"lat":0.5}`)
	k.expect(one+"\n", both+"\n", one+"\n")

	const reason = `no set "three"; GET /v1/sets lists them`
	text, _ := json.Marshal(reason)
	k.ask("paddock.search.three", "inbox", `[0.5,0.5]`)
	k.expect("NATS/1.0\r\nNats-Service-Error-Code: 404\r\nNats-Service-Error: " + reason + "\r\n\r\n" + fmt.Sprintf(`{"error":%s}`, text))

	// No reply subject, and reply subjects on which the platform receives.
	for _, reply := range []string{"", "pos.a.b", "paddock.search.one", "paddock.other"} {
		k.ask("paddock.search.one", reply, `[0.5,0.5]`)
	}
	k.expect()
	if all, refused := k.door.Requests(); all != 8 || refused != 1 {
		t.Errorf("%d requests, %d refused", all, refused)
	}
	if err := k.door.Close(); err != nil {
		t.Error(err)
	}
	k.ask("paddock.search.one", "inbox", `[0.5,0.5]`)
	k.expect("NATS/1.0 503\r\nNats-Subject: paddock.search.one\r\n\r\n") // the bus reports that there is no responder
}

// An answer is one message. A larger answer is refused.
func TestSearchAnswersFitIntoAMessage(t *testing.T) {
	k := newSearchTest(t, catalog(t), 1000)
	k.ask("paddock.search.one", "inbox", `{"points":[`+strings.Repeat("[0.5,0.5],", 20)+`[2,2]]}`)
	if len(k.answers) != 1 || !strings.Contains(k.answers[0], "Nats-Service-Error-Code: 413\r\n") ||
		!strings.Contains(k.answers[0], "the answer is larger than 1000 bytes") {
		t.Errorf("%q", k.answers)
	}
}

// catalog returns two sets with the same fence, whose key needs escapes.
func catalog(t *testing.T) *fence.Catalog {
	t.Helper()
	c := &fence.Catalog{}
	for _, name := range []string{"one", "two"} {
		set, err := fence.NewSet(name, fence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := set.Put(fence.Fence{
			Key: "a\"<é>", Properties: json.RawMessage(`{"x":1}`),
			Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 0}, {Lon: 1, Lat: 1}, {Lon: 0, Lat: 1}}}},
		}); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(set); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

const (
	one  = `{"fences":[{"set":"one","id":"a\"\u003cé\u003e","properties":{"x":1}}]}`
	both = `{"fences":[{"set":"one","id":"a\"\u003cé\u003e","properties":{"x":1}},{"set":"two","id":"a\"\u003cé\u003e","properties":{"x":1}}]}`
)
