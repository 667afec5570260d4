package bus_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/bus"
)

// The benchmarks measure a broker in a process of its own, so that its CPU time is apart from the
// load's. PADDOCK_REFERENCE, if set, names a nats-server that gets the same load in the same run.

// serveVariable makes this test program a broker that prints its address and ends with its input.
const serveVariable = "PADDOCK_BUS_SERVE"

// profileVariable names a file for the broker's CPU profile.
const profileVariable = "PADDOCK_BUS_PROFILE"

// clockTick is the unit of the times in /proc: USER_HZ.
const clockTick = 10 * time.Millisecond

func servesBenchmark() bool {
	if os.Getenv(serveVariable) == "" {
		return false
	}
	s, err := bus.New(bus.Config{Port: -1})
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if file := os.Getenv(profileVariable); file != "" {
		f, err := os.Create(file)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Println(s.Addr())
	io.Copy(io.Discard, os.Stdin) // until the benchmark has ended
	return true
}

// broker is a process under load.
type broker struct {
	addr string
	pid  int
}

// brokers are the servers that a benchmark compares, by name.
func brokers() map[string]func(b *testing.B) *broker {
	all := map[string]func(b *testing.B) *broker{"paddock": startSelf}
	if program := os.Getenv("PADDOCK_REFERENCE"); program != "" {
		all["reference"] = func(b *testing.B) *broker { return startReferenceProcess(b, program) }
	}
	return all
}

func startSelf(b *testing.B) *broker {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return &broker{addr: strings.TrimSpace(line), pid: cmd.Process.Pid}
}

func startReferenceProcess(b *testing.B, program string) *broker {
	dir := b.TempDir()
	cmd := exec.Command(program, "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", dir)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	file := filepath.Join(dir, fmt.Sprintf("%s_%d.ports", filepath.Base(program), cmd.Process.Pid))
	for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if _, after, ok := bytes.Cut(text, []byte("nats://")); ok {
			if addr, _, ok := bytes.Cut(after, []byte(`"`)); ok {
				return &broker{addr: string(addr), pid: cmd.Process.Pid}
			}
		}
	}
	b.Fatalf("%s has not written %s", program, file)
	return nil
}

// cpu is the time that the broker has used, its own and the kernel's for it.
func (k *broker) cpu(b *testing.B) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.pid))
	if err != nil {
		b.Skip("no /proc")
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return time.Duration(user+system) * clockTick
}

// link is a raw connection of the load.
type link struct {
	net.Conn
	in *bufio.Reader
}

// dial connects and sends hello with a PING after it, whose PONG it awaits.
func (k *broker) dial(b *testing.B, hello string) *link {
	conn, err := net.Dial("tcp", k.addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	l := &link{conn, bufio.NewReaderSize(conn, 256<<10)}
	l.send(b, `CONNECT {"verbose":false,"pedantic":false,"protocol":0}`+"\r\n"+hello+"PING\r\n")
	l.pong(b)
	return l
}

func (l *link) send(b *testing.B, text string) {
	if _, err := l.Write([]byte(text)); err != nil {
		b.Error(err)
	}
}

// pong reads to the next PONG.
func (l *link) pong(b *testing.B) {
	for {
		line, err := l.in.ReadSlice('\n')
		if err != nil {
			b.Error(err)
			return
		}
		switch string(line) {
		case "PONG\r\n":
			return
		case "PING\r\n":
			l.send(b, "PONG\r\n")
		}
	}
}
