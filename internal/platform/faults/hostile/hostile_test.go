// Package hostile sends one platform about four hundred malformed inputs at all of its doors, while
// well-behaved clients use it and must not be disturbed.
package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/platform"
	"paddock/internal/process/config"
	"paddock/internal/process/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// patience bounds each case. No case may wait for a timeout of the server, which is longer.
	patience = 20 * time.Second
	// atOnce is the number of concurrent cases.
	atOnce = 8
)

// target is the platform under attack.
type target struct {
	*platform.Platform
	http string // host:port
}

func start(t *testing.T) *target {
	t.Helper()
	set, err := fence.NewSet("squares", fence.Options{})
	must(t, err)
	_, err = set.Replace(&geojson.Collection{Fences: []fence.Fence{{
		Key: "a", Properties: json.RawMessage(`{}`),
		Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 10, Lat: 0}, {Lon: 10, Lat: 10}, {Lon: 0, Lat: 10}}}},
	}}})
	must(t, err)
	catalog := &fence.Catalog{}
	must(t, catalog.Add(set))
	cfg := config.Default()
	cfg.Track.Policy = "raw"
	cfg.HTTP.Listen, cfg.Bus.Listen, cfg.Wire.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	log := slog.New(slog.DiscardHandler)
	p := platform.New(platform.Options{Config: cfg, Logger: log, Version: "test", Catalog: catalog})
	signals := make(chan os.Signal, 1)
	group := &lifecycle.Group{Logger: log, Signals: signals}
	p.AddTo(group)
	ready, done := make(chan struct{}), make(chan error, 1)
	group.Add(lifecycle.Service{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	go func() { done <- group.Run(context.Background()) }() // until the signal below
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		if err := <-done; err != nil {
			t.Errorf("the platform ended with: %v", err)
		}
	})
	return &target{p, strings.Trim(strings.TrimPrefix(p.URL(), "http://"), "/")}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// door plays the cases of one file.
type door struct {
	file string
	play func(*target, hostileCase) (outcome string, err error)
}

func TestHostileInput(t *testing.T) {
	tg := start(t)
	well := tg.healthy(t)
	well.awaitStart(t)
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	n := 0
	t.Run("doors", func(t *testing.T) {
		room := make(chan struct{}, atOnce)
		for _, d := range []door{
			{"positions.txt", (*target).request},
			{"fences.txt", (*target).request},
			{"raw.txt", (*target).bytes},
			{"bus.txt", (*target).bus},
			{"live.txt", (*target).live},
			{"wire.txt", (*target).wire},
		} {
			for _, c := range readCases(t, d.file) {
				n++
				t.Run(c.place, func(t *testing.T) {
					t.Parallel()
					room <- struct{}{}
					defer func() { <-room }()
					got, err := d.play(tg, c)
					if err != nil {
						got = err.Error()
					}
					if !c.expects(got) {
						t.Errorf("%s\ngot  %s\nwant %s", c.title, got, c.outcome)
					}
				})
			}
		}
		for _, announced := range []bool{true, false} {
			n++
			t.Run(fmt.Sprintf("100 MB, announced %v", announced), func(t *testing.T) {
				t.Parallel()
				tg.flood(t, announced)
			})
		}
	})
	if n < 200 {
		t.Errorf("%d cases", n)
	}
	well.finish(t)
	settle(t, goroutines, heap)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// settle waits until the goroutines of the hostile connections have ended, and compares the memory.
func settle(t *testing.T, goroutines int, heap uint64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > goroutines+10 {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before there were %d\n%s", runtime.NumGoroutine(), goroutines, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
	if now := heapInUse(); now > heap+32<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", heap, now)
	}
}

// request plays "METHOD path": a whole request. The outcome is the status and
// the reason: the problem's detail, the first rejection, or the text.
func (tg *target) request(c hostileCase) (string, error) {
	method, path, _ := strings.Cut(c.title, " ")
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n", method, path, len(c.input))
	if !strings.Contains(strings.Join(c.headers, "\n"), "Host:") {
		head.WriteString("Host: localhost\r\n")
	}
	for _, h := range c.headers {
		if strings.HasPrefix(h, "Connection:") {
			text := strings.Replace(head.String(), "Connection: close\r\n", "", 1)
			head.Reset()
			head.WriteString(text)
		}
		head.WriteString(h + "\r\n")
	}
	return tg.exchange(append([]byte(head.String()+"\r\n"), c.input...))
}

// bytes plays raw bytes, with CRLF for each end of line. The outcome is the
// status of the first answer, or "closed".
func (tg *target) bytes(c hostileCase) (string, error) {
	if len(c.input) == 0 {
		return tg.exchange(nil)
	}
	return tg.exchange(append(bytes.ReplaceAll(c.input, []byte("\n"), []byte("\r\n")), "\r\n"...))
}

// exchange sends bytes, then nothing more, and reads one answer and the end.
func (tg *target) exchange(input []byte) (string, error) {
	conn, err := net.Dial("tcp", tg.http)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	var sending sync.WaitGroup
	sending.Go(func() { // the server may answer and close early
		_, _ = conn.Write(input)
		_ = conn.(*net.TCPConn).CloseWrite()
	})
	defer sending.Wait()
	r := bufio.NewReader(conn)
	if _, err := r.Peek(1); err != nil {
		return closed(err)
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return closed(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return closed(err)
	}
	if _, err := io.Copy(io.Discard, r); errors.Is(err, os.ErrDeadlineExceeded) {
		return "", errors.New("answered, and not closed")
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, reason(body)), nil
}

// closed reports an end of the connection.
func closed(err error) (string, error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", errors.New("neither answered nor closed")
	}
	return "closed", nil
}

func reason(body []byte) string {
	var v struct {
		Detail   string
		Rejected []struct{ Reason string }
	}
	if json.Unmarshal(body, &v) == nil {
		if len(v.Rejected) > 0 {
			return v.Rejected[0].Reason
		}
		if v.Detail != "" {
			return v.Detail
		}
	}
	return string(bytes.TrimSpace(body))
}

// bus plays bytes on the bus port and then a PING. The outcome is the text before its PONG, or the
// text before the end and "closed".
func (tg *target) bus(c hostileCase) (string, error) {
	conn, err := net.Dial("tcp", tg.BusAddr().String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	if info, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(info, "INFO ") {
		return "", fmt.Errorf("%q, %w", info, err)
	}
	input := append(bytes.ReplaceAll(c.input, []byte("\n"), []byte("\r\n")), "\r\nPING\r\n"...)
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = conn.Write(input)
		_ = conn.(*net.TCPConn).CloseWrite()
	})
	defer sending.Wait()
	var said []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			end, err := closed(err)
			return strings.Join(append(said, end), ", "), err
		}
		if said = append(said, strings.TrimSpace(line)); line == "PONG\r\n" {
			return strings.Join(said, ", "), nil
		}
	}
}

