package wiretest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"paddock/wire/wiretest"
)

func TestFaultyConn(t *testing.T) {
	for name, faults := range map[string]wiretest.Faults{
		"no faults":     {},
		"small pieces":  {In: wiretest.Flow{Chunk: 50}, Out: wiretest.Flow{Chunk: 100}},
		"random pieces": {In: wiretest.Flow{Chunk: 1000}, Out: wiretest.Flow{Chunk: 1000}, Seed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
				a, b = wiretest.Pipe(0)
				a, b = wiretest.Faulty(a, faults), wiretest.Faulty(b, faults)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	}
}

// faulty returns a faulty end of a pipe and the good one.
func faulty(t *testing.T, faults wiretest.Faults) (*wiretest.FaultConn, net.Conn) {
	t.Helper()
	a, b := pipe(t, 1<<20)
	return wiretest.Faulty(a, faults), b
}

// readSizes reads until the end and returns the size of each Read.
func readSizes(t *testing.T, c net.Conn) (n []int) {
	t.Helper()
	p := make([]byte, 100)
	for {
		m, err := c.Read(p)
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		n = append(n, m)
	}
}

func TestPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			faults wiretest.Faults
			want   []int
		}{
			"whole":  {wiretest.Faults{}, []int{8}},
			"bytes":  {wiretest.Faults{In: wiretest.Flow{Chunk: 1}}, []int{1, 1, 1, 1, 1, 1, 1, 1}},
			"threes": {wiretest.Faults{In: wiretest.Flow{Chunk: 3}}, []int{3, 3, 2}},
			"random": {wiretest.Faults{In: wiretest.Flow{Chunk: 3}, Seed: 7}, []int{2, 3, 1, 1, 1}},
		} {
			f, peer := faulty(t, c.faults)
			wantWrite(t, peer, "01234567")
			peer.Close()
			if got := readSizes(t, f); !slices.Equal(got, c.want) {
				t.Errorf("%s: reads of %v, want %v", name, got, c.want)
			}
			if n := f.Passed(wiretest.Both); n != 8 {
				t.Errorf("%s: %d bytes passed", name, n)
			}
		}
	})
}

func TestPiecesOfTwoWritesDoNotInterleave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, peer := faulty(t, wiretest.Faults{Out: wiretest.Flow{Chunk: 1, Delay: time.Millisecond}})
		for _, s := range []string{"aaaa", "bbbb"} {
			go io.WriteString(f, s)
		}
		p := make([]byte, 8)
		if _, err := io.ReadFull(peer, p); err != nil {
			t.Fatal(err)
		}
		if s := string(p); s != "aaaabbbb" && s != "bbbbaaaa" {
			t.Errorf("the writes come as %q", s)
		}
	})
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, peer := faulty(t, wiretest.Faults{
			In:  wiretest.Flow{Delay: time.Second},
			Out: wiretest.Flow{Delay: time.Minute, Chunk: 4},
		})
		begun := time.Now()
		wantWrite(t, peer, "ping")
		wantRead(t, f, "ping")
		since(t, "a read returns", begun, time.Second)
		go f.Write([]byte("pong pong"))
		wantRead(t, peer, "pong")
		since(t, "the first piece comes", begun, time.Minute+time.Second)
		wantRead(t, peer, " pong")
		since(t, "the third piece comes", begun, 3*time.Minute+time.Second)
		f.SetDeadline(time.Now().Add(10 * time.Second))
		n, err := f.Write([]byte("too slow"))
		wantErr(t, "a write", n, 0, err, os.ErrDeadlineExceeded)
		since(t, "it times out", begun, 3*time.Minute+11*time.Second)
	})
}

// TestStall stalls each direction, before and during a call.
func TestStall(t *testing.T) {
	for name, c := range map[string]struct {
		stall  wiretest.Direction
		during bool
	}{
		"writes":                   {wiretest.Out, false},
		"reads":                    {wiretest.In, false},
		"a read that waits":        {wiretest.In, true},
		"both, while a read waits": {wiretest.Both, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, peer := faulty(t, wiretest.Faults{})
				if !c.during {
					f.Stall(c.stall)
				}
				came := make(chan string, 1)
				go func() {
					p := make([]byte, 4)
					io.ReadFull(f, p)
					came <- string(p)
				}()
				synctest.Wait()
				f.Stall(c.stall)
				go f.Write([]byte("out"))
				wantWrite(t, peer, "come")
				synctest.Wait()
				if got := len(came) == 0; got != (c.stall&wiretest.In != 0) {
					t.Errorf("the read waits: %v", got)
				}
				wantPassed := map[wiretest.Direction]int64{wiretest.Out: 4, wiretest.In: 3, wiretest.Both: 0}
				if n := f.Passed(wiretest.Both); n != wantPassed[c.stall] {
					t.Errorf("%d bytes passed, want %d", n, wantPassed[c.stall])
				}
				f.Resume(c.stall)
				wantRead(t, peer, "out")
				if s := <-came; s != "come" {
					t.Errorf("read %q", s)
				}
			})
		})
	}
}

