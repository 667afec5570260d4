package rule

import (
	"encoding/json"
	"slices"
)

// Condition is a compiled condition, such as
//
//	speed_kmh > fence.maxspeed and object.kind == "bus"
//
// # Grammar
//
// A condition is comparisons joined by and (&&), or (||) and not (!), with parentheses. And binds
// closer than or, and not closest. A comparison is two operands with ==, !=, <, <=, > or >= between
// them. A property alone means that it is true. There is no arithmetic.
//
// An operand is one of:
//
//   - a number (13.9), true, false, null, a text in double or single quotes with the escapes of
//     JSON;
//   - speed in metres a second, or speed_kmh, speed_mph, speed_knots; heading in degrees clockwise
//     from north, 0 to 360; accuracy in metres;
//   - object.NAME or fence.NAME: a property; object["NAME"] for a name of other characters than
//     letters, digits and _.
//
// Comparisons are those of plain numbers, of headings too: north is
// heading >= 337.5 or heading < 22.5. Texts compare by their bytes. Measures have the precision of
// a float32, and a number that is compared with one is rounded to it: speed >= 13.9 holds at the
// speed 13.9.
//
// # Values that are not there
//
// A condition never fails. Each part of it is true, false or unknown:
//
//   - A comparison with a measure that the device did not report is unknown.
//   - A property that the object or the fence lacks, or that is null, differs from every value:
//     fence.zone != "yard" holds for a fence without a zone. Only two missing ones are unknown.
//   - Values of different types differ. Their order is unknown, and so is that of anything but two
//     numbers or two texts.
//   - Lists and objects differ from all others; two of them are unknown.
//   - x == null asks whether the property is missing or the measure was not reported, and always
//     has an answer.
//
// Not unknown is unknown. An and is false if one side is false, an or is true if one side is true,
// whatever the other one is. A condition that is unknown as a whole does not hold.
type Condition struct {
	root          expression
	text          string
	object, fence []string
}

// Input is what a condition is asked about.
type Input struct {
	Speed    Measure // metres a second
	Heading  Measure // degrees clockwise from north
	Accuracy Measure // metres

	Object *Properties // nil: none
	Fence  *Properties // nil: none
}

// Holds reports whether the condition is true. A nil Condition is. It allocates nothing.
func (c *Condition) Holds(in *Input) bool { return c == nil || c.root.eval(in) == yes }

// ObjectNames returns the sorted names of the object's properties in the condition, and FenceNames
// those of the fence's. They are for Properties.Read; without names they are empty, not nil.
func (c *Condition) ObjectNames() []string { return c.object }

// FenceNames returns the sorted names of the fence's properties in the condition.
func (c *Condition) FenceNames() []string { return c.fence }

// String returns the canonical text: equal conditions have equal texts.
func (c *Condition) String() string { return c.text }

// MarshalJSON returns the canonical text as a JSON string.
func (c *Condition) MarshalJSON() ([]byte, error) { return json.Marshal(c.text) }

// collect gathers the names of properties.
func (c *Condition) collect(e *expression) {
	for i := range e.of {
		c.collect(&e.of[i])
	}
	for _, o := range []operand{e.left, e.right} {
		switch o.source {
		case fromObject:
			c.object = insert(c.object, o.name)
		case fromFence:
			c.fence = insert(c.fence, o.name)
		}
	}
}

// insert adds a name to a sorted list, unless it is there.
func insert(sorted []string, name string) []string {
	i, found := slices.BinarySearch(sorted, name)
	if found {
		return sorted
	}
	return slices.Insert(sorted, i, name)
}
