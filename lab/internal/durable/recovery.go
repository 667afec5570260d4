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
	"paddock/lab/internal/doors"
)

// recoverAll kills platforms of each size, and starts them again.
func (b *bench) recoverAll(ctx context.Context) error {
	for _, objects := range b.Recovery {
		b.Say("kill -9 with %d objects", objects)
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
	p, err := b.service.Start(ctx, data)
	if err != nil {
		return nil, err
	}
	fleets := b.places.Fleets(objects, b.Conns)
	for range 2 {
		if _, err := b.sender.Wire(ctx, p.Wire, fleets, doors.Load{Positions: objects}); err != nil {
			return nil, errors.Join(err, p.End(ctx))
		}
	}
	cursor, err := cursorOf(ctx, p.HTTP)
	if err != nil {
		return nil, errors.Join(err, p.End(ctx))
	}
	if err := p.Kill(); err != nil {
		return nil, err
	}
	r = &Recovery{Objects: objects, Positions: 2 * objects}
	if _, r.Bytes, err = doors.Files(data); err != nil {
		return nil, err
	}
	last := fleets[0].Vehicles[0]
	// The address is the same, so that requests may be made from the beginning.
	next, err := b.service.Launch(data, p.HTTP)
	if err != nil {
		return nil, err
	}
	err = watch(ctx, next, p.HTTP, r, cursor, &last)
	return r, errors.Join(err, next.End(ctx))
}

// cursorOf returns the cursor behind the newest event.
func cursorOf(ctx context.Context, host string) (string, error) {
	answer, _, err := doors.Get(ctx, host, "/v1/events?wait=0&last=1")
	if err != nil {
		return "", err
	}
	cursor := answer.Header.Get("Paddock-Cursor")
	if cursor == "" {
		return "", errors.New("GET /v1/events: an answer without a cursor")
	}
	return cursor, nil
}

// watch asks a platform that starts at host until it answers a look-up, accepts the cursor, and
// knows an object.
func watch(ctx context.Context, p *doors.Platform, host string, r *Recovery, cursor string, known *doors.Vehicle) error {
	ctx, cancel := context.WithTimeout(ctx, doors.StartWithin)
	defer cancel()
	var at position.Position
	(&doors.Fleet{Vehicles: []doors.Vehicle{*known}}).Step(0, &at)
	var err error
	look := fmt.Sprintf("/v1/search?lon=%.7f&lat=%.7f", at.Lon, at.Lat)
	if r.LookUp, err = until(ctx, p, host, look); err != nil {
		return err
	}
	if r.Cursor, err = until(ctx, p, host, "/v1/events?wait=0&limit=1&cursor="+cursor); err != nil {
		return err
	}
	if _, err = until(ctx, p, host, "/v1/objects/"+known.ID); err != nil {
		return err
	}
	select {
	case line := <-p.Restored:
		r.Restored, r.Restarted = newMillis(line.After), line.Objects
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.Restarted != r.Objects {
		return fmt.Errorf("%d objects are restored", r.Restarted)
	}
	return nil
}

// until returns the milliseconds from the start of the process to the first answer of success.
func until(ctx context.Context, p *doors.Platform, host, path string) (Millis, error) {
	for {
		answer, _, err := doors.Get(ctx, host, path)
		if err == nil {
			return newMillis(time.Since(p.Begun)), nil
		}
		if answer != nil && answer.StatusCode != http.StatusServiceUnavailable {
			return 0, err
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
