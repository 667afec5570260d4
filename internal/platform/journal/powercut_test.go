package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// cuts is the number of simulated losses of power.
func cuts() int {
	if n, err := strconv.Atoi(os.Getenv("PADDOCK_POWER_CUTS")); err == nil {
		return n
	}
	return 100
}

// content returns the record with a number, and the pieces that follow from it.
func content(number uint64) (record []byte, pieces [][]byte) {
	r := rand.New(rand.NewPCG(number, 9))
	record = fmt.Appendf(nil, "record %d %s", number, bytes.Repeat([]byte{byte(number)}, r.IntN(3000)))
	for i := range r.IntN(4) {
		pieces = append(pieces, fmt.Appendf(nil, "piece %d of %d %s", i, number, bytes.Repeat([]byte{'p'}, r.IntN(1000))))
	}
	return record, pieces
}

// commit commits the pieces of a record from an index on.
func commit(j Journal, number uint64, from int) error {
	_, all := content(number)
	for i := from; i < len(all); i++ {
		newest := j.Committed()
		p := Piece{At: Place{number, uint32(i)}, Last: i == len(all)-1, First: newest.Next(), Count: 1 + i, Events: all[i]}
		if err := j.Commit(p); err != nil {
			return err
		}
	}
	return nil
}

// verify compares what a journal holds with what must and may be there: all records up to
// acknowledged, perhaps later ones; pieces that follow from them, without a gap, perhaps not all.
func verify(j Journal, acknowledged uint64) error {
	oldest, newest := j.Bounds()
	if newest < acknowledged {
		return fmt.Errorf("record %d was acknowledged, and %d is the newest", acknowledged, newest)
	}
	if err := j.Records(oldest, func(n uint64, r []byte) error {
		if want, _ := content(n); !bytes.Equal(r, want) {
			return fmt.Errorf("record %d is %.40q", n, r)
		}
		return nil
	}); err != nil {
		return err
	}
	var seen []Place
	next := j.OldestEvent()
	if err := j.Pieces(0, func(p Piece) error {
		_, all := content(p.At.Number)
		if int(p.At.Piece) >= len(all) || !bytes.Equal(p.Events, all[p.At.Piece]) || p.First != next || p.Count != 1+int(p.At.Piece) {
			return fmt.Errorf("piece %v from %d on, want %d: %.40q", p.At, p.First, next, p.Events)
		}
		seen, next = append(seen, p.At), p.Next()
		return nil
	}); err != nil {
		return err
	}
	if len(seen) > 0 { // earlier ones have been trimmed
		for i, at := range placesFrom(seen[0], len(seen)) {
			if seen[i] != at || at.Number > newest {
				return fmt.Errorf("piece %v is missing, %v is there; record %d is the newest", at, seen[i], newest)
			}
		}
	}
	for partition := range 3 {
		states, err := j.Checkpoints(partition)
		if err != nil {
			return err
		}
		for _, c := range states {
			if want := stateOf(partition, c.Number); !bytes.Equal(c.State, want) {
				return fmt.Errorf("the checkpoint %d of partition %d has other bytes", c.Number, partition)
			}
		}
	}
	return nil
}

// placesFrom returns the places of the pieces from one on.
func placesFrom(at Place, count int) (places []Place) {
	for ; len(places) < count; at = (Place{Number: at.Number + 1}) {
		for _, all := content(at.Number); int(at.Piece) < len(all); at.Piece++ {
			places = append(places, at)
		}
	}
	return places[:count]
}

func stateOf(partition int, number uint64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%d/%d ", partition, number), 5000)
}

// recoverPieces commits what a loss of power has taken.
func recoverPieces(j Journal) error {
	at, last := j.Committed().At, j.Committed().Last
	_, newest := j.Bounds()
	if !last {
		if err := commit(j, at.Number, int(at.Piece)+1); err != nil {
			return err
		}
	}
	for n := at.Number + 1; n <= newest; n++ {
		if err := commit(j, n, 0); err != nil {
			return err
		}
	}
	return nil
}

