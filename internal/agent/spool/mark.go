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
	tag     uint32 // of the id
	syncs   func() error
	close   func() error
	number  uint64 // guarded by Spool.mu
	shown   atomic.Uint64
	written uint64 // the number in the file
	slot    int64
	dirty   bool
}

// openMark opens the file for an id, or creates it.
func openMark(path string, id [16]byte) (*mark, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	m := &mark{file: f, syncs: f.Sync, close: f.Close, tag: tagOf(id)}
	var b [2 * markSlot]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return m, err
	}
	if n < len(b) { // the zeros that follow are not a number
		_, err := f.WriteAt(make([]byte, len(b)-n), int64(n))
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			return m, err
		}
		m.dirty = true
	}
	whole := b[:n-n%markSlot]
	if !m.find(whole, m.tag) {
		m.find(whole, 0)
	}
	m.shown.Store(m.number)
	return m, nil
}

// tagOf returns the part of an id that its slots have.
func tagOf(id [16]byte) uint32 { return binary.LittleEndian.Uint32(id[:]) }

// find takes the highest number of the slots with a tag, if there is one.
func (m *mark) find(slots []byte, tag uint32) (found bool) {
	for slot := range int64(len(slots) / markSlot) {
		b := slots[slot*markSlot:]
		number := binary.LittleEndian.Uint64(b)
		whole := crc32.Checksum(b[:8], castagnoli) == binary.LittleEndian.Uint32(b[8:])
		if whole && tag == binary.LittleEndian.Uint32(b[12:]) && number >= m.number {
			m.number, m.written, m.slot, found = number, number, 1-slot, true
		}
	}
	return found
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
	if err := m.put(m.tag, m.number); err != nil {
		return err
	}
	m.written, m.slot, m.dirty = m.number, 1-m.slot, true
	return nil
}

// put writes a slot, in place of the older one.
func (m *mark) put(tag uint32, number uint64) error {
	var b [markSlot]byte
	binary.LittleEndian.PutUint64(b[:], number)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[:8], castagnoli))
	binary.LittleEndian.PutUint32(b[12:], tag)
	_, err := m.file.WriteAt(b[:], m.slot*markSlot)
	return err
}

// restart begins at a number for another id. That counts from the moment in which commit makes the
// id the one of the directory; until then the other slot has the number of the present id.
func (m *mark) restart(id [16]byte, number uint64, commit func() error) error {
	err := m.put(tagOf(id), number)
	if err == nil {
		err = m.syncs()
	}
	if err == nil {
		err = commit()
	}
	if err != nil {
		return err
	}
	m.tag, m.number, m.written, m.slot = tagOf(id), number, number, 1-m.slot
	m.shown.Store(number)
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
