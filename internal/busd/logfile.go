package busd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// logFile is a file of log lines that rotates itself when it has grown, and can be reopened after
// it was moved. Its user keeps calls apart.
type logFile struct {
	log  Log
	f    *os.File
	size int64
}

func openLogFile(log Log) (*logFile, error) {
	l := &logFile{log: log}
	return l, l.open()
}

// open opens the file in place of the present one, if any.
func (l *logFile) open() error {
	f, err := os.OpenFile(l.log.File, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.size = f, info.Size()
	return nil
}

// Write appends a line.
func (l *logFile) Write(line []byte) (int, error) {
	n, err := l.f.Write(line)
	if l.size += int64(n); l.log.MaxBytes > 0 && l.size > l.log.MaxBytes && err == nil {
		err = l.rotate()
	}
	return n, err
}

// asideForm is the time in the name of a file that was put aside: its names sort by
// age.
const asideForm = "2006.01.02.15.04.05.000000000"

// rotate puts the file aside, unless it has gone, and removes the oldest ones.
func (l *logFile) rotate() error {
	if err := os.Rename(l.log.File, l.log.File+"."+l.stamp()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	if l.log.MaxFiles == 0 {
		return nil
	}
	aside := l.aside()
	for len(aside) > max(l.log.MaxFiles-1, 0) {
		if err := os.Remove(aside[0]); err != nil {
			return err
		}
		aside = aside[1:]
	}
	return nil
}

// stamp returns the time for the name of the next file that is put aside: the present one, or the
// next one behind the last such name if the clock was set back.
func (l *logFile) stamp() string {
	now := time.Now().Format(asideForm)
	aside := l.aside()
	if len(aside) == 0 {
		return now
	}
	name := aside[len(aside)-1]
	last := name[len(name)-len(asideForm):]
	if at, err := time.Parse(asideForm, last); err == nil && now <= last {
		return at.Add(time.Nanosecond).Format(asideForm)
	}
	return now
}

// aside lists the files that were put aside, the oldest first.
func (l *logFile) aside() (found []string) {
	dir, base := filepath.Dir(l.log.File), filepath.Base(l.log.File)
	entries, _ := os.ReadDir(dir) // by name; none on an error
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), base+".")
		if _, err := time.Parse(asideForm, stamp); ok && err == nil {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found
}

func (l *logFile) Close() error { return l.f.Close() }
