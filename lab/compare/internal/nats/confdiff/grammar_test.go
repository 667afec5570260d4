// Package confdiff records how the reference parses configuration files: its tests check that the
// record is still true.
package confdiff

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
)

const corpus = "../../../../../internal/busd/natsconf/testdata"

var update = flag.Bool("update", false, "write the record anew")

// endless are files that the reference does not come back from.
var endless = map[string]bool{"bad/include-cycle.conf": true}

// The grammar's tests compare with this record, so that they need no reference.
func TestRecordOfTheGrammar(t *testing.T) {
	environment(t)
	var b strings.Builder
	b.WriteString("# What the reference makes of each file. Written by: cd bench && go test ./internal/confdiff -update\n")
	for _, dir := range []string{"good", "bad"} {
		files, err := filepath.Glob(filepath.Join(corpus, dir, "*.conf"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no corpus: %v", err)
		}
		for _, file := range files {
			name := dir + "/" + filepath.Base(file)
			fmt.Fprintln(&b, name, verdict(name, file))
		}
	}
	record := filepath.Join(corpus, "reference.txt")
	if *update {
		if err := os.WriteFile(record, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(record); err != nil || string(text) != b.String() {
		t.Errorf("%s is not what the reference says now (%v):\n%s", record, err, b.String())
	}
}

func verdict(name, file string) string {
	if endless[name] {
		return "endless"
	}
	_, digest, err := conf.ParseFileWithChecksDigest(file)
	if err != nil {
		return "refused"
	}
	return digest
}

func environment(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpus, "environment.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		t.Setenv(name, value)
	}
}
