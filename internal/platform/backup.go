package platform

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// A backup is a tar file: the files of the journal below journal/, those of secrets below secrets/
// if they were asked for, and the empty file complete as the last one, without which a restore
// refuses it.
const (
	unfinishedPrefix = "unfinished-" // of temporary directories in the data directory; digits follow
	complete         = "complete"
)

// ErrNoBackup is wrapped where a file is not a whole backup.
var ErrNoBackup = errors.New("not a whole backup")

// Backup writes a backup of the present state, with secrets or without. Positions are accepted
// meanwhile; the files are links, so it needs little space.
func (p *Platform) Backup(ctx context.Context, w io.Writer, secrets bool) (err error) {
	dir, err := os.MkdirTemp(p.cfg.Data.Dir, unfinishedPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files := JournalDir(dir)
	if err := p.journal.Checkpoint(files); err != nil {
		return err
	}
	kept := ""
	if secrets {
		kept = secretsDir(p.cfg.Data.Dir)
	}
	return writeBackup(ctx, w, files, kept)
}

// writeBackup writes a backup of the files of a journal, and of secrets in a directory; "": none.
// Secrets that are newer than the journal are right: see [nodeJournal].
func writeBackup(ctx context.Context, w io.Writer, files, secrets string) error {
	entries, err := os.ReadDir(files)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, e := range entries {
		if err := errors.Join(ctx.Err(), addFile(out, filepath.Join(files, e.Name()), "journal/"+e.Name())); err != nil {
			return err
		}
	}
	if secrets != "" {
		err := addFile(out, filepath.Join(secrets, hooks.SecretsFile), "secrets/"+hooks.SecretsFile)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return errors.Join(out.WriteHeader(&tar.Header{Name: complete, Mode: 0o600}), out.Close())
}

func addFile(out *tar.Writer, from, name string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(f, info.Size()))
	return err
}

// tidy removes or completes what an earlier process has left. The error is [journal.ErrLocked] if
// another process has the journal, as these files may be its own.
func tidy(dir string) (err error) {
	release, err := journal.Hold(JournalDir(dir))
	if err == nil {
		defer func() { err = errors.Join(err, release()) }()
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return errors.Join(removeUnfinished(dir), finishExchange(dir))
}

// removeUnfinished removes what backups and restores of an earlier process have left, and nothing
// that one works on. Other files, such as backups that the operator keeps there, stay.
func removeUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), unfinishedPrefix)
		if !ours || !e.IsDir() || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		release, held := journal.Hold(path)
		if errors.Is(held, journal.ErrLocked) {
			continue
		}
		err = errors.Join(err, os.RemoveAll(path))
		if held == nil {
			err = errors.Join(err, release())
		}
	}
	return err
}

// workDir makes a temporary directory within another one that may be a data directory: no start
// there removes it before end does.
func workDir(dir string) (work string, end func() error, err error) {
	if work, err = os.MkdirTemp(dir, unfinishedPrefix); err != nil {
		return "", nil, err
	}
	release, err := journal.Hold(work)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(work))
	}
	return work, func() error { return errors.Join(release(), os.RemoveAll(work)) }, nil
}

// absent refuses what is there already.
func absent(path string) error {
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s is there already: move it away, or use another directory", path)
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Restore makes a data directory of a backup, for a platform on its own, also of the backup of a
// node of a cluster. Cursors up to the backup stay valid, later ones stand for its end, and new
// events have cursors and ids that no event after the backup had. The directory must have no
// journal, and for a backup with secrets none of these. The error wraps ErrNoBackup if r is not a
// whole backup; nothing is left then.
func Restore(r io.Reader, dir string) (err error) {
	if err := absent(JournalDir(dir)); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unfinished, end, err := workDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := unpack(r, unfinished, func(*journal.Disk) error { return nil }); err != nil {
		return err
	}
	if err := change(unfinished, beginAnew); err != nil {
		return err
	}
	return moveIn(unfinished, secretsDir(unfinished), dir)
}

// moveIn makes the journal of a work directory that of a data directory, which has none, durably,
// and so the secrets of another directory.
func moveIn(work, secrets, dir string) error {
	if err := absent(JournalDir(dir)); err != nil { // a platform has begun there meanwhile
		return err
	}
	text, err := hooks.FileSecrets(secrets).Load()
	if err == nil && text != nil {
		if err = absent(filepath.Join(secretsDir(dir), hooks.SecretsFile)); err == nil {
			err = hooks.FileSecrets(secretsDir(dir)).Save(text)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(JournalDir(work), JournalDir(dir)), deliver.SyncDir(dir))
}

// beginAnew makes a restored journal that of a platform on its own, whose clients may know events
// that the journal has not.
func beginAnew(j *journal.Disk) error {
	if id, err := attached(j); err != nil {
		return err
	} else if id != "" {
		if err := detach(j); err != nil {
			return err
		}
	}
	committed := j.Committed()
	_, newest := j.Bounds()
	values, err := events.Lose(j, committed.Next()-1, newest+1)
	if err != nil {
		return err
	}
	return j.Put(values...)
}

// unpack makes a data directory of a whole backup, durably, and calls f with its journal.
func unpack(r io.Reader, dir string, f func(*journal.Disk) error) error {
	files := JournalDir(dir)
	if err := errors.Join(os.Mkdir(files, 0o700), os.Mkdir(secretsDir(dir), 0o700)); err != nil {
		return err
	}
	if err := extract(r, dir); err != nil {
		return err
	}
	if err := deliver.SyncDir(files); err != nil {
		return err
	}
	j, err := journal.Open(journal.Options{Dir: files, ReadOnly: true}) // is it one?
	if errors.Is(err, journal.ErrNewer) {
		return err
	}
	if err == nil {
		err = errors.Join(f(j), j.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBackup, err)
	}
	return nil
}

// extract writes the files of a backup into the directories of their names, durably.
func extract(r io.Reader, dir string) error {
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNoBackup, err)
		}
		if h.Name == complete {
			return nil
		}
		below, name, _ := strings.Cut(h.Name, "/")
		known := below == "journal" || below == "secrets" && name == hooks.SecretsFile
		if !known || name != filepath.Base(name) || !filepath.IsLocal(name) || h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%w: it has %.64q", ErrNoBackup, h.Name)
		}
		if err := writeFile(in, filepath.Join(dir, below, name)); errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it ends in the middle of %s", ErrNoBackup, h.Name)
		} else if err != nil {
			return err
		}
	}
}

func writeFile(r io.Reader, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
