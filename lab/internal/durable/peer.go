package durable

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock/fence"
	"paddock/internal/platform/position"
	"paddock/internal/process/lifecycle"
	"paddock/lab/process"
)

const (
	// peerName is the row of Tile38.
	peerName = "tile38"
	// peerProgram is its program.
	peerProgram = "tile38-server"
	// peerKey is the collection of its points.
	peerKey = "fleet"
)

// peer is Tile38 with an append-only file. Its points get the same fences as channels, so that it
// finds enter and exit as the platform does; nothing subscribes to them.
type peer struct {
	*process.Child
	b      *bench
	addr   string
	fleets []*fleet
	rounds []window
}

// startPeer starts Tile38 if it is there. Without it the report has the reason.
func (b *bench) startPeer(ctx context.Context) (*peer, error) {
	program := b.Peer
	if program == "" {
		var err error
		if program, err = exec.LookPath(peerProgram); err != nil {
			b.report.Missing = "not here: put " + peerProgram + " in PATH, or give --peer FILE"
			return nil, nil
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &peer{b: b, addr: net.JoinHostPort("127.0.0.1", port), fleets: b.places.fleets(b.Objects, b.Conns)}
	cmd := exec.Command(program, "-h", "127.0.0.1", "-p", port, "-d", filepath.Join(b.root, peerName), "-appendonly", "yes")
	cmd.Env = process.Environment()
	if p.Child, err = process.Spawn(peerName, cmd, process.Options{}, nil, nil); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	return p, nil
}

// freePort returns a port without a listener, for a program that takes no port 0.
func freePort() (string, error) {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// prepare waits for the peer, and gives it the fences and all objects.
func (p *peer) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	c, err := p.dial(ctx)
	for err != nil {
		select {
		case <-p.Ended():
			return p.Failure()
		default:
		}
		if err := lifecycle.Sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%s does not listen: %w", peerName, err)
		}
		c, err = p.dial(ctx)
	}
	defer c.Close()
	if err := p.setFences(c); err != nil {
		return err
	}
	p.b.say("%s: %d objects", peerName, p.b.Objects)
	_, err = p.feed(ctx, load{positions: p.b.Objects})
	return err
}

// setFences makes a channel of each fence, as the service would need for its events.
func (p *peer) setFences(c *redis) error {
	catalog, _, err := fence.LoadDir(os.DirFS(p.b.Sets), fence.Options{Kind: fence.KindBrute})
	if err != nil {
		return err
	}
	for set := range catalog.All() {
		for _, f := range set.Snapshot().All() {
			text, err := f.MarshalJSON()
			if err != nil {
				return err
			}
			var feature struct{ Geometry json.RawMessage }
			if err := json.Unmarshal(text, &feature); err != nil {
				return err
			}
			c.command("SETCHAN", set.Name()+"/"+f.Key, "WITHIN", peerKey, "FENCE", "DETECT", "enter,exit", "OBJECT", string(feature.Geometry))
			if err := c.flush(); err != nil {
				return err
			}
			if err := c.answer(); err != nil {
				return fmt.Errorf("%s: SETCHAN: %w", peerName, err)
			}
		}
	}
	return nil
}

// measure makes the load of a round.
func (p *peer) measure(ctx context.Context, _ int) error {
	w, err := p.feed(ctx, load{length: p.b.Duration})
	if err != nil {
		return fmt.Errorf("%s: %w", peerName, err)
	}
	p.rounds = append(p.rounds, w)
	return nil
}

func (p *peer) note() { p.b.report.addFeed(newFeed(peerName, p.rounds)) }

func (p *peer) stop(ctx context.Context) error {
	if err := p.Stop(stopWithin); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// feed sends positions as SET in pipelines of as many commands as a platform has positions under
// way on a connection, and reads all answers.
func (p *peer) feed(ctx context.Context, l load) (w window, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.length+startWithin)
	defer cancel()
	begun := time.Now()
	var mu sync.Mutex
	var running sync.WaitGroup
	var errs []error
	for _, f := range p.fleets {
		running.Go(func() {
			part, err := p.pipeline(ctx, f, l, begun)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			w.positions += part.positions
			w.latencies = append(w.latencies, part.latencies...)
		})
	}
	running.Wait()
	w.elapsed = time.Since(begun)
	return w, errors.Join(errs...)
}

// pipeline is the load of one connection: the batches of a window are written, and then each is
// written when the oldest one is answered.
func (p *peer) pipeline(ctx context.Context, f *fleet, l load, begun time.Time) (w window, err error) {
	c, err := p.dial(ctx)
	if err != nil {
		return w, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	var under []batch
	left := len(f.vehicles)
	var at position.Position
	for {
		count := p.b.Batch
		if l.positions > 0 {
			count = min(count, left)
		} else if time.Since(begun) >= l.length {
			count = 0
		}
		if count > 0 && len(under) < p.b.Window {
			under = append(under, batch{count: count, begun: time.Now()})
			now := millis()
			for range count {
				f.step(now, &at)
				c.command("SET", peerKey, at.ID, "POINT", strconv.FormatFloat(at.Lat, 'f', 7, 64), strconv.FormatFloat(at.Lon, 'f', 7, 64))
			}
			if err := c.flush(); err != nil {
				return w, err
			}
			left -= count
			continue
		}
		if len(under) == 0 {
			return w, nil
		}
		for range under[0].count {
			if err := c.answer(); err != nil {
				return w, err
			}
		}
		w.positions += int64(under[0].count)
		w.latencies = append(w.latencies, time.Since(under[0].begun))
		under = under[1:]
	}
}

// redis is a connection to a server that speaks the protocol of Redis.
type redis struct {
	net.Conn
	in  *bufio.Reader
	out *bufio.Writer
}

func (p *peer) dial(ctx context.Context) (*redis, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	return &redis{nc, bufio.NewReaderSize(nc, 64<<10), bufio.NewWriterSize(nc, 256<<10)}, nil
}

func (c *redis) command(words ...string) {
	fmt.Fprintf(c.out, "*%d\r\n", len(words)) // an error stays, and flush returns it
	for _, word := range words {
		_, _ = c.out.WriteString("$" + strconv.Itoa(len(word)) + "\r\n" + word + "\r\n")
	}
}

func (c *redis) flush() error { return c.out.Flush() }

// answer reads one short answer: a status, a number, or an error.
func (c *redis) answer() error {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return err
	}
	switch line = strings.TrimSpace(line); line[:min(1, len(line))] {
	case "+", ":":
		return nil
	}
	return fmt.Errorf("answer %.200q", line)
}
