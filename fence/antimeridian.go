package fence

import (
	"errors"
	"fmt"
)

// Antimeridian says what is made of rings that reach over the antimeridian in one piece.
// Polygons that are split at it (RFC 7946, section 3.1.9) need neither choice.
type Antimeridian string

const (
	// AntimeridianPlanar takes coordinates as they are: an edge over more than 180 degrees goes
	// the long way round, with a finding, and longitudes beyond 180 are refused.
	AntimeridianPlanar Antimeridian = "planar"
	// AntimeridianUnwrap takes them as Unwrap does.
	AntimeridianUnwrap Antimeridian = "unwrap"
)

// ErrAntimeridian is wrapped by the error for a choice that does not exist.
var ErrAntimeridian = errors.New("unknown way at the antimeridian")

// ParseAntimeridian gives the choice named s, AntimeridianPlanar if s is empty. For an unknown
// name the error wraps ErrAntimeridian and lists the choices.
func ParseAntimeridian(s string) (Antimeridian, error) {
	switch a := Antimeridian(s); a {
	case "":
		return AntimeridianPlanar, nil
	case AntimeridianPlanar, AntimeridianUnwrap:
		return a, nil
	}
	return "", fmt.Errorf("%w %q: it must be %s or %s", ErrAntimeridian, s, AntimeridianPlanar, AntimeridianUnwrap)
}
