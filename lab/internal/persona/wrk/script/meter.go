package script

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
)

// The bounds of a script. They are counted in steps of the interpreter, some 20 ns each, so
// that the same script always ends at the same place.
const (
	loadSteps    = 1 << 30 // of the file, of setup, init and done
	requestSteps = 4 << 20 // of one call of request, delay or response
	checkEvery   = 1024    // steps
	checkBytes   = 8 << 20 // that were made by functions of ours

	maxString = 32 << 20  // bytes of one string
	maxMemory = 768 << 20 // of the process, with what is not collected yet
)

// meter stops a script that takes too much. It is the context of the interpreter, which
// asks it before each step whether to go on.
type meter struct {
	context.Context
	left   int // steps of the call
	check  int // steps until memory is looked at
	made   int // bytes since it was
	what   string
	why    error
	most   uint64 // bytes that the process may hold
	sample [1]metrics.Sample
}

// closed is what ends a script.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func newMeter() *meter {
	m := &meter{Context: context.Background(), check: checkEvery, most: maxMemory}
	m.sample[0].Name = "/memory/classes/heap/objects:bytes"
	return m
}

// begin allows so many steps to a function.
func (m *meter) begin(what string, steps int) {
	m.what, m.left, m.why = what, steps, nil
}

// Done is asked before each step.
//
// hot: guarded by BenchmarkRequest.
func (m *meter) Done() <-chan struct{} {
	m.left--
	if m.check--; m.left > 0 && m.check > 0 {
		return nil
	}
	return m.look()
}

// Err says why the script has to end.
func (m *meter) Err() error { return m.why }

// look is Done, now and then.
func (m *meter) look() <-chan struct{} {
	if m.check <= 0 {
		m.check = checkEvery
		m.memory()
	}
	if m.left <= 0 && m.why == nil {
		m.why = fmt.Errorf("%s takes too many steps", m.what)
	}
	if m.why == nil {
		return nil
	}
	m.left = 0 // whoever catches the error does not get further
	return closed
}

// memory looks at what the process holds.
func (m *meter) memory() {
	m.made = 0
	_ = m.room(0) // why is looked at by whoever asked
}

// room says why so many bytes more cannot be had; nil = they can.
func (m *meter) room(bytes uint64) error {
	if m.held()+bytes > m.most {
		if runtime.GC(); m.held()+bytes > m.most {
			m.why = fmt.Errorf("more than %d MiB of memory are held", m.most>>20)
		}
	}
	return m.why
}

func (m *meter) held() uint64 {
	metrics.Read(m.sample[:])
	return m.sample[0].Value.Uint64()
}

var errLongString = fmt.Errorf("a string of more than %d MiB", maxString>>20)

// charge counts a string that one of our functions is about to make.
func (m *meter) charge(bytes int) error {
	if bytes > maxString || bytes < 0 {
		return errLongString
	}
	if m.made += bytes; m.made > checkBytes {
		m.memory()
	}
	return m.why
}

// errUnused is what a function of Lua's says that is not there.
var errUnused = errors.New("is not available to scripts here")
