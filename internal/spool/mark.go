package spool

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync/atomic"
)

const markSlot = 16

// mark is the file that says how far the receiver has come. The slots are written in
// turn, so that one of them is whole whenever the process dies.
type mark struct {
	file   *os.File
	number uint64 // guarded by Spool.mu
	shown  atomic.Uint64
	slot   int64
	dirty  bool
}

// openMark reads the file, or makes it.
func openMark(path string) (*mark, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	m := &mark{file: f}
	for slot := range int64(2) {
		var b [markSlot]byte
		_, err := f.ReadAt(b[:], slot*markSlot)
		if err != nil && !errors.Is(err, io.EOF) {
			return m, err
		}
		n := binary.LittleEndian.Uint64(b[:])
		if err == nil && n >= m.number && crc32.Checksum(b[:8], castagnoli) == binary.LittleEndian.Uint32(b[8:]) {
			m.number, m.slot = n, 1-slot
		}
	}
	m.shown.Store(m.number)
	return m, nil
}

// known is the number, without a lock.
func (m *mark) known() uint64 { return m.shown.Load() }

// set raises the number. It reaches the disk with the next sync, or by itself.
func (m *mark) set(number uint64) error {
	if number <= m.number {
		return nil
	}
	var b [markSlot]byte
	binary.LittleEndian.PutUint64(b[:], number)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[:8], castagnoli))
	if _, err := m.file.WriteAt(b[:], m.slot*markSlot); err != nil {
		return err
	}
	m.number, m.slot, m.dirty = number, 1-m.slot, true
	m.shown.Store(number)
	return nil
}

func (m *mark) sync() error {
	if !m.dirty {
		return nil
	}
	err := m.file.Sync()
	m.dirty = err != nil
	return err
}
