package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// examined runs paddock check --json over a file.
func examined(t *testing.T, file, text string) (code int, found examination) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "check", "-c", file, "--json")
	cmd.Env = append(os.Environ(), "PADDOCK_DATA_DIR=") // the file says where
	var log bytes.Buffer
	cmd.Stderr = &log
	stdout, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stdout, &found); err != nil || (cmd.ProcessState.ExitCode() == 0) != (log.Len() == 0) {
		t.Fatalf("%v: %s%s", err, stdout, &log)
	}
	return cmd.ProcessState.ExitCode(), found
}

// TestCheckOfWhatIsThereNow: a port in use is no fault of the configuration, and up does not start
// with it. Beside a platform that runs with the data directory the ports are its own.
func TestCheckOfWhatIsThereNow(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	file, data := filepath.Join(dir, "paddock.yaml"), filepath.Join(dir, "data")
	text := fmt.Sprintf("data: {dir: %q}\nhttp: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire:\n  listen: %q\n", data, taken.Addr())
	code, found := examined(t, file, text)
	if code != 1 || len(found.Faults) != 0 || len(found.Unavailable) != 1 || !strings.Contains(found.Unavailable[0], "paddock.yaml:5:3: wire.listen: ") || !strings.Contains(found.Unavailable[0], "another program") {
		t.Errorf("a port in use: %d, %+v", code, found)
	}
	p := upKeeping(t, data)
	code, found = examined(t, file, text)
	all := fmt.Sprint(found.Parts)
	if code != 0 || !strings.Contains(all, fmt.Sprintf("the process %d runs", p.Process.Pid)) || !strings.Contains(all, "not tried") {
		t.Errorf("beside a platform: %d, %+v", code, found)
	}
	p.terminate(t)
	if code, found = examined(t, file, strings.Replace(text, "wire:", "sets: {dir: "+file+"}\nwire:", 1)); code != 2 || len(found.Faults) != 1 || len(found.Unavailable) != 1 {
		t.Errorf("a fault, and a port in use: %d, %+v", code, found)
	}
	if code, found = examined(t, file, "data: {dir: "+filepath.Join(file, "below")+"}\nhttp: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\n"); code == 0 {
		t.Errorf("a directory below a file: %+v", found)
	}
}

// TestAReloadIsChecked: what check finds in the sections that a reload takes over, a reload finds
// too, and then nothing changes.
func TestAReloadIsChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "paddock.yaml")
	const good = "access: {keys: []}\n"
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	p := upKeeping(t, filepath.Join(dir, "data"), "-c", file)
	p.hangUp(t, file, good+"sinks: [{id: a, file: {path: a.ndjson}}]\nsources:\n- {mqtt: 'mqtts://127.0.0.1:1', topics: [a], format: owntracks, ca: absent.pem}\n",
		"everything stays as it was", "paddock.yaml:3:1: sources: ", "absent.pem: no such file")
	if answer := p.request(t, "GET", "v1/sinks", ""); strings.Contains(answer, `"a"`) {
		t.Errorf("the sink of a refused file: %s", answer)
	}
	p.hangUp(t, file, good+"sinks: [{id: a, file: {path: a.ndjson}}]\n", `msg="configuration file read again"`)
	if answer := p.request(t, "GET", "v1/sinks", ""); !strings.Contains(answer, `"a"`) {
		t.Errorf("the sink of a good file: %s", answer)
	}
	p.terminate(t)
}
