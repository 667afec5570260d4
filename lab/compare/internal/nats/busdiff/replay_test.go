package busdiff

import (
	"fmt"
	"io"
)

// Replay plays the scripts that r holds as text, and writes the result of each to w.
func Replay(r io.Reader, w io.Writer) error {
	scripts, err := ParseScripts(r)
	if err != nil {
		return err
	}
	rig, err := newRig(Settings())
	if err != nil {
		return err
	}
	defer rig.stop()
	found := error(nil)
	for i := range scripts {
		v, err := rig.confirmed(&scripts[i])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d: %v\n", i, v)
		if v.kind == differs {
			fmt.Fprintf(w, "%s\n", &scripts[i])
			found = ErrDiffers
		}
	}
	return found
}

func (v verdict) String() string {
	switch v.kind {
	case same:
		return "the same"
	case cutBound:
		return "nats-server's answer depends on how its reads cut the bytes: " + v.diff.String()
	case known:
		return "explained: " + v.name
	case once:
		return "differed once: " + v.diff.String()
	default:
		return "differs: " + v.diff.String()
	}
}
