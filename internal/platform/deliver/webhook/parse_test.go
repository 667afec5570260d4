package webhook

import (
	"strings"
	"testing"

	"paddock/internal/process/strictyaml"
)

const (
	secretA = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretB = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
)

func parse(t *testing.T, text string) *Endpoint {
	t.Helper()
	e, err := Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The JSON of an endpoint has its defaults, and none of its secrets.
func TestParse(t *testing.T) {
	e := parse(t, `{"id":"ops","url":"https://ops.example/hook","sets":["depots"],"events":["enter"],"format":"cloudevents-batch",
		"secrets":["`+secretA+`"],"headers":{"authorization":"Bearer hunter2"}}`)
	want := `{"id":"ops","url":"https://ops.example/hook","sets":["depots"],"events":["enter"],"format":"cloudevents-batch","max_batch":100,` +
		`"headers":{"Authorization":"[hidden]"},"secrets":["[hidden]"],"enabled":true}`
	if got := string(e.JSON()); got != want {
		t.Errorf("%s", got)
	}
	slack := parse(t, `{"id":"chat","url":"https://hooks.slack.example/services/T0/B0/hunter2","format":"slack"}`)
	if got := string(slack.JSON()); got != `{"id":"chat","url":"https://hooks.slack.example/[hidden]","format":"slack","enabled":true}` {
		t.Errorf("%s", got)
	}
}

// Each fault is told with its field, all of them at once.
func TestParseFaults(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:   "not a JSON object",
		`null`: "not a JSON object",
		`{"id":"a","url":"https://a","set":["x"],"max_batch":"1","enabled":1,"headers":[],"events":{}}`: "enabled: want true or false; events: want a list of texts; headers: want an object of texts; " +
			"max_batch: want a whole number; set: there is no such field; did you mean sets?",
		`{}`: "id: missing; url: missing",
		`{"id":"a","url":"ftp://a","format":"cloudevent","events":["entr"],"secrets":["x","whsec_!","whsec_AAAA"]}`: `events: value 1: unknown event "entr"`,
		`{"id":"a","url":"ftp://a"}`:                                                                    "url: want https://host/path, or http",
		`{"id":"a","url":"https://"}`:                                                                   "url: want https://host/path, or http",
		`{"id":"a","url":"https://u:p@a/"}`:                                                             "url: a name or password in it would be shown: use a header",
		`{"id":"a","url":"https://a/#x"}`:                                                               "url: a fragment is not sent",
		`{"id":"a","url":"https://a","secrets":["x"]}`:                                                  "secrets[0]: a secret begins with whsec_",
		`{"id":"a","url":"https://a","secrets":["whsec_!"]}`:                                            "secrets[0]: behind whsec_ a secret is base64",
		`{"id":"a","url":"https://a","secrets":["whsec_AAAA"]}`:                                         "secrets[0]: a secret of 3 bytes: 24 to 64",
		`{"id":"a","url":"https://a","secrets":["` + strings.Repeat(secretA+`","`, 2) + secretA + `"]}`: "secrets: 3 secrets: one, or two while it is changed",
		`{"id":"a","url":"https://a","max_batch":5}`:                                                    "max_batch: only the format cloudevents-batch has several events in a request",
		`{"id":"a","url":"https://a","format":"cloudevents-batch","max_batch":1001}`:                    "max_batch: 1001: 1 to 1000 events",
		`{"id":"a","url":"https://a","headers":{"webhook-id":"x","host":"y","a b":"z","ok":"a\nb"}}`: "headers.a b: not the name of a header; headers.host: the request sets it itself; " +
			"headers.ok: its value has a control character; headers.webhook-id: the request sets it itself",
		`{"id":"a","url":"https://a","format":"cloudevent"}`: `format: "cloudevent" is no format; did you mean cloudevents?`,
	} {
		_, err := Parse([]byte(text), "")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := Parse([]byte(`{"id":"b","url":"https://a"}`), "a"); err == nil || err.Error() != `id: "b" is not the id of the request, "a"` {
		t.Error(err)
	}
}

// A patch changes the members that it names. What is hidden stands for the secret that is there, so
// that a new secret can be put before the old one.
func TestPatch(t *testing.T) {
	old := parse(t, `{"id":"ops","url":"https://ops.example","secrets":["`+secretA+`"],"headers":{"A":"1","B":"2"},"format":"cloudevents-batch","max_batch":7}`)
	e, err := old.Patch([]byte(`{"secrets":["` + secretB + `","[hidden]"],"headers":{"A":null},"sets":["x"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var faults Faults
	e.Resolve(old, faults.add)
	if faults != nil || string(e.Secrets[0]) != secretB || string(e.Secrets[1]) != secretA || len(e.Headers) != 1 || e.Headers["B"] != "2" || e.Sets[0] != "x" || e.MaxBatch != 7 {
		t.Errorf("%v, %q, %q", faults, e.Secrets, e.Headers)
	}
	for _, patch := range []string{`[]`, `null`, `{`, `{"enabled":false} {"enabled":true}`} {
		if _, err := old.Patch([]byte(patch)); err == nil {
			t.Errorf("%s was taken", patch)
		}
	}
	if _, err := old.Patch([]byte(`{"id":"other"}`)); err == nil {
		t.Error("the id was changed")
	}

	// The value of a header goes to the server that it was given for.
	for url, faulty := range map[string]int{"https://ops.example/other": 0, "https://OPS.example": 0, "http://ops.example": 1, "https://other.example": 1} {
		faults = nil
		if e, err = old.Patch([]byte(`{"url":"` + url + `"}`)); err != nil {
			t.Fatal(err)
		}
		if e.Resolve(old, faults.add); len(faults) != 2*faulty {
			t.Errorf("%s: %v", url, faults)
		}
	}

	// Without a secret that is there, hidden stands for nothing.
	faults = nil
	e = parse(t, `{"id":"ops","url":"https://a/[hidden]","secrets":["[hidden]"],"headers":{"A":"[hidden]"}}`)
	if !e.Hides() {
		t.Error("nothing is hidden")
	}
	e.Resolve(nil, faults.add)
	if len(faults) != 3 {
		t.Errorf("%v", faults)
	}

	// A URL that is hidden stands for the same one alone.
	old = parse(t, `{"id":"s","url":"https://slack.example/T/B/x","format":"slack"}`)
	e = parse(t, string(old.JSON()))
	faults = nil
	if e.Resolve(old, faults.add); faults != nil || e.URL != old.URL {
		t.Errorf("%v, %s", faults, e.URL)
	}
	e = parse(t, strings.Replace(string(old.JSON()), "slack.example", "other.example", 1))
	if e.Resolve(old, faults.add); len(faults) != 1 {
		t.Errorf("%v, %s", faults, e.URL)
	}

	// In another form it would be shown.
	faults = nil
	if e, err = old.Patch([]byte(`{"format":"cloudevents"}`)); err != nil {
		t.Fatal(err)
	}
	if e.Resolve(old, faults.add); len(faults) != 1 || strings.Contains(string(e.JSON()), "T/B/x") {
		t.Errorf("%v, %s", faults, e.JSON())
	}
}

// An endpoint of a file has the same fields, and its faults have their places.
func TestRead(t *testing.T) {
	file, root := strictyaml.Parse("p.yaml", []byte("id: ops\nurl: https://ops.example\nevents: [enter, exit]\nheaders: {x-key: a}\nsecrets: ["+secretA+"]\nformat: cloudevents-batch\nmax_batch: 5\nenabled: false\n"))
	e := Read(root)
	if err := file.Err(); err != nil || e.ID != "ops" || len(e.Events) != 2 || e.Headers["X-Key"] != "a" || e.MaxBatch != 5 || e.Enabled || string(e.Secrets[0]) != secretA {
		t.Errorf("%+v, %v", e, err)
	}
	file, root = strictyaml.Parse("p.yaml", []byte("id: ops\nurl: https://u:p@a\nevents: [entr]\nsecrets: ['[hidden]']\nmax_batch: x\ntoken: y\n"))
	Read(root)
	for _, want := range []string{"p.yaml:2:6: url: ", "p.yaml:3:9: events: value 1: ", "p.yaml:4:11: secrets: a file holds", "p.yaml:5:12: max_batch: want a whole number", "p.yaml:6:1: unknown key token"} {
		if !strings.Contains(file.Err().Error(), want) {
			t.Errorf("%q is not in\n%v", want, file.Err())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"a","url":"https://a","secrets":["[hidden]"],"headers":{"A":"1"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := Parse(text, "")
		if err != nil {
			return
		}
		again, err := Parse(e.JSON(), "")
		if err != nil || string(again.JSON()) != string(e.JSON()) {
			t.Errorf("%s, then %v", e.JSON(), err)
		}
	})
}
