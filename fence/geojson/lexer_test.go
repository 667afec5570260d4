package geojson

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzSyntax: the lexer takes exactly what encoding/json takes, but for its limit of depth,
// and wherever the reads are cut. A cursor steps over what it took as encoding/json does.
func FuzzSyntax(f *testing.F) {
	for _, doc := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"\u00e9\\\"",{}],"b":{"c":[[]]}}`,
		`[01]`, `"`, `{"a"}`, `[1,]`, "\x00", "1 2", `-`, `1.`, `1e`, `"\x"`, "\"\x1f\"", "\"\xff\"", " null ", `nul`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, r := range []*lexer{
			{buf: doc, start: -1, limit: len(doc)},
			newLexer(bytes.NewReader(doc), "f", len(doc)),
			newLexer(iotest.OneByteReader(bytes.NewReader(doc)), "f", len(doc)),
		} {
			v, err := r.keep()
			kept := bytes.Clone(v)
			if err == nil {
				err = r.end()
			}
			if e, ok := err.(*SyntaxError); ok && e.Reason == "nested deeper than 64" {
				return
			}
			if (err == nil) != json.Valid(doc) {
				t.Fatalf("%q: %v, but encoding/json says %v", doc, err, json.Valid(doc))
			}
			if err != nil {
				continue
			}
			if !bytes.Equal(kept, bytes.Trim(doc, " \t\r\n")) {
				t.Fatalf("%q: kept %q", doc, kept)
			}
			checkMembers(t, kept)
		}
	})
}

func checkMembers(t *testing.T, doc []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if doc[0] != '{' || json.Unmarshal(doc, &want) != nil {
		return
	}
	got := map[string]json.RawMessage{}
	for name, v := range members(doc) {
		got[string(name)] = v
	}
	if len(got) != len(want) {
		t.Fatalf("%q: members %q, want %q", doc, got, want)
	}
	for name, v := range want {
		if !bytes.Equal(got[name], v) {
			t.Fatalf("%q: member %q is %q, want %q", doc, name, got[name], v)
		}
	}
}

// TestLexerMemory: what exceeds the limit is read through, not kept.
func TestLexerMemory(t *testing.T) {
	long := io.MultiReader(strings.NewReader(`"`), io.LimitReader(endless('x'), 20<<20), strings.NewReader(`" 7`))
	l := newLexer(long, "f", 1000)
	if v, err := l.keep(); v != nil || err != nil {
		t.Fatalf("%d bytes, %v", len(v), err)
	}
	if cap(l.buf) > 8*readSize {
		t.Errorf("the buffer has grown to %d bytes", cap(l.buf))
	}
	if v, err := l.keep(); string(v) != "7" || err != nil {
		t.Errorf("then %q, %v", v, err)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
