package lookup

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"paddock/bus"
	"paddock/fence"
)

// counter is a door on a bus without clients, and one who asks within the process.
type counter struct {
	*testing.T
	door    *BusDoor
	client  *bus.Local
	answers []string
}

func newCounter(t *testing.T, c *fence.Catalog, maxPayload int) *counter {
	t.Helper()
	server, err := bus.New(bus.Config{MaxPayload: maxPayload})
	if err != nil {
		t.Fatal(err)
	}
	door, err := OpenBusDoor(server.Local("search"), c, maxPayload)
	if err != nil {
		t.Fatal(err)
	}
	k := &counter{T: t, door: door, client: server.Local("client")}
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

func (k *counter) ask(subject, reply, body string) {
	k.Helper()
	if err := k.client.Publish(subject, reply, nil, []byte(body)); err != nil {
		k.Fatal(err)
	}
}

func (k *counter) expect(answers ...string) {
	k.Helper()
	if !slices.Equal(k.answers, answers) {
		k.Errorf("got  %q\nwant %q", k.answers, answers)
	}
	k.answers = nil
}

func TestBusDoor(t *testing.T) {
	k := newCounter(t, catalog(t), 1<<20)
	k.ask("paddock.search.one", "inbox", `[0.5,0.5]`)
	k.ask("paddock.search._", "inbox", `[0.5,0.5]`)
	k.ask("paddock.search._", "inbox", `{"set":"one","lon":0.5,"lat":0.5}`)
	k.expect(one+"\n", both+"\n", one+"\n")

	const reason = `no set "three"; GET /v1/sets lists them`
	text, _ := json.Marshal(reason)
	k.ask("paddock.search.three", "inbox", `[0.5,0.5]`)
	k.expect("NATS/1.0\r\nNats-Service-Error-Code: 404\r\nNats-Service-Error: " + reason + "\r\n\r\n" + fmt.Sprintf(`{"error":%s}`, text))

	// Nobody to answer, and answers that would be questions or positions.
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
	k.expect("NATS/1.0 503\r\nNats-Subject: paddock.search.one\r\n\r\n") // the bus says that nobody is there
}

// An answer is one message; one that would be larger is refused.
func TestBusDoorAnswersFitIntoAMessage(t *testing.T) {
	k := newCounter(t, catalog(t), 1000)
	k.ask("paddock.search.one", "inbox", `{"points":[`+strings.Repeat("[0.5,0.5],", 20)+`[2,2]]}`)
	if len(k.answers) != 1 || !strings.Contains(k.answers[0], "Nats-Service-Error-Code: 413\r\n") ||
		!strings.Contains(k.answers[0], "the answer is larger than 1000 bytes") {
		t.Errorf("%q", k.answers)
	}
}
