package clientscheck

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// floodBytes is more than the sockets and the server keep for a client.
	floodBytes = 48 << 20
	floodPart  = 64 << 10
	// pause is how long a paused program sleeps: longer than a server of the
	// scenario "stale" waits for answers.
	pause = 4500 * time.Millisecond
)

// play is one run of a program against a server.
type play struct {
	server  *server
	configs string
	name    string
	command *exec.Cmd
}

// run starts server and program and returns the program's output. An error is about the run; errors
// of the program are in its output.
func run(ctx context.Context, client Client, s Scenario, v *server, configs string) (output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := v.start(ctx); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	p := &play{server: v, configs: configs, name: s.Name}
	p.command = exec.CommandContext(ctx, client.Command[0], append(client.Command[1:], s.Name)...)
	p.command.Dir = v.dir
	p.command.Env = append(v.env, "NATS_URL="+v.url(s.Door), "PLAIN_URL="+v.url(""))
	p.command.WaitDelay = time.Second
	// A browser is in the program's group.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.command.Cancel = func() error { return syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }
	said := newLog("")
	p.command.Stderr = said
	in, err := p.command.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := p.command.Start(); err != nil {
		return "", err
	}
	output, err = p.converse(ctx, in, out)
	if waitErr := p.command.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("the program: %w\n%s%s", waitErr, output, said))
	}
	return p.normalise(output), err
}

// converse reads the program's lines and does the requested actions.
func (p *play) converse(ctx context.Context, in io.WriteCloser, out io.Reader) (string, error) {
	defer in.Close()
	var output strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		output.WriteString(line + "\n")
		if !strings.HasPrefix(line, "@") {
			continue
		}
		if err := p.act(ctx, strings.Fields(line[1:])); err != nil {
			return output.String(), errors.Join(fmt.Errorf("%s: %w", line, err), p.command.Process.Kill())
		}
		if _, err := io.WriteString(in, "done\n"); err != nil {
			return output.String(), err
		}
	}
	return output.String(), lines.Err()
}

func (p *play) act(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return errors.New("nothing asked for")
	}
	switch words[0] {
	case "stop":
		return p.server.stop()
	case "start":
		return p.server.start(ctx)
	case "reload":
		return p.server.reload(ctx, filepath.Join(p.configs, p.name+".next.conf"))
	case "lameduck":
		return p.server.lameDuck(ctx)
	case "pause":
		return p.asleep(func() error { return sleep(ctx, pause) })
	case "flood":
		return p.asleep(func() error { return flood(p.server.url(""), words[1]) })
	default:
		return errors.New("not known")
	}
}

// lameDuck asks for it as an operator does, by the program's own flag.
func (v *server) lameDuck(ctx context.Context) error {
	said, err := exec.CommandContext(ctx, v.program, "--signal", "ldm="+v.pid()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// asleep does something while the program is stopped.
func (p *play) asleep(what func() error) error {
	if err := p.command.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return errors.Join(what(), p.command.Process.Signal(syscall.SIGCONT))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flood publishes more than a server holds for a subscriber that does not read.
func flood(url, subject string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	for range floodBytes / floodPart {
		if err := nc.Publish(subject, make([]byte, floodPart)); err != nil {
			return err
		}
	}
	return nc.FlushTimeout(limit / 2)
}

var clientAddress = regexp.MustCompile(`127\.0\.0\.1:\d+->`)

// normalise replaces the parts that differ from run to run.
func (p *play) normalise(output string) string {
	output = clientAddress.ReplaceAllString(output, "CLIENT->")
	return strings.NewReplacer(
		p.server.port, "PORT",
		p.server.webPort, "WEBPORT",
		p.server.dir, "DIR",
	).Replace(output)
}
