package bundle

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/config"
)

// TestForms takes out everything that has the form of a secret, and leaves the rest.
func TestForms(t *testing.T) {
	r := &Redactor{}
	for in, want := range map[string]string{
		`dial nats://user:hunter2@host:4222: refused`:                        `dial nats://[hidden]@host:4222: refused`,
		`nats://paddock:p@ss@nats-1,nats://a:b@nats-2/a@b "c@d"`:             `nats://[hidden]@nats-1,nats://[hidden]@nats-2/a@b "c@d"`,
		`Get "http://h/feed?a=1&api_key=hunter2&b=2"`:                        `Get "http://h/feed?a=1&api_key=[hidden]&b=2"`,
		`GET /in/osmand/hunter2?id=v`:                                        `GET /in/osmand/[hidden]?id=v`,
		`POST https://hooks.slack.com/services/T0/B0/hunter2 x`:              `POST https://hooks.slack.com/services/[hidden] x`,
		`{"msg":"x","token":"hunter2","count":1}`:                            `{"msg":"x","token":"[hidden]","count":1}`,
		`{"msg":"the body {\"password\": \"hunter2\"}"}`:                     `{"msg":"the body {\"password\": \"[hidden]\"}"}`,
		`Authorization: Bearer hunter2.abc-def`:                              `Authorization: Bearer [hidden]`,
		`key pdk_Zm9vYmFyYmF6cXV4Zm9vYmFy of`:                                `key pdk_[hidden] of`,
		`whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`:                             `whsec_[hidden]`,
		"-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----.": "-----BEGIN EC PRIVATE KEY-----[hidden].",
		`{"lat": 52.1,"lon":-13.25} lat=1 lon: 2.5`:                          `{"lat": [place],"lon":[place]} lat=[place] lon: [place]`,
		`msg=x token="hunter2 b" lat=52`:                                     `msg=x token="[hidden]" lat=[place]`,
		`at 13.40954, 52.52082 now`:                                          `at [place] now`,
		`took=1.5ms count=3 p99 0.25, 0.5 key objects keys=3`:                `took=1.5ms count=3 p99 0.25, 0.5 key objects keys=3`,
		`paddock_keys{name="a"} 1`:                                           `paddock_keys{name="a"} 1`,
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
	r.Positions = true
	if in := `{"lat": 52.1}`; r.Text(in) != in {
		t.Error("positions are asked for: ", r.Text(in))
	}
}

// TestKnownSecrets finds the secrets in settings of any form, and takes them out wherever they
// stand.
func TestKnownSecrets(t *testing.T) {
	type inner struct {
		password string
		Name     string
	}
	settings := struct {
		Token   config.Secret
		Inner   *inner
		List    []any
		Headers map[string]string
		URL     *url.URL
		Env     map[string]string
	}{
		"first-secret", &inner{"second-secret", "public"},
		[]any{inner{password: "third-secret"}},
		map[string]string{"X-Any": "fourth-secret"},
		&url.URL{Scheme: "mqtt", User: url.UserPassword("reader", "fifth&secret"), Host: "h"},
		map[string]string{"db_password": "sixth-secret", "other": "stays"},
	}
	r := &Redactor{}
	r.HideIn(&settings, nil)
	r.Hide("", "abc")
	got := r.Text("first-secret second-secret third-secret fourth-secret fifth&secret fifth%26secret sixth-secret public stays abc")
	if want := strings.Repeat(hidden+" ", 7) + "public stays abc"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestArchives reads what was written, cuts a long file, and refuses what is no archive.
func TestArchives(t *testing.T) {
	var one, other bytes.Buffer
	at := time.Date(2026, 3, 12, 11, 16, 43, 0, time.UTC)
	w := NewWriter(&one, "dir", at, &Redactor{})
	w.Text("long.txt", bytes.Repeat([]byte("é"), MaxFile))
	w.JSON("a.json", map[string]string{"token": "hunter2"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = NewWriter(&other, "other", at, &Redactor{})
	files, err := w.Copy(&one)
	if err != nil || len(files) != 2 || files[0].Name != "long.txt" || files[0].Size > MaxFile+100 || files[1].Name != "a.json" {
		t.Errorf("%v, %v", files, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := NewWriter(&other, "x", at, &Redactor{}).Copy(strings.NewReader("no gzip")); err == nil {
		t.Error("no error")
	}
}
