package rule

import (
	"fmt"
	"math/bits"
	"strings"

	"paddock/internal/process/spelling"
)

// Detect is a set of kinds of events.
type Detect uint8

// The kinds of events, in the order of their names in a list.
const (
	Enter Detect = 1 << iota
	Exit
	Inside
	Outside
	Cross
	DwellTime // named dwell: the type Dwell has its settings
	Holds     // named condition: When begins to hold, and ends
)

// detectNames lists the names in the order of the bits.
var detectNames = []string{"enter", "exit", "inside", "outside", "cross", "dwell", "condition"}

// allKinds has the bit of each kind.
const allKinds = Detect(1<<7 - 1)

// defaultDetect is the value of detect of a rule that has none.
const defaultDetect = Enter | Exit

// Has reports whether all kinds of k are in d.
func (d Detect) Has(k Detect) bool { return d&k == k }

// names lists the names of the kinds.
func (d Detect) names() (names []string) {
	for ; d != 0; d &= d - 1 {
		names = append(names, detectNames[bits.TrailingZeros8(uint8(d))])
	}
	return names
}

// String lists the names of the kinds, with commas.
func (d Detect) String() string { return strings.Join((d & allKinds).names(), ",") }

// ParseDetect returns the kind of this name.
func ParseDetect(name string) (Detect, error) {
	for i, n := range detectNames {
		if n == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("%q is no event; %s", name, spelling.Advice(name, detectNames))
}

// Direction is the side to which an object crosses a line, as seen along the line from its first
// vertex to its last.
type Direction uint8

// The directions.
const (
	AnyDirection Direction = iota
	Left                   // from the right side to the left one
	Right                  // from the left side to the right one
)

var directionNames = []string{"", "left", "right"}

func (d Direction) String() string { return directionNames[d] }

// ParseDirection reads left or right.
func ParseDirection(name string) (Direction, error) {
	switch name {
	case "left":
		return Left, nil
	case "right":
		return Right, nil
	}
	return 0, fmt.Errorf("%q is neither left nor right", name)
}
