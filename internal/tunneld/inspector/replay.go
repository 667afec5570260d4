package inspector

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxReplays is how many are under way at once; replayPatience bounds each.
const (
	maxReplays     = 4
	replayPatience = 30 * time.Second
)

// Errors of Replay.
var (
	errNone    = errors.New("this exchange is not kept any more")
	errPartial = errors.New("the request is not kept whole, and cannot be sent again")
	errUpgrade = errors.New("a connection that was upgraded, such as a WebSocket, cannot be sent again")
	errBusy    = errors.New("too many requests are being sent again")
)

// Replay sends the request of an exchange to its service once more, over a connection of its own.
// The result is kept as a new exchange.
func (i *Inspector) Replay(ctx context.Context, id uint64) error {
	select {
	case i.replays <- struct{}{}:
		defer func() { <-i.replays }()
	default:
		return errBusy
	}
	i.mu.Lock()
	x := i.find(id)
	if x == nil {
		i.mu.Unlock()
		return errNone
	}
	whole, upgrades := x.replayable(), x.upgrades
	request, method, d, tunnel := again(&x.request), x.Method, i.dials[x.Tunnel], x.Tunnel
	i.mu.Unlock()
	switch {
	case upgrades:
		return errUpgrade
	case !whole:
		return errPartial
	}
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	inner, err := d(ctx)
	if err != nil {
		return err
	}
	c := i.listenIn(inner, tunnel, id)
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := c.Write(request); err != nil {
		return err
	}
	return drain(c, method)
}

// drain reads an answer to its end.
func drain(c io.Reader, method string) error {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return fmt.Errorf("the service has not answered: %w", err)
		}
		_, err = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode >= 200 || r.StatusCode == http.StatusSwitchingProtocols {
			return err
		}
	}
}

// framing lists the fields about the framing of a request, which is chosen anew here
var framing = []string{"connection", "content-length", "transfer-encoding", "expect", "keep-alive", "te", "trailer"}

// again returns the request as it is sent again: with a Content-Length in place of its framing.
func again(m *message) []byte {
	var out []byte
	for n, line := range bytes.SplitAfter(m.head, []byte("\n")) {
		name, _, _ := strings.Cut(string(line), ":")
		switch {
		case len(bytes.TrimRight(line, "\r\n")) == 0:
		case n > 0 && slices.Contains(framing, strings.ToLower(name)):
		default:
			out = append(out, line...)
		}
	}
	return fmt.Appendf(out, "Connection: close\r\nContent-Length: %d\r\n\r\n%s", len(m.body), m.body)
}
