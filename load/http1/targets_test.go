package http1_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"paddock/load/http1"
)

func files(name string) ([]byte, error) {
	switch name {
	case "a.json":
		return []byte(`{"a":1}`), nil
	case "empty":
		return nil, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("no such file")}
}

func TestReadTargets(t *testing.T) {
	const text = `# the first
GET http://a:80/one

  POST http://a/two
X-Case: kept
# within
Accept: text/plain
@a.json

PUT http://a/three
GET /four
PUT http://a/five
@empty
DELETE http://a/six
A: 1
A: 2
`
	usual := http1.Request{URL: "http://a", UserAgent: "p", Header: []http1.Field{{Name: "Accept", Value: "*/*"}, {Name: "B", Value: "b"}}}
	got, err := http1.ReadTargets(strings.NewReader(text), usual, files)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range got {
		lines = append(lines, fmt.Sprintf("%s %s %s %v %q %v", r.Method, r.URL, r.UserAgent, r.Header, r.Body, r.Body != nil))
	}
	want := `GET http://a:80/one p [{Accept */*} {B b}] "" false
POST http://a/two p [{B b} {X-Case kept} {Accept text/plain}] "{\"a\":1}" true
PUT http://a/three p [{Accept */*} {B b}] "" false
GET http://a/four p [{Accept */*} {B b}] "" false
PUT http://a/five p [{Accept */*} {B b}] "" true
DELETE http://a/six p [{Accept */*} {B b} {A 1} {A 2}] "" false`
	if all := strings.Join(lines, "\n"); all != want {
		t.Errorf("%s", all)
	}
	var arena http1.Arena
	for i := range got {
		if err := arena.Add(&got[i]); err != nil {
			t.Error(err)
		}
	}
}

func TestReadTargetsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "there is none",
		"# nothing\n":                    "there is none",
		"\nhello\n":                      `line 2: "hello" is no target`,
		"get http://a\n":                 "line 1: \"get http://a\" is no target",
		"GET a\n":                        "line 1: \"a\" is no URL",
		"GET /a\n":                       "line 1: \"/a\" is no URL",
		"GET http://a\nB\n":              "line 2: the header \"B\" has no colon",
		"GET http://a\n@none\n":          "line 2: the body: open none: no such file",
		"GET http://a\n\nB: c\n":         "line 3: \"B: c\" is no target",
		"GET http://a\n@a.json\nB: c\n":  "line 3: \"B: c\" is no target",
		"GET http://a\nGET http://b\n":   "line 2: the service is b:80",
		"GET http://a\nGET https://a\n":  "line 2: the service is https a:443",
		strings.Repeat("x", 70_000):      "line 1: more than 64 KiB",
		"GET http://a\nA: \x00":          "line 2: the header A has a control character",
		"GET ftp://a":                    "line 1: \"ftp://a\" is no URL",
		"GET http://a/\x01\nGET http://": "line 1: parse",
	} {
		if _, err := http1.ReadTargets(strings.NewReader(text), http1.Request{}, files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// FuzzTargets: the requests of any file can be sent and are for one service, or the file is refused
// with a reason.
func FuzzTargets(f *testing.F) {
	f.Add("GET http://a/b\nC: d\n@a.json\n\nPOST /e\n# f\n")
	f.Add("GET http://a\nGET https://a\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := http1.ReadTargets(strings.NewReader(text), http1.Request{URL: "http://a"}, files)
		if err != nil {
			if len(list) > 0 || !strings.HasPrefix(err.Error(), "http1: targets: ") {
				t.Errorf("%d targets, %v", len(list), err)
			}
			return
		}
		var arena http1.Arena
		for i := range list {
			first, secure, _ := http1.Endpoint(list[0].URL)
			if address, same, err := http1.Endpoint(list[i].URL); err != nil || address != first || same != secure {
				t.Errorf("%s, %v", list[i].URL, err)
			}
			_ = arena.Add(&list[i]) // may refuse a header
		}
	})
}
