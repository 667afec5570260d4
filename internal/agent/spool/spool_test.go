package spool

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, o Options) *Spool {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := Open(o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// put appends each body separately.
func put(t *testing.T, s *Spool, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		_, err := s.Append([]byte(b))
		must(t, err)
	}
}

// rest returns the present records, as "1:body 2:body".
func rest(t *testing.T, s *Spool) string {
	t.Helper()
	r := s.Reader(s.Acked() + 1)
	defer func() { must(t, r.Close()) }()
	var all []string
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Next returns present records first
	for {
		got, err := r.Next(ctx)
		if errors.Is(err, context.Canceled) {
			return strings.Join(all, " ")
		}
		must(t, err)
		all = append(all, fmt.Sprintf("%d:%s", got.Number, got.Body))
	}
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// segments returns the files of records.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	must(t, err)
	return files
}

// crash returns a copy of the directory, as a killed process would leave it now.
func crash(t *testing.T, dir string) string {
	t.Helper()
	left := t.TempDir()
	must(t, os.CopyFS(left, os.DirFS(dir)))
	return left
}

func TestRecordsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	put(t, s, "a", "", "c")
	must(t, s.Ack(1))
	want(t, "first life", rest(t, s), "2: 3:c")
	id := s.ID()

	dir = crash(t, dir)
	s = open(t, Options{Dir: dir})
	put(t, s, "d")
	want(t, "second life", rest(t, s), "2: 3:c 4:d")
	if s.ID() != id || s.Acked() != 1 || s.Last() != 4 {
		t.Errorf("id %x, acknowledged %d, last %d", s.ID(), s.Acked(), s.Last())
	}
	must(t, s.Ack(4))
	must(t, s.Close())

	s = open(t, Options{Dir: dir})
	put(t, s, "e")
	want(t, "third life", rest(t, s), "5:e")
	if err := s.Ack(6); err == nil {
		t.Error("what was never given is acknowledged")
	}
}

// Numbers continue even if no record is left.
func TestNumbersNeverBeginAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	put(t, s, "a", "b")
	must(t, s.Ack(2))
	must(t, s.Close())
	for _, f := range segments(t, dir) {
		must(t, os.Remove(f))
	}
	s = open(t, Options{Dir: dir})
	put(t, s, "c")
	want(t, "records", rest(t, s), "3:c")
}

// For any length of the last segment, whole records stay, the rest is cut off, and the next record
// replaces it.
func TestTornEnd(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	put(t, s, "one", "two")
	file := segments(t, dir)[0]
	text, err := os.ReadFile(file)
	must(t, err)
	for n := range len(text) + 1 {
		left := crash(t, dir)
		must(t, os.Truncate(filepath.Join(left, filepath.Base(file)), int64(n)))
		expected := ""
		last := 0
		for i, end := range []int{len(magic) + recordHead + 3, len(magic) + 2*(recordHead+3)} {
			if n >= end {
				expected += fmt.Sprintf("%d:%s ", i+1, []string{"one", "two"}[i])
				last++
			}
		}
		s := open(t, Options{Dir: left})
		put(t, s, "next")
		want(t, fmt.Sprint("cut at ", n), rest(t, s), fmt.Sprintf("%s%d:next", expected, last+1))
		must(t, s.Close())
		s = open(t, Options{Dir: left})
		want(t, "again", rest(t, s), fmt.Sprintf("%s%d:next", expected, last+1))
		must(t, s.Close())
	}
}

// A mark that was written incompletely leaves the previous one.
func TestTornMark(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	put(t, s, "a", "b", "c")
	must(t, s.Ack(1))
	must(t, s.Ack(2))
	for n := range int64(2 * markSlot) {
		left := crash(t, dir)
		must(t, os.Truncate(filepath.Join(left, "acked"), n))
		s := open(t, Options{Dir: left})
		if expected := uint64(n / markSlot); s.Acked() != expected {
			t.Errorf("cut at %d: acknowledged %d, want %d", n, s.Acked(), expected)
		}
		must(t, s.Close())
	}
}

// Another id begins before the first record on the disk, whenever the process dies: until the id is
// written the mark of the one before counts.
func TestRenewedMark(t *testing.T) {
	o := small
	o.Dir = t.TempDir()
	s := open(t, o)
	put(t, s, half, half, half, half, half)
	must(t, s.Ack(3))
	before := s.ID()
	is := func(what string, s *Spool, id [16]byte, acked uint64) {
		t.Helper()
		if s.ID() != id || s.Acked() != acked {
			t.Errorf("%s: %x acknowledged %d, want %x and %d", what, s.ID(), s.Acked(), id, acked)
		}
	}
	var early string
	must(t, s.mark.sync())
	err := s.mark.restart([16]byte{1}, 2, func() error { early = crash(t, o.Dir); return errors.ErrUnsupported })
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	is("after a failure", s, before, 3)
	must(t, s.Renew())
	is("renewed", s, s.ID(), 2)
	put(t, s, half)
	is("after a crash before", open(t, Options{Dir: early}), before, 3)
	again := open(t, Options{Dir: crash(t, o.Dir)})
	is("after a crash", again, s.ID(), 2)
	want(t, "records", strings.ReplaceAll(rest(t, again), half, "half"), "3:half 4:half 5:half 6:half")
	must(t, s.Ack(3))
	must(t, s.Renew())
	must(t, s.Ack(4))
	is("renewed again", open(t, Options{Dir: crash(t, o.Dir)}), s.ID(), 4)
	if s.ID() == before {
		t.Error("the id is the same")
	}
}

