package subjects

import (
	"bufio"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestVectors compares with the file of partitions. lab/compare compares the same file with a NATS
// server's mapping.
func TestVectors(t *testing.T) {
	f, err := os.Open("testdata/partitions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		words := strings.Split(lines.Text(), " ") // token of the fleet, token of the id, partition
		fleet, ok := ParseToken(words[0])
		id, ok2 := ParseToken(words[1])
		if !ok && words[0] != NoToken || !ok2 && words[1] != NoToken {
			t.Fatalf("line %d: %q", n+1, lines.Text())
		}
		if got := strconv.Itoa(Partition(fleet, id)); got != words[2] {
			t.Errorf("%s: %s", lines.Text(), got)
		}
	}
	if n < 100 {
		t.Errorf("%d vectors", n)
	}
}

func FuzzPartition(f *testing.F) {
	f.Add("default", "v42")
	f.Add("", "_")
	f.Add("a.b", "é\x00")
	f.Fuzz(func(t *testing.T, fleet, id string) {
		h := fnv.New32a()
		_, _ = h.Write(AppendToken(AppendToken(nil, fleet), id))
		if got, want := Partition(fleet, id), int(h.Sum32()%Partitions); got != want {
			t.Errorf("%q, %q: %d, want %d", fleet, id, got, want)
		}
	})
}

// Partition is called for each position, so it must not allocate.
func TestPartitionDoesNotAllocate(t *testing.T) {
	sum := 0
	if n := testing.AllocsPerRun(100, func() { sum += Partition("default", "MTA NYCT_3846") }); n != 0 {
		t.Errorf("%v allocations, %d", n, sum)
	}
}
