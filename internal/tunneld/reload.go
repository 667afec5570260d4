package tunneld

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	"paddock/wire"
)

// watchEvery is how often it is looked whether the file has changed.
const watchEvery = time.Second

// watch reads the settings again when their file has changed, or on a signal.
func (r *Role) watch(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	seen := stamp(r.options.File)
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-r.options.Hangups:
			asked = true
		case <-ticker.C:
		}
		if now := stamp(r.options.File); asked || now != seen {
			seen = now
			r.reload()
		}
		if asked && r.options.Reloaded != nil {
			r.options.Reloaded()
		}
	}
}

// stamp identifies one state of a file.
func stamp(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime(), info.Size(), info.Mode())
}

// reload applies new settings, or keeps the old ones if they have a fault. Connected clients that
// the new ones would not admit are disconnected; new addresses need a restart.
func (r *Role) reload() {
	if r.options.Reload == nil {
		return
	}
	settings, err := r.options.Reload()
	if err == nil {
		err = r.readCertificate(&settings.Serve)
	}
	if err != nil {
		r.log.Error("the settings stay as they are", "error", err)
		return
	}
	if !reflect.DeepEqual(settings.Serve, r.options.Settings.Serve) {
		r.log.Warn("the section serve has changed: that takes a restart")
	}
	r.roster.Replace(settings.Clients)
	gone := 0
	for c := range r.conns() {
		if Identify(c) != "" && !r.roster.Holds(c) {
			c.Abort(wire.PermissionDenied)
			gone++
		}
	}
	r.log.Info("settings read again", "clients", len(settings.Clients), "sent_away", gone)
}