// live plays frames in hexadecimal. The outcome is the code of the server's
// close frame, or "closed" if it cut the connection.
func (tg *target) live(c hostileCase) (string, error) {
	frames, err := hex.DecodeString(strings.Join(strings.Fields(string(c.input)), ""))
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("tcp", tg.http)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	const handshake = "GET /v1/live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	if _, err := conn.Write([]byte(handshake)); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return "", fmt.Errorf("no handshake: %v, %w", resp, err)
	}
	if _, err := conn.Write(frames); err != nil {
		return "", err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return "", err
	}
	for {
		opcode, payload, err := readFrame(r)
		if err != nil {
			return closed(err)
		}
		if opcode == 8 && len(payload) >= 2 {
			return fmt.Sprintf("%d %s", int(payload[0])<<8|int(payload[1]), payload[2:]), nil
		}
	}
}

// readFrame reads a frame as a server sends it: unmasked.
func readFrame(r *bufio.Reader) (opcode byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	length := int(head[1])
	if extra := map[int]int{126: 2, 127: 8}[length]; extra > 0 {
		var b [8]byte
		if _, err := io.ReadFull(r, b[:extra]); err != nil {
			return 0, nil, err
		}
		length = 0
		for _, c := range b[:extra] {
			length = length<<8 | int(c)
		}
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(r, payload)
	return head[0] & 15, payload, err
}

// flood sends 100 MB of positions without holding them.
func (tg *target) flood(t *testing.T, announced bool) {
	conn, err := net.Dial("tcp", tg.http)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	const size = 100 << 20
	piece := bytes.Repeat([]byte(`{"id":"flood","lon":1,"lat":2}`+"\n\n"), 1<<15) // 1 MiB
	head := "POST /v1/positions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
	if announced {
		head = fmt.Sprintf("POST /v1/positions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", size)
	}
	var sending sync.WaitGroup
	sending.Go(func() { // until all is sent, or the server has closed
		_, err := io.WriteString(conn, head)
		for range size / len(piece) {
			if err == nil && !announced {
				_, err = fmt.Fprintf(conn, "%x\r\n", len(piece))
			}
			if err == nil {
				_, err = conn.Write(piece)
			}
			if err == nil && !announced {
				_, err = io.WriteString(conn, "\r\n")
			}
		}
	})
	defer sending.Wait()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !resp.Close || reason(body) != "body: larger than 67108864 bytes; send it in parts" {
		t.Errorf("%s, close %v: %s", resp.Status, resp.Close, body)
	}
	must(t, conn.Close()) // the sender would wait for its own timeout
}