// A mark of a version that wrote no part of the id counts until there is one with it.
func TestMarkWithoutAnID(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	put(t, s, "a", "b", "c", "d")
	must(t, s.Ack(2))
	must(t, s.Ack(3))
	left := crash(t, dir)
	file := filepath.Join(left, "acked")
	slots, err := os.ReadFile(file)
	must(t, err)
	clear(slots[12:16])
	clear(slots[28:])
	must(t, os.WriteFile(file, slots, 0o600))
	s = open(t, Options{Dir: left})
	if s.Acked() != 3 {
		t.Errorf("%d acknowledged", s.Acked())
	}
	must(t, s.Renew())
	if s = open(t, Options{Dir: crash(t, left)}); s.Acked() != 0 {
		t.Errorf("%d acknowledged of another id", s.Acked())
	}
}

// small makes segments of 64 KiB, which two of these bodies fill.
var (
	small = Options{MaxBytes: MinBytes}
	half  = strings.Repeat("x", 33<<10)
)

func TestDamageCostsTheRestOfItsSegment(t *testing.T) {
	o := small
	o.Dir = t.TempDir()
	s := open(t, o)
	put(t, s, half, half, half, half, half, half)
	must(t, s.Close())
	files := segments(t, o.Dir)
	text, err := os.ReadFile(files[1])
	must(t, err)
	text[100] ^= 1
	must(t, os.WriteFile(files[1], text, 0o600))
	s = open(t, o)
	put(t, s, "more")
	want(t, "records", strings.ReplaceAll(rest(t, s), half, "half"), "1:half 2:half 5:half 6:half 7:more")
	if n := s.Stats().Damaged; n != 1 {
		t.Errorf("%d damaged", n)
	}
}

func TestTheOldestMakesRoom(t *testing.T) {
	o := small
	o.Dir = t.TempDir()
	s := open(t, o)
	const n = 40
	for range n {
		put(t, s, half)
		if b := s.Stats().Bytes; b > MinBytes {
			t.Fatalf("%d bytes on disk", b)
		}
	}
	st := s.Stats()
	r := s.Reader(s.Acked() + 1)
	defer r.Close()
	first, err := r.Next(t.Context())
	must(t, err)
	if st.Dropped == 0 || first.Number != st.Dropped+1 || st.Accepted != n || st.Records != n {
		t.Errorf("%+v, the first one is %d", st, first.Number)
	}
	// Read records are not dropped: the reader delivers them.
	for range n {
		put(t, s, half)
	}
	next, err := r.Next(t.Context())
	must(t, err)
	if st := s.Stats(); next.Number != st.Dropped+2 {
		t.Errorf("%+v, the next one is %d", st, next.Number)
	}
	if _, err := s.Append(make([]byte, MaxBody+1)); err == nil {
		t.Error("a record that is too large is taken")
	}
}

// More at once than the buffer holds is refused as such: another attempt cannot help.
func TestTooLarge(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		o := small
		o.Dir, o.Refuse = t.TempDir(), refuse
		s := open(t, o)
		var many [][]byte
		for n := int64(0); n <= o.MaxBytes; n += int64(len(half)) {
			many = append(many, []byte(half))
		}
		if _, err := s.Append(many...); !errors.Is(err, ErrTooLarge) {
			t.Errorf("refuse %v: error %v", refuse, err)
		}
		if got := s.Stats(); got.Dropped > 0 || got.Refused != uint64(len(many)) {
			t.Errorf("refuse %v: %+v", refuse, got)
		}
	}
}

func TestTheNewestIsRefused(t *testing.T) {
	o := small
	o.Dir, o.Refuse = t.TempDir(), true
	s := open(t, o)
	n := 0
	for ; ; n++ {
		if _, err := s.Append([]byte(half)); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			break
		}
	}
	if st := s.Stats(); st.Refused != 1 || st.Dropped != 0 || st.Accepted != uint64(n) || n < 25 {
		t.Errorf("after %d: %+v", n, st)
	}
	must(t, s.Ack(uint64(n)/2))
	put(t, s, half) // there is room again
}

func TestRecordsGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small
		o.Dir, o.MaxAge = t.TempDir(), time.Hour
		s := open(t, o)
		put(t, s, half, half, "3")
		time.Sleep(50 * time.Minute)
		put(t, s, "4")
		time.Sleep(11 * time.Minute)
		want(t, "after an hour", rest(t, s), "4:4")
		if st := s.Stats(); st.Expired != 3 {
			t.Errorf("%+v", st)
		}
	})
}

