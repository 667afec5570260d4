package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
)

// State is the state of a webhook's deliveries.
type State = deliver.Report

// operate does something with the follower of a webhook, and returns the webhook after it.
func (h *Hooks) operate(ctx context.Context, id, action string, do func(n *entry) error) (*Shown, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	n, err := h.find(id)
	if err != nil {
		return nil, err
	}
	switch err := do(n); {
	case errors.Is(err, deliver.ErrUnstored):
		return nil, refuse(http.StatusServiceUnavailable, "%v", err)
	case err != nil:
		return nil, err
	}
	h.changed(ctx, Change{Action: action, ID: id})
	return n.shown(), nil
}

// Retry ends the pause of a webhook.
func (h *Hooks) Retry(ctx context.Context, id string) (*Shown, error) {
	return h.operate(ctx, id, "retry", func(n *entry) error { n.f.Retry(); return nil })
}

// Disable stops a webhook until it is enabled.
func (h *Hooks) Disable(ctx context.Context, id string) (*Shown, error) {
	return h.operate(ctx, id, "disable", func(n *entry) error { return n.f.Disable("by request") })
}

// Enable lets a webhook go on that was disabled, by a request or by the platform.
func (h *Hooks) Enable(ctx context.Context, id string) (*Shown, error) {
	return h.operate(ctx, id, "enable", func(n *entry) error {
		switch {
		case n.lost:
			return refuse(http.StatusConflict, "the webhook %s has to be put again: %s", id, lostReason)
		case !n.e.Enabled && n.file != "":
			return refuse(http.StatusConflict, "the webhook %s has enabled: false in %s: change it there", id, n.file)
		case !n.e.Enabled:
			return refuse(http.StatusConflict, `the webhook %s has "enabled":false: change it by PATCH`, id)
		}
		return n.f.Enable()
	})
}

// Replay delivers events again, as a body says: those behind a cursor, or from a time on. Only
// events that were delivered, refused or missed before come again.
func (h *Hooks) Replay(ctx context.Context, id string, body []byte) (*Shown, error) {
	after, err := h.replayFrom(body)
	if err != nil {
		return nil, err
	}
	return h.operate(ctx, id, "replay", func(n *entry) error {
		_, err := n.f.Replay(after)
		if errors.Is(err, deliver.ErrNothing) {
			return refuse(http.StatusConflict, "%v", err)
		}
		return err
	})
}

// replayFrom returns the cursor that a body names.
func (h *Hooks) replayFrom(body []byte) (uint64, error) {
	var given struct {
		From   *time.Time
		Cursor *string
	}
	if err := json.Unmarshal(body, &given); err != nil || (given.From == nil) == (given.Cursor == nil) {
		return 0, refuse(http.StatusBadRequest, `body: want {"from":TIME} as "2026-03-12T11:16:40Z", or {"cursor":CURSOR}`)
	}
	if given.From != nil {
		return h.o.Log.Since(track.MillisOf(*given.From))
	}
	after, err := h.o.Log.ParseCursor(*given.Cursor)
	if errors.Is(err, events.ErrGone) {
		return 0, refuse(http.StatusGone, "cursor: %v", err)
	}
	if err != nil {
		return 0, refuse(http.StatusBadRequest, "cursor: %v", err)
	}
	return after, nil
}

// Letters is dead letters by their cursors.
type Letters struct {
	Letters []deliver.Letter `json:"dead_letters"`
	Next    string           `json:"next,omitempty"` // the cursor behind which the next list begins
}

// Letters lists at most limit dead letters behind a cursor, "" for the first ones.
func (h *Hooks) Letters(id, after string, limit int) (*Letters, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	n, err := h.find(id)
	if err != nil {
		return nil, err
	}
	var cursor uint64
	if after != "" {
		if cursor, err = h.o.Log.ParseCursor(after); err != nil {
			return nil, refuse(http.StatusBadRequest, "query: after: %v", err)
		}
	}
	found, more, err := n.f.Letters(cursor, limit)
	if err != nil {
		return nil, err
	}
	list := &Letters{Letters: append([]deliver.Letter{}, found...)}
	if more {
		list.Next = found[len(found)-1].Cursor
	}
	return list, nil
}

// LastAttempts returns the last attempts of a webhook since the start of the process, the newest
// first.
func (h *Hooks) LastAttempts(id string) ([]deliver.Attempt, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	n, err := h.find(id)
	if err != nil {
		return nil, err
	}
	return n.f.Attempts(), nil
}

// ReplayLetter delivers a dead letter again.
func (h *Hooks) ReplayLetter(ctx context.Context, id, cursor string) (*Shown, error) {
	return h.operate(ctx, id, "replay", func(n *entry) error {
		at, err := h.o.Log.ParseCursor(cursor)
		if err == nil {
			err = n.f.ReplayLetter(at)
		}
		if err != nil && !errors.Is(err, deliver.ErrUnstored) {
			return refuse(http.StatusNotFound, "the webhook %s has no dead letter %.64q", id, cursor)
		}
		return err
	})
}
