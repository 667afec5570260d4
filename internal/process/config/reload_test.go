package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/reference/configuration.md")

const page = "../../../docs/reference/configuration.md"

// TestKeysPage holds that the reference says for each key what the code does at a reload.
func TestKeysPage(t *testing.T) {
	var want strings.Builder
	want.WriteString("\n| key | default | read again |\n|---|---|---|\n")
	for _, s := range settings(Default()) {
		value, again := fmt.Sprint(reflect.ValueOf(s.field).Elem()), "no"
		if value != "" {
			value = "`" + value + "`"
		}
		if Reloads(s.key) {
			again = "yes"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", s.key, value, again)
		if s.key == "access.required" {
			want.WriteString("| `access.keys` |  | yes |\n")
		}
	}
	want.WriteString("\n")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "<!-- keys -->\n")
	got, tail, found := strings.Cut(rest, "<!-- end of keys -->")
	switch {
	case !found:
		t.Fatal("the page has no table of keys")
	case *update:
		err = os.WriteFile(page, []byte(head+"<!-- keys -->\n"+want.String()+"<!-- end of keys -->"+tail), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	case got != want.String():
		t.Errorf("the table is not that of the code: go test ./internal/process/config -run TestKeysPage -update\n%s", want.String())
	}
}

// TestRestarts changes each key, and finds whether it takes a restart.
func TestRestarts(t *testing.T) {
	for i, s := range settings(Default()) {
		was, now := Default(), Default()
		switch field := settings(now)[i].field.(type) {
		case *string:
			*field += "other"
		case *Secret:
			*field += "other"
		case *bool:
			*field = !*field
		default:
			v := reflect.ValueOf(field).Elem()
			v.SetInt(v.Int() + 1)
		}
		if got := slices.Contains(was.Restarts(now, ""), s.key); got == Reloads(s.key) {
			t.Errorf("%s: restart %v, and reload %v", s.key, got, Reloads(s.key))
		}
		section, _, _ := strings.Cut(s.key, ".")
		if got := was.Restarts(now, section); len(got) > 1 || (len(got) == 1) == Reloads(s.key) {
			t.Errorf("%s in %s: %v", s.key, section, got)
		}
		if got := was.Restarts(now, "other"); len(got) != 0 {
			t.Errorf("%s in another section: %v", s.key, got)
		}
	}
}