// A clock that was far behind when records were accepted, and is then set, does not expire them.
// They expire by the time for which the spool is open.
func TestASetClockMakesNothingOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small
		o.Dir, o.MaxAge = t.TempDir(), time.Hour
		must(t, os.WriteFile(segmentPath(o.Dir, 1), appendRecord([]byte(magic), 1, 5000, []byte("1970")), 0o600))
		s := open(t, o)
		put(t, s, "later")
		want(t, "after a start with another clock", rest(t, s), "1:1970 2:later")
		time.Sleep(61 * time.Minute)
		want(t, "after an hour", rest(t, s), "")
		if st := s.Stats(); st.Expired != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// fullDisk fails each write.
type fullDisk struct{}

func (fullDisk) WriteAt([]byte, int64) (int, error) { return 0, syscall.ENOSPC }

// A disk that refuses the mark does not stop delivery. The room is freed once the mark is written.
func TestAMarkThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	o := small
	o.Dir = t.TempDir()
	s := open(t, o)
	put(t, s, half, half, half, half, half, half)
	all := len(segments(t, o.Dir))
	good := s.mark.file
	s.mark.file = fullDisk{}
	must(t, s.Ack(3))
	if st := s.Stats(); st.Acked != 3 || st.Unmarked != 1 || len(segments(t, o.Dir)) != all {
		t.Errorf("%+v, %d of %d segments", st, len(segments(t, o.Dir)), all)
	}
	left := crash(t, o.Dir)
	s.mark.file = good
	must(t, s.Ack(5))
	if st := s.Stats(); st.Acked != 5 || len(segments(t, o.Dir)) >= all {
		t.Errorf("%+v, %d of %d segments", st, len(segments(t, o.Dir)), all)
	}
	o.Dir = left
	if again := open(t, o); again.Acked() != 0 || again.Last() != 6 {
		t.Errorf("after a crash meanwhile: %d acknowledged of %d", again.Acked(), again.Last())
	}
}

// The mark's space is allocated at the start, so a full disk does not matter later.
func TestTheMarkHasItsRoom(t *testing.T) {
	dir := t.TempDir()
	open(t, Options{Dir: dir})
	info, err := os.Stat(filepath.Join(dir, "acked"))
	must(t, err)
	if info.Size() != 2*markSlot {
		t.Errorf("%d bytes", info.Size())
	}
}

// Concurrent calls get distinct numbers, and a reader sees the records in order meanwhile.
func TestManyAppend(t *testing.T) {
	o := small
	o.Dir = t.TempDir()
	s := open(t, o)
	const writers, each = 16, 40
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if _, err := s.Append(fmt.Appendf(nil, "%d", w), fmt.Appendf(nil, "%d", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	r := s.Reader(s.Acked() + 1)
	defer r.Close()
	next := map[string]int{}
	for n := uint64(1); n <= 2*writers*each; n += 2 {
		a, err := r.Next(t.Context())
		must(t, err)
		who := string(a.Body)
		b, err := r.Next(t.Context())
		must(t, err)
		if a.Number != n || b.Number != n+1 || string(b.Body) != fmt.Sprint(next[who]) {
			t.Fatalf("%d: %s: %s, %d", n, who, b.Body, b.Number)
		}
		next[who]++
		must(t, s.Ack(n+1))
	}
	all.Wait()
	if st := s.Stats(); st.Records != 0 || st.Syncs > writers*each {
		t.Errorf("%+v", st)
	}
}

func TestCloseWakesReaders(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	ended := make(chan error)
	go func() { // ends with Close
		_, err := s.Reader(s.Acked() + 1).Next(context.Background())
		ended <- err
	}()
	must(t, s.Close())
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Append([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestOneProcessADirectory(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	if _, err := Open(Options{Dir: s.opts.Dir}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
	if _, err := Open(Options{Dir: t.TempDir(), MaxBytes: 1}); err == nil {
		t.Error("a bound of one byte")
	}
}

// A failed write loses only the records of that write.
func TestFailedWrite(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	put(t, s, "a")
	good := s.writer.file
	bad, err := os.Open(good.Name()) // not writable
	must(t, err)
	s.writer.file = bad
	if _, err := s.Append([]byte("b")); err == nil {
		t.Error("taken without a disk")
	}
	if _, err := s.Append([]byte("c")); err == nil {
		t.Error("the file could not be brought back, and more is taken")
	}
	s.writer.file, s.writer.broken = good, nil
	must(t, bad.Close())
	put(t, s, "d")
	want(t, "records", rest(t, s), "1:a 2:d")
}

// The bytes follow the package comment.
func TestFormat(t *testing.T) {
	b := appendRecord(nil, 7, 1_700_000_000_000, []byte("hi"))
	want(t, "record", hex.EncodeToString(b), "02000000"+"2f09f285"+"0068e5cf8b010000"+"6869")
	dir := t.TempDir()
	put(t, open(t, Options{Dir: dir}), "x")
	file := segments(t, dir)[0]
	text, err := os.ReadFile(file)
	must(t, err)
	want(t, "name", filepath.Base(file), "0000000000000001.spool")
	want(t, "head", hex.EncodeToString(text[:16]), "50444b53504f4f4c0100000000000000")
}
