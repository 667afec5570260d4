package durable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"paddock/internal/platform/position"
	"paddock/internal/process/lifecycle"
)

// recoverAll kills platforms of each size, and starts them again.
func (b *bench) recoverAll(ctx context.Context) error {
	for _, objects := range b.Recovery {
		b.say("kill -9 with %d objects", objects)
		r, err := b.recover(ctx, objects)
		if err != nil {
			return fmt.Errorf("recovery of %d objects: %w", objects, err)
		}
		b.report.Recovery = append(b.report.Recovery, *r)
	}
	return nil
}

// recover sends each object twice, kills the platform after the last acknowledgement, and measures
// the next start.
func (b *bench) recover(ctx context.Context, objects int) (r *Recovery, err error) {
	data := filepath.Join(b.root, fmt.Sprintf("recovery-%d", objects))
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	p, err := b.start(ctx, data)
	if err != nil {
		return nil, err
	}
	fleets := b.places.fleets(objects, b.Conns)
	for range 2 {
		if _, err := b.feed(ctx, p.wire, fleets, load{positions: objects}); err != nil {
			return nil, errors.Join(err, p.end(ctx))
		}
	}
	cursor, err := cursorOf(ctx, p.http)
	if err != nil {
		return nil, errors.Join(err, p.end(ctx))
	}
	if err := p.Kill(); err != nil {
		return nil, err
	}
	r = &Recovery{Objects: objects, Positions: 2 * objects}
	if _, r.Bytes, err = sizeOf(data); err != nil {
		return nil, err
	}
	last := fleets[0].vehicles[0]
	// The address is the same, so that requests may be made from the beginning.
	next, err := b.launch(data, p.http)
	if err != nil {
		return nil, err
	}
	err = next.watch(ctx, p.http, r, cursor, &last)
	return r, errors.Join(err, next.end(ctx))
}

// cursorOf returns the cursor behind the newest event.
func cursorOf(ctx context.Context, host string) (string, error) {
	status, header, _, err := get(ctx, host, "/v1/events?wait=0&last=1")
	if err != nil {
		return "", err
	}
	cursor := header.Get("Paddock-Cursor")
	if status != http.StatusOK || cursor == "" {
		return "", fmt.Errorf("GET /v1/events: answer %d without a cursor", status)
	}
	return cursor, nil
}

// watch asks a platform that starts at host until it answers a look-up, accepts the cursor, and
// knows an object.
func (p *platform) watch(ctx context.Context, host string, r *Recovery, cursor string, known *vehicle) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	var at position.Position
	(&fleet{vehicles: []vehicle{*known}}).step(0, &at)
	var err error
	look := fmt.Sprintf("/v1/search?lon=%.7f&lat=%.7f", at.Lon, at.Lat)
	if r.LookUp, err = p.until(ctx, host, look); err != nil {
		return err
	}
	if r.Cursor, err = p.until(ctx, host, "/v1/events?wait=0&limit=1&cursor="+cursor); err != nil {
		return err
	}
	if _, err = p.until(ctx, host, "/v1/objects/"+known.id); err != nil {
		return err
	}
	select {
	case line := <-p.restored:
		r.Restored, r.Restarted = newMillis(line.after), line.objects
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.Restarted != r.Objects {
		return fmt.Errorf("%d objects are restored", r.Restarted)
	}
	return nil
}

// until returns the milliseconds from the start of the process to the first answer with status 200.
func (p *platform) until(ctx context.Context, host, path string) (Millis, error) {
	for {
		status, _, text, err := get(ctx, host, path)
		if err == nil && status == http.StatusOK {
			return newMillis(time.Since(p.begun)), nil
		}
		if err == nil && status != http.StatusServiceUnavailable {
			return 0, fmt.Errorf("GET %s: answer %d: %.200s", path, status, text)
		}
		select {
		case <-p.Ended():
			return 0, p.Failure()
		default:
		}
		if err := lifecycle.Sleep(ctx, time.Millisecond); err != nil {
			return 0, fmt.Errorf("GET %s: %w", path, err)
		}
	}
}
