package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the part of openapi.json that the tests use.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Parameters map[string]parameter       `json:"parameters"`
		Schemas    map[string]json.RawMessage `json:"schemas"`
		Responses  map[string]response        `json:"responses"`
	} `json:"components"`
}

type parameter struct {
	Ref  string `json:"$ref"`
	Name string
	In   string
}

type operation struct {
	Parameters  []parameter `json:"parameters"`
	RequestBody *struct {
		Content map[string]content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type response struct {
	Ref     string             `json:"$ref"`
	Content map[string]content `json:"content"`
}

type content struct {
	Schema  json.RawMessage `json:"schema"`
	Example json.RawMessage `json:"example"`
}

const documentURL = "https://paddock.example/openapi.json"

// described returns the document, and its schemas by JSON pointer, which are compiled on first use.
var described = sync.OnceValue(func() *description {
	d := &description{compiled: map[string]*jsonschema.Schema{}, compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(openAPI, &d.document); err != nil {
		panic(err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		panic(err)
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, tree); err != nil {
		panic(err)
	}
	return d
})

type description struct {
	document
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// check validates a JSON text against the schema at a pointer of the document.
func (d *description) check(pointer string, text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, ok := d.compiled[pointer]
	if !ok {
		var err error
		if schema, err = d.compiler.Compile(documentURL + "#" + pointer); err != nil {
			return err
		}
		d.compiled[pointer] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func pointer(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + escape.Replace(p))
	}
	return b.String()
}

// find returns the operation for a request, and its path template.
func (d *description) find(method, path string) (template string, op operation, ok bool) {
	path, _, _ = strings.Cut(path, "?")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for t, ops := range d.Paths {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(t), "[^/]+") + "$")
		if op, ok := ops[strings.ToLower(method)]; ok && pattern.MatchString(path) {
			return t, op, true
		}
	}
	return "", operation{}, false
}

// conforms checks an answer against the document: its status, its media type and its body must be
// described. All answers in the tests of this package pass through it.
func (tw *town) conforms(q request, r reply) {
	tw.Helper()
	media, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	if media == "application/problem+json" {
		if err := described().check("/components/schemas/Problem", r.body); err != nil {
			tw.Errorf("%s %s: %v", q.method, q.path, err)
		}
	}
	template, op, ok := described().find(q.method, q.path)
	if !ok {
		return // a path that does not exist
	}
	status := strconv.Itoa(r.status)
	described_, ok := op.Responses[status]
	if !ok {
		tw.Errorf("%s %s: status %s is not described: %s", q.method, q.path, status, r.body)
		return
	}
	if described_.Ref != "" {
		described_ = described().Components.Responses[strings.TrimPrefix(described_.Ref, "#/components/responses/")]
	}
	if q.method == http.MethodHead || r.status == 204 || r.status == 304 {
		return
	}
	if _, ok := described_.Content[media]; !ok {
		tw.Errorf("%s %s: %s of media type %q is not described", q.method, q.path, status, media)
		return
	}
	if media == "application/problem+json" || media == "application/gzip" || media == "text/event-stream" || media == "text/csv" || media == "text/html" || media == "application/gpx+xml" || media == fenceColumns || media == tileType {
		return
	}
	texts := [][]byte{r.body}
	if media == "application/x-ndjson" {
		texts = bytes.Split(bytes.TrimSpace(r.body), []byte{'\n'})
	}
	at := pointer("paths", template, strings.ToLower(q.method), "responses", status, "content", media, "schema")
	for _, text := range texts {
		if len(text) == 0 {
			continue
		}
		if err := described().check(at, text); err != nil {
			tw.Errorf("%s %s: %s: %v\n%s", q.method, q.path, status, err, text)
		}
	}
}

// outside holds the described paths that are not under /v1.
var outside = []string{"get /healthz", "get /readyz", "get /in/osmand", "post /in/osmand", "post /in/owntracks", "post /in/traccar"}

func TestTheDocumentDescribesEveryRoute(t *testing.T) {
	var routes, documented []string
	for pattern := range new(API).v1() {
		method, path, _ := strings.Cut(pattern, " ")
		routes = append(routes, strings.ToLower(method)+" "+path)
	}
	routes = append(routes, outside...)
	for path, ops := range described().Paths {
		for method := range ops {
			documented = append(documented, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(documented)
	if !slices.Equal(routes, documented) {
		t.Errorf("served    %q\ndescribed %q", routes, documented)
	}
}

// Every schema compiles, every reference resolves, and every example is valid.
func TestTheDocumentHolds(t *testing.T) {
	d := described()
	if d.OpenAPI != "3.1.0" {
		t.Errorf("openapi %q", d.OpenAPI)
	}
	for name := range d.Components.Schemas {
		if err := d.check(pointer("components", "schemas", name), []byte("null")); err != nil {
			if _, ok := err.(*jsonschema.ValidationError); !ok {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var document any
	must(t, json.Unmarshal(openAPI, &document))
	for _, ref := range regexp.MustCompile(`"\$ref": "#(/[^"]+)"`).FindAllSubmatch(openAPI, -1) {
		node := document
		for part := range strings.SplitSeq(string(ref[1][1:]), "/") {
			node = node.(map[string]any)[part]
		}
		if node == nil {
			t.Errorf("%s leads nowhere", ref[1])
		}
	}
	examples := 0
	example := func(c content, at ...string) {
		if c.Example == nil {
			return
		}
		examples++
		if err := d.check(pointer(append(at, "schema")...), c.Example); err != nil {
			t.Errorf("example of %s: %v", strings.Join(at, " "), err)
		}
	}
	for path, ops := range d.Paths {
		for method, op := range ops {
			if op.RequestBody != nil {
				for media, c := range op.RequestBody.Content {
					example(c, "paths", path, method, "requestBody", "content", media)
				}
			}
			for status, r := range op.Responses {
				for media, c := range r.Content {
					example(c, "paths", path, method, "responses", status, "content", media)
				}
			}
		}
	}
	if examples < 12 {
		t.Errorf("%d examples: have they been found?", examples)
	}
}

// A described parameter is accepted, and any other is refused.
func TestTheDocumentNamesEveryParameter(t *testing.T) {
	tw := newTown(t, options{})
	for path, ops := range described().Paths {
		for method, op := range ops {
			if !strings.HasPrefix(path, "/v1/") {
				continue
			}
			known := []string{}
			for _, p := range op.Parameters {
				if p.Ref != "" {
					p = described().Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
				if p.In == "query" {
					known = append(known, p.Name)
				}
			}
			target := strings.NewReplacer("{set}", "squares", "{id}", "a").Replace(path)
			detail := `query: unknown parameter "zzz": there are none`
			if len(known) > 0 {
				detail = fmt.Sprintf("query: unknown parameter %q: use %s", "zzz", strings.Join(known, ", "))
			}
			r := tw.send(request{method: strings.ToUpper(method), path: target + "?zzz=1"})
			var p Problem
			if err := json.Unmarshal(r.body, &p); err != nil || r.status != 400 || !sameWords(p.Detail, detail) {
				t.Errorf("%s %s: %d %s\nwant %s", method, path, r.status, p.Detail, detail)
			}
		}
	}
}

// sameWords compares texts without regard to the order of their words.
func sameWords(a, b string) bool {
	words := func(s string) []string {
		return slices.Sorted(slices.Values(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })))
	}
	return slices.Equal(words(a), words(b))
}

func TestOpenAPIIsServed(t *testing.T) {
	tw := newTown(t, options{})
	r := tw.get("/v1/openapi.json")
	tw.expect(r, 200, strings.TrimSpace(string(openAPI)))
}
