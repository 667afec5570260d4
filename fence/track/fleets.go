package track

import "strings"

// fleets numbers the fleets of a shard's objects.
type fleets struct {
	numbers map[string]uint32
	names   []string
	uses    []int    // objects of each
	free    []uint32 // numbers of fleets without objects
}

// use returns the number of a fleet for one more object.
func (f *fleets) use(name string) uint32 {
	n, known := f.numbers[name]
	switch {
	case known:
	case len(f.free) > 0:
		n, f.free = f.free[len(f.free)-1], f.free[:len(f.free)-1]
		f.put(n, name)
	default:
		n = uint32(len(f.names))
		f.names, f.uses = append(f.names, ""), append(f.uses, 0)
		f.put(n, name)
	}
	f.uses[n]++
	return n
}

func (f *fleets) put(n uint32, name string) {
	if f.numbers == nil {
		f.numbers = map[string]uint32{}
	}
	name = strings.Clone(name)
	f.names[n], f.numbers[name] = name, n
}

// leave tells that one object less has a fleet.
func (f *fleets) leave(n uint32) {
	if f.uses[n]--; f.uses[n] == 0 {
		delete(f.numbers, f.names[n])
		f.names[n] = ""
		f.free = append(f.free, n)
	}
}
