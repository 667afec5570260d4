package durable

import (
	"errors"
	"os"
	"time"
)

const (
	blockSize = 4 << 10
	// diskFile is the size of the file that is written over and over.
	diskFile = 16 << 20
)

// disk measures a write of 4 KiB that is durable, on a file whose blocks are there already.
type disk struct {
	file  *os.File
	block []byte
	next  int64 // place of the next write
	times []time.Duration
}

func openDisk(name string) (*disk, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	d := &disk{file: f, block: make([]byte, blockSize)}
	if _, err = f.Write(make([]byte, diskFile)); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for i := range d.block {
		d.block[i] = byte(i * 7)
	}
	return d, nil
}

// probe writes some times.
func (d *disk) probe(writes int) error {
	for range writes {
		begun := time.Now()
		_, err := d.file.WriteAt(d.block, d.next)
		if err == nil {
			err = dataSync(d.file)
		}
		if err != nil {
			return err
		}
		d.times = append(d.times, time.Since(begun))
		d.next = (d.next + blockSize) % diskFile
	}
	return nil
}

func (d *disk) close() error { return d.file.Close() }
