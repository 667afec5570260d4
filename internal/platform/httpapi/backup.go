package httpapi

import (
	"net/http"
	"time"
)

// backupWriter writes a backup to a client, which has a limited time for each part of it.
type backupWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	begun   bool
}

func (b *backupWriter) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.Header().Set("Content-Type", "application/x-tar")
		b.Header().Set("Cache-Control", "no-store")
	}
	if err := b.rc.SetWriteDeadline(time.Now().Add(b.timeout)); err != nil {
		return 0, err
	}
	return b.ResponseWriter.Write(p)
}

// postBackup answers with a backup as a tar file. An answer that ends without its last chunk is not
// whole.
func (a *API) postBackup(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "secrets")
	if err != nil {
		return err
	}
	if s := q.Get("secrets"); s != "" && s != "0" && s != "1" {
		return fail(http.StatusBadRequest, "query: secrets %.64q: use 0 or 1", s)
	}
	if a.cfg.Backup == nil {
		return fail(http.StatusNotFound, "there is nothing to back up: this platform keeps nothing (--data off)")
	}
	if !a.backup.TryLock() {
		return fail(http.StatusConflict, "another backup is being written: wait for its end")
	}
	defer a.backup.Unlock()
	b := &backupWriter{ResponseWriter: w, rc: http.NewResponseController(w), timeout: a.cfg.WriteTimeout}
	err = a.cfg.Backup(r.Context(), b, q.Get("secrets") == "1")
	if err != nil && b.begun {
		panic(http.ErrAbortHandler) // the client must not take it for a whole one
	}
	return err
}
