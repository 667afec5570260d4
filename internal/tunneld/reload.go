package tunneld

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"time"

	"paddock/wire"
)

// watchEvery is how often it is looked whether the file has changed.
const watchEvery = time.Second

// watch reads the settings again when their file has changed, or on a signal, and disconnects the
// clients whose listings expire.
func (r *Role) watch(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for looked := time.Now(); ; {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-r.options.Hangups:
			asked = true
		case <-ticker.C:
		}
		if now := stamp(r.options.File); asked || now != r.seen {
			r.seen = now
			r.reload(asked)
		}
		now := time.Now()
		if slices.ContainsFunc(r.taken.Clients, func(p Peer) bool { return p.expired() && looked.Before(p.Expires) }) {
			r.log.Info("the listings of clients have expired", "sent_away", r.sendAway())
		}
		looked = now
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

// told is an error of Reload that others log for each signal.
type told struct{ error }

func (t told) Unwrap() error { return t.error }

// Told returns an error for ServerOptions.Reload that others log when a signal has asked for it.
// The server logs it only when it has found the changed file itself.
func Told(err error) error { return told{err} }

// reload applies new settings, or keeps the old ones if they have a fault. asked reports that a
// signal asks for it. Connected clients that the new list would not admit are disconnected. The
// files of the certificate are read again. Changes of the section serve need a restart.
func (r *Role) reload(asked bool) {
	if r.options.Reload == nil {
		return
	}
	settings, err := r.options.Reload()
	if now := r.options.Settings.Serve; err == nil && settings.Serve.Cert == now.Cert && settings.Serve.Key == now.Key {
		err = r.readCertificate(&now)
	}
	if _, elsewhere := errors.AsType[told](err); elsewhere && asked {
		return
	}
	if err != nil {
		r.log.Error("the settings stay as they are", "error", err)
		return
	}
	if !reflect.DeepEqual(settings.Serve, r.options.Settings.Serve) {
		r.log.Warn("the section serve has changed: that takes a restart")
	}
	r.taken = settings
	r.roster.Replace(settings.Clients)
	r.log.Info("settings read again", "clients", len(settings.Clients), "sent_away", r.sendAway())
}

// sendAway disconnects the clients that the present list would not admit, and returns the number of
// their connections.
func (r *Role) sendAway() (gone int) {
	for c := range r.conns() {
		if Identify(c) != "" && !r.roster.Holds(c) {
			c.Abort(wire.PermissionDenied)
			gone++
		}
	}
	return gone
}

// Latest returns the settings for a role that replaces this one, which has ended. They are those of
// the file, or the last good ones if the file has a fault. The section serve stays that of the
// start.
func (r *Role) Latest() *Settings {
	latest := *r.taken
	if r.options.Reload != nil {
		again, err := r.options.Reload()
		if err != nil {
			r.log.Error("the settings stay as they are", "error", err)
		} else {
			latest = *again
		}
	}
	latest.Serve = r.options.Settings.Serve
	return &latest
}
