package perf

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestFloor(t *testing.T) {
	var ports floors
	defer ports.close()
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	var f Floor
	ask := func(ctx context.Context) (floorPlace, error) { return ports.listen(ctx, local) }
	for range 2 {
		if err := f.measure(t.Context(), ask, 64); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.Echo) != 2 || len(f.Bulk) != 2 || f.echo() <= 0 || f.bulk() <= 0 || f.Echo[1].N == 0 || f.Echo[0].Payload != 64 {
		t.Errorf("%+v", f)
	}
}

// There are few raw ports.
func TestFloorRefuses(t *testing.T) {
	var ports floors
	local := &net.UnixAddr{Name: "x", Net: "unix"}
	for range maxFloors {
		if _, err := ports.listen(t.Context(), local); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ports.listen(t.Context(), local); !errors.Is(err, errFloors) {
		t.Errorf("one more: %v", err)
	}
	ports.close() // also ends ports without a connection
	if _, err := ports.listen(t.Context(), local); !errors.Is(err, errFloors) {
		t.Errorf("after the end: %v", err)
	}
}
