package natsconf

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the expectations under testdata from what comes out")

// sources give the corpus its environment, which the record of the reference was
// made with too.
func sources(t testing.TB) Sources {
	t.Helper()
	text, err := os.ReadFile("testdata/environment.txt")
	if err != nil {
		t.Fatal(err)
	}
	environ := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		environ[name] = value
	}
	return Sources{LookupEnv: func(name string) (string, bool) {
		text, ok := environ[name]
		return text, ok
	}}
}

func corpus(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	return files
}

// expect compares with a file beside the corpus.
func expect(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant, by %s,\n%s", got, file, want)
	}
}

// Each good file has the tree that its .json says.
func TestGood(t *testing.T) {
	for _, file := range corpus(t, "good/*.conf") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			root, err := sources(t).ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(root.Any(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			expect(t, strings.TrimSuffix(file, ".conf")+".json", append(text, '\n'))
		})
	}
}

// Each bad file is refused with the text that its .err says, which names a place.
func TestBad(t *testing.T) {
	for _, file := range corpus(t, "bad/*.conf") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := sources(t).ParseFile(file)
			if err == nil {
				t.Fatal("no error")
			}
			text := strings.ReplaceAll(err.Error(), filepath.Dir(file)+string(filepath.Separator), "")
			expect(t, strings.TrimSuffix(file, ".conf")+".err", []byte(text+"\n"))
		})
	}
}

// reference reads the record of what the reference makes of the corpus: each file
// with its digest, or "refused".
func reference(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/reference.txt")
	if err != nil {
		t.Fatal(err)
	}
	record := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] != "#" {
			record[f[0]] = f[1]
		}
	}
	return record
}

// differences are the files that the reference judges otherwise, with the reason.
var differences = map[string]string{
	"good/json-arrays.conf":  "JSON has no space before a bracket; the reference reads the bracket as a part of the number",
	"good/bcrypt-2b.conf":    "the hash of today's tools begins with 2b",
	"bad/empty-value.conf":   "an entry without a value is a mistake, and a dangerous one in a password",
	"bad/include-cycle.conf": "the reference follows it until its stack ends",
	"bad/open-brace.conf":    "a bracket that is never closed",
	"bad/slash.conf":         "a stray slash",
	"bad/stray-brace.conf":   "a bracket that nothing opened",
	"bad/suffix-range.conf":  "the reference lets the integer wrap around",
	"bad/suffix.conf":        "the reference drops the entry",
}

// What the reference accepts means the same here, and what it refuses is refused,
// but for the differences.
func TestReference(t *testing.T) {
	record := reference(t)
	for _, file := range append(corpus(t, "good/*.conf"), corpus(t, "bad/*.conf")...) {
		name := filepath.ToSlash(strings.TrimPrefix(file, "testdata"+string(filepath.Separator)))
		got := "refused"
		if root, err := sources(t).ParseFile(file); err == nil {
			if got, err = Digest(root); err != nil {
				t.Fatal(err)
			}
		}
		_, excused := differences[name]
		switch want, ok := record[name]; {
		case !ok:
			t.Errorf("%s is not in the record of the reference", name)
		case (got == want) == excused:
			t.Errorf("%s: %s here, %s there; listed as a difference: %v", name, got, want, excused)
		}
	}
}