// TestAStallLosesNothing lets the deadline of a read pass, and then the bytes
// come that it had in its hands.
func TestAStallLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, peer := faulty(t, wiretest.Faults{})
		for _, early := range []bool{true, false} { // when the bytes come: in time, or not at all
			failed := make(chan error)
			f.SetReadDeadline(time.Now().Add(time.Second))
			go func() {
				_, err := f.Read(make([]byte, 100))
				failed <- err
			}()
			synctest.Wait()
			f.Stall(wiretest.In)
			if early {
				wantWrite(t, peer, "hello")
			}
			if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the read ends with %v", err)
			}
			f.Resume(wiretest.In)
			f.SetReadDeadline(time.Time{})
			if !early {
				wantWrite(t, peer, "hello")
			}
			wantRead(t, f, "hel")
			wantRead(t, f, "lo")
		}
		if n := f.Passed(wiretest.In); n != 10 {
			t.Errorf("%d bytes passed", n)
		}
	})
}

func TestStallAtAnOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, peer := faulty(t, wiretest.Faults{
			In:  wiretest.Flow{Stall: wiretest.At(2)},
			Out: wiretest.Flow{Stall: wiretest.At(1)},
		})
		wantWrite(t, peer, "01234")
		n, err := f.Read(make([]byte, 5))
		wantErr(t, "the read before it", n, 2, err, nil)
		go f.Write([]byte("out"))
		f.SetReadDeadline(time.Now().Add(time.Second))
		n, err = f.Read(make([]byte, 5))
		wantErr(t, "the stalled read", n, 0, err, os.ErrDeadlineExceeded)
		if n := f.Passed(wiretest.Out); n != 1 {
			t.Errorf("%d bytes of the write passed, want 1", n)
		}
		f.SetReadDeadline(time.Time{})
		f.Resume(wiretest.Both)
		wantRead(t, f, "234")
		wantRead(t, peer, "out")
	})
}

// TestStalledCallsEnd blocks a call by a stall and another behind it.
func TestStalledCallsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(f *wiretest.FaultConn)
		want error
	}{
		"Close":    {func(f *wiretest.FaultConn) { f.Close() }, net.ErrClosed},
		"Cut":      {func(f *wiretest.FaultConn) { f.Cut() }, syscall.ECONNRESET},
		"deadline": {func(f *wiretest.FaultConn) { f.SetDeadline(time.Now().Add(time.Hour)) }, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := faulty(t, wiretest.Faults{})
				f.Stall(wiretest.Both)
				failed := make(chan error, 5)
				for range 2 {
					go func() { _, err := f.Read(make([]byte, 1)); failed <- err }()
					go func() { _, err := f.Write(make([]byte, 1)); failed <- err }()
				}
				go func() { failed <- f.CloseWrite() }()
				synctest.Wait()
				c.end(f)
				for range cap(failed) {
					if err := <-failed; !errors.Is(err, c.want) {
						t.Errorf("%v, want %v", err, c.want)
					}
				}
			})
		})
	}
}

// TestCutEverywhere cuts at every offset of what an echo reads or writes: exactly
// so many bytes pass, then both sides know.
func TestCutEverywhere(t *testing.T) {
	const message = "0123456789"
	synctest.Test(t, func(t *testing.T) {
		for at := range int64(len(message) + 1) {
			for _, chunk := range []int{0, 1, 3} {
				f, peer := faulty(t, wiretest.Faults{Out: wiretest.Flow{Cut: wiretest.At(at), Chunk: chunk}})
				n, err := io.WriteString(f, message)
				if n < len(message) {
					wantErr(t, "the write", n, int(at), err, syscall.ECONNRESET)
				} else if err != nil {
					t.Errorf("a write before the cut: %v", err)
				}
				p, err := io.ReadAll(peer)
				wantErr(t, "the peer's reads", len(p), int(at), err, syscall.ECONNRESET)
				n, err = f.Read(make([]byte, 1))
				wantErr(t, "a read after the cut", n, 0, err, syscall.ECONNRESET)

				f, peer = faulty(t, wiretest.Faults{In: wiretest.Flow{Cut: wiretest.At(at), Chunk: chunk}})
				wantWrite(t, peer, message)
				p, err = io.ReadAll(f)
				wantErr(t, "the reads", len(p), int(at), err, syscall.ECONNRESET)
				n, err = peer.Write([]byte("more"))
				wantErr(t, "the peer's write", n, 0, err, syscall.ECONNRESET)
				if err := f.Close(); err != nil {
					t.Errorf("Close after a cut: %v", err)
				}
			}
		}
	})
}

func TestCutEndsCallsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe(t, 1)
		f := wiretest.Faulty(a, wiretest.Faults{})
		failed := make(chan error, 3)
		go func() { _, err := f.Read(make([]byte, 9)); failed <- err }()
		go func() { _, err := f.Write(make([]byte, 9)); failed <- err }()
		synctest.Wait()
		f.Cut()
		f.Cut()
		_, err := io.ReadAll(b)
		failed <- err
		for range cap(failed) {
			if err := <-failed; !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%v, want ECONNRESET", err)
			}
		}
	})
}

func TestFailingCalls(t *testing.T) {
	other := errors.New("disk on fire")
	synctest.Test(t, func(t *testing.T) {
		f, peer := faulty(t, wiretest.Faults{
			In:  wiretest.Flow{Fail: 2, Err: other},
			Out: wiretest.Flow{Fail: 3, Chunk: 1},
		})
		wantWrite(t, f, "first")
		wantWrite(t, f, "second")
		for range 2 {
			n, err := f.Write([]byte("third"))
			wantErr(t, "the third write", n, 0, err, wiretest.ErrInjected)
		}
		wantWrite(t, peer, "abc")
		wantRead(t, f, "abc")
		n, err := f.Read(make([]byte, 1))
		wantErr(t, "the second read", n, 0, err, other)
		f.Close()
		wantRead(t, peer, "firstsecond")
	})
}

func TestCorruption(t *testing.T) {
	const message = "0123456789"
	synctest.Test(t, func(t *testing.T) {
		for at := range len(message) {
			for _, chunk := range []int{0, 1, 4} {
				flow := wiretest.Flow{Corrupt: wiretest.At(int64(at)), Mask: 0x40, Chunk: chunk}
				want := []byte(message)
				want[at] ^= 0x40

				f, peer := faulty(t, wiretest.Faults{In: flow, Out: flow})
				mine := []byte(message)
				if _, err := f.Write(mine); err != nil || string(mine) != message {
					t.Fatalf("the caller's bytes are %q, %v", mine, err)
				}
				wantRead(t, peer, string(want))
				wantWrite(t, peer, message)
				wantRead(t, f, string(want))
			}
		}
		f, peer := faulty(t, wiretest.Faults{In: wiretest.Flow{Corrupt: wiretest.At(0)}})
		peer.Write([]byte{0x0f})
		wantRead(t, f, "\xf0")
	})
}

// TestFaultsGoThrough wraps what was wrapped: half-close and reset still work.
func TestFaultsGoThrough(t *testing.T) {
	f, peer := faulty(t, wiretest.Faults{})
	outer := wiretest.Faulty(f, wiretest.Faults{})
	if err := outer.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantWrite(t, peer, "still open")
	wantRead(t, outer, "still open")
	if p, err := io.ReadAll(peer); len(p) > 0 || err != nil {
		t.Errorf("the peer reads %q, %v", p, err)
	}
	outer.Cut()
	if _, err := peer.Write(nil); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer's write: %v", err)
	}
}

// plain is a connection with the methods of net.Conn alone.
type plain struct{ net.Conn }

func TestFaultyOverAPlainConnection(t *testing.T) {
	a, b := pipe(t, 0)
	f := wiretest.Faulty(plain{a}, wiretest.Faults{})
	if err := f.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseWrite: %v", err)
	}
	if err := f.SetLinger(0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("SetLinger: %v", err)
	}
	f.Cut()
	if p, err := io.ReadAll(b); len(p) > 0 || err != nil {
		t.Errorf("without resets the peer reads %q, %v, want a plain end", p, err)
	}
	if f.Close(); !errors.Is(f.Close(), net.ErrClosed) {
		t.Error("the second Close succeeds")
	}
	if f.LocalAddr() != a.LocalAddr() || f.RemoteAddr() != b.LocalAddr() {
		t.Errorf("addresses %v, %v", f.LocalAddr(), f.RemoteAddr())
	}
}
