package loadbench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/process"
)

// run runs a generator to its end, returns its output, and writes its use into m. screen, if not
// nil, is its stderr.
func run(ctx context.Context, program string, args []string, screen *os.File, m *measure.Measurement) (string, error) {
	path, err := programs.Find(program)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if screen != nil {
		cmd.Stderr = screen
	}
	wait, err := process.Start(cmd, process.Options{})
	if err != nil {
		return "", err
	}
	var memory memoryWatch
	memory.begin(cmd.Process.Pid)
	err = wait()
	memory.end(m)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", program, err, clip(stdout.String()), clip(stderr.String()))
	}
	m.Client = measure.Usage{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}
	return stdout.String(), nil
}

// clip is the end of a text, for errors.
func clip(text string) string { return text[max(len(text)-500, 0):] }
