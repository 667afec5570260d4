package doors

import (
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

	"paddock/fence"
	"paddock/internal/platform/position"
	"paddock/lab/process"
)

const (
	// PeerName is the row of Tile38.
	PeerName = "tile38"
	// peerProgram is its program.
	peerProgram = "tile38-server"
	// peerKey is the collection of its points.
	peerKey = "fleet"
)

// Peer is Tile38. Its points get the fences of a directory, so that it finds enter and exit as the
// platform does.
type Peer struct {
	*process.Child
	Endpoint string // URL that each fence is a hook to; "" = each is a channel without subscribers

	sets string
	addr string
}

// FindPeer returns the program, or the reason why there is none.
func FindPeer(program string) (path, missing string) {
	if program != "" {
		return program, ""
	}
	path, err := exec.LookPath(peerProgram)
	if err != nil {
		return "", "not here: put " + peerProgram + " in PATH, or give --peer FILE"
	}
	return path, ""
}

// StartPeer starts Tile38 with an append-only file below root, or none, and gives it the fences of
// a directory.
func StartPeer(ctx context.Context, program, root, sets, endpoint string, kept bool) (*Peer, error) {
	p := &Peer{sets: sets, Endpoint: endpoint}
	var err error
	if p.addr, err = process.FreeAddress(); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		return nil, err
	}
	file := "no"
	if kept {
		file = "yes"
	}
	cmd := exec.Command(program, "-h", "127.0.0.1", "-p", port, "-d", filepath.Join(root, PeerName), "-appendonly", file)
	cmd.Env = process.Environment()
	if p.Child, err = process.Spawn(PeerName, cmd, process.Options{}, nil, nil); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, p.End(ctx))
	}
	return p, nil
}

// prepare waits for the peer, and gives it the fences.
func (p *Peer) prepare(ctx context.Context) error {
	var c *redis
	if err := p.Await(ctx, StartWithin, func(ctx context.Context) (err error) {
		c, err = p.dial(context.WithoutCancel(ctx))
		return err
	}); err != nil {
		return err
	}
	defer c.Close()
	return p.setFences(c)
}

// setFences makes a hook or a channel of each fence, as the service would need for its events.
func (p *Peer) setFences(c *redis) error {
	catalog, _, err := fence.LoadDir(os.DirFS(p.sets), fence.Options{Kind: fence.KindBrute})
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
			words := []string{"SETCHAN", set.Name() + "/" + f.Key}
			if p.Endpoint != "" {
				words = []string{"SETHOOK", set.Name() + "/" + f.Key, p.Endpoint}
			}
			c.command(append(words, "WITHIN", peerKey, "FENCE", "DETECT", "enter,exit", "OBJECT", string(feature.Geometry))...)
			if _, err := c.post(context.Background()); err != nil {
				return err
			}
			if err := c.answer(); err != nil {
				return fmt.Errorf("%s: %s: %w", PeerName, words[0], err)
			}
		}
	}
	return nil
}

// End stops the peer.
func (p *Peer) End(ctx context.Context) error {
	if err := p.Stop(stopWithin); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Tile38 sends positions as SET, in pipelines of batches, and reads all answers.
func (s *Sender) Tile38(ctx context.Context, p *Peer, fleets []*Fleet, l Load) (Window, error) {
	return s.feed(ctx, func(ctx context.Context, _ int) (connection, error) { return p.dial(ctx) }, s.Window, fleets, l)
}

// redis is a connection to a server that speaks the protocol of Redis.
type redis struct {
	*plainConn
	out []byte
}

func (p *Peer) dial(ctx context.Context) (*redis, error) {
	c, err := dialPlain(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	return &redis{plainConn: c}, nil
}

// command adds a command to the bytes that post sends.
func (c *redis) command(words ...string) {
	c.out = append(strconv.AppendInt(append(c.out, '*'), int64(len(words)), 10), "\r\n"...)
	for _, word := range words {
		c.out = append(strconv.AppendInt(append(c.out, '$'), int64(len(word)), 10), "\r\n"...)
		c.out = append(append(c.out, word...), "\r\n"...)
	}
}

func (c *redis) encode(positions []position.Position) error {
	for i := range positions {
		p := &positions[i]
		c.command("SET", peerKey, p.ID, "POINT", strconv.FormatFloat(p.Lat, 'f', 7, 64), strconv.FormatFloat(p.Lon, 'f', 7, 64))
	}
	return nil
}

func (c *redis) post(context.Context) (uint64, error) {
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return 0, err
}

func (c *redis) await(_ context.Context, b batch) error {
	for range b.count {
		if err := c.answer(); err != nil {
			return err
		}
	}
	return nil
}

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
