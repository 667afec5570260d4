package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is a running program, whose output goes to a file.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read it after done
}

// start runs the program.
func start(log, program string, args ...string) (*process, error) {
	if program == "" {
		return nil, errors.New(Variable + " is not set")
	}
	f, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = f, f
	if err := errors.Join(p.cmd.Start(), f.Close()); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// logged returns the log so far.
func (p *process) logged() string {
	text, _ := os.ReadFile(p.log) // without it nothing is found
	return string(text)
}

// lookEvery is the time between two looks at the log.
const lookEvery = 5 * time.Millisecond

// await returns the first of the texts that the log holds from a place on.
func (p *process) await(from int, texts ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		ended := false
		select {
		case <-looks.C:
		case <-p.done:
			ended = true
		case <-ctx.Done():
			return "", fmt.Errorf("did not log %q within %v:\n%s", texts, patience, p.tail())
		}
		lines := p.logged()[from:]
		if i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(lines, text) }); i >= 0 {
			return texts[i], nil
		}
		if ended {
			return "", fmt.Errorf("ended: %v\n%s", p.err, p.tail())
		}
	}
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	lines := strings.Split(strings.TrimSuffix(p.logged(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

func (p *process) signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// stop sends SIGTERM and waits. A server that does not end is killed, which is
// an error.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		err := fmt.Errorf("did not end within %v of SIGTERM:\n%s", patience, p.tail())
		err = errors.Join(err, p.signal(syscall.SIGKILL))
		<-p.done
		return err
	}
}
