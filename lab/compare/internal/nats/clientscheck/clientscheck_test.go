package clientscheck

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == goClient {
		os.Exit(playGoClient(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

const folder = "../../../clients"

// options are the flags of TestClients; `make clients` sets them.
var options = Options{Folder: folder}

func init() {
	flag.StringVar(&options.Reference, "reference", "", "nats-server's `program`")
	flag.StringVar(&options.Ours, "ours", "", "our `program`")
	flag.StringVar(&options.Folder, "folder", folder, "`folder` with configs and golden")
	flag.BoolVar(&options.Update, "update", false, "write the golden files from nats-server's runs")
	flag.Func("client", "the program of a client beside nats.go, as `NAME=COMMAND`; may be repeated", func(text string) error {
		client, err := ParseClient(text)
		options.Clients = append(options.Clients, client)
		return err
	})
	flag.Func("only", "run only scenarios whose name contains one of these `words`, split by commas", func(text string) error {
		options.Only = strings.Split(text, ",")
		return nil
	})
	flag.Func("skip", "leave out this `scenario`; may be repeated", func(text string) error {
		options.Skip = append(options.Skip, text)
		return nil
	})
}

// TestClients runs the same programs in several NATS clients against nats-server and against
// Paddock, and fails where their output differs.
func TestClients(t *testing.T) {
	if options.Reference == "" || options.Ours == "" {
		t.Skip("--reference and --ours are not given: make clients gives both")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options.Clients = append([]Client{{Name: "go", Command: []string{self, goClient}}}, options.Clients...)
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	options.Report = t.Output()
	if err := Check(ctx, options); err != nil {
		t.Error(err)
	}
}

// Each file belongs to a scenario, and each scenario has a file.
func TestFilesBelongToScenarios(t *testing.T) {
	golden := map[string]bool{}
	configs := map[string]bool{"reload.next.conf": true}
	for _, s := range Scenarios() {
		configs[s.config()] = true
		for _, client := range []string{"go", "python", "js", "rust"} {
			if _, none := s.Without[client]; none {
				continue
			}
			file := filepath.Join(folder, "golden", client, s.Name+".txt")
			golden[file] = true
			if text, err := os.ReadFile(file); err != nil || len(text) == 0 {
				t.Errorf("%s: %d bytes, %v", file, len(text), err)
			}
		}
	}
	for file := range glob(t, "golden", "*", "*") {
		if !golden[file] {
			t.Errorf("%s is of no scenario", file)
		}
	}
	for file := range glob(t, "explained", "*", "*") {
		if !golden[strings.Replace(file, "explained", "golden", 1)] {
			t.Errorf("%s is of no scenario", file)
		}
	}
	for file := range glob(t, "configs", "*") {
		if !configs[filepath.Base(file)] {
			t.Errorf("%s is of no scenario", file)
		}
	}
}

func glob(t *testing.T, parts ...string) func(func(string) bool) {
	files, err := filepath.Glob(filepath.Join(append([]string{folder}, parts...)...))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %d files, %v", parts, len(files), err)
	}
	return slices.Values(files)
}

func TestDifference(t *testing.T) {
	got := strings.Join(difference("a\nb\nc\n", "a\nx\nc\nd\n"), "\n")
	want := "  a\n- b\n+ x\n  c\n+ d"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTable(t *testing.T) {
	clients := []Client{{Name: "go"}, {Name: "js"}}
	table := newTable(clients)
	for _, s := range []Scenario{{Name: "one", About: "first"}, {Name: "two", About: "second"}} {
		table.add(s, clients[0], same)
		table.add(s, clients[1], map[string]cell{"one": absent, "two": different}[s.Name])
	}
	var text strings.Builder
	table.write(&text)
	want := "\n| scenario | what | go | js |\n|---|---|---|---|\n| `one` | first | same | - |\n| `two` | second | same | DIFFERS |\n"
	if text.String() != want {
		t.Errorf("got\n%s", text.String())
	}
	if table.cells != 3 || table.bad != 1 {
		t.Errorf("%d cells, %d bad", table.cells, table.bad)
	}
}

func TestParseClient(t *testing.T) {
	c, err := ParseClient("js=node main.js")
	if err != nil || c.Name != "js" || !slices.Equal(c.Command, []string{"node", "main.js"}) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"", "js", "js=", "=node", "js= "} {
		if c, err := ParseClient(text); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func TestMaterialIsUsable(t *testing.T) {
	dir := t.TempDir()
	m, err := newMaterial(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server", "client", "unknown"} {
		if _, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(m.alice) != 56 || m.alice[0] != 'U' {
		t.Errorf("nkey %q", m.alice)
	}
}

// The whole, with programs that are shell scripts: differences are found and reported, and a
// program that asks for an unknown action is an error.
func TestCheck(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	server := func(name, says string) string {
		file := filepath.Join(dir, name)
		script := "#!/bin/sh\necho " + says + " >who; echo Server is ready >&2; exec sleep 60\n"
		if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	program := func(name, script string) Client {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return Client{Name: name, Command: []string{file}}
	}
	known := filepath.Join(dir, "explained", "known")
	if err := os.MkdirAll(known, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(known, "pubsub.txt"), []byte("# because\nours\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		script  string
		differs bool
		report  string
	}{
		{"known", "cat who\n", false, "| explained |"},
		{"same", `echo "at $NATS_URL in $(pwd)"; echo "$1"` + "\n", false, "| same |"},
		{"other", `head -c 4 ca.pem >/dev/null; echo @stop; read done; echo $$` + "\n", true, "DIFFERS"},
		{"asks", "echo @dance; read done\n", true, "@dance: not known"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var report bytes.Buffer
			err := Check(context.Background(), Options{
				Reference: server("theirs", "theirs"), Ours: server("ours", "ours"), Folder: dir,
				Clients: []Client{program(tc.name, tc.script)}, Only: []string{"pubsub"}, Update: true, Report: &report,
			})
			if errors.Is(err, ErrDiffers) != tc.differs || err != nil && !tc.differs {
				t.Errorf("error %v", err)
			}
			if !strings.Contains(report.String(), tc.report) {
				t.Errorf("report\n%s", report.String())
			}
		})
	}
}
