package load_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/responder"
	"paddock/load"
)

// roleVariable names the role of this program when a test starts it again as a process.
const roleVariable = "PADDOCK_LOAD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		goleak.VerifyTestMain(m)
	case "responder":
		respond()
	case "generator":
		generate()
	case "dialer":
		dial()
	case "hog":
		for {
			runtime.KeepAlive(role)
		}
	}
}

// fatal ends a process that plays a role.
func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// respond is a service by the law of the first line, until the input ends. It prints its
// address.
func respond() {
	in := bufio.NewReader(os.Stdin)
	text, err := in.ReadString('\n')
	fatal(err)
	law, err := responder.Parse(strings.TrimSpace(text), 1)
	fatal(err)
	s, err := responder.Serve(responder.Config{Law: law})
	fatal(err)
	fmt.Println(s.Addr)
	_, _ = io.Copy(io.Discard, in)
	_, err = s.Close()
	fatal(err)
}

// order describes the work of a generator.
type order struct {
	Address   string
	PerSecond float64 // 0 = closed
	Conns     int
	Duration  time.Duration
	Pin       []int
}

// outcome is its result.
type outcome struct {
	Verdict load.Verdict
	Late    [load.Causes]int64
	Sent    int64
	Thread  load.ThreadUse
	Steal   time.Duration
}

var get = []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")

// plan is the plan of an order.
func (o order) plan() load.Plan {
	p := load.Plan{
		Address: o.Address, Codec: &load.Raw{Request: get, Answer: responder.AnswerSize},
		Conns: o.Conns, Warmup: time.Second / 5, Duration: o.Duration, Pin: o.Pin, Engine: load.Epoll, Grace: time.Second,
	}
	if o.PerSecond > 0 {
		p.Arrivals = load.Constant{PerSecond: o.PerSecond}
	}
	return p
}

// generate carries out the order of the first line.
func generate() {
	var o order
	fatal(json.NewDecoder(os.Stdin).Decode(&o))
	plan := o.plan()
	r, err := load.Run(context.Background(), plan, nil)
	fatal(err)
	fatal(plan.Check()) // sets the defaults, as Run did
	fatal(json.NewEncoder(os.Stdout).Encode(outcome{load.Judge(&plan, r), r.Total.Late, r.Total.Sent, r.Total.Threads[0], r.Machine.Steal}))
}

// process is this program in a role.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	end func() // ends it, once
}

// play starts this program in a role. It ends with the test.
func play(t testing.TB, role string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(self)}
	p.Env = append(os.Environ(), roleVariable+"="+role)
	p.Stderr = os.Stderr
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.end = sync.OnceFunc(func() {
		p.in.Close()
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	t.Cleanup(p.end)
	return p
}

// service starts a service by a law, and gives its address.
func service(t testing.TB, law string) string {
	t.Helper()
	p := play(t, "responder")
	fmt.Fprintln(p.in, law)
	address, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}
