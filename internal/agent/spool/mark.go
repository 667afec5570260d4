package spool

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync/atomic"
	"syscall"
)

const markSlot = 16

// mark is the file with the highest acknowledged number. Its two slots are written in turn, so that
// one is whole whenever the process dies. Their space is allocated when the file is opened, so a
// full disk does not prevent later writes.
type mark struct {
	file    io.WriterAt
	syncs   func() error
	close   func() error
	number  uint64 // guarded by Spool.mu
	shown   atomic.Uint64
	written uint64 // the number in the file
	slot    int64
	dirty   bool
}

// openMark opens the file, or creates it.
func openMark(path string) (*mark, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	m := &mark{file: f, syncs: f.Sync, close: f.Close}
	for slot := range int64(2) {
		var b [markSlot]byte
		n, err := f.ReadAt(b[:], slot*markSlot)
		if err != nil && !errors.Is(err, io.EOF) {
			return m, err
		}
		if n < markSlot { // the zeros that follow are not a number
			_, err := f.WriteAt(make([]byte, markSlot-n), slot*markSlot+int64(n))
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				return m, err
			}
			m.dirty = true
		}
		number := binary.LittleEndian.Uint64(b[:])
		if n == markSlot && number >= m.number && crc32.Checksum(b[:8], castagnoli) == binary.LittleEndian.Uint32(b[8:]) {
			m.number, m.written, m.slot = number, number, 1-slot
		}
	}
	m.shown.Store(m.number)
	return m, nil
}

// known returns the number without a lock.
func (m *mark) known() uint64 { return m.shown.Load() }

// set raises the number. After an error the file does not have it yet; write retries.
func (m *mark) set(number uint64) error {
	if number > m.number {
		m.number = number
		m.shown.Store(number)
	}
	return m.write()
}

// write writes the number to the file. It reaches the disk with the next sync, or when the system
// flushes it.
func (m *mark) write() error {
	if m.written == m.number {
		return nil
	}
	var b [markSlot]byte
	binary.LittleEndian.PutUint64(b[:], m.number)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[:8], castagnoli))
	if _, err := m.file.WriteAt(b[:], m.slot*markSlot); err != nil {
		return err
	}
	m.written, m.slot, m.dirty = m.number, 1-m.slot, true
	return nil
}

// sync writes the number to the disk.
func (m *mark) sync() error {
	if err := m.write(); err != nil || !m.dirty {
		return err
	}
	err := m.syncs()
	m.dirty = err != nil
	return err
}
