package spawn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running program and the lines that it has logged.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and its log was read to the end
	err  error         // how it ended; read it after done

	mu   sync.Mutex
	log  []string
	more chan struct{} // closed and replaced when log grows
}

// start runs the program.
func start(program string, args ...string) (*process, error) {
	if program == "" {
		return nil, errors.New(Variable + " is not set")
	}
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{}), more: make(chan struct{})}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	err = errors.Join(p.cmd.Start(), write.Close())
	if err != nil {
		read.Close()
		return nil, err
	}
	go p.run(read)
	return p, nil
}

// run reads the log until the process ends.
func (p *process) run(log io.ReadCloser) {
	defer close(p.done)
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.log = append(p.log, lines.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
	p.err = p.cmd.Wait()
}

// lines returns how many there are.
func (p *process) lines() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.log)
}

// await returns the first of the texts that a line holds, from the given line on.
func (p *process) await(from int, texts ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		p.mu.Lock()
		lines, more := p.log[from:], p.more
		p.mu.Unlock()
		for _, line := range lines {
			for _, text := range texts {
				if strings.Contains(line, text) {
					return text, nil
				}
			}
		}
		from += len(lines)
		select {
		case <-more:
		case <-p.done:
			if p.lines() == from {
				return "", fmt.Errorf("ended: %v\n%s", p.err, p.tail())
			}
		case <-ctx.Done():
			return "", fmt.Errorf("did not log %q within %v:\n%s", texts, patience, p.tail())
		}
	}
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log[max(0, len(p.log)-20):], "\n")
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