// work appends records, each with its pieces and now and then a checkpoint, until stop. The number
// of the newest record that Append has acknowledged is in acknowledged.
func work(j Journal, acknowledged *atomic.Uint64, stop *atomic.Bool) error {
	_, n := j.Bounds()
	for !stop.Load() {
		n++
		record, _ := content(n)
		if got, err := j.Append(record); err != nil || got != n {
			return fmt.Errorf("record %d has number %d: %w", n, got, err)
		}
		acknowledged.Store(n)
		if err := commit(j, n, 0); err != nil {
			return err
		}
		if n%100 == 0 {
			if err := errors.Join(j.TrimRecords(n-min(n, 200)), j.TrimPieces(j.Committed().First-min(j.Committed().First, 300))); err != nil {
				return err
			}
		}
		if n%37 == 0 {
			partition := int(n/37) % 3
			if err := j.SaveCheckpoint(partition, n, stateOf(partition, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// play cuts the power many times while a journal is written: each time, what was synced is there,
// and a random part of what was not. The next round goes on with what is left.
func play(t *testing.T, times int, noSync bool) error {
	r := rand.New(rand.NewPCG(1, 2))
	fs := vfs.NewCrashableMem()
	var acknowledged atomic.Uint64
	for range times {
		j, err := Open(Options{Dir: "journal", FS: fs, NoSync: noSync})
		if err != nil {
			return err
		}
		if err := verify(j, acknowledged.Load()); err != nil {
			return errors.Join(err, j.Close())
		}
		if err := recoverPieces(j); err != nil {
			return errors.Join(err, j.Close())
		}
		_, newest := j.Bounds()
		acknowledged.Store(newest)
		var stop atomic.Bool
		ended := make(chan error)
		go func() { ended <- work(j, &acknowledged, &stop) }()
		for until := newest + uint64(1+r.IntN(60)); acknowledged.Load() < until; {
			select {
			case err := <-ended:
				return err
			default:
				runtime.Gosched()
			}
		}
		before := acknowledged.Load()
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
		stop.Store(true)
		if err := <-ended; err != nil {
			return err
		}
		if err := j.Close(); err != nil {
			return err
		}
		fs = clone
		acknowledged.Store(before)
	}
	t.Logf("%d losses of power, %d records", times, acknowledged.Load())
	return nil
}

// TestPowerCuts: no loss of power takes an acknowledged record, or leaves a gap.
func TestPowerCuts(t *testing.T) {
	if err := play(t, cuts(), false); err != nil {
		t.Error(err)
	}
}

// The test above must be able to fail: a journal that does not wait for the disk loses records.
func TestPowerCutsAreNoticed(t *testing.T) {
	if err := play(t, 1000, true); err == nil {
		t.Error("without waiting for the disk nothing was lost")
	} else {
		t.Log(err)
	}
}

// faultAt names the variable by which a child of TestFaults gets the index of the write that fails.
const faultAt = "PADDOCK_FAULT_AT"

// TestFaultyProcess is the child of TestFaults: it writes a journal until a write fails, and prints
// the number of each acknowledged record. The store may end the process then.
func TestFaultyProcess(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(faultAt))
	if err != nil {
		t.Skip("the child of TestFaults")
	}
	fs := errorfs.Wrap(vfs.Default, errorfs.ErrInjected.If(errorfs.And(errorfs.Writes, errorfs.OnIndex(int32(n)))))
	j, err := Open(Options{Dir: os.Getenv("PADDOCK_FAULT_DIR"), FS: fs})
	ok(t, err)
	for n := uint64(1); n <= 60; n++ {
		record, _ := content(n)
		_, err := j.Append(record)
		ok(t, err)
		fmt.Fprintln(os.Stdout, "acknowledged", n)
		ok(t, commit(j, n, 0))
		if n%10 == 0 {
			ok(t, j.SaveCheckpoint(int(n/10)%3, n, stateOf(int(n/10)%3, n)))
			ok(t, j.db.Flush())
		}
	}
	ok(t, j.Close())
}

// TestFaults: after a write of any file has failed, nothing is acknowledged any more, and
// everything acknowledged before is there. The process that wrote may have ended.
func TestFaults(t *testing.T) {
	failed := 0
	for n := 0; n < 200; n += 15 {
		dir := t.TempDir()
		child := exec.Command(os.Args[0], "-test.run", "^TestFaultyProcess$")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", faultAt, n), "PADDOCK_FAULT_DIR="+dir)
		printed, err := child.Output()
		if err != nil {
			failed++
		}
		acknowledged := uint64(bytes.Count(printed, []byte("acknowledged ")))
		j, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatalf("fault at %d: %v", n, err)
		}
		if err := verify(j, acknowledged); err != nil {
			t.Errorf("fault at %d: %v", n, err)
		}
		ok(t, j.Close())
	}
	if failed < 7 {
		t.Errorf("%d of the processes have noticed a fault", failed)
	}
}

// A failed write of the log is reported to Fatal, also if no caller waits for it.
func TestFailureThatHasNoCaller(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && filepath.Ext(op.Path) == ".log" {
			return syscall.ENOSPC
		}
		return nil
	}))
	told := make(chan error)
	j, err := Open(Options{Dir: "d", FS: fs, Fatal: func(err error) {
		told <- err
		select {} // as the process that ends here
	}})
	ok(t, err)
	full.Store(true)
	go func() {
		for j.Change(nil, Value{"name", make([]byte, 64<<10)}) == nil {
		}
	}()
	if err := <-told; !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Errorf("got %v", err)
	}
}
