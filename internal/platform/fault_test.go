package platform_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"paddock/internal/platform"
	"paddock/internal/platform/journal"
)

// faultAt names the variable by which a child of TestFailedSync gets the number of the first sync
// that fails, and faultDir the one with the data directory.
const (
	faultAt  = "PADDOCK_FAULT_AT"
	faultDir = "PADDOCK_FAULT_DIR"
)

// TestFaultyPlatform is the child of TestFailedSync: a platform whose journal cannot be synced from
// some moment on. It prints its address, and ends as `paddock up` does.
func TestFaultyPlatform(t *testing.T) {
	first, err := strconv.ParseInt(os.Getenv(faultAt), 10, 64)
	if err != nil {
		t.Skip("the child of TestFailedSync")
	}
	var syncs atomic.Int64
	fail := errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if strings.HasSuffix(op.Path, ".log") && syncs.Add(1) >= first {
				return errorfs.ErrInjected
			}
		}
		return nil
	})
	o := platform.Options{Config: keeping(os.Getenv(faultDir)), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	o.OpenJournal(func(o journal.Options) (*journal.Disk, error) {
		o.FS = errorfs.Wrap(vfs.Default, fail)
		return journal.Open(o)
	})
	r := startWith(t, o)
	fmt.Fprintln(os.Stdout, "serving", r.URL())
	err = <-r.done
	fmt.Fprintln(os.Stderr, err)
	coder, ok := err.(interface{ ExitCode() int })
	if !ok {
		os.Exit(1)
	}
	os.Exit(coder.ExitCode())
}

// TestFailedSync: once a sync of the journal has failed, nothing is acknowledged any more, and the
// process ends with its own code and the reason. The next one knows everything acknowledged.
func TestFailedSync(t *testing.T) {
	for _, first := range []int{12, 40} {
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/journal", 0o700); err != nil { // another file system makes no directory
			t.Fatal(err)
		}
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFaultyPlatform$")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", faultAt, first), faultDir+"="+dir)
		var log bytes.Buffer
		child.Stderr = &log
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := fillUntilItFails(t, bufio.NewReader(stdout))
		_ = child.Wait() // with the code that is examined below
		if code := child.ProcessState.ExitCode(); code != 5 || !strings.Contains(log.String(), "journal") || !strings.Contains(log.String(), "mend") {
			t.Errorf("sync %d: code %d:\n%s", first, code, &log)
		}
		r := start(t, keeping(dir), nil)
		for n := range acknowledged {
			r.text(fmt.Sprint("v1/objects/v", n))
		}
		r.stop()
		if acknowledged == 0 || acknowledged > first {
			t.Errorf("sync %d: %d positions were acknowledged", first, acknowledged)
		}
	}
}

// fillUntilItFails posts positions of one object after the other, and returns the number of the
// acknowledged ones. None is acknowledged behind the first failure.
func fillUntilItFails(t *testing.T, stdout *bufio.Reader) (acknowledged int) {
	t.Helper()
	line, err := stdout.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	failed := false
	for n := range 1000 {
		body := strings.NewReader(fmt.Sprintf(`{"id":"v%d","lon":1,"lat":1}`, n))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"v1/positions", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return acknowledged // the process has ended
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		switch taken := err == nil && res.StatusCode == http.StatusOK && strings.Contains(string(text), `"accepted":1`); {
		case taken && failed:
			t.Errorf("position %d was acknowledged behind a failure", n)
		case taken:
			acknowledged++
		default:
			failed = true
		}
	}
	t.Fatal("no sync has failed")
	return 0
}
