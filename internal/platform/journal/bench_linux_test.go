package journal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkAppend measures one durable record after the other, beside the floor: a write into a
// preallocated file and one fdatasync.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 4 << 10, 48 << 10, 240 << 10} {
		record := make([]byte, size)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range record {
			record[i] = byte(r.Uint32())
		}
		b.Run(fmt.Sprintf("%d B/journal", size), func(b *testing.B) {
			d := open(b, Options{Dir: b.TempDir()})
			defer d.Close()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := d.Append(record); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d B/file", size), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "log"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			const length = 64 << 20
			if _, err := f.Write(make([]byte, length)); err != nil || f.Sync() != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			at := int64(0)
			for b.Loop() {
				if _, err := f.WriteAt(record, at); err != nil {
					b.Fatal(err)
				}
				if err := unix.Fdatasync(int(f.Fd())); err != nil {
					b.Fatal(err)
				}
				if at += int64(size); at+int64(size) > length {
					at = 0
				}
			}
		})
	}
}
