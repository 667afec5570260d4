package busd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// logFile is a file of log lines that rotates itself when it has grown, and can be reopened after
// it was moved.
type logFile struct {
	path     string
	maxBytes int64 // 0 = no limit
	maxFiles int   // with the present one; 0 = all

	mu   sync.Mutex // guards what follows
	f    *os.File
	size int64
}

func openLogFile(log Log) (*logFile, error) {
	l := &logFile{path: log.File, maxBytes: log.MaxBytes, maxFiles: log.MaxFiles}
	return l, l.open()
}

// open opens the file in place of the present one, if any. l.mu is held, or l is not shared yet.
func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
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
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.f.Write(line)
	if l.size += int64(n); l.maxBytes > 0 && l.size > l.maxBytes && err == nil {
		err = l.rotate()
	}
	return n, err
}

// asideForm is the time in the name of a file that was put aside: its names sort by
// age.
const asideForm = "2006.01.02.15.04.05.000000000"

// rotate puts the file aside, and removes the oldest ones. l.mu is held.
func (l *logFile) rotate() error {
	if err := os.Rename(l.path, l.path+"."+time.Now().Format(asideForm)); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	if l.maxFiles == 0 {
		return nil
	}
	aside := l.aside()
	for len(aside) > max(l.maxFiles-1, 0) {
		if err := os.Remove(aside[0]); err != nil {
			return err
		}
		aside = aside[1:]
	}
	return nil
}

// aside lists the files that were put aside, the oldest first.
func (l *logFile) aside() []string {
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(l.path), e.Name())
		if len(name) != len(l.path)+1+len(asideForm) || name[:len(l.path)] != l.path {
			continue
		}
		if _, err := time.Parse(asideForm, name[len(l.path)+1:]); err == nil {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// Reopen opens the path again.
func (l *logFile) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	return nil
}

// configure takes over what a reload changed.
func (l *logFile) configure(log Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxBytes, l.maxFiles = log.MaxBytes, log.MaxFiles
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
