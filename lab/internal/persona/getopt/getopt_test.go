package getopt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"paddock/lab/internal/persona/getopt"
)

// program holds the values that a command line sets.
type program struct {
	keep, latency bool
	conns         int
	requests      int64
	file          string
	headers       []string
	timeout       string
}

func (p *program) flags() getopt.Flags {
	return getopt.Flags{
		{Short: 'k', Help: "Keep connections.", Set: getopt.On(&p.keep)},
		{Short: 'c', Long: "connections", Value: "N", Help: "Connections.", Set: getopt.Number(&p.conns, 1)},
		{Short: 'n', Value: "N", Help: "Requests.", Set: getopt.Number(&p.requests, 1)},
		{Short: 'p', Value: "FILE", Help: "Body.", Set: getopt.Text(&p.file)},
		{Short: 'H', Long: "header", Value: "FIELD", Help: "Header.", Set: getopt.List(&p.headers)},
		{Long: "latency", Help: "Show it.", Set: getopt.On(&p.latency)},
		{Long: "timeout", Value: "TIME", Help: "Give up.", Set: getopt.Text(&p.timeout)},
		{Short: 'X', Value: "PROXY", Help: "Not here.", Set: func(string) error { return errors.New("not supported") }},
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"URL", "{false false 0 0  [] } [URL]"},
		{"-c 20 URL", "{false false 20 0  [] } [URL]"},
		{"-c20 URL", "{false false 20 0  [] } [URL]"},
		{"-c=20 URL", "{false false 20 0  [] } [URL]"},
		{"--connections=20 URL", "{false false 20 0  [] } [URL]"},
		{"--connections 20 URL", "{false false 20 0  [] } [URL]"},
		{"--conn 20 URL", "{false false 20 0  [] } [URL]"},
		{"-kc 20 URL", "{true false 20 0  [] } [URL]"},
		{"-kc20 -n5 URL", "{true false 20 5  [] } [URL]"},
		{"URL -k -c 1 -c 2", "{true false 2 0  [] } [URL]"},
		{"-p - -H a:b -Hc:d URL", "{false false 0 0 - [a:b c:d] } [URL]"},
		{"-p =x URL", "{false false 0 0 =x [] } [URL]"},
		{"-p -x URL", "{false false 0 0 -x [] } [URL]"},
		{"-p= URL", "{false false 0 0  [] } [URL]"},
		{"--latency --timeout= --timeout 2s", "{false true 0 0  [] 2s} []"},
		{"-k -- -c 20", "{true false 0 0  [] } [-c 20]"},
		{"- a", "{false false 0 0  [] } [- a]"},
	} {
		var p program
		operands, err := p.flags().Parse(strings.Fields(tc.line))
		if got := fmt.Sprint(p, " ", operands); err != nil || got != tc.want {
			t.Errorf("%s: got %s, %v; want %s", tc.line, got, err, tc.want)
		}
	}
}

func TestErrorsNameTheFlag(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"-z", "there is no flag -z"},
		{"-kz", "there is no flag -z"},
		{"-ü", "there is no flag -ü"},
		{"--zoom=3", "there is no flag --zoom"},
		{"-c", "-c takes a value: N"},
		{"-kc", "-c takes a value: N"},
		{"--timeout", "--timeout takes a value: TIME"},
		{"-c many", `-c: "many" is not a whole number`},
		{"-c 1.5", `-c: "1.5" is not a whole number`},
		{"-c 99999999999999999999", `-c: "99999999999999999999" is not a whole number`},
		{"-c 0", "-c: 0 is below 1"},
		{"-c -1", "-c: -1 is below 1"},
		{"-k=1", "-k takes no value"},
		{"--latency=1", "--latency takes no value"},
		{"--=1", "--connections or --header"},
		{"-X proxy:1", "-X: not supported"},
	} {
		var p program
		if _, err := p.flags().Parse(strings.Fields(tc.line)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.line, err, tc.want)
		}
	}
}

func TestWriteHelp(t *testing.T) {
	var b strings.Builder
	if err := new(program).flags().WriteHelp(&b); err != nil {
		t.Fatal(err)
	}
	want := `  -k                   Keep connections.
  -c, --connections N  Connections.
  -n N                 Requests.
  -p FILE              Body.
  -H, --header FIELD   Header.
      --latency        Show it.
      --timeout TIME   Give up.
  -X PROXY             Not here.
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}
